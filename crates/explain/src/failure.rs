//! How the program fails, and who judges whether a mutant still does.

use crate::error::ExplainError;
use crate::judge::patience_for_changes;
use trueline_check::{CheckOptions, Checker};
use trueline_generate::Filter;
use trueline_isolate::{FailureError, FailureJudge, FailureKind, ProgramSetting, SeenFailure, diagnose_telling};
use trueline_model::{Interesting, Invariant, OptLevel, Program, SeamError, StillShows, Validity, Violation};
use trueline_toolchain::{Compiler, Limits, cpu_time, installed_compilers};

/// What is being looked into.
pub struct FailingCase {
    /// `crash`, `hang`, `wrong-code` or `debug-info`.
    pub kind: &'static str,
    /// One line for people.
    pub message: String,
    /// How it is built to fail.
    pub setting: ProgramSetting,
    /// Whether the compiler crashes.
    pub crash: bool,
    /// Whether mutations must leave alone what is printed.
    pub protect_output: bool,
    /// Says whether a mutant still fails.
    pub judge: Box<dyn SwitchJudge>,
    /// The program that is mutated: the one given, or one that tells more about the same failure.
    pub program: Program,
    /// Who says whether a witness is a valid program.
    pub soundness: Soundness,
}

/// Whether undefined behaviour can make a witness pass, and who would see it.
pub enum Soundness {
    /// It cannot: what the compiler does is the failure, and it may not crash on anything.
    Irrelevant,
    /// Sanitizers judge every witness.
    Sanitized(Box<dyn Validity>),
    /// The failing program itself is refused, for this reason: its mutants would be, too.
    Unclean(String),
}

impl Soundness {
    /// That of a failure which shows when the program runs.
    fn of_run(program: &Program) -> Result<Self, SeamError> {
        let filter = Filter::find().quick();
        Ok(match filter.reject(program)? {
            None => Self::Sanitized(Box::new(filter)),
            Some(reason) => Self::Unclean(reason),
        })
    }

    /// Who judges witnesses.
    pub fn validity(&self) -> Option<&dyn Validity> {
        match self {
            Self::Sanitized(validity) => Some(&**validity),
            Self::Irrelevant | Self::Unclean(_) => None,
        }
    }
}

/// A judge that can also judge the program under further flags.
pub trait SwitchJudge: Interesting {
    /// Judges a program that is compiled with these flags, too.
    fn judge_flags(&self, program: &Program, extra: &[String]) -> Result<StillShows, SeamError>;

    /// The levels at which the program passes.
    fn passing_levels(&self, program: &Program) -> Result<Vec<OptLevel>, SeamError>;

    /// Whether another program, which has nothing to do with the failure, compiles and passes.
    fn passes(&self, program: &Program) -> Result<bool, SeamError>;
}

impl SwitchJudge for FailureJudge {
    fn judge_flags(&self, program: &Program, extra: &[String]) -> Result<StillShows, SeamError> {
        self.judge_with(program, extra)
    }

    fn passing_levels(&self, program: &Program) -> Result<Vec<OptLevel>, SeamError> {
        FailureJudge::passing_levels(self, program)
    }

    fn passes(&self, program: &Program) -> Result<bool, SeamError> {
        FailureJudge::passes(self, program)
    }
}

/// Which failures are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureScope {
    /// Crash, hang or wrong code; debug information when there is none of these.
    Any,
    /// A debug-information invariant.
    DebugInfo,
}

/// Where a failure is looked for.
#[derive(Clone, Debug)]
pub struct FailureSearch<'a> {
    /// The levels to try; none for every level.
    pub levels: &'a [OptLevel],
    /// Flags for every compilation of the program.
    pub cflags: &'a [String],
    /// Which failures count.
    pub scope: FailureScope,
}

/// Finds out how a program fails.
pub fn find_case(search: &FailureSearch<'_>, program: &Program, compiler: &Compiler) -> Result<FailingCase, ExplainError> {
    // From the level that runs the least of the compiler to the one that runs the most.
    let usual = [OptLevel::O1, OptLevel::Og, OptLevel::Os, OptLevel::O2, OptLevel::O3, OptLevel::O0];
    let levels: Vec<OptLevel> = if search.levels.is_empty() { usual.to_vec() } else { search.levels.to_vec() };
    if search.scope == FailureScope::DebugInfo {
        return debug_case(search, program, compiler, &levels);
    }
    let other =
        installed_compilers().into_iter().rev().find(|c| c.id.kind != compiler.id.kind && c.id.kind != trueline_model::CompilerKind::Rustc);
    match diagnose_telling(program, compiler, &levels, search.cflags, other.as_ref()) {
        Ok((failure, program)) => Ok(program_case(failure, program)?),
        Err(passes @ FailureError::Passes { .. }) => {
            debug_case(search, program, compiler, &levels).map_err(|debug| ExplainError::NothingFails { passes, debug: Box::new(debug) })
        }
        Err(error) => Err(error.into()),
    }
}

