//! `trueline check`: optimized builds of programs against their -O0 builds.
//!
//! One program is reported in full; of many only those with something new are. The traces of a program are dropped
//! as soon as its report is written, so that a directory of thousands needs the memory of a few.

mod baseline;
mod batch;
mod html;
mod json;
mod junit;
pub mod project;
mod sarif;
mod sources;
mod text;
#[cfg(test)]
mod wording;

use crate::exit::CommandEnding;
use crate::input::project::ProjectFlags;
use crate::input::{BuildFlags, FocusFlags, LaunchFlags, TraceFlags, parse_duration};
use crate::style::Style;
use anyhow::{Context, bail};
use baseline::Baseline;
use batch::{CheckView, Checked};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_check::{CheckOptions, Checker, GroupBy, Ownership, Remembered, Repeat, Strictness};
use trueline_model::{EngineKind, Invariant, Policy};
use trueline_trace::{Patience, Threads};

pub use baseline::Document as BaselineDocument;
pub use json::Document;

const AFTER_HELP: &str = "\
Examples:
  trueline check prog.c --cc gcc,clang --opt=-Og,-O2
  trueline check tests/ --cc gcc --baseline known.json --write-baseline   record what is wrong today
  trueline check tests/ --cc gcc --baseline known.json --junit out.xml    fail on what is new
  trueline check --reference prog.O0 --optimized prog.O2 -- ARGS          builds of your own
  trueline check --project DIR --build 'make -j2' --run './prog ARGS'     a project, by its own build";

/// Check programs: does an optimized build mislead a debugger? Exits with 1 when one does.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Programs, C or Rust, closed and deterministic; or directories of them, searched to their depth.
    #[arg(value_name = "FILE|DIR", required_unless_present_any = ["reference", "project"], conflicts_with_all = ["reference", "project"])]
    inputs: Vec<PathBuf>,
    /// A binary built elsewhere at -O0 with -g; goes with --optimized.
    #[arg(long, value_name = "BINARY", requires = "optimized", conflicts_with = "project")]
    reference: Option<PathBuf>,
    /// The optimized build of the same program.
    #[arg(long, value_name = "BINARY", requires = "reference")]
    optimized: Option<PathBuf>,
    /// Files of a pair or a project that are yours although they lie with the system's, by pattern (`*` for any text);
    /// repeatable.
    #[arg(long, value_name = "PATTERN", conflicts_with = "inputs")]
    user: Vec<String>,
    /// Files of a pair or a project that are not yours, by pattern; repeatable.
    #[arg(long, value_name = "PATTERN", conflicts_with = "inputs")]
    system: Vec<String>,
    /// Arguments of the program.
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    #[command(flatten)]
    project: ProjectFlags,
    #[command(flatten)]
    build: BuildFlags,
    #[command(flatten)]
    tracing: TraceFlags,
    #[command(flatten)]
    focus: FocusFlags,
    /// In long runs, stop no more at an address that has shown nothing new for so many visits; 0 for never.
    #[arg(long, value_name = "N", default_value_t = 32)]
    visits: u32,
    /// Time for all traces of one build together: 60s, 5m. What was found until then is reported. [default: --time-limit for each]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    budget: Option<Duration>,
    #[command(flatten)]
    launch: LaunchFlags,
    /// Invariants to check: line, backtrace, scope, parameter, value, stale, codegen, self, dwarf, breakpoint,
    /// lost. [default: all but stale and lost]
    #[arg(long = "invariant", value_name = "NAME", value_delimiter = ',')]
    invariants: Vec<Invariant>,
    /// Apply the literal definitions, without the rules that drop known artefacts.
    #[arg(long)]
    strict: bool,
    /// List the candidates that were dropped, by rule.
    #[arg(long)]
    explain: bool,
    /// What violations are put together by: cause, shape, function, variable, invariant or none. [default: cause where there are many, shape where there are more than sixty causes]
    #[arg(long, value_name = "WHAT")]
    group_by: Option<GroupBy>,
    /// The most groups that are printed; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 25)]
    limit: usize,
    /// Write a page for each function that lies: its source, both traces, and all its lies.
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    /// Write a SARIF log, for code scanning.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write a JUnit report, for test dashboards.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Known violations: they are counted and do not fail the command; new ones do.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write what is found now to the baseline file, and exit with 0.
    #[arg(long, requires = "baseline")]
    write_baseline: bool,
}

