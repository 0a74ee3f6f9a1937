//! The checker: builds, traces, judges.

use crate::build::{Compiled, LevelBuild, compile};
use crate::codegen;
use crate::declared::Declarations;
use crate::effects::{self, Assignments, ReferenceEffects};
use crate::moments::{MomentCount, Placing};
use crate::note::{Note, Seen};
use crate::returns::Returns;
use crate::settings;
use crate::steady::{LeftOut, alike_but_for};
use crate::witness::{Record, Summons};
use crate::{Behaviour, CheckError, Ownership, facts, libraries};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use trueline_dwarf::{Mapped, Module, Search, Wanted};
use trueline_machine::inferior::Follow;
use trueline_model::{CompilerKind, EngineKind, FileName, Invariant, LineKey, OptLevel, Policy, Program, Violation};
use trueline_oracle::{
    Attended, Case, Completeness, Digest, Dropped, Effects, FloatMath, OptimizedFacts, ReferenceFacts, Remembered, Role, SourceFacts,
    Strictness, Suspects, Unsteady, Visits, judge, measure,
};
use trueline_toolchain::{Compiler, Launch, Limits, Scratch};
use trueline_trace::native::{LoadedLibrary, executed_lines, loaded_libraries};
use trueline_trace::{Engine, Focus, Patience, Threads, TraceEnd, TraceRequest, TraceSummary, Vars, open_engine};

/// How to check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Who traces.
    pub engine: EngineKind,
    /// How the native engine reads line tables.
    pub policy: Policy,
    /// Whether the rules apply.
    pub strictness: Strictness,
    /// Which of the dropped candidates a run keeps.
    pub remembered: Remembered,
    /// What to look for. `Codegen` costs two more compilations per level.
    pub invariants: Vec<Invariant>,
    /// How the program is started. Without a name every build of a program gets the same one.
    pub launch: Launch,
    /// Which process is traced when the program forks.
    pub follow: Follow,
    /// Whose stops are looked at.
    pub threads: Threads,
    /// How often the -O0 build is traced.
    pub repeat: Repeat,
    /// Stops after which a trace is cut off. Without patience a cut-off reference cannot be judged against.
    pub max_steps: u64,
    /// When addresses that show nothing new are given up. With limited patience a trace that takes too long ends with what it has.
    pub patience: Patience,
    /// Which part of the run is looked at.
    pub focus: Focus,
    /// What all traces of one check may take together.
    pub budget: Option<Duration>,
    /// Limits of each run of the program, traced or not.
    pub limits: Limits,
    /// Flags for every compilation.
    pub cflags: Vec<String>,
    /// Where debug files outside the binaries are looked for.
    pub search: Search,
    /// Which files of a pair count as the user's.
    pub ownership: Ownership,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            engine: EngineKind::Native,
            policy: Policy::Gdb,
            strictness: Strictness::Filtered,
            remembered: Remembered::default(),
            invariants: Invariant::usual().collect(),
            launch: Launch::default(),
            follow: Follow::Parent,
            threads: Threads::First,
            repeat: Repeat::Once,
            max_steps: 1_000_000,
            patience: Patience::Endless,
            focus: Focus::default(),
            budget: None,
            limits: Limits::seconds(120),
            cflags: Vec::new(),
            search: Search::default(),
            ownership: Ownership::default(),
        }
    }
}

/// How often the -O0 build is traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// Once: for programs that are known to do the same each time, such as a generator's.
    #[default]
    Once,
    /// Twice: what differs is left out of the judgement, and said.
    Twice,
}

/// The -O0 side of a check: made once per program and compiler, used for every level.
pub struct Reference {
    ground: Arc<Ground>,
    digest: Digest,
    /// What the -O0 trace shows call by call, where values of other moments are looked for.
    visits: Visits,
    /// What its lines do, watched when first asked for; none where that cannot be watched.
    effects: OnceLock<Option<ReferenceEffects>>,
    /// Its values line by line, traced when first asked for: the digest keeps them once.
    by_line: OnceLock<Digest>,
    /// How much of the run was looked at.
    seen: Seen,
    /// CPU time of the compilation.
    pub compile_cpu: Duration,
    /// Largest resident set of that compilation in bytes.
    pub compile_rss: u64,
    /// CPU time of the runs.
    pub trace_cpu: Duration,
    /// The commands that made it.
    pub commands: Vec<String>,
    // Last: the directory goes when nothing above needs its files any more.
    scratch: Option<Scratch>,
}

