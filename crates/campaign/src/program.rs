//! One program with all its units: reference once per compiler, then each level.

mod endings;

use crate::class::class_of;
use crate::cost::Costs;
use crate::event::{Event, FoundEvent};
use crate::judged::{Harvest, JudgedBuild, finding_of};
use crate::plan::{Oracle, SeedBehaviour, Validation};
use crate::run::Campaign;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use trueline_check::{BuildCost, CheckError, CheckRun, Reference};
use trueline_explain::{FindingCase, ProgramReaders};
use trueline_model::{Fault, OptLevel, Program};
use trueline_store::{BuildRecord, FindingEvidence, NewFinding, PlannedUnit, ProgramKey, StoreError, UnitResult};
use trueline_toolchain::{BuildError, Compiler};

/// A program under test and where it comes from.
#[derive(Clone, Copy)]
pub(crate) struct Specimen<'p> {
    /// What the database knows it by.
    pub key: &'p ProgramKey,
    /// The text that is compiled.
    pub program: &'p Program,
    /// What it was mutated from; itself when it was not.
    pub original: &'p Program,
    /// What its seed does, when it is a variant.
    pub expected: Option<&'p SeedBehaviour>,
}

/// What is made once for all levels of a compiler.
pub(crate) struct Trial<'t> {
    pub compiler: &'t Compiler,
    pub reference: &'t Reference,
    pub readers: ProgramReaders<'t>,
    /// The -O0 build as pages show it, when one does.
    pub record: OnceCell<BuildRecord>,
    /// The builds judged so far.
    pub judged: RefCell<Vec<Rc<JudgedBuild>>>,
    /// The part of the reference's cost that each unit carries.
    share: f64,
}

/// A level's build, judged.
struct Attempt {
    run: CheckRun,
    cost: BuildCost,
    /// The earlier build that is the same file.
    twin: Option<Rc<JudgedBuild>>,
}

/// How the work on a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEnd {
    /// All its units are through.
    Done,
    /// It is not valid; nothing of it counts.
    Rejected,
    /// The campaign is to stop; units are left.
    Interrupted,
    /// It is a variant that is not what its seed is.
    BadMutation(MutationFault),
}

/// How a variant differs from its seed at -O0, which is the mutation's fault and no compiler's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutationFault {
    /// It does something else, whoever compiles it.
    Behaviour,
    /// A compiler that takes the seed refuses it; the position of that compiler in the plan.
    Refused(usize),
}

/// What came of one compiler's reference or of one unit.
pub(crate) enum Trouble {
    /// A fault of the compiler: a finding.
    Fault(Box<Fault>),
    /// The program is to blame.
    Reject(String),
    /// It is too long to be traced.
    TooLong(String),
    /// The compiler does not take it: not a fault of anyone.
    Drop(String),
    /// Something broke; try again.
    Fail(String),
}

pub(crate) fn trouble(error: CheckError) -> Trouble {
    if let Some(fault) = error.fault() {
        return Trouble::Fault(Box::new(fault));
    }
    match error {
        CheckError::TooLong { .. } => Trouble::TooLong(error.to_string()),
        CheckError::BadProgram { reason } => Trouble::Reject(format!("the program {reason}")),
        CheckError::Build(BuildError::Refused { message, .. }) => {
            let line = message.lines().find(|l| l.contains("error")).or(message.lines().next()).unwrap_or("");
            Trouble::Drop(format!("does not build alone: {}", line.trim()))
        }
        CheckError::Build(e @ BuildError::NoSuchLevel { .. }) => Trouble::Drop(e.to_string()),
        other => Trouble::Fail(other.to_string()),
    }
}

