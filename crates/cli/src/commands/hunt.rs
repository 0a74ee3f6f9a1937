//! `trueline hunt`: a campaign over programs, compilers and levels.

mod mutation;
pub mod progress;
mod project;
mod slurm;

use crate::exit::CommandEnding;
use crate::input::project::ProjectFlags;
use crate::input::{LaunchFlags, drivers, parse_duration};
use anyhow::{Context, bail};
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trueline_campaign::{
    CampaignError, CampaignPlan, Confirm, Minimize, Oracle, Reporter, SeedOrder, Seeds, Shard, Silent, Totals, Validation,
};
use trueline_generate::SourceSpec;
use trueline_model::{CompilerKind, EngineKind, Invariant, Language, OptLevel, Policy};
use trueline_store::Store;
use trueline_toolchain::{Compiler, find_compiler, installed_compilers};

/// Hunt for debug-information bugs: make programs, compile them at every level, check, remember.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    project: ProjectFlags,
    /// With --project: a directory of files, or a file. Each is an input: it takes the place of `{}` in --run, or is on standard
    /// input where there is no `{}`.
    #[arg(long, value_name = "DIR|FILE", requires = "project")]
    inputs: Option<PathBuf>,
    #[command(flatten)]
    launch: LaunchFlags,
    /// Compilers, by name or path. [default: the newest gcc and the newest clang]
    #[arg(long, value_name = "CC", value_delimiter = ',')]
    cc: Vec<String>,
    /// The language of the programs: c, c++ or rust. [default: that of the compilers; in a corpus all that they take]
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// Levels to compile at. [default: -Og,-O1,-O2,-O3,-Ofast,-Os,-Oz]
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', allow_hyphen_values = true)]
    opt: Vec<OptLevel>,
    /// Compile each program at so many of the levels, drawn by its number: more programs in the same time. [default: all; 1 for a
    /// hunt without end that does not say --opt]
    #[arg(long, value_name = "N")]
    levels_per_program: Option<NonZeroUsize>,
    /// A flag for every compilation; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
    /// Where programs come from: weave, weave:wide, weave:swarm, csmith, csmith-default, yarpgen or corpus:DIR.
    #[arg(long, default_value = "weave:swarm")]
    generator: SourceSpec,
    /// Which programs: 1..200, or 1.. for no end.
    #[arg(long, value_name = "A..B")]
    seeds: Option<Seeds>,
    /// Take those seeds first whose like has brought most so far, where a generator says what a seed's program is made of
    /// (weave:swarm). Otherwise seeds are taken by number.
    #[arg(long)]
    steered: bool,
    /// Stop after this time: 90s, 10m, 2h.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Threads. [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Only part K of N of the programs.
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    shard: Shard,
    /// The database; the same command on the same file goes on where it stopped.
    #[arg(long, value_name = "FILE", default_value = "hunt.db")]
    db: PathBuf,
    /// Where the HTML report goes. [default: beside the database]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Do not write the HTML report at the end.
    #[arg(long)]
    no_report: bool,
    /// Who screens: native, gdb or lldb.
    #[arg(long, default_value = "native")]
    engine: EngineKind,
    /// Whose habits the native engine follows: gdb, lldb or standard.
    #[arg(long, default_value = "gdb")]
    policy: Policy,
    /// Invariants to check. [default: all but codegen, stale and lost]
    #[arg(long = "invariant", value_name = "NAME", value_delimiter = ',')]
    invariants: Vec<Invariant>,
    /// How gdb, lldb and the other readings are asked: spot (about every violation, at its address), all (every build with
    /// a violation is stepped through by each), distinct (the first of each class so) or none.
    #[arg(long, default_value = "spot")]
    confirm: Confirm,
    /// When programs pass the validity filter: on-finding, every or none.
    #[arg(long, default_value = "on-finding")]
    validate: Validation,
    /// What builds are judged by: debug (debug information), wrong-code (what programs print and what compiling costs;
    /// nothing is traced) or both (programs too long to be traced are judged by their code).
    #[arg(long, default_value = "both")]
    oracle: Oracle,
    /// Variants per program that mean the same (live-code mutation); C only. [default: 0, with --oracle wrong-code 10]
    #[arg(long, value_name = "N")]
    mutate: Option<u32>,
    #[command(flatten)]
    mutation: mutation::MutationFlags,
    /// Which findings on variants are reduced to the insertions they need: distinct (the first of each class) or none.
    #[arg(long, default_value = "distinct")]
    minimize: Minimize,
    /// Explain the first finding of each class on the way, and print the causes at the end, best first.
    #[arg(long)]
    explain: bool,
    /// Share of the time for that, in per cent.
    #[arg(long, value_name = "PERCENT", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=90), requires = "explain")]
    explain_share: u8,
    /// Violations of one class to keep; further ones are only counted, and no debugger is asked about them.
    #[arg(long, value_name = "N", default_value_t = 100)]
    most_of_class: u64,
    /// Most steps of one trace; longer programs are dropped. [default: 20000, of a project's run 1000000]
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// Exit with 1 when something was found.
    #[arg(long)]
    fail_on_findings: bool,
    /// Print events as JSON Lines.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cluster: slurm::Flags,
}