/// What is known of a -O0 build whoever reads it.
struct Ground {
    binary: PathBuf,
    debug: Arc<Module>,
    facts: ReferenceFacts,
    source: SourceFacts,
    behaviour: Behaviour,
    user_files: Vec<String>,
    launch: Launch,
    /// Where its functions stand by the source.
    declared: Declarations,
    /// The libraries that the build has, where these are looked at: a program of one file is checked without.
    libraries: Option<Vec<LoadedLibrary>>,
    /// What the build was asked about so far.
    watched: Mutex<Record>,
}

impl Reference {
    /// The -O0 trace.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// What is known of the -O0 build.
    pub fn facts(&self) -> &ReferenceFacts {
        &self.ground.facts
    }

    /// The debug information of the -O0 build, as far as it is the user's.
    pub fn debug(&self) -> &Arc<Module> {
        &self.ground.debug
    }

    /// The -O0 binary, as long as this value lives.
    pub fn binary(&self) -> &Path {
        &self.ground.binary
    }

    /// How the program ends and what it prints.
    pub fn behaviour(&self) -> &Behaviour {
        &self.ground.behaviour
    }

    /// How the program is started.
    pub fn launch(&self) -> &Launch {
        &self.ground.launch
    }
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct CheckRun {
    /// What is wrong.
    pub violations: Vec<Violation>,
    /// Candidates that a rule dropped.
    pub dropped: Vec<Dropped>,
    /// What was not seen or left out.
    pub notes: Vec<Note>,
    /// How many stops could be placed among the moments of the -O0 run, where that was asked for.
    pub moments: Option<MomentCount>,
    /// How much of the -O0 view is kept.
    pub completeness: Completeness,
    /// Stops at -O0.
    pub reference_steps: u64,
    /// Stops in the optimized build.
    pub optimized_steps: u64,
    /// True when the optimized trace ran into the step limit: what it did not reach was not judged.
    pub cut_off: bool,
    /// CPU time of compilations, this level's only.
    pub compile_cpu: Duration,
    /// CPU time of runs, this level's only.
    pub trace_cpu: Duration,
    /// The commands that made the build.
    pub commands: Vec<String>,
    /// The optimized trace, for those who show it.
    pub optimized: Arc<Digest>,
    /// The judged binary; a build of ours lives as long as this value.
    pub binary: PathBuf,
    /// Its debug information, as far as it is the user's.
    pub debug: Arc<Module>,
    pub(crate) facts: Arc<OptimizedFacts>,
    /// Relaxed where the level or a flag allows other results.
    pub(crate) float_math: FloatMath,
    pub(crate) scratch: Option<Arc<Scratch>>,
}

/// Compiles, traces and judges.
pub struct Checker {
    options: CheckOptions,
    engine: Box<dyn Engine + Send + Sync>,
}

impl Checker {
    /// A checker; finds its debugger.
    pub fn new(options: CheckOptions) -> Result<Self, CheckError> {
        let engine = open_engine(options.engine)?;
        Ok(Self { options, engine })
    }

    /// The options.
    pub fn options(&self) -> &CheckOptions {
        &self.options
    }

    /// The engine, for those who want the whole trace.
    pub fn engine(&self) -> &(dyn Engine + Send + Sync) {
        &*self.engine
    }

    /// Compiles at -O0, runs and traces that build.
    pub fn reference(&self, program: &Program, compiler: &Compiler) -> Result<Reference, CheckError> {
        let scratch = Scratch::new().map_err(CheckError::io("cannot make a scratch directory"))?;
        let Compiled { binary, cpu: compile_cpu, max_rss, command, .. } = self.compile_reference(program, compiler, &scratch)?;
        let own = program.own_text();
        let user_files = vec![own.file.to_owned()];
        let source = SourceFacts::of(own.file, &own.text);
        let debug = Module::load(&binary, Wanted::new(&user_files), &self.options.search)?;
        let mut reference = self.reference_of(debug, binary, user_files, self.launch_of(program), None, source)?;
        reference.compile_cpu = compile_cpu;
        reference.compile_rss = max_rss;
        reference.commands.push(command);
        reference.scratch = Some(scratch);
        Ok(reference)
    }

