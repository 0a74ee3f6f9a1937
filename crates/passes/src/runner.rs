//! Runs `opt` with the hook library on a file: lit tests by their RUN lines, plain IR by the given passes,
//! C files through clang and the level's whole pipeline.

use crate::lit::{self, OptCommand};
use crate::observation::{Observation, ObservationError, PassRun};
use crate::report::{Detail, FileReport, ProblemKind, Report};
use std::path::{Path, PathBuf};
use trueline_model::OptLevel;
use trueline_toolchain::{Exit, Job, Limits, Outcome, Scratch, Tool, find_compiler};

/// How files are analysed.
#[derive(Clone, Debug)]
pub struct Options {
    /// The `opt` to watch.
    pub opt: Tool,
    /// The hook library.
    pub hook: PathBuf,
    /// Passes to run instead of what a file asks for, in `opt -passes=` syntax.
    pub passes: Option<String>,
    /// The compiler of C files; `None` for the clang of `opt`'s version.
    pub cc: Option<String>,
    /// The level whose pipeline C files go through.
    pub level: OptLevel,
    /// Further flags for C files.
    pub cflags: Vec<String>,
    /// Limits of each run of `opt`.
    pub limits: Limits,
    /// What the report keeps.
    pub detail: Detail,
    /// Also run `opt` without the hooks and compare what it prints.
    pub compare_output: bool,
}

/// Why nothing can be analysed at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The hook library is not where it should be.
    #[error(
        "the hook library libtrueline_llvm_hook.so was not found next to {near} or in ../lib/trueline; build it with `cargo build -p trueline-llvm-hook` or name it in TRUELINE_HOOK"
    )]
    NoHook {
        /// The executable.
        near: PathBuf,
    },
}

/// Finds the hook library: where `TRUELINE_HOOK` says, next to the executable, in `../lib/trueline`, or in
/// cargo's directories above a test binary.
pub fn find_hook() -> Result<PathBuf, SetupError> {
    const FILE: &str = "libtrueline_llvm_hook.so";
    let executable = std::env::current_exe().unwrap_or_default();
    let mut candidates: Vec<PathBuf> = std::env::var_os("TRUELINE_HOOK").map(PathBuf::from).into_iter().collect();
    let directory = executable.parent().unwrap_or(Path::new("."));
    candidates.push(directory.join("../lib/trueline").join(FILE));
    for above in directory.ancestors().take(3) {
        candidates.push(above.join(FILE));
        candidates.push(above.join("deps").join(FILE));
    }
    // After `cargo install --path` the executable stands elsewhere, and the library where it was built.
    candidates.push(Path::new(env!("TRUELINE_BUILD_DIR")).join("deps").join(FILE));
    let found = candidates.into_iter().find(|c| c.is_file());
    found.and_then(|c| std::fs::canonicalize(c).ok()).ok_or(SetupError::NoHook { near: executable })
}

/// Analyses one module with one pipeline: the entry for callers that already know what to run.
pub fn analyze_module(file: &Path, opt: &Tool, pipeline: &str) -> Result<FileReport, SetupError> {
    let options = Options {
        opt: opt.clone(),
        hook: find_hook()?,
        passes: Some(pipeline.to_owned()),
        cc: None,
        level: OptLevel::O2,
        cflags: Vec::new(),
        limits: Limits::seconds(60),
        detail: Detail::default(),
        compare_output: false,
    };
    Ok(analyze_file(file, &options))
}

/// Analyses one file. What goes wrong with it is in the report; other files can go on.
pub fn analyze_file(file: &Path, options: &Options) -> FileReport {
    let mut report = FileReport::new(file, &format!("{} {}", options.opt.path.display(), options.opt.version));
    let scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(error) => {
            report.problem(ProblemKind::Unreadable, format!("no scratch directory: {error}"));
            return report;
        }
    };
    let Some((module, commands)) = prepare(file, options, &scratch, &mut report) else { return report };
    report.pass = commands.iter().map(OptCommand::pipeline).collect::<Vec<_>>().join(" ; ");
    for command in &commands {
        run_command(&module, command, options, &scratch, &mut report);
    }
    report
}

