//! Units that are about code alone: compile without debug information, run, compare; nothing is traced, so programs of any length take part.
//!
//! What a program must do is known before an optimizer sees it. A variant must do what its seed does, at every level, -O0 included.
//! A program that is no variant must do what it does at -O0, and all compilers must agree about that. A variant that no compiler's
//! -O0 build runs as its seed is a fault of the mutation and ends the campaign.

use crate::cost::{Costs, effort, least};
use crate::plan::{Oracle, SeedBehaviour};
use crate::program::{MutationFault, Specimen, Trouble, WorkEnd, trouble};
use crate::run::Campaign;
use trueline_check::{Behaviour, BuildCost};
use trueline_model::{Fault, OptLevel, Program};
use trueline_store::{NewFinding, PlannedUnit, StoreError, UnitResult};
use trueline_toolchain::Compiler;

/// The -O0 build of one compiler.
struct Basis {
    /// Position of the compiler in the plan.
    compiler: usize,
    run: Result<Ran, Trouble>,
}

/// A build that ran.
struct Ran {
    behaviour: Behaviour,
    cost: BuildCost,
    command: String,
}

/// What the -O0 builds say about a program.
enum Truth {
    /// It must behave like this.
    Known(Box<Behaviour>),
    /// No build says anything.
    Unknown,
    /// The work ends here.
    End(WorkEnd),
}

/// Builds that a claim about costs rests on.
const COST_REPEATS: usize = 2;

