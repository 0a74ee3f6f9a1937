//! A hunt over one project and many inputs: each compiler builds the project once per level, and every input is a program of
//! the store with a unit per compiler and level.
//!
//! An input's number is made of its content, so that a hunt goes on where it stopped whatever files were added. The project's
//! own content is part of the source's name. Deliberately absent: flags, and how a run is started.

use crate::class::{class_of, collapse};
use crate::event::{Event, FoundEvent, Reporter, Totals};
use crate::judged::finding_of;
use crate::plan::{CampaignPlan, Confirm};
use crate::program::{Trouble, trouble};
use crate::run::CampaignError;
use crate::tally::ClassTally;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;
use trueline_check::{CheckOptions, CheckRun, Checker, Ownership, Reference, Repeat};
use trueline_explain::{ReaderQuestion, Readers, is_confirmed, readings_of};
use trueline_model::{CompilerId, Fault, Language, OptLevel, Origin, Program, Reading, Violation};
use trueline_project::{BuildRequest, BuiltTree, CompilerChoice, RunCommand, build};
use trueline_store::{
    BuildRecord, Claim, FindingEvidence, NewFinding, PlannedUnit, ProgramKey, ReaderRecord, Store, StoreError, UnitResult,
};
use trueline_toolchain::{Compiler, Launch, Limits, cpu_time};
use trueline_trace::Patience;

/// How the names of sources begin that are projects.
const PROJECT: &str = "project ";

/// Whether a program of a store is a project's run: it cannot be built again from the text that is kept of it.
pub fn is_of_project(key: &ProgramKey) -> bool {
    key.source.starts_with(PROJECT)
}

/// A project and what it is run on.
pub struct ProjectHunt<'a> {
    /// The project's directory.
    pub directory: &'a Path,
    /// What tells it from others and from itself after a change.
    pub identity: String,
    /// The language most of it is written in.
    pub language: Language,
    /// The runs.
    pub inputs: Vec<ProjectInput>,
    /// How it is built at a level by a compiler.
    pub request: &'a (dyn Fn(OptLevel, CompilerChoice) -> BuildRequest<'a> + Sync),
    /// How a run is started, given the -O0 build.
    pub launch: &'a (dyn Fn(&ProjectInput, &BuiltTree) -> Result<Launch, String> + Sync),
    /// Whose the files of a build are.
    pub ownership: &'a (dyn Fn(&BuiltTree) -> Ownership + Sync),
    /// The command that checks one run again.
    pub command: &'a (dyn Fn(&ProjectInput, &Compiler, OptLevel) -> String + Sync),
}

/// One run of the project.
#[derive(Clone, Debug)]
pub struct ProjectInput {
    /// Its name, for people.
    pub name: String,
    /// Its number, made of its content.
    pub number: u64,
    /// What is run.
    pub run: RunCommand,
    /// What it reads on standard input.
    pub stdin: Option<PathBuf>,
}

/// The builds by one compiler.
struct Builds {
    reference: BuiltTree,
    levels: Vec<(OptLevel, BuiltTree)>,
}

struct Hunt<'a, 'p> {
    plan: &'a CampaignPlan,
    project: &'a ProjectHunt<'p>,
    store: &'a Store,
    reporter: &'a dyn Reporter,
    stop: &'a AtomicBool,
    started: Instant,
    tally: ClassTally,
    classes: Mutex<HashSet<String>>,
    failed: AtomicBool,
    units: AtomicU64,
    programs: AtomicU64,
    unconfirmed: AtomicU64,
}