/// Variants per program of a hunt for wrong code: a chain of the paper's length.
const WRONG_CODE_VARIANTS: u32 = 10;

/// Most steps of a project's run, as `check` has it.
const PROJECT_STEPS: u64 = 1_000_000;

/// Set by the first Ctrl-C; the second one ends the process at once.
static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_interrupt(_signal: libc::c_int) {
    if STOP.swap(true, Ordering::SeqCst) {
        // SAFETY: _exit is async-signal-safe; everything recorded is on disk already.
        unsafe { libc::_exit(130) };
    }
}

/// Hunts until the time, the seeds or the user's patience ends.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    if args.cluster.on == slurm::HuntPlace::Slurm || args.cluster.attach.is_some() {
        return run_on_slurm(&args);
    }
    let plan = plan_of(&args)?;
    if let Some(directory) = args.project.directory() {
        let totals = project::hunt(&args, directory, &plan)?;
        return conclude(&args, &Store::open_existing(&args.db)?, &totals);
    }
    let source = args.generator.open()?;
    let store = Store::open(&args.db)?;
    store.set_meta("generator", &source.name())?;
    stop_on_signals();
    let reporter = reporter(&args, &plan);
    let mutator = if plan.mutants > 0 { Some(mutation::LiveCode::new(&args.mutation, plan.oracle)?) } else { None };
    let mutate = mutator.as_ref().map(|m| m as &dyn trueline_campaign::Mutate);
    let ended = trueline_campaign::run(&plan, &*source, &store, mutate, &*reporter, &STOP);
    drop(reporter);
    let totals = ended.map_err(|error| keep_bad_mutation(error, &args.db))?;
    conclude(&args, &store, &totals)
}

fn reporter(args: &Args, plan: &CampaignPlan) -> Box<dyn Reporter> {
    if args.json {
        Box::new(progress::EventLines)
    } else if std::io::stderr().is_terminal() {
        Box::new(progress::Bar::new(plan))
    } else {
        Box::new(Silent)
    }
}

/// Writes the variant that shows a fault of the mutation, and its seed, beside the database.
fn keep_bad_mutation(error: CampaignError, db: &std::path::Path) -> anyhow::Error {
    let CampaignError::BadMutation { program, seed, .. } = &error else { return error.into() };
    let dir = beside(db, "bad-mutation");
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&dir)?;
        std::fs::write(dir.join(&seed.name), &seed.source)?;
        std::fs::write(dir.join(&program.name), &program.source)
    };
    let kept = match write() {
        Ok(()) => format!("both are in {}; this is a bug in trueline, please report it with them", dir.display()),
        Err(e) => format!("they could not be written to {}: {e}", dir.display()),
    };
    anyhow::Error::from(error).context(kept)
}

