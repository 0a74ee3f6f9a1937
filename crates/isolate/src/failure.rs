//! What failing means: the compiler crashes, hangs, or makes code that behaves differently from a
//! reference (another level, another compiler). Debug-information failures are judged elsewhere.

use std::time::Duration;
use trueline_model::{Answer, Interesting, OptLevel, Program, SeamError};
use trueline_toolchain::{Compiler, Confinement, Exit, Job, JobError, Limits, Scratch};

/// How a program is compiled.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The compiler that is run.
    pub compiler: Compiler,
    /// The level it is run at.
    pub opt: OptLevel,
    /// Further flags, given before the level so that the level wins.
    pub flags: Vec<String>,
}

impl Setting {
    /// All flags in order.
    pub fn all_flags(&self) -> Vec<String> {
        self.flags.iter().cloned().chain([self.opt.flag().to_owned()]).collect()
    }
}

/// The ways to fail that this crate can tell by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The compiler crashes or ends with an internal error.
    Crash,
    /// The compiler does not come back.
    Hang,
    /// The compiled program behaves differently from the reference.
    WrongCode,
}

/// A failure that was seen.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// The compilation that fails, compiler and level.
    pub failing: Setting,
    /// What it is compared with, for wrong code.
    pub reference: Option<Setting>,
    /// One line that describes it.
    pub message: String,
    /// The levels at which it shows.
    pub levels: Vec<OptLevel>,
    /// What the reference's program does.
    expected: Option<BuildBehaviour>,
    /// How much the program tells about its result.
    pub telling: Telling,
}

/// How much a program tells about what it computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Telling {
    /// Its own output and how it ends.
    Itself,
    /// The numbers that its checks compare too (see the module `widen`).
    Values,
}

/// Why there is nothing to isolate.
#[derive(Debug, thiserror::Error)]
pub enum FailureError {
    /// Nothing fails at any of the levels.
    #[error(
        "{program} does not fail: {compiler} compiles it at {levels} and it behaves the same everywhere; give the failing level with --opt and the options with --cflag"
    )]
    Passes {
        /// The program that was given.
        program: String,
        /// The compiler that was given.
        compiler: String,
        /// The levels that were tried.
        levels: String,
    },
    /// It fails everywhere, so it is the program that is wrong.
    #[error("{program} fails at every level and on every compiler ({detail}): a bug of the program, not of {compiler}")]
    FailsEverywhere {
        /// The program that was given.
        program: String,
        /// The compiler that was given.
        compiler: String,
        /// What happens at every level.
        detail: String,
    },
    /// No compiler accepts it.
    #[error("{compiler} does not compile {program}:\n{message}")]
    Refused {
        /// The program that does not compile.
        program: String,
        /// The compiler that refuses it.
        compiler: String,
        /// The compiler's diagnostics, as it prints them.
        message: String,
    },
    /// It could not be tried.
    #[error("{0}")]
    Seam(#[from] SeamError),
}

/// What became of a compilation and, if there is a `main`, of the run after it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BuildBehaviour {
    Crashed(String),
    Hung,
    Refused(String),
    Compiled,
    Ran { exit: Exit, stdout: Vec<u8> },
}

