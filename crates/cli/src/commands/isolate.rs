//! `trueline isolate`: which of the compiler's own files one failing program points at.

mod print;
mod programs;

use crate::exit::CommandEnding;
use anyhow::{Context, bail};
pub use print::Document;
use print::IsolateOutcome;
use programs::{given_programs, parted, read_program};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_coverage::{GcovCoverage, StockCoverage};
use trueline_explain::{FailingCase, FailureScope, FailureSearch, find_case};
use trueline_isolate::{
    Aggregate, ProgramSetting, RankLevel, RankingReport, SearchEvent, SearchStrategy, SwitchWitness, Switchboard, WitnessSearch,
    bisected_pass, compiler_switches, debug_counters, switch_witnesses,
};
use trueline_model::{BlamedPass, Coverage, CoverageSet, OptLevel};
use trueline_toolchain::{Compiler, Limits, cpu_time, find_compiler};

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
    /// A pass that is known to be guilty; its file is shown beside the ranking.
    #[arg(long, value_name = "PASS")]
    guilty_pass: Vec<String>,
    /// A document of `trueline triage --json` to take guilty passes from.
    #[arg(long, value_name = "FILE")]
    triage: Option<PathBuf>,
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

/// A pass that has to do with the failure, and where it lives.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct GuiltyPass {
    pass: String,
    /// `null` when the binary does not tell.
    file: Option<String>,
}

/// A compiler under one of the back ends.
enum WatchedCompiler {
    Stock(StockCoverage),
    Gcov(GcovCoverage),
}

impl WatchedCompiler {
    fn coverage(&self) -> &dyn Coverage {
        match self {
            Self::Stock(stock) => stock,
            Self::Gcov(gcov) => gcov,
        }
    }

    fn guilty(&self, pass: String) -> GuiltyPass {
        let file = match self {
            Self::Stock(stock) => stock.file_of_pass(&pass),
            Self::Gcov(_) => None,
        };
        GuiltyPass { pass, file }
    }

    /// For each switch the files that ask the debug counter it turns; none for other switches.
    fn counter_files(&self, compiler: &Compiler, switches: &[SwitchWitness]) -> Vec<Vec<String>> {
        let counter = |flag: &str| Some(flag.strip_prefix("-fdbg-cnt=")?.split_once(':')?.0.to_owned());
        let turned: Vec<Option<String>> = switches.iter().map(|switch| counter(&switch.flag)).collect();
        let Self::Stock(stock) = self else { return vec![Vec::new(); switches.len()] };
        let known = if turned.iter().any(Option::is_some) { debug_counters(compiler).unwrap_or_default() } else { Vec::new() };
        let files = |name: String| Some(stock.files_of_counter(known.iter().position(|k| *k == name)? as u32));
        turned.into_iter().map(|name| name.and_then(files).unwrap_or_default()).collect()
    }
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let started = (Instant::now(), cpu_time());
    let (text_flags, cflags) = parted(&args.cflags);
    let given = read_program(&args, &text_flags)?;
    let mut named = args.guilty_pass.clone();
    named.extend(args.triage.as_deref().map(triaged_passes).transpose()?.unwrap_or_default());
    let compiler = find_compiler(&args.target)?;
    let watched = open_coverage(&args, &compiler)?;
    let coverage = watched.coverage();
    let scope = if args.failure == FailureChoice::DebugInfo { FailureScope::DebugInfo } else { FailureScope::Any };
    let case = find_case(&FailureSearch { levels: &args.opt, cflags: &cflags, scope }, &given, &compiler)?;
    let program = &case.program;
    let progress = ProgressLine { on: std::io::stderr().is_terminal(), started: started.0 };
    let budget = args.budget;
    let mut within = || cpu_time() - started.1 < budget;

    let flags = case.setting.all_flags();
    let switches = if args.no_switches { Vec::new() } else { find_switches(&case, &compiler, coverage, budget, &progress)? };
    let extra = given_programs(&args, &case, coverage)?;
    let search = WitnessSearch {
        protect_output: case.protect_output,
        validity: case.soundness.validity(),
        strategy: if args.search == SearchKind::Guided { SearchStrategy::Guided } else { SearchStrategy::Random },
        seed: args.seed,
        ..WitnessSearch::new(program, &*case.judge, coverage, &flags)
    };
    let found = search.run(&mut within, &mut |event| progress.show(event))?;
    progress.clear();
    let levels = passing_levels(&case, coverage)?;
    let compared = !(found.witnesses.is_empty() && switches.is_empty() && extra.covered.is_empty() && levels.is_empty());
    let level = if args.level == LevelKind::File { RankLevel::File } else { RankLevel::Function };
    let report = RankingReport {
        found: &found,
        switches: &switches,
        levels: &levels,
        passing: &extra.covered,
        map: coverage.code_map(),
        crash: case.crash,
    };
    let aggregate = if args.aggregate == AggregateKind::Mean { Aggregate::Mean } else { Aggregate::Evidence };
    let ranking = if compared { report.ranking(level, aggregate) } else { Vec::new() };
    if named.is_empty() {
        named = switches.iter().filter_map(|switch| switched_pass(&case, &compiler, &switch.flag)).collect();
    }
    let guilty: Vec<GuiltyPass> = named.into_iter().map(|pass| watched.guilty(pass)).collect();
    let outcome = IsolateOutcome {
        args: &args,
        compiler: &compiler,
        case: &case,
        found: &found,
        switches: &switches,
        counter_files: &watched.counter_files(&compiler, &switches),
        guilty: &guilty,
        ranking: &ranking,
        given: &extra,
        cpu: cpu_time() - started.1,
        wall: started.0.elapsed(),
    };
    if args.json {
        outcome.print_json()?;
    } else {
        outcome.print();
    }
    if !compared {
        bail!(
            "{} fails with every mutation ({} tried, {} still fail, {} tell nothing): there is nothing to compare it with; give it a larger --budget, or passing programs with --passing",
            program.name,
            found.judged,
            found.failing_mutants,
            found.unjudged
        );
    }
    Ok(if args.fail_on_findings { CommandEnding::Found } else { CommandEnding::Clean })
}