/// Prints the table and writes the report.
fn conclude(args: &Args, store: &Store, totals: &Totals) -> anyhow::Result<CommandEnding> {
    let counts = store.counts()?;
    if !args.json {
        print_summary(store, totals)?;
        if args.explain {
            print!("\n{}", trueline_report::causes_text(&trueline_report::causes_of(store)?));
        }
    }
    if !args.no_report {
        let out = args.out.clone().unwrap_or_else(|| report_dir(&args.db));
        let index = super::report::write(store, &out)?;
        if !args.json {
            println!("\nreport: {}", index.display());
        }
    }
    Ok(if args.fail_on_findings && counts.findings > 0 { CommandEnding::Found } else { CommandEnding::Clean })
}

fn stop_on_signals() {
    // SAFETY: the handler only touches an atomic and calls _exit.
    unsafe {
        libc::signal(libc::SIGINT, on_interrupt as *const () as libc::sighandler_t);
        libc::signal(libc::SIGTERM, on_interrupt as *const () as libc::sighandler_t);
    }
}

/// Submits the hunt as an array, follows it, and reports on the merged result as a hunt here would.
fn run_on_slurm(args: &Args) -> anyhow::Result<CommandEnding> {
    // What a shard would refuse is refused before anything is queued.
    plan_of(args)?;
    stop_on_signals();
    if let slurm::ArrayOutcome::Left = slurm::run(&args.cluster, &args.db, &STOP)? {
        return Ok(CommandEnding::Clean);
    }
    conclude(args, &Store::open_existing(&args.db)?, &Totals::default())
}

/// The report of `hunt.db` is in `hunt-report/`.
pub fn report_dir(db: &std::path::Path) -> PathBuf {
    beside(db, "report")
}

/// A path beside a database, named after it.
fn beside(db: &std::path::Path, what: &str) -> PathBuf {
    let stem = db.file_stem().map_or_else(|| "hunt".into(), |s| s.to_string_lossy().into_owned());
    db.with_file_name(format!("{stem}-{what}"))
}

/// Whether there are always more programs, so that a level that one does not draw is drawn by others. What programs compute wrongly
/// shows at few levels, and their variants are many already.
fn is_endless(args: &Args) -> bool {
    let ends = args.seeds.is_some_and(|seeds| seeds.end.is_some()) || matches!(args.generator, SourceSpec::Corpus(_));
    args.opt.is_empty() && args.oracle != Oracle::WrongCode && !ends
}

fn plan_of(args: &Args) -> anyhow::Result<CampaignPlan> {
    let compilers = compilers_of(args)?;
    if compilers.is_empty() {
        bail!("no compiler was found; install one with `apt-get install gcc clang-16`, or name one with --cc");
    }
    let mut plan = CampaignPlan::new(compilers);
    if !args.opt.is_empty() {
        if args.opt.contains(&OptLevel::O0) {
            bail!("-O0 is what the others are compared with; leave it out of --opt");
        }
        plan.levels.clone_from(&args.opt);
    }
    plan.levels_per_program = args.levels_per_program.or(if is_endless(args) { NonZeroUsize::new(1) } else { None });
    if let Some(jobs) = args.jobs {
        plan.jobs = jobs.max(1);
    }
    if let Some(seeds) = args.seeds {
        plan.seeds = seeds;
    } else if matches!(args.generator, SourceSpec::Corpus(_)) {
        plan.seeds = Seeds { first: 0, end: None };
    }
    if !args.invariants.is_empty() {
        plan.invariants.clone_from(&args.invariants);
    }
    plan.shard = args.shard;
    plan.order = if args.steered { SeedOrder::Steered } else { SeedOrder::Counted };
    plan.duration = args.duration;
    plan.engine = args.engine;
    plan.policy = args.policy;
    plan.confirm = args.confirm;
    plan.validation = args.validate;
    plan.oracle = args.oracle;
    plan.mutants = args.mutate.unwrap_or(if args.oracle == Oracle::WrongCode { WRONG_CODE_VARIANTS } else { 0 });
    plan.minimize = args.minimize;
    plan.most_of_class = args.most_of_class;
    plan.explain_share = args.explain.then(|| f64::from(args.explain_share) / 100.0);
    plan.max_steps = args.max_steps.unwrap_or(if args.project.directory().is_some() { PROJECT_STEPS } else { plan.max_steps });
    plan.cflags.clone_from(&args.cflags);
    Ok(plan)
}