impl BuildBehaviour {
    fn describe(&self) -> String {
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
const RUN_SECONDS: u64 = 1;
const SHORT_RUN: Duration = Duration::from_millis(150);

fn limits(cpu: u64) -> Limits {
    // Under load the wall clock runs ahead of the CPU clock; it is there for what sleeps.
    Limits { cpu: Duration::from_secs(cpu), wall: Duration::from_secs(cpu * 15), ..Limits::default() }
}

fn has_main(source: &str) -> bool {
    let span = trueline_ctree::Span::new(0, source.len());
    let words: Vec<&str> = trueline_ctree::tokens(source, span).map(|t| t.text).collect();
    words.windows(2).any(|pair| pair == ["main", "("])
}

fn observe(program: &Program, setting: &Setting, link: bool) -> Result<BuildBehaviour, SeamError> {
    observe_within(program, setting, link, Duration::from_secs(RUN_SECONDS)).map(|(behaviour, _)| behaviour)
}

/// The same with a limit for the compiled program's run, and the CPU time that this took.
fn observe_within(program: &Program, setting: &Setting, link: bool, run_limit: Duration) -> Result<(BuildBehaviour, Duration), SeamError> {
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
    if !link {
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
    if !link {
        return Ok((BuildBehaviour::Compiled, none));
    }
    let limits = Limits { output: 1 << 20, cpu: run_limit, ..limits(RUN_SECONDS) };
    let run =
        Job::new(scratch.join("out")).inside(scratch.path()).limits(limits).confine(Confinement::closed()).run().map_err(|e| failed(&e))?;
    Ok((BuildBehaviour::Ran { exit: run.exit, stdout: run.stdout }, run.cpu))
}

/// Finds how a program fails with a compiler: at the levels given, against `other` where levels agree.
pub fn diagnose(
    program: &Program,
    compiler: &Compiler,
    levels: &[OptLevel],
    flags: &[String],
    other: Option<&Compiler>,
) -> Result<Failure, FailureError> {
    let link = has_main(&program.source);
    let setting = |compiler: &Compiler, opt| Setting { compiler: compiler.clone(), opt, flags: flags.to_vec() };
    let mut all: Vec<OptLevel> = levels.to_vec();
    if !all.contains(&OptLevel::O0) {
        all.push(OptLevel::O0);
    }
    let seen: Vec<(OptLevel, BuildBehaviour)> =
        all.iter().map(|&opt| Ok((opt, observe(program, &setting(compiler, opt), link)?))).collect::<Result<_, SeamError>>()?;
    let asked = |opt: &OptLevel| levels.contains(opt);
    let name = || program.name.clone();
    if let Some((_, BuildBehaviour::Refused(message))) = seen.iter().find(|(_, b)| matches!(b, BuildBehaviour::Refused(_))) {
        return Err(FailureError::Refused { program: name(), compiler: compiler.id.to_string(), message: message.clone() });
    }
    let second = match other {
        Some(other) => Some((other, observe(program, &Setting { flags: Vec::new(), ..setting(other, OptLevel::O0) }, link)?)),
        None => None,
    };
    for (kind, is) in [(FailureKind::Crash, is_crash as fn(&BuildBehaviour) -> bool), (FailureKind::Hang, is_hang)] {
        let levels: Vec<OptLevel> = seen.iter().filter(|(opt, b)| asked(opt) && is(b)).map(|(opt, _)| *opt).collect();
        let Some(&first) = levels.first() else { continue };
        let message = seen.iter().find(|(opt, _)| *opt == first).map(|(_, b)| b.describe()).unwrap_or_default();
        if seen.iter().all(|(_, b)| is(b)) && second.as_ref().is_some_and(|(_, b)| is(b)) {
            return Err(FailureError::FailsEverywhere { program: name(), compiler: compiler.id.to_string(), detail: message });
        }
        return Ok(Failure {
            kind,
            failing: setting(compiler, first),
            reference: None,
            message,
            levels,
            expected: None,
            telling: Telling::Itself,
        });
    }
    // Wrong code: -O0 is right unless the other compiler and some other level agree against it.
    let behaviour_of = |opt: OptLevel| seen.iter().find(|(o, _)| *o == opt).map(|(_, b)| b);
    let zero = behaviour_of(OptLevel::O0).expect("always tried");
    let against_zero = second.as_ref().is_some_and(|(_, b)| b != zero && seen.iter().any(|(_, other)| other == b));
    let expected = match &second {
        Some((_, b)) if against_zero => b.clone(),
        _ => zero.clone(),
    };
    let wrong: Vec<OptLevel> = seen.iter().filter(|(opt, b)| asked(opt) && *b != expected).map(|(opt, _)| *opt).collect();
    let failing_levels = wrong.clone();
    let describe = |level: OptLevel, reference: &str| {
        let got = behaviour_of(level).map(BuildBehaviour::describe).unwrap_or_default();
        format!("at {level} {got}; {reference} {}", expected.describe())
    };
    if let Some(&first) = wrong.first() {
        let reference = match &second {
            Some((other, _)) if against_zero => Setting { flags: Vec::new(), ..setting(other, OptLevel::O0) },
            _ => setting(compiler, OptLevel::O0),
        };
        let message = describe(first, &format!("with {} {}", reference.compiler.id, reference.opt));
        let failing = setting(compiler, first);
        return Ok(Failure {
            kind: FailureKind::WrongCode,
            failing,
            reference: Some(reference),
            message,
            levels: failing_levels,
            expected: Some(expected),
            telling: Telling::Itself,
        });
    }
    // All levels agree; the other compiler may not.
    match second {
        Some((other, b)) if b != *zero && matches!(b, BuildBehaviour::Ran { .. }) => {
            let first = levels.first().copied().unwrap_or(OptLevel::O2);
            let message = format!("{}; with {} {}", zero.describe(), other.id, b.describe());
            let reference = Setting { flags: Vec::new(), ..setting(other, OptLevel::O0) };
            let failing = setting(compiler, first);
            Ok(Failure {
                kind: FailureKind::WrongCode,
                failing,
                reference: Some(reference),
                message,
                levels: levels.to_vec(),
                expected: Some(b),
                telling: Telling::Itself,
            })
        }
        Some((_, BuildBehaviour::Ran { exit: Exit::Signal(_), .. })) => {
            Err(FailureError::FailsEverywhere { program: name(), compiler: compiler.id.to_string(), detail: zero.describe() })
        }
        _ => {
            let levels = levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            Err(FailureError::Passes { program: name(), compiler: compiler.id.to_string(), levels })
        }
    }
}

/// Signals by which checks end a program.
mod libc_signal {
    pub const ILL: i32 = 4;
    pub const TRAP: i32 = 5;
    pub const ABRT: i32 = 6;
}

/// [`diagnose`], and for wrong code the program that tells most about it: the one whose checks print what they
/// compare, if it fails in the same place.
pub fn diagnose_telling(
    program: &Program,
    compiler: &Compiler,
    levels: &[OptLevel],
    flags: &[String],
    other: Option<&Compiler>,
) -> Result<(Failure, Program), FailureError> {
    let failure = diagnose(program, compiler, levels, flags, other)?;
    if failure.kind != FailureKind::WrongCode {
        return Ok((failure, program.clone()));
    }
    // What cannot be parsed here cannot be widened; that is no reason not to isolate.
    let Ok(Some(wide)) = crate::widen::widen(program) else { return Ok((failure, program.clone())) };
    match diagnose(&wide, compiler, &[failure.failing.opt], flags, other) {
        Ok(same) if same.kind == FailureKind::WrongCode => {
            let failure = Failure { telling: Telling::Values, levels: failure.levels, message: failure.message, ..same };
            Ok((failure, wide))
        }
        _ => Ok((failure, program.clone())),
    }
}

fn is_crash(behaviour: &BuildBehaviour) -> bool {
    matches!(behaviour, BuildBehaviour::Crashed(_))
}

fn is_hang(behaviour: &BuildBehaviour) -> bool {
    *behaviour == BuildBehaviour::Hung
}

/// Judges mutants by a failure: `Yes` they fail the same way, `No` they pass.
#[derive(Debug)]
pub struct FailureJudge {
    failure: Failure,
}

impl FailureJudge {
    /// A judge for a failure.
    pub fn new(failure: Failure) -> Self {
        Self { failure }
    }

    /// Judges a program compiled with further flags.
    pub fn judge_with(&self, program: &Program, extra: &[String]) -> Result<Answer, SeamError> {
        let link = has_main(&program.source);
        let mut setting = self.failure.failing.clone();
        setting.flags.extend_from_slice(extra);
        match self.failure.kind {
            FailureKind::Crash | FailureKind::Hang => {
                let behaviour = observe(program, &setting, false)?;
                Ok(match (self.failure.kind, behaviour) {
                    (FailureKind::Crash, BuildBehaviour::Crashed(_)) | (FailureKind::Hang, BuildBehaviour::Hung) => Answer::Yes,
                    (_, BuildBehaviour::Compiled) => Answer::No,
                    _ => Answer::Unjudged,
                })
            }
            FailureKind::WrongCode => {
                let Some(reference) = &self.failure.reference else { return Ok(Answer::Unjudged) };
                let (expected, took) = match extra.is_empty() {
                    // The reference first: a mutant that ends differently there (aborts, mostly) says nothing.
                    true => observe_within(program, reference, link, Duration::from_secs(RUN_SECONDS))?,
                    false => (self.failure.expected.clone().unwrap_or(BuildBehaviour::Compiled), Duration::ZERO),
                };
                if !self.ends_as_expected(&expected) {
                    return Ok(Answer::Unjudged);
                }
                // What the reference does at once the failing program need not be given seconds for.
                let patience = (took * 10).clamp(SHORT_RUN, Duration::from_secs(RUN_SECONDS));
                let (behaviour, _) = observe_within(program, &setting, link, patience)?;
                Ok(match &behaviour {
                    BuildBehaviour::Ran { .. } if behaviour == expected => Answer::No,
                    BuildBehaviour::Ran { .. } => Answer::Yes,
                    _ => Answer::Unjudged,
                })
            }
        }
    }

    /// The levels, the failing ones apart, at which the program passes.
    pub fn passing_levels(&self, program: &Program) -> Result<Vec<OptLevel>, SeamError> {
        let candidates = [OptLevel::O0, OptLevel::Og, OptLevel::O1, OptLevel::Os, OptLevel::O2, OptLevel::O3];
        let mut passing = Vec::new();
        for opt in candidates.into_iter().filter(|opt| !self.failure.levels.contains(opt)) {
            let failing = Setting { opt, ..self.failure.failing.clone() };
            let there = Self { failure: Failure { failing, ..self.failure.clone() } };
            if there.judge_with(program, &[])? == Answer::No {
                passing.push(opt);
            }
        }
        Ok(passing)
    }

    fn ends_as_expected(&self, behaviour: &BuildBehaviour) -> bool {
        match (behaviour, &self.failure.expected) {
            (BuildBehaviour::Ran { exit, .. }, Some(BuildBehaviour::Ran { exit: expected, .. })) => {
                let checked = matches!(exit, Exit::Code(_) | Exit::Signal(libc_signal::ABRT | libc_signal::TRAP | libc_signal::ILL));
                exit == expected || (self.failure.telling == Telling::Values && checked)
            }
            _ => false,
        }
    }
}

impl Interesting for FailureJudge {
    fn judge(&self, candidate: &Program) -> Result<Answer, SeamError> {
        self.judge_with(candidate, &[])
    }
}
