//! RUN lines of LLVM's regression tests: which `opt` commands a test runs on itself.
//!
//! Only what concerns us is understood: the first `opt` of each pipeline that reads the test file.
//! Deliberately absent: running the checks, or any other program of the pipeline.

use std::path::Path;

/// One `opt` command of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptCommand {
    /// Arguments without input, output and printing.
    pub args: Vec<String>,
}

impl OptCommand {
    /// The pipeline as text, for reports.
    pub fn pipeline(&self) -> String {
        self.args.join(" ")
    }
}

/// What a file's RUN lines say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLines {
    /// Whether there are any.
    pub present: bool,
    /// The commands that can be run here.
    pub commands: Vec<OptCommand>,
    /// Why other RUN lines cannot be followed.
    pub skipped: Vec<String>,
}

/// Reads the RUN lines of a test.
pub fn read(text: &str, file: &Path) -> RunLines {
    let mut lines = RunLines::default();
    if text.lines().any(|l| l.contains("REQUIRES:") && l.contains("asserts")) {
        lines.present = true;
        lines.skipped.push("the test needs an LLVM built with assertions".to_owned());
        return lines;
    }
    for command in joined_runs(text).iter().filter(|command| !is_ours(command)) {
        lines.present = true;
        match parse(command, file) {
            Ok(command) if !lines.commands.contains(&command) => lines.commands.push(command),
            Ok(_) => {}
            Err(reason) => lines.skipped.push(reason),
        }
    }
    lines
}

/// True for the line by which a test calls this analysis: it says nothing of what to run.
fn is_ours(command: &str) -> bool {
    let mut words = command.split_whitespace().filter(|w| *w != "not");
    words.next().is_some_and(|word| word.rsplit('/').next() == Some("trueline") || word.starts_with("%trueline"))
}

fn joined_runs(text: &str) -> Vec<String> {
    let mut runs: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let Some((_, rest)) = line.split_once("RUN:") else { continue };
        let rest = rest.trim();
        let (rest, continues) = rest.strip_suffix('\\').map_or((rest, false), |r| (r.trim_end(), true));
        match runs.last_mut().filter(|_| open) {
            Some(last) => {
                last.push(' ');
                last.push_str(rest);
            }
            None => runs.push(rest.to_owned()),
        }
        open = continues;
    }
    runs
}

fn parse(command: &str, file: &Path) -> Result<OptCommand, String> {
    let stages = split_pipeline(command)?;
    let position = stages.iter().position(|words| words.first().is_some_and(|w| w == "opt" || w == "%opt"));
    let Some(position) = position else { return Err("it runs no `opt`".to_owned()) };
    let feeds_file = |words: &[String]| words.len() == 2 && words[0] == "cat" && words[1] == "%s";
    if position > 0 && !stages[..position].iter().all(|w| feeds_file(w)) {
        return Err(format!("its input comes from `{}`", stages[0].first().map_or("", String::as_str)));
    }
    let directory = file.parent().unwrap_or(Path::new(".")).to_string_lossy().into_owned();
    let mut args = Vec::new();
    let mut reads_file = position > 0;
    let mut words = stages[position].iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "<" | "%s" | "-" => reads_file |= word == "%s",
            ">" | "2>" | "-o" => drop(words.next()),
            "-S" | "-disable-output" | "-verify-each" | "-verify-dom-info" | "-stats" | "-time-passes" | "-analyze" | "-f" => {}
            w if w.starts_with("<%s") || w == "<%s" => reads_file = true,
            w if w.starts_with('>') || w.starts_with("2>") || w.starts_with("-o=") => {}
            w if w == "-debug" || w == "--debug" || w.trim_start_matches('-').starts_with("debug-only") => {
                return Err(format!("`{w}` needs an LLVM built with assertions"));
            }
            w if ["print-", "debug-pass", "debugify", "check-debugify", "pass-remarks", "enable-debugify"]
                .iter()
                .any(|p| w.trim_start_matches('-').starts_with(p) && w.starts_with('-')) => {}
            w => {
                let word = w.replace("%S", &directory).replace("%p", &directory).replace("%%", "\u{0}");
                if let Some(at) = word.find('%') {
                    return Err(format!("it needs the substitution `{}`", &word[at..]));
                }
                args.push(word.replace('\u{0}', "%"));
            }
        }
    }
    if !reads_file {
        return Err("its `opt` does not read the test file".to_owned());
    }
    Ok(OptCommand { args })
}