impl Campaign<'_> {
    /// Does units of a program by its code alone.
    pub(crate) fn work_on_code(&self, specimen: &Specimen<'_>, units: &[PlannedUnit], validated: &mut bool) -> Result<WorkEnd, StoreError> {
        let Specimen { key, program, .. } = *specimen;
        let mut mine: Vec<usize> = units.iter().map(|u| u.compiler).collect();
        mine.dedup();
        let mut bases: Vec<Basis> = mine.iter().map(|&compiler| self.basis(program, compiler)).collect();
        let truth = match self.truth(specimen, &mut bases, validated)? {
            Truth::Known(truth) => Some(*truth),
            Truth::Unknown => None,
            Truth::End(end) => return Ok(end),
        };
        let mut costs = Costs::default();
        for Basis { compiler, run } in &bases {
            if let Ok(ran) = run {
                costs.add(*compiler, OptLevel::O0, ran.cost);
            }
        }
        for Basis { compiler: index, run } in bases.into_iter().filter(|basis| mine.contains(&basis.compiler)) {
            let compiler = &self.plan.compilers[index];
            let group: Vec<&PlannedUnit> = units.iter().filter(|u| u.compiler == index).collect();
            // What is wrong at -O0 already is a finding of its own; the levels are judged all the same.
            let mut at_o0 = Vec::new();
            let mut base = BuildCost::default();
            match run {
                Ok(ran) => {
                    base = ran.cost;
                    if let Some(fault) = truth.as_ref().and_then(|truth| difference(truth, &ran.behaviour)) {
                        at_o0.push(self.plain_finding(&fault, program, compiler, OptLevel::O0, &ran.command));
                    }
                }
                Err(Trouble::Fault(fault)) => at_o0.push(self.plain_finding(&fault, program, compiler, OptLevel::O0, "")),
                Err(Trouble::Reject(reason)) => match &truth {
                    Some(truth) => {
                        let fault = Fault::WrongCode { expected: truth.summary(), actual: format!("a program that {reason}") };
                        at_o0.push(self.plain_finding(&fault, program, compiler, OptLevel::O0, ""));
                    }
                    None => {
                        self.reject(key, program, &reason)?;
                        return Ok(WorkEnd::Rejected);
                    }
                },
                Err(Trouble::TooLong(reason) | Trouble::Drop(reason)) => {
                    if self.takes_only_the_seed(specimen, index) {
                        return Ok(WorkEnd::BadMutation(MutationFault::Refused(index)));
                    }
                    self.warn_once(&reason);
                    for unit in group {
                        self.patiently(|| self.store.drop_unit(unit.id, &reason))?;
                    }
                    continue;
                }
                Err(Trouble::Fail(reason)) => {
                    self.give_up(&program.name, group, &reason)?;
                    continue;
                }
            }
            let share = base.cpu.as_secs_f64() / group.len() as f64;
            for unit in group {
                if self.stopping() {
                    return Ok(WorkEnd::Interrupted);
                }
                let findings = std::mem::take(&mut at_o0);
                match self.code_unit(specimen, unit, truth.as_ref(), &mut costs, share, findings, validated)? {
                    WorkEnd::Done => {}
                    end => return Ok(end),
                }
            }
        }
        Ok(WorkEnd::Done)
    }

    fn basis(&self, program: &Program, compiler: usize) -> Basis {
        let attempt = || {
            let build = self.checker.build_plain(program, &self.plan.compilers[compiler], OptLevel::O0)?;
            let behaviour = self.checker.run_plain(program, &build)?;
            Ok(Ran { behaviour, cost: build.cost, command: build.command })
        };
        let first = attempt().map_err(trouble);
        let run = if matches!(first, Err(Trouble::Fail(_))) { attempt().map_err(trouble) } else { first };
        Basis { compiler, run }
    }

    /// What a program must do, by its -O0 builds and, for a variant, by its seed.
    fn truth(&self, specimen: &Specimen<'_>, bases: &mut Vec<Basis>, validated: &mut bool) -> Result<Truth, StoreError> {
        let Specimen { key, program, expected, .. } = *specimen;
        let Some(expected) = expected else {
            let behaviours: Vec<&Behaviour> = bases.iter().filter_map(|b| b.run.as_ref().ok()).map(|ran| &ran.behaviour).collect();
            let Some((&first, others)) = behaviours.split_first() else { return Ok(Truth::Unknown) };
            if others.iter().any(|other| !other.same_as(first)) {
                self.reject(key, program, "what it prints at -O0 depends on the compiler")?;
                return Ok(Truth::End(WorkEnd::Rejected));
            }
            return Ok(Truth::Known(Box::new(first.clone())));
        };
        let right = |bases: &[Basis]| {
            let mut all = bases.iter().filter_map(|b| b.run.as_ref().ok()).map(|ran| &ran.behaviour);
            all.find(|behaviour| expected.is(behaviour)).cloned()
        };
        let ran = |bases: &[Basis]| bases.iter().any(|b| matches!(b.run, Ok(_) | Err(Trouble::Reject(_))));
        let all_right = bases.iter().all(|b| b.run.as_ref().is_ok_and(|ran| expected.is(&ran.behaviour)));
        if all_right && let Some(behaviour) = right(bases) {
            return Ok(Truth::Known(Box::new(behaviour)));
        }
        // Somebody disagrees: everybody is asked.
        let wanted = self.wanted(key);
        for (index, _) in wanted.iter().enumerate().filter(|(_, (_, levels))| !levels.is_empty()) {
            if !bases.iter().any(|b| b.compiler == index) {
                bases.push(self.basis(program, index));
            }
        }
        match right(bases) {
            Some(behaviour) => {
                // A complaint about -O0 rests on the mutation and on the seed: both are looked at by others.
                if !*validated || key.mutation > 0 {
                    if let Some(end) = self.doubt(key, program, &[])? {
                        return Ok(Truth::End(end));
                    }
                    *validated = true;
                }
                Ok(Truth::Known(Box::new(behaviour)))
            }
            None if ran(bases) => self.bad_mutation(specimen).map(Truth::End),
            None => Ok(Truth::Unknown),
        }
    }

    /// No -O0 build does what the seed does. A seed that is invalid itself proves nothing; otherwise our mutation is wrong.
    pub(crate) fn bad_mutation(&self, specimen: &Specimen<'_>) -> Result<WorkEnd, StoreError> {
        if !self.trusted && matches!(self.filter().judge(specimen.original), Ok(Some(_))) {
            self.reject(specimen.key, specimen.program, "its seed is not valid")?;
            return Ok(WorkEnd::Rejected);
        }
        Ok(WorkEnd::BadMutation(MutationFault::Behaviour))
    }

    /// Whether a compiler that just refused a variant at -O0 takes its seed: what is inserted must compile wherever the seed does.
    pub(crate) fn takes_only_the_seed(&self, specimen: &Specimen<'_>, compiler: usize) -> bool {
        let takes_seed = || self.checker.build_plain(specimen.original, &self.plan.compilers[compiler], OptLevel::O0).is_ok();
        specimen.key.mutation > 0 && takes_seed()
    }

    #[expect(clippy::too_many_arguments, reason = "one unit's whole setting")]
    fn code_unit(
        &self,
        specimen: &Specimen<'_>,
        unit: &PlannedUnit,
        truth: Option<&Behaviour>,
        costs: &mut Costs,
        share: f64,
        mut findings: Vec<NewFinding>,
        validated: &mut bool,
    ) -> Result<WorkEnd, StoreError> {
        let Specimen { key, program, .. } = *specimen;
        let compiler = &self.plan.compilers[unit.compiler];
        let mut attempt = self.code_attempt(program, compiler, unit.opt, truth);
        if let Err(Trouble::Fail(reason)) = &attempt {
            if !self.fail(&program.name, unit, reason)? {
                return Ok(WorkEnd::Done);
            }
            attempt = self.code_attempt(program, compiler, unit.opt, truth);
        }
        let mut compile_cpu = share;
        let fault = match attempt {
            Ok((cost, command)) => {
                compile_cpu += cost.cpu.as_secs_f64();
                let fault = self.explosion(program, unit, costs, cost);
                costs.add(unit.compiler, unit.opt, cost);
                fault.map(|fault| (fault, command))
            }
            Err(Trouble::Fault(fault)) => Some((*fault, String::new())),
            Err(Trouble::Reject(reason)) => {
                let expected = truth.map_or_else(String::new, Behaviour::summary);
                Some((Fault::WrongCode { expected, actual: format!("a program that {reason}") }, String::new()))
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
        if let Some((fault, command)) = fault {
            if matches!(fault, Fault::WrongCode { .. }) {
                if !*validated || key.mutation > 0 {
                    if let Some(end) = self.doubt(key, program, std::slice::from_ref(unit))? {
                        return Ok(end);
                    }
                    *validated = true;
                }
                // A machine out of memory makes wrong code once; a compiler makes it again.
                if !matches!(self.code_attempt(program, compiler, unit.opt, truth), Err(Trouble::Fault(_) | Trouble::Reject(_))) {
                    self.warn_once(&format!("{}: {} {} behaved differently once and not again", program.name, compiler.id, unit.opt));
                    self.finish(program, compiler, unit, UnitResult::default(), findings)?;
                    return Ok(WorkEnd::Done);
                }
            }
            let mut finding = self.plain_finding(&fault, program, compiler, unit.opt, &command);
            if self.tally.is_first(&finding.class) {
                finding.evidence.minimal = self.minimal_code(specimen, compiler, unit.opt, &finding.class, truth);
            }
            findings.push(finding);
        }
        let result = UnitResult { cpu: compile_cpu, compile_cpu, ..UnitResult::default() };
        self.finish(program, compiler, unit, result, findings)?;
        Ok(WorkEnd::Done)
    }

    /// Compiles at a level and compares, where it is known what the program must do.
    pub(crate) fn code_attempt(
        &self,
        program: &Program,
        compiler: &Compiler,
        opt: OptLevel,
        truth: Option<&Behaviour>,
    ) -> Result<(BuildCost, String), Trouble> {
        let build = self.checker.build_plain(program, compiler, opt).map_err(trouble)?;
        if let Some(truth) = truth {
            self.checker.check_plain(truth, &build).map_err(trouble)?;
        }
        Ok((build.cost, build.command))
    }

    /// The costs, with those neighbours of a unit that its program did not draw.
    fn with_neighbours(&self, program: &Program, unit: &PlannedUnit, costs: &Costs) -> Costs {
        let mut all = costs.clone();
        let own = &self.plan.compilers[unit.compiler];
        let below = self.plan.levels_of(own).into_iter().filter(|opt| effort(*opt) < effort(unit.opt)).max_by_key(|opt| effort(*opt));
        let beside = (0..self.plan.compilers.len()).filter(|&index| index != unit.compiler).map(|index| (index, unit.opt));
        for (index, opt) in below.map(|opt| (unit.compiler, opt)).into_iter().chain(beside) {
            let compiler = &self.plan.compilers[index];
            let is_wanted = compiler.language() == program.language && self.plan.levels_of(compiler).contains(&opt);
            if is_wanted
                && !all.knows(index, opt)
                && let Ok(build) = self.checker.build_plain(program, compiler, opt)
            {
                all.add(index, opt, build.cost);
            }
        }
        all
    }

    /// The explosion that a build is, if it is one every time.
    pub(crate) fn explosion(&self, program: &Program, unit: &PlannedUnit, costs: &Costs, cost: BuildCost) -> Option<Fault> {
        if self.plan.oracle == Oracle::Debug {
            return None;
        }
        costs.explosion(unit.compiler, unit.opt, cost)?;
        let compiler = &self.plan.compilers[unit.compiler];
        let costs = self.with_neighbours(program, unit, costs);
        costs.explosion(unit.compiler, unit.opt, cost)?;
        let mut smallest = cost;
        for _ in 0..COST_REPEATS {
            smallest = least(smallest, self.checker.build_plain(program, compiler, unit.opt).ok()?.cost);
        }
        costs.explosion(unit.compiler, unit.opt, smallest)
    }
}

/// The fault that a behaviour at -O0 is.
pub(crate) fn difference(truth: &Behaviour, actual: &Behaviour) -> Option<Fault> {
    (!truth.same_as(actual)).then(|| Fault::WrongCode { expected: truth.summary(), actual: actual.summary() })
}

impl SeedBehaviour {
    /// Whether a run is this behaviour.
    pub(crate) fn is(&self, behaviour: &Behaviour) -> bool {
        (self.exit_code, &self.output) == (behaviour.code, &behaviour.output)
    }
}
