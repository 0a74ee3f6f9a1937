//! What failing means: the compiler crashes, hangs, or makes code that behaves differently from a
//! reference (another level, another compiler). Debug-information failures are judged elsewhere.

use crate::observe::{BuildBehaviour, ProgramExtent, ProgramSetting, RUN_SECONDS, SHORT_RUN, extent_of, observe, observe_within};
use crate::signature::crash_signature;
use std::time::Duration;
use trueline_model::{Interesting, OptLevel, Program, SeamError, StillShows};
use trueline_toolchain::{Compiler, Exit};

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
pub struct SeenFailure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// The compilation that fails, compiler and level.
    pub failing: ProgramSetting,
    /// What it is compared with, for wrong code.
    pub reference: Option<ProgramSetting>,
    /// One line that describes it.
    pub message: String,
    /// The levels at which it shows.
    pub levels: Vec<OptLevel>,
    /// What the reference's program does.
    expected: Option<BuildBehaviour>,
    /// How much the program tells about its result.
    pub telling: Telling,
    /// How far the program is taken.
    pub extent: ProgramExtent,
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

/// Finds how a program fails with a compiler: at the levels given, against `other` where levels agree.
pub fn diagnose(
    program: &Program,
    compiler: &Compiler,
    levels: &[OptLevel],
    flags: &[String],
    other: Option<&Compiler>,
) -> Result<SeenFailure, FailureError> {
    let setting = |compiler: &Compiler, opt| ProgramSetting { compiler: compiler.clone(), opt, flags: flags.to_vec() };
    let mut all: Vec<OptLevel> = levels.to_vec();
    if !all.contains(&OptLevel::O0) {
        all.push(OptLevel::O0);
    }
    let extent = extent_of(program, &setting(compiler, OptLevel::O0))?;
    let seen: Vec<(OptLevel, BuildBehaviour)> =
        all.iter().map(|&opt| Ok((opt, observe(program, &setting(compiler, opt), extent)?))).collect::<Result<_, SeamError>>()?;
    let asked = |opt: &OptLevel| levels.contains(opt);
    let name = || program.name.clone();
    if let Some((_, BuildBehaviour::Refused(message))) = seen.iter().find(|(_, b)| matches!(b, BuildBehaviour::Refused(_))) {
        return Err(FailureError::Refused { program: name(), compiler: compiler.id.to_string(), message: message.clone() });
    }
    let second = match other {
        Some(other) => Some((other, observe(program, &ProgramSetting { flags: Vec::new(), ..setting(other, OptLevel::O0) }, extent)?)),
        None => None,
    };
    for (kind, is) in [(FailureKind::Crash, is_crash as fn(&BuildBehaviour) -> bool), (FailureKind::Hang, is_hang)] {
        let levels: Vec<OptLevel> = seen.iter().filter(|(opt, b)| asked(opt) && is(b)).map(|(opt, _)| *opt).collect();
        let Some(&first) = levels.first() else { continue };
        let message = seen.iter().find(|(opt, _)| *opt == first).map(|(_, b)| b.describe()).unwrap_or_default();
        if seen.iter().all(|(_, b)| is(b)) && second.as_ref().is_some_and(|(_, b)| is(b)) {
            return Err(FailureError::FailsEverywhere { program: name(), compiler: compiler.id.to_string(), detail: message });
        }
        return Ok(SeenFailure {
            kind,
            failing: setting(compiler, first),
            reference: None,
            message,
            levels,
            expected: None,
            telling: Telling::Itself,
            extent,
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
            Some((other, _)) if against_zero => ProgramSetting { flags: Vec::new(), ..setting(other, OptLevel::O0) },
            _ => setting(compiler, OptLevel::O0),
        };
        let message = describe(first, &format!("with {} {}", reference.compiler.id, reference.opt));
        let failing = setting(compiler, first);
        return Ok(SeenFailure {
            kind: FailureKind::WrongCode,
            failing,
            reference: Some(reference),
            message,
            levels: failing_levels,
            expected: Some(expected),
            telling: Telling::Itself,
            extent,
        });
    }
    // All levels agree; the other compiler may not.
    match second {
        Some((other, b)) if b != *zero && matches!(b, BuildBehaviour::Ran { .. }) => {
            let first = levels.first().copied().unwrap_or(OptLevel::O2);
            let message = format!("{}; with {} {}", zero.describe(), other.id, b.describe());
            let reference = ProgramSetting { flags: Vec::new(), ..setting(other, OptLevel::O0) };
            let failing = setting(compiler, first);
            Ok(SeenFailure {
                kind: FailureKind::WrongCode,
                failing,
                reference: Some(reference),
                message,
                levels: levels.to_vec(),
                expected: Some(b),
                telling: Telling::Itself,
                extent,
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
) -> Result<(SeenFailure, Program), FailureError> {
    let failure = diagnose(program, compiler, levels, flags, other)?;
    if failure.kind != FailureKind::WrongCode {
        return Ok((failure, program.clone()));
    }
    // What cannot be parsed here cannot be widened; that is no reason not to isolate.
    let Ok(Some(wide)) = crate::widen::widen(program) else { return Ok((failure, program.clone())) };
    match diagnose(&wide, compiler, &[failure.failing.opt], flags, other) {
        Ok(same) if same.kind == FailureKind::WrongCode => {
            let failure = SeenFailure { telling: Telling::Values, levels: failure.levels, message: failure.message, ..same };
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
    failure: SeenFailure,
}

impl FailureJudge {
    /// A judge for a failure.
    pub fn new(failure: SeenFailure) -> Self {
        Self { failure }
    }

    /// Judges a program compiled with further flags.
    pub fn judge_with(&self, program: &Program, extra: &[String]) -> Result<StillShows, SeamError> {
        let extent = self.failure.extent;
        let mut setting = self.failure.failing.clone();
        setting.flags.extend_from_slice(extra);
        match self.failure.kind {
            FailureKind::Crash | FailureKind::Hang => {
                let behaviour = observe(program, &setting, ProgramExtent::Compiled)?;
                let here = |message: &str| crash_signature(message) == crash_signature(&self.failure.message);
                Ok(match (self.failure.kind, behaviour) {
                    // A crash somewhere else is another bug: it says nothing about this one.
                    (FailureKind::Crash, BuildBehaviour::Crashed(message)) if here(&message) => StillShows::Yes,
                    (FailureKind::Hang, BuildBehaviour::Hung) => StillShows::Yes,
                    (_, BuildBehaviour::Compiled) => StillShows::No,
                    _ => StillShows::Unjudged,
                })
            }
            FailureKind::WrongCode => {
                let Some(reference) = &self.failure.reference else { return Ok(StillShows::Unjudged) };
                let (expected, took) = match extra.is_empty() {
                    // The reference first: a mutant that ends differently there (aborts, mostly) says nothing.
                    true => observe_within(program, reference, extent, Duration::from_secs(RUN_SECONDS))?,
                    false => (self.failure.expected.clone().unwrap_or(BuildBehaviour::Compiled), Duration::ZERO),
                };
                if !self.ends_as_expected(&expected) {
                    return Ok(StillShows::Unjudged);
                }
                // What the reference does at once the failing program need not be given seconds for.
                let patience = (took * 10).clamp(SHORT_RUN, Duration::from_secs(RUN_SECONDS));
                let (behaviour, _) = observe_within(program, &setting, extent, patience)?;
                Ok(match &behaviour {
                    BuildBehaviour::Ran { .. } if behaviour == expected => StillShows::No,
                    BuildBehaviour::Ran { .. } => StillShows::Yes,
                    _ => StillShows::Unjudged,
                })
            }
        }
    }

    /// The levels, the failing ones apart, at which the program passes.
    pub fn passing_levels(&self, program: &Program) -> Result<Vec<OptLevel>, SeamError> {
        let candidates = [OptLevel::O0, OptLevel::Og, OptLevel::O1, OptLevel::Os, OptLevel::O2, OptLevel::O3];
        let mut passing = Vec::new();
        for opt in candidates.into_iter().filter(|opt| !self.failure.levels.contains(opt)) {
            let failing = ProgramSetting { opt, ..self.failure.failing.clone() };
            let there = Self { failure: SeenFailure { failing, ..self.failure.clone() } };
            if there.judge_with(program, &[])? == StillShows::No {
                passing.push(opt);
            }
        }
        Ok(passing)
    }

    /// Whether another program, one that has nothing to do with the failure, passes under the failing setting: it compiles, and
    /// where code is at fault it runs as the reference runs it.
    pub fn passes(&self, program: &Program) -> Result<bool, SeamError> {
        let failing = &self.failure.failing;
        let Some(reference) = &self.failure.reference else {
            return Ok(observe(program, failing, ProgramExtent::Compiled)? == BuildBehaviour::Compiled);
        };
        if extent_of(program, reference)? == ProgramExtent::Compiled {
            return Ok(false);
        }
        let expected = observe(program, reference, ProgramExtent::Run)?;
        let ended = matches!(expected, BuildBehaviour::Ran { exit: Exit::Code(_), .. });
        Ok(ended && observe(program, failing, ProgramExtent::Run)? == expected)
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
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        self.judge_with(candidate, &[])
    }
}