impl Campaign<'_> {
    /// Does every open unit of a program.
    /// `validated` says whether the family of the program is known to be valid, and learns it.
    pub(crate) fn work_on(&self, specimen: &Specimen<'_>, units: &[PlannedUnit], validated: &mut bool) -> Result<WorkEnd, StoreError> {
        let Specimen { key, program, .. } = *specimen;
        if self.plan.validation == Validation::Every
            && let Some(end) = self.doubt(key, program, units)?
        {
            return Ok(end);
        }
        *validated |= self.plan.validation != Validation::OnFinding || self.trusted;
        if self.plan.oracle == Oracle::WrongCode {
            return self.work_on_code(specimen, units, validated);
        }
        let mut costs = Costs::default();
        for (index, compiler) in self.plan.compilers.iter().enumerate() {
            let mine: Vec<&PlannedUnit> = units.iter().filter(|u| u.compiler == index).collect();
            if mine.is_empty() {
                continue;
            }
            if self.stopping() {
                return Ok(WorkEnd::Interrupted);
            }
            match self.reference(program, compiler) {
                Ok(reference) if self.differs_from_seed(specimen, &reference) => {
                    // At -O0 already: by its code it is found out who is wrong, and nothing is traced against a wrong reference.
                    let mine: Vec<PlannedUnit> = mine.into_iter().cloned().collect();
                    let end = self.work_on_code(specimen, &mine, validated)?;
                    if end != WorkEnd::Done {
                        return Ok(end);
                    }
                }
                Err(Trouble::TooLong(_)) if self.plan.oracle == Oracle::Both => {
                    let mine: Vec<PlannedUnit> = mine.into_iter().cloned().collect();
                    let end = self.work_on_code(specimen, &mine, validated)?;
                    if end != WorkEnd::Done {
                        return Ok(end);
                    }
                }
                Ok(reference) => {
                    costs.add(index, OptLevel::O0, BuildCost { cpu: reference.compile_cpu, max_rss: reference.compile_rss });
                    let trial = Trial {
                        compiler,
                        readers: self.readers.of_program(&reference),
                        reference: &reference,
                        record: OnceCell::new(),
                        judged: RefCell::default(),
                        share: 1.0 / mine.len() as f64,
                    };
                    for unit in mine {
                        if self.stopping() {
                            return Ok(WorkEnd::Interrupted);
                        }
                        let progress = self.do_unit(specimen, &trial, unit, &mut costs, validated)?;
                        if progress != WorkEnd::Done {
                            return Ok(progress);
                        }
                    }
                }
                Err(Trouble::Reject(reason) | Trouble::TooLong(reason)) => {
                    self.reject(key, program, &reason)?;
                    return Ok(WorkEnd::Rejected);
                }
                Err(Trouble::Drop(reason)) => {
                    if self.takes_only_the_seed(specimen, index) {
                        return Ok(WorkEnd::BadMutation(MutationFault::Refused(index)));
                    }
                    self.warn_once(&reason);
                    for unit in mine {
                        self.patiently(|| self.store.drop_unit(unit.id, &reason))?;
                    }
                }
                Err(Trouble::Fail(reason)) => self.give_up(&program.name, mine, &reason)?,
                Err(Trouble::Fault(fault)) => {
                    // Without a reference no level can be judged; the fault itself is what these units found.
                    for (position, unit) in mine.iter().enumerate() {
                        let findings =
                            if position == 0 { vec![self.plain_finding(&fault, program, compiler, OptLevel::O0, "")] } else { Vec::new() };
                        self.finish(program, compiler, unit, UnitResult::default(), findings)?;
                    }
                }
            }
        }
        Ok(WorkEnd::Done)
    }

    pub(crate) fn reference(&self, program: &Program, compiler: &Compiler) -> Result<Reference, Trouble> {
        let first = self.checker.reference(program, compiler).map_err(trouble);
        match first {
            // Once more: a debugger that died need not die again.
            Err(Trouble::Fail(_)) => self.checker.reference(program, compiler).map_err(trouble),
            other => other,
        }
    }

    /// Whether the -O0 build of a variant does something else than its seed.
    fn differs_from_seed(&self, specimen: &Specimen<'_>, reference: &Reference) -> bool {
        self.plan.oracle != Oracle::Debug && specimen.expected.is_some_and(|expected| !expected.is(reference.behaviour()))
    }

    /// Builds one level and judges it, unless the same file was judged before.
    fn attempt(&self, program: &Program, trial: &Trial<'_>, opt: OptLevel) -> Result<Attempt, Trouble> {
        let build = self.checker.build(program, trial.reference, trial.compiler, opt, &[]).map_err(trouble)?;
        let cost = build.cost();
        let twin = trial.judged.borrow().iter().find(|judged| self.checker.is_same_case(&build, &judged.run)).cloned();
        let run = match &twin {
            Some(judged) => build.judged_as(&judged.run),
            None => self.checker.judge_build(trial.reference, build).map_err(trouble)?,
        };
        Ok(Attempt { run, cost, twin })
    }

    fn do_unit(
        &self,
        specimen: &Specimen<'_>,
        trial: &Trial<'_>,
        unit: &PlannedUnit,
        costs: &mut Costs,
        validated: &mut bool,
    ) -> Result<WorkEnd, StoreError> {
        let Specimen { key, program, .. } = *specimen;
        let Trial { compiler, reference, share, .. } = *trial;
        let mut attempt = self.attempt(program, trial, unit.opt);
        if let Err(Trouble::Fail(reason)) = &attempt {
            if !self.fail(&program.name, unit, reason)? {
                return Ok(WorkEnd::Done);
            }
            attempt = self.attempt(program, trial, unit.opt);
        }
        let is_doubtful = match &attempt {
            Ok(Attempt { run, .. }) => !run.violations.is_empty() && !*validated,
            // Wrong code from a program that is itself wrong is nobody's fault but the program's. A variant is as valid as its
            // seed if our mutation is right, which is not what a complaint about a compiler should rest on.
            Err(Trouble::Fault(fault)) => matches!(**fault, Fault::WrongCode { .. }) && (!*validated || key.mutation > 0),
            Err(Trouble::Reject(_)) => !*validated || key.mutation > 0,
            Err(Trouble::TooLong(_) | Trouble::Drop(_) | Trouble::Fail(_)) => false,
        };
        if is_doubtful {
            if let Some(end) = self.doubt(key, program, std::slice::from_ref(unit))? {
                return Ok(end);
            }
            *validated = true;
        }
        let base = reference.compile_cpu.as_secs_f64() * share;
        let trace_base = reference.trace_cpu.as_secs_f64() * share;
        let (result, harvest) = match attempt {
            Ok(Attempt { run, cost, twin }) => {
                let explosion = self.explosion(program, unit, costs, cost);
                costs.add(unit.compiler, unit.opt, cost);
                let compile_cpu = base + run.compile_cpu.as_secs_f64();
                let result = UnitResult {
                    reference_steps: run.reference_steps,
                    optimized_steps: run.optimized_steps,
                    cpu: compile_cpu + trace_base + run.trace_cpu.as_secs_f64(),
                    compile_cpu,
                };
                let mut harvest = self.findings(specimen, trial, unit.opt, &run, twin);
                harvest.findings.extend(explosion.map(|fault| self.plain_finding(&fault, program, compiler, unit.opt, "")));
                (result, harvest)
            }
            Err(Trouble::Fault(fault)) => {
                let command = reference.commands.first().map_or("", String::as_str);
                let result = UnitResult { cpu: base + trace_base, compile_cpu: base, ..UnitResult::default() };
                let mut finding = self.plain_finding(&fault, program, compiler, unit.opt, command);
                if self.tally.is_first(&finding.class) {
                    finding.evidence.minimal = self.minimal(specimen, compiler, unit.opt, &finding.class);
                }
                (result, vec![finding].into())
            }
            Err(Trouble::Reject(reason)) => {
                // The reference ran well: this build behaves otherwise, which is the compiler's doing.
                let expected = reference.behaviour().summary();
                let fault = Fault::WrongCode { expected, actual: reason };
                let command = reference.commands.first().map_or("", String::as_str);
                (UnitResult::default(), vec![self.plain_finding(&fault, program, compiler, unit.opt, command)].into())
            }
            Err(Trouble::TooLong(reason) | Trouble::Drop(reason)) => {
                self.patiently(|| self.store.drop_unit(unit.id, &reason))?;
                return Ok(WorkEnd::Done);
            }
            Err(Trouble::Fail(reason)) => {
                self.fail(&program.name, unit, &reason)?;
                return Ok(WorkEnd::Done);
            }
        };
        self.finish(program, compiler, unit, result, harvest)?;
        Ok(WorkEnd::Done)
    }

    pub(crate) fn plain_finding(
        &self,
        fault: &Fault,
        program: &Program,
        compiler: &Compiler,
        opt: OptLevel,
        reference: &str,
    ) -> NewFinding {
        let class = class_of(fault, &compiler.id, program);
        let build = |command: String| BuildRecord { command, ..BuildRecord::default() };
        let command = format!("{} {opt} -g {}", compiler.id.path.display(), program.name);
        let evidence = FindingEvidence {
            program: program.clone(),
            reference: build(reference.to_owned()),
            optimized: build(command),
            readers: Vec::new(),
            dwarf: Vec::new(),
            minimal: None,
        };
        NewFinding { finding: finding_of(fault.clone(), compiler, opt, &[]), class, evidence }
    }

    pub(crate) fn finish(
        &self,
        program: &Program,
        compiler: &Compiler,
        unit: &PlannedUnit,
        result: UnitResult,
        harvest: impl Into<Harvest>,
    ) -> Result<(), StoreError> {
        let Harvest { findings, repeats } = harvest.into();
        let ids = self.patiently(|| self.store.finish_unit_with(unit.id, result, &findings, &repeats))?;
        self.count_unit(result);
        for (id, new) in ids.iter().zip(&findings) {
            let is_new_class = self.first_of_class(&new.class);
            if is_new_class {
                let (program, fault) = (new.evidence.program.clone(), new.finding.fault.clone());
                self.ask_for_cause(
                    &new.class,
                    FindingCase { id: Some(*id), program, compiler: compiler.clone(), opt: new.finding.opt, fault },
                );
            }
            self.report(&Event::Found(Box::new(FoundEvent::of(*id, &program.name, new, is_new_class))));
        }
        self.report(&Event::UnitDone {
            program: program.name.clone(),
            compiler: compiler.id.clone(),
            opt: unit.opt,
            steps: result.optimized_steps,
            findings: findings.len(),
            repeated: repeats.values().sum(),
            cpu: result.cpu,
        });
        Ok(())
    }
}