fn program_case(failure: SeenFailure, program: Program) -> Result<FailingCase, ExplainError> {
    let soundness = if failure.kind == FailureKind::WrongCode { Soundness::of_run(&program)? } else { Soundness::Irrelevant };
    let kind = match failure.kind {
        FailureKind::Crash => "crash",
        FailureKind::Hang => "hang",
        FailureKind::WrongCode => "wrong-code",
    };
    Ok(FailingCase {
        kind,
        message: failure.message.clone(),
        setting: failure.failing.clone(),
        crash: failure.kind == FailureKind::Crash,
        protect_output: failure.kind == FailureKind::WrongCode,
        judge: Box::new(FailureJudge::new(failure)),
        program,
        soundness,
    })
}

/// Judges by `trueline check`: still failing means that some violation of the same kind remains.
struct DebugJudge {
    checker: Checker,
    setting: ProgramSetting,
    invariant: Invariant,
}

impl DebugJudge {
    fn violations(&self, program: &Program, extra: &[String]) -> Result<Option<Vec<Invariant>>, SeamError> {
        let compiler = &self.setting.compiler;
        // A mutant that does not compile, or does not end, says nothing.
        let Ok(reference) = self.checker.reference(program, compiler) else { return Ok(None) };
        let flags: Vec<String> = extra.to_vec();
        match self.checker.check(program, &reference, compiler, self.setting.opt, &flags) {
            Ok(run) => Ok(Some(run.violations.iter().map(Violation::invariant).collect())),
            Err(_) => Ok(None),
        }
    }
}

impl Interesting for DebugJudge {
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        self.judge_flags(candidate, &[])
    }
}

impl SwitchJudge for DebugJudge {
    fn judge_flags(&self, program: &Program, extra: &[String]) -> Result<StillShows, SeamError> {
        Ok(match self.violations(program, extra)? {
            None => StillShows::Unjudged,
            Some(found) if found.contains(&self.invariant) => StillShows::Yes,
            Some(_) => StillShows::No,
        })
    }

    fn passing_levels(&self, _: &Program) -> Result<Vec<OptLevel>, SeamError> {
        // The reference has its own debug information to make: it shares too little with any other level.
        Ok(Vec::new())
    }

    fn passes(&self, program: &Program) -> Result<bool, SeamError> {
        Ok(self.judge_flags(program, &[])? == StillShows::No)
    }
}

fn debug_case(
    search: &FailureSearch<'_>,
    program: &Program,
    compiler: &Compiler,
    levels: &[OptLevel],
) -> Result<FailingCase, ExplainError> {
    let options = CheckOptions {
        cflags: search.cflags.to_vec(),
        invariants: Invariant::usual().filter(|i| *i != Invariant::Codegen).collect(),
        ..CheckOptions::default()
    };
    let checker = Checker::new(options.clone())?;
    let started = cpu_time();
    let reference = checker.reference(program, compiler)?;
    let cpu = patience_for_changes(cpu_time() - started, options.limits.cpu);
    let for_mutants = Checker::new(CheckOptions { limits: Limits { cpu, ..options.limits.clone() }, ..options })?;
    // -O0 is the reference here, so it cannot be what fails.
    for &opt in levels.iter().filter(|opt| **opt != OptLevel::O0) {
        let run = checker.check(program, &reference, compiler, opt, &[])?;
        if let Some(violation) = run.violations.first() {
            let mut flags = vec!["-g".to_owned()];
            flags.extend(search.cflags.iter().cloned());
            let setting = ProgramSetting { compiler: compiler.clone(), opt, flags };
            let message = format!("{} violation at {}:{} ({opt})", violation.invariant(), program.name, violation.line);
            let judge = DebugJudge { checker: for_mutants, setting: setting.clone(), invariant: violation.invariant() };
            return Ok(FailingCase {
                kind: "debug-info",
                message,
                setting,
                crash: false,
                protect_output: false,
                judge: Box::new(judge),
                program: program.clone(),
                soundness: Soundness::of_run(program)?,
            });
        }
    }
    Err(ExplainError::NoViolation { levels: levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ") })
}