/// The compilers of a hunt, each under the driver that its programs need.
fn compilers_of(args: &Args) -> anyhow::Result<Vec<Compiler>> {
    let named = if args.cc.is_empty() { default_compilers(args.language) } else { named_compilers(&args.cc)? };
    match args.language {
        Some(language) => {
            if let Some(other) = named.iter().find(|c| !c.takes(language)) {
                bail!("{} does not compile {language}; choose another compiler with --cc, or another --language", other.id);
            }
            drivers(&named, language)
        }
        // A directory may hold C and C++: what has a driver for either is asked about both.
        None if matches!(args.generator, SourceSpec::Corpus(_)) => {
            let both =
                |c: &Compiler| Language::ALL.into_iter().filter(|l| c.takes(*l)).filter_map(|l| c.driver(l).ok()).collect::<Vec<_>>();
            let mut all: Vec<Compiler> = Vec::new();
            for driver in named.iter().flat_map(both) {
                if !all.contains(&driver) {
                    all.push(driver);
                }
            }
            Ok(all)
        }
        None => Ok(named),
    }
}

/// The newest gcc and the newest clang; for Rust, rustc.
fn default_compilers(language: Option<Language>) -> Vec<Compiler> {
    let installed = installed_compilers();
    let speaks = |c: &&Compiler| language.is_none_or(|l| c.driver(l).is_ok());
    let newest = |kind: &CompilerKind| installed.iter().filter(|c| c.id.kind == *kind).filter(speaks).max_by_key(|c| c.major()).cloned();
    let kinds: &[CompilerKind] =
        if language == Some(Language::Rust) { &[CompilerKind::Rustc] } else { &[CompilerKind::Gcc, CompilerKind::Clang] };
    kinds.iter().filter_map(newest).collect()
}

fn named_compilers(names: &[String]) -> anyhow::Result<Vec<Compiler>> {
    let mut compilers: Vec<Compiler> = Vec::new();
    for name in names {
        let compiler = find_compiler(name)?;
        if !compilers.iter().any(|c| c.id == compiler.id) {
            compilers.push(compiler);
        }
    }
    Ok(compilers)
}

fn print_summary(store: &Store, totals: &Totals) -> anyhow::Result<()> {
    let counts = store.counts().context("cannot count")?;
    println!("{}", trueline_report::table_of(store)?.text());
    println!(
        "{} programs ({} rejected), {} units done, {} failed · {} findings, {} distinct",
        counts.programs,
        counts.rejected,
        counts.units_in("done"),
        counts.units_in("failed"),
        counts.findings,
        counts.distinct
    );
    if counts.repeated > 0 {
        println!("{} more of classes that were seen often enough, counted only", counts.repeated);
    }
    if totals.units > 0 {
        // A project is built once for all its inputs: no unit has a part in that.
        let compiling = match totals.compile_cpu {
            0.0 => String::new(),
            cpu => format!(" of which {cpu:.0} compiling ({:.2}×)", totals.cpu / cpu.max(1e-9)),
        };
        println!(
            "this run: {} units in {:.0} s, {:.0} CPU-s{compiling} · {:.0} units per CPU-hour",
            totals.units,
            totals.wall,
            totals.cpu,
            totals.units as f64 * 3600.0 / totals.cpu.max(1e-9)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_write_them() {
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_duration("45"), Ok(Duration::from_secs(45)));
        assert!(parse_duration("soon").is_err());
    }

    #[test]
    fn the_report_stands_beside_the_database() {
        assert_eq!(report_dir(std::path::Path::new("some/hunt.db")), PathBuf::from("some/hunt-report"));
    }
}