/// Turns a file into a module with locations and the commands to run on it.
fn prepare(file: &Path, options: &Options, scratch: &Scratch, report: &mut FileReport) -> Option<(PathBuf, Vec<OptCommand>)> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            report.problem(ProblemKind::Unreadable, format!("{} cannot be read: {error}", file.display()));
            return None;
        }
    };
    let given = options.passes.as_ref().map(|p| vec![OptCommand { args: vec![format!("-passes={p}")] }]);
    // clang's levels that `opt` has no name for run the pipelines of these.
    let level = match options.level {
        OptLevel::Og => "O1",
        OptLevel::Ofast => "O3",
        other => other.flag().trim_start_matches('-'),
    };
    let whole = || vec![OptCommand { args: vec![format!("-passes=default<{level}>")] }];
    if file.extension().is_some_and(|e| e == "c") {
        let module = compile(file, options, scratch, report)?;
        return Some((module, given.unwrap_or_else(whole)));
    }
    let text = String::from_utf8_lossy(&bytes);
    let runs = lit::read(&text, file);
    if given.is_none() && runs.present && runs.commands.is_empty() {
        report.problem(ProblemKind::Skipped, format!("{}: {}", file.display(), runs.skipped.join("; ")));
        return None;
    }
    let mut commands = given.unwrap_or_else(|| if runs.present { runs.commands } else { whole() });
    let mut job = options.opt.job();
    // LLVM 14 reads modules with opaque pointers, but only when told to.
    if options.opt.major() == 14 && text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "ptr") {
        let flag = "-opaque-pointers".to_owned();
        job = job.arg(&flag);
        commands.iter_mut().for_each(|command| command.args.push(flag.clone()));
    }
    if text.contains("!llvm.dbg.cu") {
        return Some((file.to_owned(), commands));
    }
    let located = scratch.join("located.bc");
    let debugify = job.args(["-passes=debugify", "-debugify-level=locations", "-o"]).arg(&located).arg(file);
    let outcome = run(debugify, &options.limits, report)?;
    if !outcome.success() {
        failed(&outcome, file, None, report);
        return None;
    }
    Some((located, commands))
}

fn compile(file: &Path, options: &Options, scratch: &Scratch, report: &mut FileReport) -> Option<PathBuf> {
    let name = options.cc.clone().unwrap_or_else(|| format!("clang-{}", options.opt.major()));
    let compiler = match find_compiler(&name) {
        Ok(compiler) => compiler,
        Err(error) => {
            report.problem(ProblemKind::Unobservable, error.to_string());
            return None;
        }
    };
    let module = scratch.join("module.bc");
    // The level decides what the front end emits for the optimizer, which itself is kept from running.
    let level = if options.level == OptLevel::O0 { "-O1" } else { options.level.flag() };
    let job = compiler.job().args(["-g", level, "-w", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"]).args(&options.cflags);
    let outcome = run(job.arg(file).arg("-o").arg(&module), &options.limits, report)?;
    if !outcome.success() {
        failed(&outcome, file, None, report);
        return None;
    }
    Some(module)
}

fn run(job: Job, limits: &Limits, report: &mut FileReport) -> Option<Outcome> {
    match job.limits(limits.clone()).run() {
        Ok(outcome) => Some(outcome),
        Err(error) => {
            report.problem(ProblemKind::Unobservable, error.to_string());
            None
        }
    }
}

fn run_command(module: &Path, command: &OptCommand, options: &Options, scratch: &Scratch, report: &mut FileReport) {
    let events = scratch.join("events");
    trueline_llvm_hook::remove_stream(&events);
    let job = |output: &[&str]| options.opt.job().args(&command.args).args(output).arg(module);
    let output: &[&str] = if options.compare_output { &["-S", "-o", "-"] } else { &["-disable-output"] };
    let watched = job(output).env("LD_PRELOAD", &options.hook).env(trueline_llvm_hook::OUTPUT_VARIABLE, &events);
    let Some(outcome) = run(watched, &options.limits, report) else { return };
    let observation = Observation::read(&trueline_llvm_hook::read_stream(&events));
    if !outcome.success() {
        failed(&outcome, &report.file.clone(), observation.ok().and_then(|o| o.unfinished).as_ref(), report);
        return;
    }
    if options.compare_output
        && let Some(plain) = run(job(output), &options.limits, report)
        && plain.stdout != outcome.stdout
    {
        report.problem(ProblemKind::Disturbed, format!("`opt {}` prints something else with the hooks", command.pipeline()));
    }
    match observation {
        Ok(observation) => report.report.absorb(Report::of(&observation, options.detail)),
        Err(error @ (ObservationError::Silent | ObservationError::Refused(_))) => {
            report.problem(ProblemKind::Unobservable, format!("{}: {error}", options.opt.path.display()));
        }
    }
}

/// Says how a tool failed; with a crash in a pass, which one and what it did last.
fn failed(outcome: &Outcome, file: &Path, unfinished: Option<&PassRun>, report: &mut FileReport) {
    let stderr = outcome.stderr_text();
    let crashed = matches!(outcome.exit, Exit::Signal(_)) || stderr.contains("PLEASE submit a bug report") || stderr.contains("LLVM ERROR");
    let tells = |line: &&str| line.contains("error") || line.contains("ERROR") || line.contains("nknown") || line.contains("Assertion");
    let first = stderr.lines().find(tells).or(stderr.lines().find(|l| !l.contains("PLEASE submit"))).unwrap_or("it printed nothing");
    if outcome.exit == Exit::TimedOut {
        report.problem(ProblemKind::TimedOut, format!("{}: the tool did not finish in time", file.display()));
    } else if crashed {
        let place = unfinished.map_or(String::new(), |run| {
            let last: Vec<String> = run.events.iter().rev().take(5).map(|e| format!("{:?}", e.kind)).collect();
            format!(" in {} on `{}` after {} events (last: {})", run.pass, run.unit, run.events.len(), last.join(", "))
        });
        report.problem(ProblemKind::Crashed, format!("{}: the tool crashed{place}: {first}", file.display()));
    } else {
        report.problem(ProblemKind::Refused, format!("{}: {first}", file.display()));
    }
}