/// Builds the project and checks every input that the store has not done.
pub fn run_project(
    plan: &CampaignPlan,
    project: &ProjectHunt<'_>,
    store: &Store,
    reporter: &dyn Reporter,
    stop: &AtomicBool,
) -> Result<Totals, CampaignError> {
    if plan.compilers.is_empty() {
        return Err(CampaignError::NoCompiler);
    }
    let (started, cpu_before) = (Instant::now(), cpu_time());
    let hunt = Hunt {
        plan,
        project,
        store,
        reporter,
        stop,
        started,
        tally: ClassTally::of(&store.class_counts()?),
        classes: Mutex::default(),
        failed: AtomicBool::new(false),
        units: AtomicU64::new(0),
        programs: AtomicU64::new(0),
        unconfirmed: AtomicU64::new(0),
    };
    let compilers: Vec<CompilerId> = plan.compilers.iter().map(|c| c.id.clone()).collect();
    let source = hunt.source();
    reporter.event(&Event::Started { source, compilers, levels: plan.levels.clone(), resumed: store.counts()? });
    for compiler in &plan.compilers {
        hunt.by_compiler(compiler)?;
    }
    let totals = Totals {
        wall: started.elapsed().as_secs_f64(),
        cpu: (cpu_time().saturating_sub(cpu_before)).as_secs_f64(),
        compile_cpu: 0.0,
        units: hunt.units.load(Ordering::SeqCst),
        programs: hunt.programs.load(Ordering::SeqCst),
        unconfirmed: hunt.unconfirmed.load(Ordering::SeqCst),
    };
    reporter.event(&Event::Finished { counts: store.counts()?, totals });
    Ok(totals)
}

impl Hunt<'_, '_> {
    fn source(&self) -> String {
        format!("{PROJECT}{}", self.project.identity)
    }

    fn stopping(&self) -> bool {
        let is_late = self.plan.duration.is_some_and(|d| self.started.elapsed() >= d);
        is_late || self.stop.load(Ordering::SeqCst) || self.failed.load(Ordering::SeqCst)
    }