    fn reference_of(
        &self,
        debug: Arc<Module>,
        binary: PathBuf,
        user_files: Vec<String>,
        launch: Launch,
        libraries: Option<Vec<LoadedLibrary>>,
        source: SourceFacts,
    ) -> Result<Reference, CheckError> {
        let behaviour = Behaviour::observe(&binary, &launch, &self.options.limits)?;
        let request = self.request(&debug, &binary, &user_files, &launch);
        let (digest, visits, summary) = self.trace_reference(&request, self.looks_at_moments())?;
        let mut trace_cpu = summary.cpu;
        let coverage = executed_lines(&request)?;
        let executed = by_base_name(coverage.executed);
        let seen = Seen::of(&summary, coverage.addresses);
        if digest.steps == 0 {
            return Err(CheckError::NothingChecked { reason: nothing_stepped(&executed, &user_files) });
        }
        let declared = Declarations::of(&debug, &source);
        let mut facts = facts::of_reference(&debug, executed, &source, &declared);
        facts.user_files.clone_from(&user_files);
        if self.options.repeat == Repeat::Twice {
            // A run that was cut off is cut off at the same stop again, so that the two can be compared.
            let cut = summary.end != TraceEnd::Finished;
            let max_steps = if cut { digest.steps } else { request.max_steps };
            // What is not steady differs from the beginning; a full second trace would show little more.
            let patience = match request.patience {
                Patience::Visits(visits) if !digest.given_up.everything => Patience::Visits((visits / 4).max(LEAST_VISITS)),
                patience => patience,
            };
            let binary = elsewhere_on_the_stack(&request.binary);
            let again = TraceRequest { binary, max_steps, patience, deadline: self.last_moment(), ..request };
            let (again, _, second) = self.trace_reference(&again, false)?;
            facts.unsteady = Unsteady::between(&digest, &again);
            trace_cpu += second.cpu;
        }
        let ground = Arc::new(Ground {
            binary,
            debug,
            facts,
            source,
            behaviour,
            user_files,
            launch,
            declared,
            libraries,
            watched: Mutex::default(),
        });
        Ok(Reference {
            ground,
            digest,
            visits,
            seen,
            effects: OnceLock::new(),
            by_line: OnceLock::new(),
            compile_cpu: Duration::ZERO,
            compile_rss: 0,
            trace_cpu,
            commands: Vec::new(),
            scratch: None,
        })
    }

    fn trace_reference(&self, request: &TraceRequest, looks: bool) -> Result<(Digest, Visits, TraceSummary), CheckError> {
        let (mut digest, mut visits) = (self.digest(Role::Reference), Visits::default());
        let mut attended = Attended { sink: &mut digest, onlooker: looks.then_some(&mut visits) };
        let summary = self.engine.trace(request, &mut attended)?;
        if summary.end == TraceEnd::CutOff && self.options.patience == Patience::Endless {
            return Err(CheckError::TooLong { steps: self.options.max_steps });
        }
        digest.given_up.everything = summary.end != TraceEnd::Finished || request.focus.after.is_some();
        Ok((digest, visits, summary))
    }

    /// Whether values are placed among the moments of the reference run: only our own engine can tell one call from another, and
    /// it counts those of the first thread.
    fn looks_at_moments(&self) -> bool {
        let can = self.options.engine == EngineKind::Native && self.options.threads == Threads::First;
        can && self.options.invariants.contains(&Invariant::Stale)
    }

    fn digest(&self, role: Role) -> Digest {
        match self.options.strictness {
            Strictness::Filtered => Digest::for_rules(role),
            Strictness::Literal => Digest::new(role),
        }
    }

    /// When a trace that begins now must end: there are three, two of them at -O0, and something is left for the rest.
    fn deadline(&self) -> Option<Instant> {
        let limit = self.options.limits.wall.mul_f64(0.95);
        match (self.options.budget, self.options.patience) {
            (Some(budget), _) => Some(Instant::now() + budget.mul_f64(0.28).min(limit)),
            (None, Patience::Visits(_)) => Some(Instant::now() + limit),
            (None, Patience::Endless) => None,
        }
    }

    /// When a second trace of the same stops must end: somewhat later, since machines are not always equally fast.
    fn last_moment(&self) -> Option<Instant> {
        let now = Instant::now();
        self.deadline().map(|at| now + at.saturating_duration_since(now).mul_f64(1.05))
    }

    /// Compiles at a level and judges that build. `extra_flags` go to this compilation only (pass bisection).
    pub fn check(
        &self,
        program: &Program,
        reference: &Reference,
        compiler: &Compiler,
        opt: OptLevel,
        extra_flags: &[String],
    ) -> Result<CheckRun, CheckError> {
        self.judge_build(reference, self.build(program, reference, compiler, opt, extra_flags)?)
    }

