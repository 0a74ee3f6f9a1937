//! How the program fails, and who judges whether a mutant still does.

use super::{Args, FailureChoice};
use crate::fault::patience_for_changes;
use anyhow::bail;
use trueline_check::{CheckOptions, Checker};
use trueline_isolate::{Failure, FailureJudge, FailureKind, Setting, diagnose_telling};
use trueline_model::{Answer, Interesting, Invariant, OptLevel, Program, SeamError};
use trueline_toolchain::{Compiler, Limits, cpu_time, installed_compilers};

/// What is being looked into.
pub struct Case {
    pub kind: &'static str,
    pub message: String,
    pub setting: Setting,
    pub crash: bool,
    pub protect_output: bool,
    pub judge: Box<dyn SwitchJudge>,
    /// The program that is mutated: the one given, or one that tells more about the same failure.
    pub program: Program,
}

/// A judge that can also judge the program under further flags.
pub trait SwitchJudge: Interesting {
    fn judge_flags(&self, program: &Program, extra: &[String]) -> Result<Answer, SeamError>;

    /// The levels at which the program passes.
    fn passing_levels(&self, program: &Program) -> Result<Vec<OptLevel>, SeamError>;
}

impl SwitchJudge for FailureJudge {
    fn judge_flags(&self, program: &Program, extra: &[String]) -> Result<Answer, SeamError> {
        self.judge_with(program, extra)
    }

    fn passing_levels(&self, program: &Program) -> Result<Vec<OptLevel>, SeamError> {
        FailureJudge::passing_levels(self, program)
    }
}

/// Finds out how a program fails.
pub fn find_case(args: &Args, program: &Program, compiler: &Compiler) -> anyhow::Result<Case> {
    // From the level that runs the least of the compiler to the one that runs the most.
    let usual = [OptLevel::O1, OptLevel::Og, OptLevel::Os, OptLevel::O2, OptLevel::O3, OptLevel::O0];
    let levels: Vec<OptLevel> = if args.opt.is_empty() { usual.to_vec() } else { args.opt.clone() };
    if args.failure == FailureChoice::DebugInfo {
        return debug_case(args, program, compiler, &levels);
    }
    let other =
        installed_compilers().into_iter().rev().find(|c| c.id.kind != compiler.id.kind && c.id.kind != trueline_model::CompilerKind::Rustc);
    match diagnose_telling(program, compiler, &levels, &args.cflags, other.as_ref()) {
        Ok((failure, program)) => Ok(program_case(failure, program)),
        Err(passes @ trueline_isolate::FailureError::Passes { .. }) => {
            debug_case(args, program, compiler, &levels).map_err(|debug| anyhow::anyhow!("{passes}\nand its debug information: {debug:#}"))
        }
        Err(error) => Err(error.into()),
    }
}

fn program_case(failure: Failure, program: Program) -> Case {
    let kind = match failure.kind {
        FailureKind::Crash => "crash",
        FailureKind::Hang => "hang",
        FailureKind::WrongCode => "wrong-code",
    };
    Case {
        kind,
        message: failure.message.clone(),
        setting: failure.failing.clone(),
        crash: failure.kind == FailureKind::Crash,
        protect_output: failure.kind == FailureKind::WrongCode,
        judge: Box::new(FailureJudge::new(failure)),
        program,
    }
}

/// Judges by `trueline check`: still failing means that some violation of the same kind remains.
struct DebugJudge {
    checker: Checker,
    setting: Setting,
    invariant: Invariant,
}

impl DebugJudge {
    fn violations(&self, program: &Program, extra: &[String]) -> Result<Option<Vec<Invariant>>, SeamError> {
        let compiler = &self.setting.compiler;
        // A mutant that does not compile, or does not end, says nothing.
        let Ok(reference) = self.checker.reference(program, compiler) else { return Ok(None) };
        let flags: Vec<String> = extra.to_vec();
        match self.checker.check(program, &reference, compiler, self.setting.opt, &flags) {
            Ok(run) => Ok(Some(run.violations.iter().map(|v| v.invariant).collect())),
            Err(_) => Ok(None),
        }
    }
}

impl Interesting for DebugJudge {
    fn judge(&self, candidate: &Program) -> Result<Answer, SeamError> {
        self.judge_flags(candidate, &[])
    }
}

impl SwitchJudge for DebugJudge {
    fn judge_flags(&self, program: &Program, extra: &[String]) -> Result<Answer, SeamError> {
        Ok(match self.violations(program, extra)? {
            None => Answer::Unjudged,
            Some(found) if found.contains(&self.invariant) => Answer::Yes,
            Some(_) => Answer::No,
        })
    }

    fn passing_levels(&self, _: &Program) -> Result<Vec<OptLevel>, SeamError> {
        // The reference has its own debug information to make: it shares too little with any other level.
        Ok(Vec::new())
    }
}

fn debug_case(args: &Args, program: &Program, compiler: &Compiler, levels: &[OptLevel]) -> anyhow::Result<Case> {
    let options = CheckOptions {
        cflags: args.cflags.clone(),
        invariants: Invariant::ALL.into_iter().filter(|i| *i != Invariant::Codegen).collect(),
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
            flags.extend(args.cflags.iter().cloned());
            let setting = Setting { compiler: compiler.clone(), opt, flags };
            let message = format!("{} violation at {}:{} ({opt})", violation.invariant, program.name, violation.line);
            let judge = DebugJudge { checker: for_mutants, setting: setting.clone(), invariant: violation.invariant };
            return Ok(Case {
                kind: "debug-info",
                message,
                setting,
                crash: false,
                protect_output: false,
                judge: Box::new(judge),
                program: program.clone(),
            });
        }
    }
    bail!("no invariant is broken at {}", levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}
