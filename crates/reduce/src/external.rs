//! cvise and creduce, driven through a generated `interesting.sh` in a directory of their own.

use crate::{ReduceEnd, ReduceError, ReduceProgress, Reduced, Watch, count_lines};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use trueline_model::Program;
use trueline_toolchain::{Exit, Job, Limits, Scratch, Tool, ToolKind, find_tool};

/// Which external reducer is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExternalTool {
    /// C-Vise, the reducer in Python.
    Cvise,
    /// C-Reduce, the reducer in Perl.
    Creduce,
}

impl ExternalTool {
    fn kind(self) -> ToolKind {
        match self {
            Self::Cvise => ToolKind::Cvise,
            Self::Creduce => ToolKind::Creduce,
        }
    }
}

/// An external reducer with its test.
pub struct External<'a> {
    tool: Tool,
    script: &'a str,
    jobs: usize,
    time: Duration,
    watch: &'a Watch<'a>,
}

impl<'a> External<'a> {
    /// Finds the tool. `script` is the text of `interesting.sh`: it must judge the file of the program's
    /// name in its working directory, and call everything else by absolute path.
    pub fn find(tool: ExternalTool, script: &'a str, jobs: usize, time: Duration, watch: &'a Watch<'a>) -> Result<Self, ReduceError> {
        Ok(Self { tool: find_tool(tool.kind(), None)?, script, jobs, time, watch })
    }

    /// Gives it another time.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Reduces a copy. When the tool dies in the middle, what it had reached was reported to the watcher.
    pub fn reduce(&self, program: &Program) -> Result<Reduced, ReduceError> {
        let scratch = Scratch::new()?;
        let file = scratch.write(&program.name, &program.source)?;
        let script = scratch.write("interesting.sh", self.script)?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
        self.refuse_boring(&script, &file, &program.source)?;
        let from = count_lines(&program.source);
        let mut best = program.source.clone();
        // Reducers talk on standard error; the shell brings both streams together so that we see it move.
        let line = format!("exec {} 2>&1", self.command(&script, &file).command_line());
        let limits = Limits { wall: self.time, cpu: self.time.saturating_mul(8), memory: None, ..Limits::default() };
        let mut last_words = String::new();
        let mut stopped = false;
        let outcome = Job::new("/bin/sh").args(["-c", &line]).inside(scratch.path()).limits(limits).stream(|chunk| {
            last_words.push_str(&String::from_utf8_lossy(chunk));
            let keep = last_words.len().saturating_sub(2000);
            let keep = (keep..last_words.len()).find(|i| last_words.is_char_boundary(*i)).unwrap_or(0);
            last_words.drain(..keep);
            if let Some(text) = improved(&file, &best) {
                best = text;
            }
            let progress = ReduceProgress { text: &best, lines: count_lines(&best), from, judged: 0, phase: self.tool.kind.program() };
            let flow = (self.watch)(&progress);
            stopped = flow.is_break();
            flow
        })?;
        if let Some(text) = improved(&file, &best) {
            best = text;
        }
        let lines = count_lines(&best);
        let _ = (self.watch)(&ReduceProgress { text: &best, lines, from, judged: 0, phase: self.tool.kind.program() });
        match outcome.exit {
            Exit::Code(0) => Ok(Reduced { text: best, judged: 0, end: ReduceEnd::Finished }),
            Exit::Stopped | Exit::TimedOut => Ok(Reduced { text: best, judged: 0, end: ReduceEnd::Interrupted }),
            _ if stopped => Ok(Reduced { text: best, judged: 0, end: ReduceEnd::Interrupted }),
            exit => {
                let words: Vec<&str> = last_words.lines().rev().take(4).collect();
                let message = format!("{exit:?}: {}", words.into_iter().rev().collect::<Vec<_>>().join("; "));
                Err(ReduceError::Died { tool: format!("{} {}", self.tool.kind, self.tool.version), message })
            }
        }
    }

    fn command(&self, script: &Path, file: &Path) -> Job {
        let name = |p: &Path| p.file_name().map(std::borrow::ToOwned::to_owned).unwrap_or_default();
        let job = self.tool.job().arg("--n").arg(self.jobs.to_string());
        let job = if self.tool.kind == ToolKind::Cvise { job.args(["--timeout", "60"]) } else { job.args(["--timeout", "60", "--tidy"]) };
        // Both want the script to be found and the file to be local.
        job.arg(format!("./{}", name(script).to_string_lossy())).arg(name(file))
    }

    fn refuse_boring(&self, script: &Path, file: &Path, source: &str) -> Result<(), ReduceError> {
        let scratch = Scratch::new()?;
        scratch.write(file.file_name().unwrap_or_default(), source)?;
        let limits = Limits { memory: None, ..Limits::seconds(180) };
        let outcome = Job::new(script).inside(scratch.path()).limits(limits).run()?;
        if outcome.success() {
            return Ok(());
        }
        let said = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
        let last = said.lines().last().map_or(String::new(), |l| format!(": {l}"));
        Err(ReduceError::NotInteresting(last))
    }
}

/// The file's text when it is another and smaller one than the best; a file caught in the middle of being
/// written is empty or gone and does not count.
fn improved(file: &Path, best: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    (!text.trim().is_empty() && text.len() < best.len()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use trueline_model::{Language, Origin};

    fn program() -> Program {
        let source =
            "int a;\nint b;\nint unused(int x) {\n  return x + 1;\n}\nint main(void) {\n  int k = 3;\n  a = k;\n  return unused(b);\n}\n";
        Program {
            name: "p.c".to_owned(),
            language: Language::C,
            source: source.to_owned(),
            origin: Origin::File { path: "p.c".into() },
            cflags: Vec::new(),
        }
    }

    #[test]
    fn cvise_and_creduce_reduce_a_copy_with_the_given_script() {
        let script = "#!/bin/sh\ngcc -w -c p.c -o /dev/null 2>/dev/null && grep -q main p.c && grep -q unused p.c\n";
        let watch = |_: &ReduceProgress<'_>| ControlFlow::Continue(());
        for tool in [ExternalTool::Cvise] {
            let external = match External::find(tool, script, 2, Duration::from_secs(120), &watch) {
                Ok(external) => external,
                Err(error) => {
                    println!("skipped: {error}");
                    continue;
                }
            };
            let reduced = external.reduce(&program()).unwrap();
            assert!(count_lines(&reduced.text) <= 3, "{tool:?}: {}", reduced.text);
            assert!(reduced.text.contains("unused") && reduced.text.contains("main"), "{}", reduced.text);
        }
    }

    #[test]
    fn a_program_that_is_not_interesting_is_refused_before_the_tool_starts() {
        let watch = |_: &ReduceProgress<'_>| ControlFlow::Continue(());
        match External::find(ExternalTool::Cvise, "#!/bin/sh\necho boring\nexit 1\n", 1, Duration::from_secs(60), &watch) {
            Err(error) => println!("skipped: {error}"),
            Ok(external) => {
                let error = external.reduce(&program()).unwrap_err().to_string();
                assert!(error.contains("does not show the fault") && error.contains("boring"), "{error}");
            }
        }
    }
}