    /// Every input of one compiler. The builds are made for the first that is not done.
    fn by_compiler(&self, compiler: &Compiler) -> Result<(), CampaignError> {
        let builds = OnceLock::new();
        let next = AtomicUsize::new(0);
        let worker = || -> Result<(), CampaignError> {
            let readers = Readers::beside(&self.options(Launch::default()));
            while !self.stopping() {
                let Some(input) = self.project.inputs.get(next.fetch_add(1, Ordering::SeqCst)) else { break };
                if !self.plan.shard.takes(input.number) {
                    continue;
                }
                if let Err(error) = self.input(input, compiler, &builds, &readers) {
                    self.failed.store(true, Ordering::SeqCst);
                    return Err(error);
                }
            }
            readers.dismiss();
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.plan.jobs.max(1)).map(|_| scope.spawn(worker)).collect();
            let ended = workers.into_iter().map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.collect::<Vec<_>>().into_iter().collect()
        })
    }

    fn input(
        &self,
        input: &ProjectInput,
        compiler: &Compiler,
        builds: &OnceLock<Result<Builds, String>>,
        readers: &Readers,
    ) -> Result<(), CampaignError> {
        let key = ProgramKey { source: self.source(), seed: input.number, mutation: 0, language: self.project.language };
        let wanted = [(compiler.id.clone(), self.plan.levels_of(compiler))];
        let Claim::Work(units) = self.store.claim(&key, &wanted)? else { return Ok(()) };
        let worked = match builds.get_or_init(|| self.build(compiler).map_err(|e| e.to_string())) {
            Ok(builds) => self.work_on(input, &key, compiler, builds, &units, readers).map_err(CampaignError::from),
            Err(reason) => Err(CampaignError::Project(reason.clone())),
        };
        self.store.release(&key)?;
        worked
    }

    fn build(&self, compiler: &Compiler) -> Result<Builds, trueline_project::ProjectError> {
        let of = |level| build(&(self.project.request)(level, CompilerChoice::Given(compiler.clone())));
        let reference = of(OptLevel::O0)?;
        let levels = self.plan.levels_of(compiler);
        let levels = levels.into_iter().map(|level| Ok((level, of(level)?))).collect::<Result<_, trueline_project::ProjectError>>()?;
        Ok(Builds { reference, levels })
    }

    fn options(&self, launch: Launch) -> CheckOptions {
        // A project's runs are long: what shows nothing new is left alone, as `check --project` does.
        const VISITS: u32 = 32;
        CheckOptions {
            engine: self.plan.engine,
            policy: self.plan.policy,
            invariants: self.plan.invariants.clone(),
            max_steps: self.plan.max_steps,
            limits: Limits::seconds(120),
            repeat: Repeat::Twice,
            patience: Patience::Visits(VISITS),
            cflags: self.plan.cflags.clone(),
            launch,
            ..CheckOptions::default()
        }
    }

    fn work_on(
        &self,
        input: &ProjectInput,
        key: &ProgramKey,
        compiler: &Compiler,
        builds: &Builds,
        units: &[PlannedUnit],
        readers: &Readers,
    ) -> Result<(), StoreError> {
        let (checker, reference) = match self.reference(input, builds) {
            Ok(made) => made,
            Err(Trouble::Reject(reason) | Trouble::TooLong(reason)) => {
                self.reporter.event(&Event::Rejected { program: input.name.clone(), reason: reason.clone() });
                return self.store.reject(key, &reason);
            }
            Err(Trouble::Drop(reason) | Trouble::Fail(reason)) => {
                return units.iter().try_for_each(|unit| self.fail(input, compiler, unit, &reason));
            }
            Err(Trouble::Fault(fault)) => {
                let reason = format!("{} at -O0", fault.kind());
                return units.iter().try_for_each(|unit| self.fail(input, compiler, unit, &reason));
            }
        };
        for unit in units {
            if self.stopping() {
                return Ok(());
            }
            let Some((_, tree)) = builds.levels.iter().find(|(level, _)| *level == unit.opt) else { continue };
            let before = cpu_time();
            let checked = match input.run.program_in(tree) {
                Ok(binary) => checker.check_build(&reference, &binary, unit.opt).map_err(trouble),
                Err(error) => Err(Trouble::Fail(error.to_string())),
            };
            let spent = |before| cpu_time().saturating_sub(before).as_secs_f64();
            let (result, findings, repeats) = match checked {
                Ok(run) => {
                    let (findings, repeats) = self.findings(input, compiler, unit.opt, &reference, &run, readers);
                    let steps =
                        UnitResult { reference_steps: run.reference_steps, optimized_steps: run.optimized_steps, ..UnitResult::default() };
                    (UnitResult { cpu: spent(before), ..steps }, findings, repeats)
                }
                Err(Trouble::Fault(fault)) => {
                    let finding = self.finding(input, compiler, unit.opt, *fault, Vec::new(), Vec::new());
                    (UnitResult { cpu: spent(before), ..UnitResult::default() }, vec![finding], BTreeMap::new())
                }
                Err(Trouble::TooLong(reason) | Trouble::Drop(reason)) => {
                    self.store.drop_unit(unit.id, &reason)?;
                    continue;
                }
                Err(Trouble::Reject(reason) | Trouble::Fail(reason)) => {
                    self.fail(input, compiler, unit, &reason)?;
                    continue;
                }
            };
            self.finish(input, compiler, unit, result, &findings, &repeats)?;
        }
        self.programs.fetch_add(1, Ordering::SeqCst);
        self.reporter.event(&Event::ProgramDone { program: input.name.clone() });
        Ok(())
    }

    fn reference(&self, input: &ProjectInput, builds: &Builds) -> Result<(Checker, Reference), Trouble> {
        let launch = (self.project.launch)(input, &builds.reference).map_err(Trouble::Fail)?;
        let ownership = (self.project.ownership)(&builds.reference);
        let checker = Checker::new(CheckOptions { ownership, ..self.options(launch) }).map_err(trouble)?;
        let binary = input.run.program_in(&builds.reference).map_err(|e| Trouble::Fail(e.to_string()))?;
        let reference = checker.reference_pair(&binary, &input.run.args).map_err(trouble)?;
        Ok((checker, reference))
    }

    /// What a debugger confirms of a build's violations, and how many more there are of classes that were found often enough.
    fn findings(
        &self,
        input: &ProjectInput,
        compiler: &Compiler,
        opt: OptLevel,
        reference: &Reference,
        run: &CheckRun,
        readers: &Readers,
    ) -> (Vec<NewFinding>, BTreeMap<String, u64>) {
        let mut repeats = BTreeMap::new();
        let mut asked: Vec<ReaderQuestion<'_>> = Vec::new();
        for violation in collapse(&run.violations) {
            let fault = Fault::Violation(violation.clone());
            let class = class_of(&fault, &compiler.id, &self.text_of(&fault, compiler));
            if self.tally.is_familiar(&class, self.plan.most_of_class) {
                self.tally.keep(&class);
                *repeats.entry(class).or_default() += 1;
            } else {
                asked.push(ReaderQuestion { violation, class });
            }
        }
        let violations: Vec<&Violation> = asked.iter().map(|question| question.violation).collect();
        let readings = match self.plan.confirm {
            Confirm::Nothing => asked.iter().map(|question| vec![readers.screening(question.violation)]).collect(),
            Confirm::All | Confirm::Distinct | Confirm::Spot => readings_of(readers, reference, run, asked),
        };
        let mut findings = Vec::new();
        for (violation, readings) in violations.into_iter().zip(readings) {
            if !is_confirmed(&readings, self.plan.engine) {
                self.unconfirmed.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            let variable = violation.variable().map(|name| &**name);
            let dwarf = violation.pc.map(|pc| run.debug.excerpt(Some(pc), variable).into_lines()).unwrap_or_default();
            let finding = self.finding(input, compiler, opt, Fault::Violation(violation.clone()), readings, dwarf);
            self.tally.keep(&finding.class);
            findings.push(finding);
        }
        (findings, repeats)
    }

    fn finding(
        &self,
        input: &ProjectInput,
        compiler: &Compiler,
        opt: OptLevel,
        fault: Fault,
        readings: Vec<Reading>,
        dwarf: Vec<String>,
    ) -> NewFinding {
        let program = self.text_of(&fault, compiler);
        let class = class_of(&fault, &compiler.id, &program);
        let build = |opt| BuildRecord { command: (self.project.command)(input, compiler, opt), ..BuildRecord::default() };
        let readers = readings.iter().filter_map(ReaderRecord::of).collect();
        let evidence = FindingEvidence { program, reference: build(OptLevel::O0), optimized: build(opt), readers, dwarf, minimal: None };
        NewFinding { finding: finding_of(fault, compiler, opt, &readings), class, evidence }
    }

    /// The text that a fault is in, for its page; of a fault of the whole program, or of a file that is not there, none.
    fn text_of(&self, fault: &Fault, compiler: &Compiler) -> Program {
        let file = match fault {
            Fault::Violation(violation) => Some(PathBuf::from(violation.file.as_str())),
            _ => None,
        };
        let path = file.map(|file| self.project.directory.join(file));
        let name = path.as_deref().and_then(Path::file_name).map_or_else(|| "project".to_owned(), |n| n.to_string_lossy().into_owned());
        let bytes = path.as_deref().and_then(|p| std::fs::read(p).ok()).unwrap_or_default();
        let language = path.as_deref().and_then(Language::of_path).unwrap_or_else(|| compiler.language());
        let origin = Origin::File { path: path.unwrap_or_else(|| self.project.directory.to_owned()) };
        Program { name, language, source: String::from_utf8_lossy(&bytes).into_owned(), origin, cflags: Vec::new() }
    }

    fn finish(
        &self,
        input: &ProjectInput,
        compiler: &Compiler,
        unit: &PlannedUnit,
        result: UnitResult,
        findings: &[NewFinding],
        repeats: &BTreeMap<String, u64>,
    ) -> Result<(), StoreError> {
        let ids = self.store.finish_unit_with(unit.id, result, findings, repeats)?;
        self.units.fetch_add(1, Ordering::SeqCst);
        for (id, new) in ids.iter().zip(findings) {
            let is_new_class = self.classes.lock().insert(new.class.clone());
            self.reporter.event(&Event::Found(Box::new(FoundEvent::of(*id, &input.name, new, is_new_class))));
        }
        self.reporter.event(&Event::UnitDone {
            program: input.name.clone(),
            compiler: compiler.id.clone(),
            opt: unit.opt,
            steps: result.optimized_steps,
            findings: findings.len(),
            repeated: repeats.values().sum(),
            cpu: result.cpu,
        });
        Ok(())
    }

    fn fail(&self, input: &ProjectInput, compiler: &Compiler, unit: &PlannedUnit, reason: &str) -> Result<(), StoreError> {
        let retry = self.store.fail_unit(unit.id, reason)?;
        let (program, compiler, reason) = (input.name.clone(), compiler.id.clone(), reason.to_owned());
        self.reporter.event(&Event::UnitFailed { program, compiler, opt: unit.opt, reason, retry });
        Ok(())
    }
}