/// Checks what the arguments name and prints what was found.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let started = Instant::now();
    let policy = args.tracing.policy()?;
    if args.budget.is_some() && args.tracing.engine != EngineKind::Native {
        bail!("--for needs the native engine: no other ends a trace in good order");
    }
    let threads = args.focus.threads(&args.tracing)?;
    if threads == Threads::Each && args.invariants.contains(&Invariant::Stale) {
        bail!("--invariant stale counts the calls of the first thread; leave --threads out");
    }
    let options = CheckOptions {
        engine: args.tracing.engine,
        policy: policy.unwrap_or(Policy::Gdb),
        strictness: if args.strict { Strictness::Literal } else { Strictness::Filtered },
        remembered: if args.explain { Remembered::All } else { Remembered::GivenUp },
        invariants: if args.invariants.is_empty() { Invariant::usual().collect() } else { args.invariants.clone() },
        launch: args.launch.launch(&args.args)?,
        follow: args.launch.follow(),
        threads,
        repeat: Repeat::Twice,
        max_steps: args.tracing.max_steps,
        patience: match args.visits {
            0 => Patience::Endless,
            visits => Patience::Visits(visits),
        },
        focus: args.focus.focus(&args.tracing)?,
        budget: args.budget,
        limits: args.tracing.limits(),
        cflags: args.build.cflags.clone(),
        search: args.tracing.search(),
        ownership: Ownership { user: args.user.clone(), system: args.system.clone(), library: Vec::new() },
    };
    let mut baseline = match &args.baseline {
        Some(path) if args.write_baseline => Some(Baseline::read_or_empty(path)?),
        Some(path) => Some(Baseline::read(path)?),
        None => None,
    };
    // What is written must hold everything that is there, known before or not.
    let excuses = baseline.as_ref().filter(|_| !args.write_baseline);
    let view = CheckView {
        engine: args.tracing.engine,
        policy,
        explain: args.explain,
        style: Style::of_stdout(),
        group_by: args.group_by,
        limit: args.limit,
        html: args.html.is_some(),
    };
    let check = || match (&args.reference, &args.optimized, args.project.directory()) {
        (_, _, Some(directory)) => project::check(&args.project, directory, &options, (&args.build, &args.launch), excuses, &view),
        (Some(reference), Some(optimized), _) => {
            Ok(vec![batch::check_pair(&Checker::new(options.clone())?, reference, optimized, &args.args, excuses, &view)?])
        }
        _ => batch::check_all(&Checker::new(options.clone())?, &args.inputs, &args.build, excuses, &view),
    };
    let checked = if args.launch.is_alone() { rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(check) } else { check() }?;
    if let Some(path) = &args.sarif {
        write(path, &sarif::log(&checked)?)?;
    }
    if let Some(path) = &args.junit {
        write(path, &junit::report(&checked))?;
    }
    if let Some(dir) = &args.html {
        let pages: Vec<_> = checked.iter().flat_map(|c| c.pages.iter().cloned()).collect();
        let groups = checked.iter().flat_map(|c| &c.runs).flat_map(|run| &run.groups);
        let told = |g: &trueline_check::Group| g.counts.iter().map(|(i, n)| format!("{n} {i}")).collect::<Vec<_>>().join(", ");
        let causes: Vec<_> = groups.map(|g| (g.cause.to_string(), told(g))).collect();
        let index = trueline_report::write_lies(dir, &program_name(&args), &causes, &pages)?;
        eprintln!("{}", index.display());
    }
    if args.json {
        println!("{}", json::document(&program_name(&args), &checked, excuses)?);
    } else {
        print!("{}", text::report(&checked, excuses, started.elapsed().as_secs_f64()));
    }
    if let (true, Some(baseline), Some(path)) = (args.write_baseline, &mut baseline, &args.baseline) {
        baseline.replace(&checked, args.group_by);
        write(path, &baseline.to_json()?)?;
        let causes = if baseline.causes() > 0 { format!("{} known causes, ", baseline.causes()) } else { String::new() };
        let (known, unchecked) = (baseline.known(), baseline.unchecked());
        eprintln!("{}: {causes}{known} known violations, {unchecked} builds that cannot be checked", path.display());
        return Ok(CommandEnding::Clean);
    }
    ending(&checked)
}

fn program_name(args: &Args) -> String {
    let project = args.project.directory().map(Path::to_owned);
    let names: Vec<String> = args.optimized.iter().chain(&project).chain(&args.inputs).map(|p| p.display().to_string()).collect();
    names.join(" ")
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// 2 when something could not be checked and nobody knew, else 1 when something new was found.
fn ending(checked: &[Checked]) -> anyhow::Result<CommandEnding> {
    let mut failures = checked.iter().flat_map(Checked::failures);
    if let Some((run, first)) = failures.next() {
        let more = failures.count() + 1;
        let place = if checked.len() > 1 { format!("{}: ", run.program) } else { String::new() };
        bail!("{more} build(s) could not be checked: {place}{}", first.message);
    }
    let found = checked.iter().flat_map(|c| &c.runs).any(|run| !run.violations.is_empty());
    Ok(if found { CommandEnding::Found } else { CommandEnding::Clean })
}
