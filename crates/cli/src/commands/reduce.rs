//! `trueline reduce`: the smallest program that shows the same fault with the same pass behind it.

use super::triage::is_program;
use crate::exit::CommandEnding;
use crate::input::project::refuse_project;
use crate::input::read_with_flags;
use anyhow::{Context, bail};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_explain::{Aim, Looking, Reducer, demand_of, faults_of, filter_of, pass_of, self_contained, shows_expected, shrink};
use trueline_model::{EngineKind, Fault, FindingId, OptLevel, Policy, Program, wording};
use trueline_reduce::{Demand, ReduceEnd, ReduceError, ReduceProgress, Reduced, count_lines};
use trueline_store::Store;
use trueline_toolchain::find_compiler;
use trueline_triage::Setting;

/// Reduce a program to the smallest one that shows the same fault with the same pass behind it.
#[derive(clap::Args)]
pub struct Args {
    /// A program (.c, .cpp, .rs), or the number of a finding in --db.
    target: String,
    /// The campaign store that holds the finding.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// The compiler, by name or path (for a program).
    #[arg(long, default_value = "gcc")]
    cc: String,
    /// The level (for a program).
    #[arg(long, default_value = "-O2", allow_hyphen_values = true)]
    opt: OptLevel,
    /// A flag for every compilation of the program; may be repeated.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
    /// The fault to keep, when the program shows several: line, backtrace, scope, parameter, value, crash, …
    #[arg(long, value_name = "KIND")]
    only: Option<String>,
    /// Keep the fault only, whichever pass is behind it (much faster).
    #[arg(long)]
    any_pass: bool,
    /// cvise, creduce or builtin; the first of these that is there when not given.
    #[arg(long)]
    tool: Option<ToolChoice>,
    /// Who traces.
    #[arg(long, default_value = "native")]
    engine: EngineKind,
    /// Whose reading of the line table the native engine follows.
    #[arg(long, default_value = "gdb")]
    policy: Policy,
    /// Stop after this many seconds with the best so far.
    #[arg(long, default_value_t = 1800)]
    time: u64,
    /// Where the reduced program goes [default: NAME.reduced.c beside the program].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// Who reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ToolChoice {
    /// C-Vise.
    Cvise,
    /// C-Reduce.
    Creduce,
    /// Our own.
    Builtin,
}

impl From<ToolChoice> for Reducer {
    fn from(choice: ToolChoice) -> Self {
        match choice {
            ToolChoice::Cvise => Self::Cvise,
            ToolChoice::Creduce => Self::Creduce,
            ToolChoice::Builtin => Self::Builtin,
        }
    }
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let looking = Looking::new(args.engine, args.policy);
    let ReductionStart { program, setting, fault, output } = starting_point(&args, &looking)?;
    let kind = fault.kind().to_owned();
    let pass = if args.any_pass { None } else { pass_of(program.clone(), &looking, &setting, &kind, Some(&fault))? };
    let program = self_contained(program, &looking, &setting, &kind, pass.as_deref())?;
    let started = Instant::now();
    let time = Duration::from_secs(args.time);
    let terminal = std::io::stderr().is_terminal() && !args.json;
    let last = parking_lot::Mutex::new(String::new());
    // Whatever happens next (a key, a crash of the tool), the best so far is in the output already.
    let watch = |progress: &ReduceProgress<'_>| {
        let mut last = last.lock();
        if *last != progress.text && progress.lines <= progress.from && write_whole(&output, progress.text).is_ok() {
            progress.text.clone_into(&mut last);
        }
        if terminal {
            eprint!("\r\x1b[K{} of {} lines · {} judged · {}", progress.lines, progress.from, progress.judged, progress.phase);
        }
        if started.elapsed() > time { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let reduced = shrink(
        &program,
        &Aim { looking: looking.clone(), setting: setting.clone(), kind: kind.clone(), pass: pass.clone() },
        args.tool.map(Reducer::from),
        time,
        &watch,
    );
    if terminal {
        eprint!("\r\x1b[K");
    }
    let reduced = reduced.map_err(|e| explain_failure(e, &output))?;
    write_whole(&output, &reduced.text).with_context(|| format!("cannot write {}", output.display()))?;
    // A fresh look, with nothing remembered: what is written out must show the fault and be valid.
    let fresh = Program { source: reduced.text.clone(), ..program.clone() };
    let shows = shows_expected(fresh.clone(), &looking, &setting, &kind, pass.as_deref())?;
    let invalid = filter_of(&kind, &program).judge(&fresh).map_err(|e| anyhow::anyhow!("{e}"))?;
    report(&args, &program, &reduced, &output, &kind, pass.as_deref(), started, (shows, invalid.map(|r| r.to_string())))?;
    Ok(CommandEnding::Clean)
}

fn explain_failure(error: ReduceError, output: &Path) -> anyhow::Error {
    let kept = output.exists();
    let error = anyhow::Error::from(error);
    if kept { error.context(format!("the best program so far is in {}", output.display())) } else { error }
}

/// What a reduction begins with.
struct ReductionStart {
    program: Program,
    /// How it is built.
    setting: Setting,
    /// What it shows.
    fault: Fault,
    /// Where the result goes.
    output: PathBuf,
}

fn starting_point(args: &Args, looking: &Looking) -> anyhow::Result<ReductionStart> {
    // A store may be a project's default: a program that is named needs none.
    if let Some(db) = args.db.as_ref().filter(|_| !is_program(&args.target)) {
        let store = Store::open_existing(db)?;
        let id = args.target.parse().with_context(|| {
            format!("`{}` is neither a program (.c, .cpp) nor the number of a finding in {}", args.target, db.display())
        })?;
        let record = store.finding(FindingId(id))?;
        let evidence = store.evidence(&record)?.with_context(|| format!("finding {id} has no program in {}", db.display()))?;
        refuse_project(&record, &evidence)?;
        let compiler = find_compiler(&record.finding.compiler.path.to_string_lossy())?;
        let output =
            args.output.clone().unwrap_or_else(|| PathBuf::from(format!("finding-{id}.reduced.{}", evidence.program.language.extension())));
        let setting = Setting { compiler, opt: record.finding.opt };
        if let Some(minimal) = evidence.minimal {
            // A variant that has shed the insertions it does not need; its lines are others.
            let kind = record.finding.fault.kind();
            let shown = faults_of(minimal.program.clone(), looking, &setting)?;
            if let Some(fault) = shown.into_iter().find(|fault| fault.kind() == kind) {
                return Ok(ReductionStart { program: minimal.program, setting, fault, output });
            }
        }
        return Ok(ReductionStart { program: evidence.program, setting, fault: record.finding.fault, output });
    }
    let path = Path::new(&args.target);
    let program = read_with_flags(path, &args.cflags)?;
    let setting = Setting { compiler: find_compiler(&args.cc)?.driver(program.language)?, opt: args.opt };
    let output = args.output.clone().unwrap_or_else(|| path.with_extension(format!("reduced.{}", program.language.extension())));
    if std::path::absolute(&output)? == std::path::absolute(path)? {
        bail!("{} is the program itself; the original is never changed: choose another -o", output.display());
    }
    let faults = faults_of(program.clone(), looking, &setting)?;
    let fault = faults.iter().find(|f| args.only.as_ref().is_none_or(|only| f.kind() == only)).cloned();
    let shown: Vec<String> = faults.iter().map(wording::identity).collect();
    let what = if shown.is_empty() { "it shows nothing wrong".to_owned() } else { format!("it shows {}", shown.join(", ")) };
    let fault = fault
        .with_context(|| format!("{} with {} at {}: {what}; there is nothing to reduce", args.target, setting.compiler.id, args.opt))?;
    Ok(ReductionStart { program, setting, fault, output })
}

/// Writes through a neighbour and a rename: an interruption never leaves half a program.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let partial = path.with_extension("partial");
    std::fs::write(&partial, text)?;
    std::fs::rename(&partial, path)
}