    /// Compiles at a level, for those who want to know more before the build is judged.
    pub fn build<'a>(
        &self,
        program: &'a Program,
        reference: &Reference,
        compiler: &'a Compiler,
        opt: OptLevel,
        extra_flags: &[String],
    ) -> Result<LevelBuild<'a>, CheckError> {
        let scratch = Scratch::new().map_err(CheckError::io("cannot make a scratch directory"))?;
        // The reference's own copy: the path is part of the debug information, and with it the same code is the same file.
        let source = reference.scratch.as_ref().unwrap_or(&scratch).join(&program.name);
        let flags = self.flags(program, extra_flags);
        let float_math = float_math_of(opt, &flags);
        let Compiled { binary, cpu, max_rss, command, .. } = compile(program, compiler, opt, &flags, &source, &scratch)?;
        Ok(LevelBuild { program, compiler, opt, float_math, flags, source, binary, command, cpu, max_rss, scratch: Arc::new(scratch) })
    }

    /// Whether what is known of an earlier build holds for this one as well: they are the same file, and nothing is asked
    /// that needs more than the file.
    pub fn is_same_case(&self, build: &LevelBuild<'_>, earlier: &CheckRun) -> bool {
        !self.options.invariants.contains(&Invariant::Codegen) && build.is_same_as(earlier)
    }

    /// Judges a build.
    pub fn judge_build(&self, reference: &Reference, build: LevelBuild<'_>) -> Result<CheckRun, CheckError> {
        let mut run = self.judge_binary(reference, &build.binary, build.opt, build.float_math)?;
        run.compile_cpu = build.cpu;
        if self.options.invariants.contains(&Invariant::Codegen) && build.compiler.id.kind != CompilerKind::Rustc {
            run.violations.extend(codegen::compare(&build, &mut run.compile_cpu)?);
        }
        if self.options.invariants.contains(&Invariant::Lost) {
            self.compare_settings(reference, &build, &mut run)?;
        }
        run.commands.push(build.command);
        run.scratch = Some(build.scratch);
        Ok(run)
    }

    /// Adds what the same code shows under other settings of the debug information.
    fn compare_settings(&self, reference: &Reference, build: &LevelBuild<'_>, run: &mut CheckRun) -> Result<(), CheckError> {
        let Ground { user_files, launch, debug: ground_debug, binary: ground_binary, .. } = &*reference.ground;
        let others = settings::build_others(build, &mut run.compile_cpu);
        if others.is_empty() {
            return Ok(());
        }
        if reference.by_line.get().is_none() {
            let mut by_line = Digest::new(Role::Optimized);
            let request = self.request(ground_debug, ground_binary, user_files, launch);
            run.trace_cpu += self.engine.trace(&request, &mut by_line)?.cpu;
            // Somebody else may have been faster, with the same result.
            let _ = reference.by_line.set(by_line);
        }
        let Some(by_line) = reference.by_line.get() else { return Ok(()) };
        for other in others {
            let debug = Module::load(&other.binary, Wanted::new(user_files), &self.options.search)?;
            let mut digest = Digest::new(Role::Optimized);
            let summary = self.engine.trace(&self.request(&debug, &other.binary, user_files, launch), &mut digest)?;
            run.trace_cpu += summary.cpu;
            for lost in settings::lost(&run.debug, by_line, &digest, &other.flag) {
                if !run.violations.iter().any(|v| v.same_as(&lost)) {
                    run.violations.push(lost);
                }
            }
        }
        Ok(())
    }

    /// Reads the -O0 build of another checker again, with this one's engine and policy; nothing is compiled.
    /// The other value must outlive the new one.
    pub fn reread(&self, reference: &Reference) -> Result<Reference, CheckError> {
        let Ground { debug, binary, user_files, launch, .. } = &*reference.ground;
        let (digest, visits, summary) = self.trace_reference(&self.request(debug, binary, user_files, launch), self.looks_at_moments())?;
        let (ground, commands) = (Arc::clone(&reference.ground), reference.commands.clone());
        let seen = Seen::of(&summary, reference.seen.executed);
        let (effects, by_line, trace_cpu, compile_cpu) = (OnceLock::new(), OnceLock::new(), summary.cpu, Duration::ZERO);
        Ok(Reference { ground, digest, visits, seen, effects, by_line, compile_cpu, compile_rss: 0, trace_cpu, commands, scratch: None })
    }

    /// Judges the build of another checker's run again, with this one's engine and policy; nothing is compiled.
    pub fn recheck(&self, reference: &Reference, run: &CheckRun) -> Result<CheckRun, CheckError> {
        let mut again = self.judge_trace(reference, &run.binary, Arc::clone(&run.debug), Arc::clone(&run.facts), run.float_math)?;
        again.commands.clone_from(&run.commands);
        again.scratch.clone_from(&run.scratch);
        Ok(again)
    }

    /// Judges a pair of binaries built elsewhere. Every file that the reference's debug information names and
    /// that is not part of the system counts as the user's.
    pub fn check_pair(&self, reference: &Path, optimized: &Path, args: &[String]) -> Result<CheckRun, CheckError> {
        let reference = self.reference_pair(reference, args)?;
        self.check_against(&reference, optimized)
    }

    /// The reference side of a pair.
    pub fn reference_pair(&self, binary: &Path, args: &[String]) -> Result<Reference, CheckError> {
        let binary = absolute(binary)?;
        let mut launch = self.options.launch.clone();
        launch.args = args.to_vec();
        // Programs look at their name: some behave by it, and some make a hash's seed of it.
        launch.name.get_or_insert_with(|| binary.display().to_string());
        let libraries = self.libraries_of(&binary, &launch)?;
        let mapped: Vec<Mapped> = libraries.iter().map(Mapped::from).collect();
        let mut debug = Module::load_with(&binary, &mapped, Wanted::All, &self.options.search)?;
        let user_files = self.options.ownership.files_of(&debug);
        if user_files.is_empty() {
            let reason = "every file that it declares functions in is the system's; name yours with --user".to_owned();
            return Err(CheckError::NothingChecked { reason });
        }
        if !debug.holds_only(Wanted::new(&user_files)) {
            debug = Module::load_with(&binary, &mapped, Wanted::new(&user_files), &self.options.search)?;
        }
        self.reference_of(debug, binary, user_files, launch, Some(libraries), SourceFacts::default())
    }

    /// The libraries that a build has in one run.
    fn libraries_of(&self, binary: &Path, launch: &Launch) -> Result<Vec<LoadedLibrary>, CheckError> {
        let request = TraceRequest {
            launch: launch.clone(),
            follow: self.options.follow,
            limits: self.options.limits.clone(),
            ..TraceRequest::new(binary)
        };
        Ok(loaded_libraries(&request)?)
    }

    /// The optimized side of a pair.
    pub fn check_against(&self, reference: &Reference, optimized: &Path) -> Result<CheckRun, CheckError> {
        self.judge_binary(reference, &absolute(optimized)?, OptLevel::O2, FloatMath::Exact)
    }

    /// Judges a build of the reference's program that was compiled elsewhere at `opt` (pass bisection needs
    /// the compiler's own output, and builds by itself).
    pub fn check_build(&self, reference: &Reference, binary: &Path, opt: OptLevel) -> Result<CheckRun, CheckError> {
        self.judge_binary(reference, binary, opt, float_math(opt))
    }

    /// Compiles at -O0 and runs that build, without tracing it: all that wrong code is compared with.
    pub fn expected_behaviour(&self, program: &Program, compiler: &Compiler) -> Result<Behaviour, CheckError> {
        let scratch = Scratch::new().map_err(CheckError::io("cannot make a scratch directory"))?;
        let build = self.compile_reference(program, compiler, &scratch)?;
        Behaviour::observe(&build.binary, &self.launch_of(program), &self.options.limits)
    }

    /// Runs a build of the program compiled at `opt` without tracing it; behaving differently is an error.
    pub fn check_behaviour(&self, expected: &Behaviour, binary: &Path, opt: OptLevel) -> Result<(), CheckError> {
        self.compare_behaviour(expected, binary, opt, float_math(opt))
    }

    pub(crate) fn compare_behaviour(
        &self,
        expected: &Behaviour,
        binary: &Path,
        opt: OptLevel,
        float_math: FloatMath,
    ) -> Result<(), CheckError> {
        let wrong = |expected: String, actual: String| Err(CheckError::WrongCode { opt, expected, actual });
        // An endless loop need not be watched for minutes when the reference took a millisecond.
        let cpu = (expected.cpu * MOST_CPU_OVER_REFERENCE).max(LEAST_CPU).min(self.options.limits.cpu);
        let limits = Limits { cpu, ..self.options.limits.clone() };
        match (Behaviour::observe(binary, &expected.launch, &limits), float_math) {
            (Ok(behaviour), FloatMath::Exact) if !behaviour.same_as(expected) => {
                wrong(expected.summary_beside(&behaviour), behaviour.summary_beside(expected))
            }
            // The reference ended by itself, so a crash, an endless loop or a flood of output is this build's doing: most programs
            // that test a compiler abort when they find a wrong result.
            (Err(CheckError::BadProgram { reason }), FloatMath::Exact) => wrong(expected.summary(), format!("a program that {reason}")),
            (behaviour, _) => behaviour.map(drop),
        }
    }

    fn judge_binary(&self, reference: &Reference, binary: &Path, opt: OptLevel, float_math: FloatMath) -> Result<CheckRun, CheckError> {
        let ground = &*reference.ground;
        let libraries = match &ground.libraries {
            Some(_) => self.libraries_of(binary, &ground.launch)?,
            None => Vec::new(),
        };
        // A library that both builds load from one file was not built twice: there is nothing to hold it against.
        let is_own = |l: &&LoadedLibrary| !ground.libraries.iter().flatten().any(|r| r.path == l.path);
        let mapped: Vec<Mapped> = libraries.iter().filter(is_own).map(Mapped::from).collect();
        let debug = Module::load_with(binary, &mapped, Wanted::new(&ground.user_files), &self.options.search)?;
        let left_out = match self.compare_behaviour(&ground.behaviour, binary, opt, float_math) {
            Err(error @ CheckError::WrongCode { .. }) if ground.libraries.is_some() => Some(self.runs_alike(ground, binary)?.ok_or(error)?),
            compared => compared.map(|()| None)?,
        };
        let facts = Arc::new(facts::of_optimized(&debug));
        let mut run = self.judge_trace(reference, binary, debug, facts, float_math)?;
        run.notes.extend(left_out.map(Note::unsteady_output));
        libraries::own_addresses(&run.debug, &mut run.violations);
        run.notes.extend(libraries::notes((ground.libraries.as_deref().unwrap_or_default(), &ground.debug), (&libraries, &run.debug)));
        Ok(run)
    }

    /// What must be left out for two builds of a pair to behave alike, when that is possible.
    fn runs_alike(&self, ground: &Ground, binary: &Path) -> Result<Option<LeftOut>, CheckError> {
        let observe = |binary: &Path| Behaviour::observe(binary, &ground.launch, &self.options.limits);
        let reference = [&ground.behaviour, &observe(&ground.binary)?, &observe(&ground.binary)?];
        // One that ends in another way is another matter.
        let (Ok(one), Ok(two)) = (observe(binary), observe(binary)) else { return Ok(None) };
        Ok(alike_but_for(&reference, &[&one, &two]))
    }

    /// Traces and judges a build that is known to behave as the reference does.
    fn judge_trace(
        &self,
        reference: &Reference,
        binary: &Path,
        debug: Arc<Module>,
        optimized_facts: Arc<OptimizedFacts>,
        float_math: FloatMath,
    ) -> Result<CheckRun, CheckError> {
        let ground = &*reference.ground;
        let mut optimized = self.digest(Role::Optimized);
        let request = self.request(&debug, binary, &ground.user_files, &ground.launch);
        // What lives in memory is as the code left it: the rule `fixed-home` would drop it.
        let homes = (self.options.strictness == Strictness::Filtered).then_some(&optimized_facts.homes);
        let mut suspects = Suspects::new(&reference.visits, homes);
        let onlooker = self.looks_at_moments().then_some(&mut suspects);
        let (summary, came_back) = if self.options.invariants.contains(&Invariant::Lost) {
            let assignments = Assignments::read(&ground.debug);
            let mut returns = Returns::new(&mut optimized, &assignments);
            (self.engine.trace(&request, &mut Attended { sink: &mut returns, onlooker })?, returns.found())
        } else {
            (self.engine.trace(&request, &mut Attended { sink: &mut optimized, onlooker })?, Vec::new())
        };
        if optimized.steps == 0 {
            let reason = format!("no line of the user's files was stepped on in {}", binary.display());
            return Err(CheckError::NothingChecked { reason });
        }
        let mut notes = Note::refused(&summary.refusals);
        notes.extend(Note::unsteady(&ground.facts.unsteady));
        notes.extend(
            Note::few_seen(&ground.facts.executed, &reference.digest).filter(|_| self.looks_everywhere() && reference.seen.is_whole()),
        );
        if self.options.invariants.contains(&Invariant::SelfContradiction) {
            notes.extend(ground.declared.contradicted(&ground.facts, &reference.digest));
        }
        let here = Seen::of(&summary, 0);
        notes.extend(Note::threads(self.options.threads, &reference.seen, &here));
        // What lines do is watched over the whole run, whether or not every stop was made; not of one that was cut off.
        let is_finished = reference.seen.is_finished() && here.is_finished();
        let effects = if is_finished { self.effects(reference, binary, &debug)? } else { None };
        if effects.is_none() {
            notes.push(Note::BreakpointsUnjudged);
        }
        let mut effects = effects.unwrap_or_default();
        // Between stops that were not made a variable may have been assigned.
        if here.is_whole() && here.followed == 0 {
            effects.lost.extend(came_back);
        }
        let placing = Placing {
            reference_request: &self.request(&ground.debug, &ground.binary, &ground.user_files, &ground.launch),
            request: &request,
            digests: (&reference.digest, &optimized),
            visits: &reference.visits,
        };
        // Stops that were not made leave calls uncounted.
        let is_whole = self.looks_everywhere() && reference.seen.is_whole() && here.is_whole();
        let placings = placing.place(suspects.finish(), is_whole).map_err(|e| CheckError::Trace(e.into()))?;
        let summons = Summons::default();
        let mut case = Case {
            reference: &reference.digest,
            optimized: &optimized,
            reference_facts: &ground.facts,
            optimized_facts: &optimized_facts,
            effects: &effects,
            source: &ground.source,
            witness: &summons,
            placed: &placings.placed,
            float_math,
            strictness: self.options.strictness,
        };
        let wanted = &judgeable(&self.options.invariants, &ground.facts);
        if wanted.len() < self.options.invariants.len() && !optimized_facts.blocks.is_empty() {
            notes.push(Note::NoVariables);
        }
        let mut judgement = judge(&case, wanted, self.options.remembered);
        let asked = summons.names();
        let (marked, mut record);
        if !asked.is_empty() {
            let uninitialised = facts::uninitialised(&debug);
            marked = OptimizedFacts { uninitialised, ..(*optimized_facts).clone() };
            case.optimized_facts = &marked;
            record = ground.watched.lock();
            let threads = reference.seen.followed;
            let watched = record.complete(&ground.debug, &ground.binary, (&ground.launch, threads), &self.options.limits, asked);
            watched.map_err(|e| CheckError::Trace(e.into()))?;
            case.witness = &*record;
            drop(judgement);
            judgement = judge(&case, wanted, self.options.remembered);
        }
        if !is_whole {
            let left_out = judgement.dropped.iter().filter(|d| d.rule == trueline_oracle::rules::GIVEN_UP.name).count();
            notes.push(Note::partial(&ground.facts.executed, &reference.digest, &reference.seen, &here, left_out));
        }
        Ok(CheckRun {
            violations: judgement.violations,
            dropped: judgement.dropped,
            notes,
            moments: self.looks_at_moments().then_some(placings.count),
            completeness: measure(&reference.digest, &optimized),
            reference_steps: reference.digest.steps,
            optimized_steps: optimized.steps,
            cut_off: summary.end == TraceEnd::CutOff,
            compile_cpu: Duration::ZERO,
            trace_cpu: summary.cpu,
            commands: Vec::new(),
            optimized: Arc::new(optimized),
            binary: binary.to_owned(),
            debug,
            facts: optimized_facts,
            float_math,
            scratch: None,
        })
    }

    /// What the lines of both builds do, where an invariant asks for it; `None` where that cannot be watched.
    fn effects(&self, reference: &Reference, binary: &Path, debug: &Arc<Module>) -> Result<Option<Effects>, CheckError> {
        let wanted = |i: &Invariant| matches!(i, Invariant::Breakpoint | Invariant::Lost);
        if !self.options.invariants.iter().any(wanted) {
            return Ok(Some(Effects::default()));
        }
        let Ground { binary: at_o0, debug: debug_at_o0, facts, user_files, launch, .. } = &*reference.ground;
        if reference.effects.get().is_none() {
            let request = self.request(debug_at_o0, at_o0, user_files, launch);
            let watched = ReferenceEffects::watch(&*self.engine, &request, debug_at_o0, &facts.executed)?;
            // Somebody else may have been faster, with the same result.
            let _ = reference.effects.set(watched);
        }
        let Some(Some(at_o0)) = reference.effects.get() else { return Ok(None) };
        let idle: Vec<LineKey> = facts.rows.difference(&facts.executed).cloned().collect();
        let request = self.request(debug, binary, user_files, launch);
        Ok(effects::compare(&*self.engine, at_o0, &request, debug, &idle)?)
    }

    /// How every build of a program is started: under the program's own name, since where a build lies is nobody's business.
    pub(crate) fn launch_of(&self, program: &Program) -> Launch {
        let mut launch = self.options.launch.clone();
        let stem = Path::new(&program.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        launch.name = launch.name.or(stem);
        launch
    }

    fn compile_reference(&self, program: &Program, compiler: &Compiler, scratch: &Scratch) -> Result<Compiled, CheckError> {
        compile(program, compiler, OptLevel::O0, &self.flags(program, &[]), &scratch.join(&program.name), scratch)
    }

    pub(crate) fn flags(&self, program: &Program, extra: &[String]) -> Vec<String> {
        program.cflags.iter().chain(&self.options.cflags).chain(extra).cloned().collect()
    }

    fn request(&self, debug: &Arc<Module>, binary: &Path, user_files: &[String], launch: &Launch) -> TraceRequest {
        TraceRequest {
            binary: binary.to_owned(),
            launch: launch.clone(),
            user_files: user_files.to_vec(),
            policy: self.options.policy,
            vars: Vars::All,
            follow: self.options.follow,
            threads: self.options.threads,
            max_steps: self.options.max_steps,
            patience: self.options.patience,
            focus: self.options.focus.clone(),
            deadline: self.deadline(),
            limits: self.options.limits.clone(),
            search: self.options.search.clone(),
            debug: Some(Arc::clone(debug)),
        }
    }

    fn looks_everywhere(&self) -> bool {
        self.options.focus == Focus::default()
    }
}

