//! `trueline isolate`: which of the compiler's own files one failing program points at.

use crate::exit::Ending;
use anyhow::{Context, bail};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_check::{CheckOptions, Checker};
use trueline_coverage::{GcovCoverage, StockCoverage};
use trueline_isolate::{
    Aggregate, Event, Failure, FailureJudge, FailureKind, Found, Level, Report, Search, Setting, Strategy, Suspect, SwitchWitness,
    diagnose, diff, pass_switches, switch_witnesses,
};
use trueline_model::{Answer, Coverage, Interesting, Invariant, Language, OptLevel, Origin, Program, SeamError};
use trueline_toolchain::{Compiler, Limits, cpu_time, find_compiler, installed_compilers};

/// Rank the compiler's own files for a program on which it crashes, hangs, makes wrong code or wrong
/// debug information.
#[derive(clap::Args)]
pub struct Args {
    /// The failing C program.
    file: PathBuf,
    /// The compiler to look into: a name or a path.
    #[arg(long, value_name = "CC", visible_alias = "cc", default_value = "gcc")]
    target: String,
    /// The failing level, or several to try. Without it: every level, the lowest that fails.
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', allow_hyphen_values = true)]
    opt: Vec<OptLevel>,
    /// A flag for every compilation of the program.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
    /// How the compiler is measured: as it is, or as a build with coverage.
    #[arg(long, value_enum, default_value_t = CoverageKind::Stock)]
    coverage: CoverageKind,
    /// The directory of the compiler's .gcno files, for `--coverage gcov`.
    #[arg(long, value_name = "DIR")]
    notes: Option<PathBuf>,
    /// How mutations are chosen.
    #[arg(long, value_enum, default_value_t = SearchKind::Guided)]
    search: SearchKind,
    /// CPU time to spend: `10m`, `90s`, `1h`.
    #[arg(long, default_value = "10m", value_parser = parse_duration)]
    budget: Duration,
    /// Which kind of failure to look into, when there could be several.
    #[arg(long, value_enum, default_value_t = FailureChoice::Auto)]
    failure: FailureChoice,
    /// Rank files or functions.
    #[arg(long, value_enum, default_value_t = LevelKind::File)]
    level: LevelKind,
    /// How the suspicion of a file's blocks makes the file's.
    #[arg(long, value_enum, default_value_t = AggregateKind::Evidence)]
    aggregate: AggregateKind,
    /// The seed of the search.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not use compilations with one pass switched off as witnesses.
    #[arg(long)]
    no_switches: bool,
    /// Directory of passing programs (a developer test-suite, say) to add to the witnesses.
    #[arg(long, value_name = "DIR")]
    passing: Option<PathBuf>,
    /// How many suspects to show.
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Exit with 1 when a ranking could be made.
    #[arg(long)]
    fail_on_findings: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CoverageKind {
    Stock,
    Gcov,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SearchKind {
    Guided,
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LevelKind {
    File,
    Function,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AggregateKind {
    /// Excess over an innocent block, weighed by the root of their number.
    Evidence,
    /// The mean, as published.
    Mean,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailureChoice {
    /// Crash, hang or wrong code; debug information when there is none of these.
    Auto,
    /// A debug-information invariant.
    DebugInfo,
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| format!("`{text}` is not a time; write 90s, 10m or 1h"))?;
    match &text[digits.len()..] {
        "" | "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(number * 60)),
        "h" => Ok(Duration::from_secs(number * 3600)),
        unit => Err(format!("`{unit}` is not a unit of time; use s, m or h")),
    }
}

/// What `trueline isolate --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Isolate")]
pub struct Document<'a> {
    schema: &'static str,
    program: String,
    compiler: &'a trueline_model::CompilerId,
    failure: FailureView<'a>,
    search: &'static str,
    seed: u64,
    witnesses: Vec<WitnessView>,
    switches: Vec<&'a str>,
    mutants: MutantView,
    ranking: &'a [Suspect],
    cpu_seconds: f64,
    wall_seconds: f64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct FailureView<'a> {
    kind: &'static str,
    level: OptLevel,
    flags: &'a [String],
    message: &'a str,
}

#[derive(Serialize, schemars::JsonSchema)]
struct WitnessView {
    rules: Vec<String>,
    distance: f64,
    diff: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct MutantView {
    judged: usize,
    failing: usize,
    unjudged: usize,
    order: usize,
    exhausted: bool,
}

/// What is being looked into.
struct Case {
    kind: &'static str,
    message: String,
    setting: Setting,
    crash: bool,
    protect_output: bool,
    judge: Box<dyn SwitchJudge>,
}

/// A judge that can also judge the program under further flags.
trait SwitchJudge: Interesting {
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

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Ending> {
    let started = (Instant::now(), cpu_time());
    let program = read_program(&args)?;
    let compiler = find_compiler(&args.target)?;
    let coverage = open_coverage(&args, &compiler)?;
    let case = find_case(&args, &program, &compiler)?;
    let progress = Progress { on: std::io::stderr().is_terminal(), started: started.0 };
    let budget = args.budget;
    let mut within = || cpu_time() - started.1 < budget;

    let flags = case.setting.all_flags();
    let switches = if args.no_switches { Vec::new() } else { find_switches(&case, &program, &compiler, &*coverage, budget, &progress)? };
    let search = Search {
        program: &program,
        judge: &*case.judge,
        coverage: &*coverage,
        flags: &flags,
        protect_output: case.protect_output,
        strategy: if args.search == SearchKind::Guided { Strategy::Guided } else { Strategy::Random },
        seed: args.seed,
        batch: 4,
        most_witnesses: 3000,
    };
    let found = search.run(&mut within, &mut |event| progress.show(event))?;
    progress.clear();
    let levels = passing_levels(&case, &program, &*coverage)?;
    let extra = passing_programs(args.passing.as_deref(), &flags, &*coverage, &mut within)?;
    if found.witnesses.is_empty() && switches.is_empty() && extra.is_empty() && levels.is_empty() {
        bail!(
            "{} fails with every mutation ({} tried, {} still fail, {} tell nothing): there is nothing to compare it with; give it a larger --budget, or passing programs with --passing",
            program.name,
            found.judged,
            found.failing_mutants,
            found.unjudged
        );
    }
    let level = if args.level == LevelKind::File { Level::File } else { Level::Function };
    let report =
        Report { found: &found, switches: &switches, levels: &levels, passing: &extra, map: coverage.code_map(), crash: case.crash };
    let ranking = report.ranking(level, if args.aggregate == AggregateKind::Mean { Aggregate::Mean } else { Aggregate::Evidence });
    let cost = (cpu_time() - started.1, started.0.elapsed());
    if args.json {
        print_json(&args, &program, &compiler, &case, &found, &switches, &ranking, cost)?;
    } else {
        print_report(&args, &program, &compiler, &case, &found, &switches, &ranking, cost);
    }
    Ok(if args.fail_on_findings { Ending::Found } else { Ending::Clean })
}

fn read_program(args: &Args) -> anyhow::Result<Program> {
    let path = &args.file;
    if Language::of_path(path) != Some(Language::C) {
        bail!("{} is not a C program; isolate mutates C only", path.display());
    }
    let source = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = std::fs::canonicalize(path).ok().and_then(|p| p.parent().map(Path::to_owned)).unwrap_or_default();
    // Mutants are compiled elsewhere: what the program includes is still beside it.
    let cflags = if source.contains("#include \"") { vec![format!("-I{}", folder.display())] } else { Vec::new() };
    Ok(Program { name, language: Language::C, source, origin: Origin::File { path: path.clone() }, cflags })
}

fn open_coverage(args: &Args, compiler: &Compiler) -> anyhow::Result<Box<dyn Coverage>> {
    let limits = Limits { cpu: Duration::from_secs(6), ..Limits::seconds(60) };
    Ok(match args.coverage {
        CoverageKind::Stock => Box::new(StockCoverage::new(compiler)?.limits(limits)),
        CoverageKind::Gcov => {
            let folder = compiler.id.path.parent().map(Path::to_owned).unwrap_or_default();
            let notes = args.notes.clone().unwrap_or(folder);
            Box::new(GcovCoverage::new(compiler, &notes)?.limits(limits))
        }
    })
}

fn find_case(args: &Args, program: &Program, compiler: &Compiler) -> anyhow::Result<Case> {
    // From the level that runs the least of the compiler to the one that runs the most.
    let usual = [OptLevel::O1, OptLevel::Og, OptLevel::Os, OptLevel::O2, OptLevel::O3, OptLevel::O0];
    let levels: Vec<OptLevel> = if args.opt.is_empty() { usual.to_vec() } else { args.opt.clone() };
    if args.failure == FailureChoice::DebugInfo {
        return debug_case(args, program, compiler, &levels);
    }
    let other =
        installed_compilers().into_iter().rev().find(|c| c.id.kind != compiler.id.kind && c.id.kind != trueline_model::CompilerKind::Rustc);
    match diagnose(program, compiler, &levels, &args.cflags, other.as_ref()) {
        Ok(failure) => Ok(program_case(failure)),
        Err(passes @ trueline_isolate::FailureError::Passes { .. }) => {
            debug_case(args, program, compiler, &levels).map_err(|debug| anyhow::anyhow!("{passes}\nand its debug information: {debug:#}"))
        }
        Err(error) => Err(error.into()),
    }
}

fn program_case(failure: Failure) -> Case {
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
    let checker = Checker::new(options)?;
    let reference = checker.reference(program, compiler)?;
    // -O0 is the reference here, so it cannot be what fails.
    for &opt in levels.iter().filter(|opt| **opt != OptLevel::O0) {
        let run = checker.check(program, &reference, compiler, opt, &[])?;
        if let Some(violation) = run.violations.first() {
            let mut flags = vec!["-g".to_owned()];
            flags.extend(args.cflags.iter().cloned());
            let setting = Setting { compiler: compiler.clone(), opt, flags };
            let message = format!("{} violation at {}:{} ({opt})", violation.invariant, program.name, violation.line);
            let judge = DebugJudge { checker, setting: setting.clone(), invariant: violation.invariant };
            return Ok(Case { kind: "debug-info", message, setting, crash: false, protect_output: false, judge: Box::new(judge) });
        }
    }
    bail!("no invariant is broken at {}", levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
}

fn find_switches(
    case: &Case,
    program: &Program,
    compiler: &Compiler,
    coverage: &dyn Coverage,
    budget: Duration,
    progress: &Progress,
) -> anyhow::Result<Vec<SwitchWitness>> {
    let flags = case.setting.all_flags();
    let candidates = pass_switches(compiler, program, &flags)?;
    let begun = cpu_time();
    // At most a quarter of the time: the search needs the rest.
    let mut within = || cpu_time() - begun < budget / 4;
    progress.say("trying pass switches");
    let judge = |extra: &[String]| case.judge.judge_flags(program, extra);
    Ok(switch_witnesses(program, &flags, &candidates, &judge, coverage, &mut within)?)
}

fn passing_levels(case: &Case, program: &Program, coverage: &dyn Coverage) -> anyhow::Result<Vec<trueline_model::CoverageSet>> {
    let measure = |opt: OptLevel| {
        let setting = Setting { opt, ..case.setting.clone() };
        Ok(coverage.measure(program, &setting.all_flags())?)
    };
    case.judge.passing_levels(program)?.into_iter().map(measure).collect()
}

fn passing_programs(
    dir: Option<&Path>,
    flags: &[String],
    coverage: &dyn Coverage,
    within: &mut dyn FnMut() -> bool,
) -> anyhow::Result<Vec<trueline_model::CoverageSet>> {
    let Some(dir) = dir else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?.flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "c"));
    files.sort();
    let mut sets = Vec::new();
    for path in files {
        if !within() && !sets.is_empty() {
            break;
        }
        let source = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let cflags = vec![format!("-I{}", dir.display())];
        let program = Program { name, language: Language::C, source, origin: Origin::File { path }, cflags };
        sets.push(coverage.measure(&program, flags)?);
    }
    Ok(sets)
}

/// One line on the terminal, for what takes longer than two seconds.
struct Progress {
    on: bool,
    started: Instant,
}

impl Progress {
    fn say(&self, text: &str) {
        if self.on && self.started.elapsed() > Duration::from_secs(2) {
            eprint!("\r\x1b[K{text}…");
            let _ = std::io::stderr().flush();
        }
    }

    fn show(&self, event: Event) {
        let Event::Progress { judged, witnesses, order } = event;
        self.say(&format!("{judged} mutants of order {order} judged, {witnesses} witnesses"));
    }

    fn clear(&self) {
        if self.on {
            eprint!("\r\x1b[K");
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "everything a report says")]
fn print_json(
    args: &Args,
    program: &Program,
    compiler: &Compiler,
    case: &Case,
    found: &Found,
    switches: &[SwitchWitness],
    ranking: &[Suspect],
    cost: (Duration, Duration),
) -> anyhow::Result<()> {
    let witness = |w: &trueline_isolate::Witness| WitnessView {
        rules: w.rules.iter().map(ToString::to_string).collect(),
        distance: w.distance,
        diff: diff(&program.source, &w.program.source),
    };
    let document = Document {
        schema: "trueline.isolate/1",
        program: args.file.display().to_string(),
        compiler: &compiler.id,
        failure: FailureView { kind: case.kind, level: case.setting.opt, flags: &case.setting.flags, message: &case.message },
        search: if args.search == SearchKind::Guided { "guided" } else { "random" },
        seed: args.seed,
        witnesses: found.nearest().into_iter().map(witness).collect(),
        switches: switches.iter().map(|s| s.flag.as_str()).collect(),
        mutants: MutantView {
            judged: found.judged,
            failing: found.failing_mutants,
            unjudged: found.unjudged,
            order: found.order,
            exhausted: found.exhausted,
        },
        ranking,
        cpu_seconds: cost.0.as_secs_f64(),
        wall_seconds: cost.1.as_secs_f64(),
    };
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "everything a report says")]
fn print_report(
    args: &Args,
    program: &Program,
    compiler: &Compiler,
    case: &Case,
    found: &Found,
    switches: &[SwitchWitness],
    ranking: &[Suspect],
    cost: (Duration, Duration),
) {
    println!("{} {} on {} · {}", compiler.id, case.setting.opt, program.name, case.kind);
    println!("{}\n", case.message);
    println!("rank  score   blocks  {}", if args.level == LevelKind::File { "file" } else { "function" });
    for suspect in ranking.iter().take(args.top) {
        let name = match &suspect.function {
            Some(function) if function.is_empty() => format!("(unnamed) in {}", suspect.file),
            Some(function) => format!("{function} in {}", suspect.file),
            None => suspect.file.clone(),
        };
        println!("{:>4}  {:.4}  {:>6}  {name}", suspect.rank, suspect.score, suspect.statements);
    }
    if !switches.is_empty() {
        println!("\nIt passes with any one of these:");
        switches.iter().for_each(|s| println!("  {}", s.flag));
    }
    for witness in found.nearest().into_iter().take(3) {
        let rules = witness.rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        println!("\nIt passes after `{rules}` (distance {:.4}):", witness.distance);
        print!("{}", diff(&program.source, &witness.program.source));
    }
    println!(
        "\n{} witnesses of {} mutants up to order {} ({} still fail, {} tell nothing) · {:.0} s CPU, {:.0} s",
        found.witnesses.len(),
        found.judged,
        found.order,
        found.failing_mutants,
        found.unjudged,
        cost.0.as_secs_f64(),
        cost.1.as_secs_f64()
    );
}