/// The pass that a switch stops: the one it names, or the one at which LLVM's dial stands.
fn switched_pass(case: &FailingCase, compiler: &Compiler, flag: &str) -> Option<String> {
    if let Some(pass) = flag.strip_prefix("-fdisable-") {
        return Some(pass.to_owned());
    }
    let limit: u64 = flag.strip_prefix("-mllvm -opt-bisect-limit=")?.parse().ok()?;
    bisected_pass(compiler, &case.program, &case.setting.all_flags(), limit + 1)
}

/// Of a document of `trueline triage --json`, what is read here.
#[derive(serde::Deserialize)]
struct Triaged {
    findings: Vec<TriagedFinding>,
}

#[derive(serde::Deserialize)]
struct TriagedFinding {
    pass: Option<BlamedPass>,
}

/// The names of guilty passes in a document of `trueline triage --json`.
fn triaged_passes(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let document: Triaged =
        serde_json::from_str(&text).with_context(|| format!("{} is not a document of trueline triage --json", path.display()))?;
    let named = document.findings.into_iter().filter_map(|finding| finding.pass?.name);
    let names: BTreeSet<String> = named.flat_map(|name| name.0.split('+').map(str::to_owned).collect::<Vec<_>>()).collect();
    if names.is_empty() {
        bail!("{} names no guilty pass", path.display());
    }
    Ok(names.into_iter().collect())
}

fn open_coverage(args: &Args, compiler: &Compiler) -> anyhow::Result<WatchedCompiler> {
    let limits = Limits { cpu: Duration::from_secs(6), ..Limits::seconds(60) };
    Ok(match args.coverage {
        CoverageKind::Stock => WatchedCompiler::Stock(StockCoverage::new(compiler)?.limits(limits)),
        CoverageKind::Gcov => {
            let folder = compiler.id.path.parent().map(Path::to_owned).unwrap_or_default();
            let notes = args.notes.clone().unwrap_or(folder);
            WatchedCompiler::Gcov(GcovCoverage::new(compiler, &notes)?.limits(limits))
        }
    })
}

fn find_switches(
    case: &FailingCase,
    compiler: &Compiler,
    coverage: &dyn Coverage,
    budget: Duration,
    progress: &ProgressLine,
) -> anyhow::Result<Vec<SwitchWitness>> {
    let flags = case.setting.all_flags();
    let candidates = compiler_switches(compiler, &case.program, &flags)?;
    let begun = cpu_time();
    // At most a third of the time: the search needs the rest.
    let mut within = || cpu_time() - begun < budget / 3;
    progress.say("trying pass switches");
    let judge = |extra: &[String]| case.judge.judge_flags(&case.program, extra);
    let board = Switchboard { program: &case.program, flags: &flags, judge: &judge, coverage };
    Ok(switch_witnesses(&board, &candidates, &mut within)?)
}

fn passing_levels(case: &FailingCase, coverage: &dyn Coverage) -> anyhow::Result<Vec<CoverageSet>> {
    let measure = |opt: OptLevel| {
        let setting = ProgramSetting { opt, ..case.setting.clone() };
        Ok(coverage.measure(&case.program, &setting.all_flags())?)
    };
    case.judge.passing_levels(&case.program)?.into_iter().map(measure).collect()
}

/// One line on the terminal, for what takes longer than two seconds.
struct ProgressLine {
    on: bool,
    started: Instant,
}

impl ProgressLine {
    fn say(&self, text: &str) {
        if self.on && self.started.elapsed() > Duration::from_secs(2) {
            eprint!("\r\x1b[K{text}…");
            let _ = std::io::stderr().flush();
        }
    }

    fn show(&self, event: SearchEvent) {
        let SearchEvent::Progress { judged, witnesses, order } = event;
        self.say(&format!("{judged} mutants of order {order} judged, {witnesses} witnesses"));
    }

    fn clear(&self) {
        if self.on {
            eprint!("\r\x1b[K");
        }
    }
}