/// A longer path to the same file. The kernel puts it at the far end of the stack, so that everything on the stack lies
/// lower in a run by it: what a program makes of such an address (the seed of a hash, say) is the build's own, and no other
/// build can be held to it.
fn elsewhere_on_the_stack(binary: &Path) -> PathBuf {
    const LOWER: usize = 1200;
    let (Some(directory), Some(name)) = (binary.parent(), binary.file_name()) else { return binary.to_owned() };
    directory.join("./".repeat(LOWER / 2)).join(name)
}

/// Why a trace that ran to its end has no step.
fn nothing_stepped(executed: &BTreeSet<LineKey>, user_files: &[String]) -> String {
    let files = user_files.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    match executed.len() {
        0 => format!("no line of the user's files ({files}) was executed"),
        n => format!("{n} lines of the user's files ({files}) were executed, none where a debugger steps from main"),
    }
}

/// Visits of an address in the second run at -O0, at the least.
const LEAST_VISITS: u32 = 8;

/// CPU time that an optimized build may take: this many times what the reference took, and at least some seconds.
const MOST_CPU_OVER_REFERENCE: u32 = 20;
const LEAST_CPU: Duration = Duration::from_secs(3);

/// The invariants that a reference can speak to. One without a single variable (-g1, line tables only) says nothing about
/// variables, and must not make those of the other build look wrong.
fn judgeable(wanted: &[Invariant], reference: &ReferenceFacts) -> Vec<Invariant> {
    let about_variables = [Invariant::Scope, Invariant::Parameter, Invariant::Value];
    wanted.iter().copied().filter(|i| !reference.variables.is_empty() || !about_variables.contains(i)).collect()
}

/// What a level and flags allow.
pub(crate) fn float_math_of(opt: OptLevel, flags: &[String]) -> FloatMath {
    let fast = flags.iter().any(|f| f == "-ffast-math" || f == "-Ofast");
    if fast { FloatMath::Relaxed } else { float_math(opt) }
}

/// What a level alone allows; flags may allow more.
fn float_math(opt: OptLevel) -> FloatMath {
    if opt == OptLevel::Ofast { FloatMath::Relaxed } else { FloatMath::Exact }
}

/// Lines as digests name them: the two builds of a pair may come from different directories.
fn by_base_name(lines: BTreeSet<LineKey>) -> BTreeSet<LineKey> {
    lines.into_iter().map(|l| LineKey { file: FileName::new(l.file.base()), line: l.line }).collect()
}

fn absolute(path: &Path) -> Result<PathBuf, CheckError> {
    std::path::absolute(path).map_err(CheckError::io(format!("cannot resolve {}", path.display())))
}