/// The stages of a pipeline as words, quotes resolved as a shell would.
fn split_pipeline(command: &str) -> Result<Vec<Vec<String>>, String> {
    let mut stages = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let target = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err("a quote is not closed".to_owned()),
                        Some(q) if q == c => break,
                        Some('\\') if c == '"' => target.extend(chars.next()),
                        Some(other) => target.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '|' => {
                stages.last_mut().expect("one stage").extend(word.take());
                if chars.peek() == Some(&'|') {
                    return Err("it is a list of commands".to_owned());
                }
                stages.push(Vec::new());
            }
            '&' if word.as_deref().is_some_and(|w| w.ends_with('>')) => word.get_or_insert_default().push('&'),
            '&' if chars.peek() == Some(&'&') => break, // the commands after it do not change what the first does
            ';' => break,
            '<' if word.is_none() => stages.last_mut().expect("one stage").push("<".to_owned()),
            c if c.is_whitespace() => stages.last_mut().expect("one stage").extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    stages.last_mut().expect("one stage").extend(word.take());
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(run: &str) -> Vec<String> {
        let lines = read(&format!("; RUN: {run}\n"), Path::new("/t/a.ll"));
        assert_eq!(lines.skipped, Vec::<String>::new());
        lines.commands.into_iter().next().unwrap().args
    }

    #[test]
    fn a_line_that_calls_us_is_none_of_the_tests_own() {
        let with_opt = read("; RUN: opt -passes=gvn < %s\n; RUN: not trueline passes %s\n", Path::new("a.ll"));
        assert_eq!((with_opt.commands.len(), with_opt.skipped.len()), (1, 0));
        assert!(!read("; RUN: %trueline-passes %s\n", Path::new("a.ll")).present, "the whole pipeline is to run");
    }

    #[test]
    fn pass_and_options_are_kept_and_input_output_and_printing_are_not() {
        assert_eq!(args("opt < %s -passes=indvars -S | FileCheck %s"), ["-passes=indvars"]);
        assert_eq!(args("opt -S -passes=\"loop(loop-flatten)\" < %s | FileCheck %s"), ["-passes=loop(loop-flatten)"]);
        assert_eq!(args("opt %s -passes='function(gvn<pre>,dce)' -o - -S 2>&1 | FileCheck %s"), ["-passes=function(gvn<pre>,dce)"]);
        assert_eq!(args("opt -passes=licm -mtriple x86_64 -disable-output <%s 2>/dev/null"), ["-passes=licm", "-mtriple", "x86_64"]);
        assert_eq!(args("cat %s | opt -licm -S"), ["-licm"]);
    }

    #[test]
    fn a_line_that_ends_in_a_backslash_goes_on() {
        let lines = read("; RUN: opt -passes=gvn \\\n; RUN:   -S < %s | FileCheck %s\n", Path::new("a.ll"));
        assert_eq!(lines.commands, [OptCommand { args: vec!["-passes=gvn".to_owned()] }]);
    }

    #[test]
    fn the_same_command_twice_is_run_once() {
        let lines = read("; RUN: opt -passes=gvn < %s\n; RUN: opt -passes=gvn -S < %s | FileCheck %s\n", Path::new("a.ll"));
        assert_eq!(lines.commands.len(), 1);
    }

    #[test]
    fn what_cannot_be_run_here_says_why() {
        let reason = |run: &str| read(&format!("; RUN: {run}\n"), Path::new("a.ll")).skipped.join("");
        assert!(reason("llc < %s | FileCheck %s").contains("no `opt`"));
        assert!(reason("sed 's/a/b/' %s | opt -S").contains("sed"));
        assert!(reason("opt -passes=licm -debug-only=licm < %s").contains("assertions"));
        assert!(reason("opt -load=%llvmshlibdir/x.so < %s").contains("%llvmshlibdir"));
        assert!(read("; REQUIRES: asserts\n; RUN: opt < %s\n", Path::new("a.ll")).skipped[0].contains("assertions"));
        assert!(!read("define void @f() { ret void }", Path::new("a.ll")).present);
    }
}
