//! The loop: threads that take one program after the other until the seeds, the time or the patience end.

use crate::event::{Event, Reporter, Totals};
use crate::explain::ExplainDesk;
use crate::family::{Family, how_it_differs};
use crate::plan::{CampaignPlan, Mutate, NoProgram, Oracle, SeedOrder};
use crate::program::{MutationFault, Specimen, WorkEnd};
use crate::seeds::tells_recipes;
use crate::steer::Steering;
use crate::tally::ClassTally;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trueline_check::{CheckError, CheckOptions, Checker};
use trueline_explain::Readers;
use trueline_generate::{Filter, ProgramSource};
use trueline_model::{CompilerId, Language, OptLevel, Program};
use trueline_store::{Claim, ProgramKey, Store, StoreError, UnitResult};
use trueline_toolchain::{Compiler, Limits, cpu_time};

/// How long a write waits for room or for a lock before the campaign gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Failures of the source in a row after which something is wrong with it and not with its seeds.
const SOURCE_FAILURES: u64 = 200;

/// Why a campaign ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The screening engine cannot be had.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// Nothing to compile with.
    #[error("no compiler to hunt with; name some with --cc, or see `trueline doctor`")]
    NoCompiler,
    /// No program of the source suits any of the compilers.
    #[error("{generator} has no programs in {languages}; choose another --generator, or a compiler of its language with --cc")]
    NoLanguage {
        /// The source that was asked for programs.
        generator: String,
        /// The languages that were asked for.
        languages: String,
    },
    /// A variant does not do what its seed does.
    #[error("the mutation is at fault: {name} {how}", name = program.name)]
    BadMutation {
        /// What it does otherwise than its seed.
        how: String,
        /// The variant that behaves in another way.
        program: Box<Program>,
        /// The program that it was made from.
        seed: Box<Program>,
    },
    /// The project cannot be built.
    #[error("{0}")]
    Project(String),
    /// The source makes no programs.
    #[error("{generator} failed {count} times in a row, last with: {reason}")]
    BadSource {
        /// The source that was asked for programs.
        generator: String,
        /// How often it failed before this was given up.
        count: u64,
        /// The last reason.
        reason: String,
    },
}

/// A campaign under way, shared by its threads.
pub(crate) struct Campaign<'a> {
    pub plan: &'a CampaignPlan,
    pub source: &'a dyn ProgramSource,
    pub store: &'a Store,
    pub checker: Checker,
    pub readers: Readers,
    pub tally: ClassTally,
    pub trusted: bool,
    pub mutator: Option<&'a dyn Mutate>,
    pub desk: ExplainDesk,
    pub started: Instant,
    reporter: &'a dyn Reporter,
    stop: &'a AtomicBool,
    deadline: Option<Instant>,
    filter: OnceLock<Filter>,
    warned: Mutex<HashSet<String>>,
    classes: Mutex<HashSet<String>>,
    failed: AtomicBool,
    pub next: AtomicU64,
    pub steering: Option<Mutex<Steering>>,
    units: AtomicU64,
    programs: AtomicU64,
    unconfirmed: AtomicU64,
    source_failures: AtomicU64,
    compile_micros: AtomicU64,
}

