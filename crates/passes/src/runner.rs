//! Runs `opt` with the hook library on a file: lit tests by their RUN lines, plain IR by the given passes,
//! C, C++ and Rust files through their compiler and the level's whole pipeline.

use crate::lit::{self, OptCommand};
use crate::observation::{Observation, ObservationError, PassRun};
use crate::report::{Detail, FileReport, ProblemKind, Report, Watch};
use std::path::{Path, PathBuf};
use trueline_model::{Language, OptLevel};
use trueline_toolchain::{Exit, Job, Limits, Outcome, Scratch, Tool, find_compiler};

/// Which half of the compiler is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PassStage {
    /// The passes of `opt`, on IR.
    #[default]
    Optimizer,
    /// Instruction selection and the machine passes behind it.
    CodeGeneration,
}

/// How files are analysed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which half of the compiler is looked at.
    pub stage: PassStage,
    /// The `opt` to watch.
    pub opt: Tool,
    /// The hook library.
    pub hook: PathBuf,
    /// Passes to run instead of what a file asks for, in `opt -passes=` syntax.
    pub passes: Option<String>,
    /// The compiler of source files; `None` for the clang of `opt`'s version, or rustc.
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
        stage: PassStage::Optimizer,
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
    if options.stage == PassStage::CodeGeneration {
        return crate::machine::analyze_codegen(file, options);
    }
    let mut report = FileReport::new(file, &format!("{} {}", options.opt.path.display(), options.opt.version));
    let scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(error) => {
            report.problem(ProblemKind::Unreadable, format!("no scratch directory: {error}"));
            return report;
        }
    };
    let Some(Prepared { modules, commands }) = prepare(file, options, &scratch, &mut report) else { return report };
    report.pass = commands.iter().map(OptCommand::pipeline).collect::<Vec<_>>().join(" ; ");
    for command in &commands {
        for module in &modules {
            run_command(module, command, options, &scratch, &mut report);
        }
    }
    report
}

/// What is to be run.
struct Prepared {
    modules: Vec<Module>,
    commands: Vec<OptCommand>,
}

/// A module, and what of it is judged.
struct Module {
    path: PathBuf,
    watch: Watch,
}

impl Prepared {
    fn one(path: PathBuf, watch: Watch, commands: Vec<OptCommand>) -> Self {
        Self { modules: vec![Module { path, watch }], commands }
    }
}

/// Turns a file into a module with locations and the commands to run on it.
fn prepare(file: &Path, options: &Options, scratch: &Scratch, report: &mut FileReport) -> Option<Prepared> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            report.problem(ProblemKind::Unreadable, format!("{} cannot be read: {error}", file.display()));
            return None;
        }
    };
    let watch = options.detail.watch;
    let given = options.passes.as_ref().map(|p| vec![OptCommand { args: vec![format!("-passes={p}")] }]);
    // clang's levels that `opt` has no name for run the pipelines of these.
    let level = match options.level {
        OptLevel::Og => "O1",
        OptLevel::Ofast => "O3",
        other => other.flag().trim_start_matches('-'),
    };
    let whole = || vec![OptCommand { args: vec![format!("-passes=default<{level}>")] }];
    if let Some(source) = Source::of(file) {
        let module = compile(file, source, options, scratch, report)?;
        return Some(Prepared::one(module, watch, given.unwrap_or_else(whole)));
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
        return Some(Prepared::one(file.to_owned(), watch, commands));
    }
    // Made-up variables keep some passes from what they would do without them, so locations are looked at without.
    let mut modules = Vec::new();
    for (level, part) in [("locations", Watch::Locations), ("location+variables", Watch::Variables)] {
        if watch != Watch::Everything && watch != part {
            continue;
        }
        let path = scratch.join(format!("{level}.bc"));
        let debugify = job.clone().arg("-passes=debugify").arg(format!("-debugify-level={level}")).arg("-o").arg(&path).arg(file);
        let outcome = run(debugify, &options.limits, report)?;
        if outcome.success() {
            modules.push(Module { path, watch: part });
        } else if modules.is_empty() {
            failed(&outcome, file, None, report);
            return None;
        } else {
            // Values of scalable types have no size that a variable could have, and LLVM gives up on them.
            report.report.losses.push("variables of some files: debugify cannot make variables of scalable types".to_owned());
        }
    }
    Some(Prepared { modules, commands })
}

/// A source file that is compiled first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    C,
    Cpp,
    Rust,
}

impl Source {
    fn of(file: &Path) -> Option<Self> {
        Some(match Language::of_path(file)? {
            Language::C => Source::C,
            Language::Cpp => Source::Cpp,
            Language::Rust => Source::Rust,
        })
    }
}

fn compile(file: &Path, source: Source, options: &Options, scratch: &Scratch, report: &mut FileReport) -> Option<PathBuf> {
    let name = options.cc.clone().unwrap_or_else(|| match source {
        Source::Rust => "rustc".to_owned(),
        Source::C | Source::Cpp => format!("clang-{}", options.opt.major()),
    });
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
    let job = match source {
        // The driver of C compiles C++ as well; nothing is linked.
        Source::C | Source::Cpp => compiler.job().args(["-g", level, "-w", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"]),
        Source::Rust => {
            let args =
                ["-g", "-Copt-level=2", "-Ccodegen-units=1", "-Cno-prepopulate-passes", "-Awarnings", "--crate-type=lib", "--emit=llvm-bc"];
            compiler.job().args(args)
        }
    };
    let outcome = run(job.args(&options.cflags).arg(file).arg("-o").arg(&module), &options.limits, report)?;
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

fn run_command(module: &Module, command: &OptCommand, options: &Options, scratch: &Scratch, report: &mut FileReport) {
    let events = scratch.join("events");
    trueline_llvm_hook::remove_stream(&events);
    let job = |output: &[&str]| options.opt.job().args(&command.args).args(output).arg(&module.path);
    let output: &[&str] = if options.compare_output { &["-S", "-o", "-"] } else { &["-disable-output"] };
    let watched = job(output).env("LD_PRELOAD", &options.hook).env(trueline_llvm_hook::OUTPUT_VARIABLE, &events);
    let detail = Detail { watch: module.watch, ..options.detail };
    let watched = if detail.watch.variables() { watched.env(trueline_llvm_hook::VARIABLES_VARIABLE, "1") } else { watched };
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
        Ok(observation) => {
            report.analysed += 1;
            let mut found = Report::of(&observation, detail);
            // A second look at the same passes is not counted again.
            if options.detail.watch == Watch::Everything && module.watch == Watch::Variables {
                found.passes_run = 0;
                found.by_pass.values_mut().for_each(|count| count.runs = 0);
            }
            report.report.absorb(found);
        }
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