/// What `trueline reduce --json` prints.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Reduce")]
pub struct Document<'a> {
    /// `trueline.reduce/1`.
    schema: &'static str,
    /// The reduced program.
    output: &'a Path,
    /// The kind of the fault: an invariant, or crash, hang, wrong-code.
    kind: &'a str,
    /// The pass behind it, where it was asked for.
    pass: Option<&'a str>,
    /// Lines of code before.
    lines_before: usize,
    /// Lines of code after.
    lines: usize,
    /// `finished` or `interrupted`.
    end: &'static str,
    /// Candidates that were judged.
    judged: usize,
    /// Whether the reduced program shows the fault in a fresh look.
    shows: bool,
    /// Why the reduced program is not valid, when it is not.
    invalid: Option<&'a str>,
    /// Seconds by the clock.
    seconds: f64,
}

#[allow(clippy::too_many_arguments, reason = "one call, straight from the run")]
fn report(
    args: &Args,
    program: &Program,
    reduced: &Reduced,
    output: &Path,
    kind: &str,
    pass: Option<&str>,
    started: Instant,
    (shows, invalid): (bool, Option<String>),
) -> anyhow::Result<()> {
    let (from, to) = (count_lines(&program.source), count_lines(&reduced.text));
    let end = if reduced.end == ReduceEnd::Finished { "finished" } else { "interrupted" };
    if args.json {
        let document = Document {
            schema: "trueline.reduce/1",
            output,
            kind,
            pass,
            lines_before: from,
            lines: to,
            end,
            judged: reduced.judged,
            shows,
            invalid: invalid.as_deref(),
            seconds: started.elapsed().as_secs_f64(),
        };
        println!("{}", serde_json::to_string_pretty(&document)?);
        return Ok(());
    }
    println!("{}: {from} → {to} lines, {end} after {:.0} s", output.display(), started.elapsed().as_secs_f64());
    let pass = pass.map_or(String::new(), |p| format!(", {p} behind it"));
    let what = if matches!(kind, "crash" | "hang" | "wrong-code") { kind.to_owned() } else { format!("{kind} violation") };
    println!("  a fresh look: {what} {}{pass}", if shows { "shows" } else { "does NOT show" });
    match demand_of(kind) {
        Demand::Sane => println!("  sanitizers:   {}", invalid.as_deref().unwrap_or("clean")),
        Demand::Compiles => println!("  front end:    {}", invalid.as_deref().unwrap_or("accepts it; nothing was run")),
    }
    Ok(())
}