/// Runs a campaign to its end. `stop` ends it early in good order: units under way are finished.
pub fn run(
    plan: &CampaignPlan,
    source: &dyn ProgramSource,
    store: &Store,
    mutator: Option<&dyn Mutate>,
    reporter: &dyn Reporter,
    stop: &AtomicBool,
) -> Result<Totals, CampaignError> {
    if plan.compilers.is_empty() {
        return Err(CampaignError::NoCompiler);
    }
    if !has_programs(plan, source) {
        let languages: Vec<String> = plan.languages.iter().map(Language::to_string).collect();
        return Err(CampaignError::NoLanguage { generator: source.name(), languages: languages.join(" or ") });
    }
    let (started, cpu_before) = (Instant::now(), cpu_time());
    let options = CheckOptions {
        engine: plan.engine,
        policy: plan.policy,
        invariants: plan.invariants.clone(),
        max_steps: plan.max_steps,
        // CPU time is what programs are judged by: on a busy machine a debugger waits longer than it works.
        limits: Limits { wall: Duration::from_secs(120), ..Limits::seconds(20) },
        cflags: plan.cflags.clone(),
        ..CheckOptions::default()
    };
    let campaign = Campaign {
        plan,
        source,
        store,
        readers: Readers::beside(&options),
        checker: Checker::new(options)?,
        tally: ClassTally::of(&store.class_counts()?),
        trusted: source.trusted(),
        mutator,
        desk: ExplainDesk::new(store.explained_classes()?),
        started,
        reporter,
        stop,
        deadline: plan.duration.map(|d| started + d),
        filter: OnceLock::new(),
        warned: Mutex::default(),
        classes: Mutex::default(),
        failed: AtomicBool::new(false),
        next: AtomicU64::new(plan.seeds.first),
        steering: (plan.order == SeedOrder::Steered && tells_recipes(plan, source)).then(Mutex::default),
        units: AtomicU64::new(0),
        programs: AtomicU64::new(0),
        unconfirmed: AtomicU64::new(0),
        source_failures: AtomicU64::new(0),
        compile_micros: AtomicU64::new(0),
    };
    campaign.learn_again()?;
    let resumed = store.counts()?;
    let compilers: Vec<CompilerId> = plan.compilers.iter().map(|c| c.id.clone()).collect();
    reporter.event(&Event::Started { source: source.name(), compilers, levels: plan.levels.clone(), resumed });
    let result = campaign.run_threads();
    campaign.readers.dismiss();
    let totals = Totals {
        wall: started.elapsed().as_secs_f64(),
        cpu: (cpu_time().saturating_sub(cpu_before)).as_secs_f64(),
        compile_cpu: campaign.compile_micros.load(Ordering::SeqCst) as f64 / 1e6,
        units: campaign.units.load(Ordering::SeqCst),
        programs: campaign.programs.load(Ordering::SeqCst),
        unconfirmed: campaign.unconfirmed.load(Ordering::SeqCst),
    };
    result?;
    reporter.event(&Event::Finished { counts: store.counts()?, totals });
    Ok(totals)
}

/// Whether a source has anything in the languages of a plan. A generator has all numbers of a language or none.
fn has_programs(plan: &CampaignPlan, source: &dyn ProgramSource) -> bool {
    let first = plan.seeds.first;
    let mut numbers = source.count().map_or(first..first.saturating_add(1), |count| 0..count);
    numbers.any(|seed| plan.languages.iter().any(|language| source.has(seed, *language)))
}

