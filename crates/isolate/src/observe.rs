//! One program under one setting: what becomes of the compilation and of the run after it.

use std::time::Duration;
use trueline_model::{OptLevel, Program, SeamError};
use trueline_toolchain::{Compiler, Confinement, Exit, Job, JobError, Limits, Scratch};

/// How a program is compiled.
#[derive(Clone, Debug)]
pub struct ProgramSetting {
    /// The compiler that is run.
    pub compiler: Compiler,
    /// The level it is run at.
    pub opt: OptLevel,
    /// Further flags, given before the level so that the level wins.
    pub flags: Vec<String>,
}

impl ProgramSetting {
    /// All flags in order.
    pub fn all_flags(&self) -> Vec<String> {
        self.flags.iter().cloned().chain([self.opt.flag().to_owned()]).collect()
    }
}

/// How far a program is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramExtent {
    /// It is compiled and no more: it has no `main`, or does not link alone.
    Compiled,
    /// It is linked and run.
    Run,
}

/// What became of a compilation and, if the program runs, of the run after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BuildBehaviour {
    Crashed(String),
    Hung,
    Refused(String),
    Compiled,
    Ran { exit: Exit, stdout: Vec<u8> },
}

impl BuildBehaviour {
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Crashed(message) => message.clone(),
            Self::Hung => "the compiler does not finish".to_owned(),
            Self::Refused(_) => "it does not compile".to_owned(),
            Self::Compiled => "it compiles".to_owned(),
            Self::Ran { exit, .. } => format!("the program ends with {exit:?}"),
        }
    }
}

/// Compilations of small programs take tens of milliseconds; what takes two seconds of CPU hangs.
const COMPILE_SECONDS: u64 = 2;
pub(crate) const RUN_SECONDS: u64 = 1;
pub(crate) const SHORT_RUN: Duration = Duration::from_millis(150);

fn limits(cpu: u64) -> Limits {
    // Under load the wall clock runs ahead of the CPU clock; it is there for what sleeps.
    Limits { cpu: Duration::from_secs(cpu), wall: Duration::from_secs(cpu * 15), ..Limits::default() }
}

pub(crate) fn has_main(source: &str) -> bool {
    let span = trueline_ctree::Span::new(0, source.len());
    let words: Vec<&str> = trueline_ctree::tokens(source, span).map(|t| t.text).collect();
    words.windows(2).any(|pair| pair == ["main", "("])
}

pub(crate) fn observe(program: &Program, setting: &ProgramSetting, extent: ProgramExtent) -> Result<BuildBehaviour, SeamError> {
    observe_within(program, setting, extent, Duration::from_secs(RUN_SECONDS)).map(|(behaviour, _)| behaviour)
}

/// How far a program can be taken. One that does not link (its other files are not here) is compiled only; so is one that no
/// compilation here tells about, since what a compiler crashes on need not link.
pub(crate) fn extent_of(program: &Program, setting: &ProgramSetting) -> Result<ProgramExtent, SeamError> {
    if !has_main(&program.source) {
        return Ok(ProgramExtent::Compiled);
    }
    let refused = matches!(observe(program, setting, ProgramExtent::Run)?, BuildBehaviour::Refused(_));
    Ok(if refused { ProgramExtent::Compiled } else { ProgramExtent::Run })
}

/// [`observe`] with a limit for the compiled program's run, and the CPU time that this took.
pub(crate) fn observe_within(
    program: &Program,
    setting: &ProgramSetting,
    extent: ProgramExtent,
    run_limit: Duration,
) -> Result<(BuildBehaviour, Duration), SeamError> {
    let none = Duration::ZERO;
    let failed = |e: &dyn std::fmt::Display| SeamError(e.to_string());
    let scratch = Scratch::new().map_err(|e| failed(&e))?;
    scratch.write("program.c", &program.source).map_err(|e| failed(&e))?;
    let mut job: Job = setting.compiler.job().args(&program.cflags).args(setting.all_flags()).arg("program.c").args(["-o", "out"]);
    if setting.compiler.id.kind == trueline_model::CompilerKind::Gcc {
        job = job.arg("-fno-report-bug");
    }
    if setting.compiler.id.kind == trueline_model::CompilerKind::Clang {
        job = job.arg("-fno-crash-diagnostics");
    }
    if extent == ProgramExtent::Compiled {
        // gcc's assembler is a program of its own, with no part in the failure.
        job = job.arg(if setting.compiler.id.kind == trueline_model::CompilerKind::Gcc { "-S" } else { "-c" });
    }
    let outcome = job.inside(scratch.path()).limits(limits(COMPILE_SECONDS)).run().map_err(|e: JobError| failed(&e))?;
    let stderr = outcome.stderr_text();
    // The signal of the limit makes clang print a stack as if it had crashed: the CPU time used tells it from a crash.
    let spent = outcome.cpu >= Duration::from_secs(COMPILE_SECONDS).mul_f64(0.95);
    if outcome.exit == Exit::TimedOut || (!outcome.success() && (spent || stderr.contains("CPU time limit exceeded"))) {
        return Ok((BuildBehaviour::Hung, none));
    }
    if let Some(reason) = trueline_toolchain::starvation(&stderr, outcome.exit) {
        return Err(SeamError(reason));
    }
    if let Some(message) = trueline_toolchain::crash_message(&stderr, outcome.exit) {
        return Ok((BuildBehaviour::Crashed(message), none));
    }
    if !outcome.success() {
        return Ok((BuildBehaviour::Refused(stderr.lines().take(6).collect::<Vec<_>>().join("\n")), none));
    }
    if extent == ProgramExtent::Compiled {
        return Ok((BuildBehaviour::Compiled, none));
    }
    let limits = Limits { output: 1 << 20, cpu: run_limit, ..limits(RUN_SECONDS) };
    let run =
        Job::new(scratch.join("out")).inside(scratch.path()).limits(limits).confine(Confinement::closed()).run().map_err(|e| failed(&e))?;
    Ok((BuildBehaviour::Ran { exit: run.exit, stdout: run.stdout }, run.cpu))
}