impl Campaign<'_> {
    fn run_threads(&self) -> Result<(), CampaignError> {
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.plan.jobs.max(1)).map(|_| scope.spawn(|| self.worker())).collect();
            let mut result = Ok(());
            for worker in workers {
                match worker.join() {
                    Ok(Ok(())) => {}
                    Ok(Err(e)) if result.is_ok() => result = Err(e),
                    Ok(Err(_)) => {}
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result
        })
    }

    fn worker(&self) -> Result<(), CampaignError> {
        while let Some(seed) = self.next_seed() {
            if let Err(e) = self.explain_some() {
                self.failed.store(true, Ordering::SeqCst);
                return Err(e.into());
            }
            for &language in &self.plan.languages {
                if !self.source.has(seed, language) {
                    continue;
                }
                if let Err(e) = self.seed(seed, language) {
                    self.failed.store(true, Ordering::SeqCst);
                    return Err(e);
                }
            }
            self.learn(seed)?;
        }
        Ok(self.explain_some()?)
    }

    /// A program and its variants.
    fn seed(&self, seed: u64, language: Language) -> Result<(), CampaignError> {
        let mut family = Family::default();
        for mutation in 0..=self.plan.mutants {
            if self.stopping() {
                break;
            }
            let key = ProgramKey { source: self.source_name(), seed, mutation, language };
            let wanted = self.wanted(&key);
            let units = match self.patiently(|| self.store.claim(&key, &wanted))? {
                Claim::Work(units) => units,
                Claim::Done | Claim::Taken => continue,
            };
            let program = match self.make(&key, &mut family) {
                Ok(Some(program)) => program,
                Ok(None) => {
                    self.patiently(|| self.store.reject(&key, "there is no such program"))?;
                    continue;
                }
                Err(NoProgram::Failed(reason)) => {
                    self.give_up(&format!("{} {seed}", self.source.name()), &units, &reason)?;
                    self.patiently(|| self.store.release(&key))?;
                    continue;
                }
                Err(NoProgram::Broken(program)) => {
                    let seed = Box::new(family.original.take().unwrap_or_else(|| Program::clone(&program)));
                    let how = how_it_differs(MutationFault::Behaviour, &seed, self.plan);
                    return Err(CampaignError::BadMutation { how, program, seed });
                }
                Err(NoProgram::Refused(reason)) => {
                    self.patiently(|| self.store.reject(&key, &reason))?;
                    self.report(&Event::Rejected { program: format!("{} {seed}", self.source.name()), reason: reason.clone() });
                    let count = self.source_failures.fetch_add(1, Ordering::SeqCst) + 1;
                    if count >= SOURCE_FAILURES && mutation == 0 {
                        return Err(CampaignError::BadSource { generator: self.source.name(), count, reason });
                    }
                    continue;
                }
            };
            self.source_failures.store(0, Ordering::SeqCst);
            // A variant means what its seed means: one of the family stands for all.
            let mut validated = family.validated;
            let original = family.original.as_ref().unwrap_or(&program);
            let expected = match &family.variants {
                Some(Ok(set)) if mutation > 0 => set.expected.as_ref(),
                _ => None,
            };
            let specimen = Specimen { key: &key, program: &program, original, expected };
            let worked = catch_unwind(AssertUnwindSafe(|| self.work_on(&specimen, &units, &mut validated)));
            family.validated = validated;
            match worked {
                Ok(Ok(WorkEnd::Done)) => {
                    self.programs.fetch_add(1, Ordering::SeqCst);
                    self.report(&Event::ProgramDone { program: program.name.clone() });
                }
                Ok(Ok(WorkEnd::Rejected | WorkEnd::Interrupted)) => {}
                Ok(Ok(WorkEnd::BadMutation(fault))) => {
                    let how = how_it_differs(fault, original, self.plan);
                    return Err(CampaignError::BadMutation { how, seed: Box::new(original.clone()), program: Box::new(program) });
                }
                Ok(Err(e)) => return Err(e.into()),
                Err(_) => {
                    // A bug of ours on one program must not end a night's hunt; the message is already out.
                    for unit in &units {
                        self.patiently(|| self.store.fail_unit(unit.id, "internal error while working on this program"))?;
                    }
                }
            }
            self.patiently(|| self.store.release(&key))?;
        }
        Ok(())
    }

    /// The name that programs have in the store: units about code alone are units of their own.
    pub(crate) fn source_name(&self) -> String {
        match self.plan.oracle {
            Oracle::WrongCode => format!("{} (wrong code)", self.source.name()),
            Oracle::Debug | Oracle::Both => self.source.name(),
        }
    }

    pub(crate) fn wanted(&self, key: &ProgramKey) -> Vec<(CompilerId, Vec<OptLevel>)> {
        // Positions matter: compilers of another language stay in the list without levels.
        let compilers = self.plan.compilers.iter();
        let levels = |c: &Compiler| if c.language() == key.language { self.plan.levels_for(c, key) } else { Vec::new() };
        compilers.map(|c| (c.id.clone(), levels(c))).collect()
    }

    /// Tries a write until it succeeds, the cause is not a passing one, or patience ends.
    pub(crate) fn patiently<T>(&self, write: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let started = Instant::now();
        loop {
            match write() {
                Err(e) if e.is_passing() && started.elapsed() < PATIENCE && !self.stop.load(Ordering::SeqCst) => {
                    self.warn_once(&format!("{e}; waiting"));
                    std::thread::sleep(Duration::from_millis(500));
                }
                other => return other,
            }
        }
    }

    pub(crate) fn stopping(&self) -> bool {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        late || self.stop.load(Ordering::SeqCst) || self.failed.load(Ordering::SeqCst)
    }

    pub(crate) fn filter(&self) -> &Filter {
        self.filter.get_or_init(Filter::find)
    }

    pub(crate) fn report(&self, event: &Event) {
        self.reporter.event(event);
    }

    pub(crate) fn warn_once(&self, message: &str) {
        let mut warned = self.warned.lock();
        // A campaign of a week must not remember every message.
        if warned.len() < 1000 && warned.insert(message.to_owned()) {
            drop(warned);
            self.report(&Event::Warning { message: message.to_owned() });
        }
    }

    pub(crate) fn first_of_class(&self, class: &str) -> bool {
        self.classes.lock().insert(class.to_owned())
    }

    pub(crate) fn count_unit(&self, result: UnitResult) {
        self.units.fetch_add(1, Ordering::SeqCst);
        self.compile_micros.fetch_add((result.compile_cpu * 1e6) as u64, Ordering::SeqCst);
    }

    pub(crate) fn count_unconfirmed(&self) {
        self.unconfirmed.fetch_add(1, Ordering::SeqCst);
    }
}
