//! `trueline repair`: an optimized binary whose variables can be printed again.

use super::repair_check::Closing;
use crate::exit::CommandEnding;
use anyhow::Context;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueline_machine::image::Image;
use trueline_repair::mend::{Stages, Trust};
use trueline_repair::repair::{Proofs, RepairOutcome, Request, repair};
use trueline_repair::report::{FunctionReport, Report};
use trueline_repair::{html, producer, written};
use trueline_toolchain::Scratch;

/// Repair the debug headers of an optimized binary: same machine code, better DWARF.
#[derive(clap::Args)]
pub struct Args {
    /// The optimized ELF file: executable, shared library or object.
    binary: PathBuf,
    /// Where the repaired file goes.
    #[arg(short, long)]
    output: PathBuf,
    /// A ready -O0 build of the same source.
    #[arg(long, conflicts_with_all = ["source", "cc", "cflag"])]
    reference: Option<PathBuf>,
    /// The source; by default what the DWARF names.
    #[arg(long)]
    source: Option<PathBuf>,
    /// The compiler for the -O0 build; by default the one the DWARF names.
    #[arg(long)]
    cc: Option<String>,
    /// A further flag for the -O0 build (repeatable).
    #[arg(long, allow_hyphen_values = true)]
    cflag: Vec<String>,
    /// Repair only this function (repeatable).
    #[arg(long)]
    function: Vec<String>,
    /// Take relations from a proof file instead of finding them (see docs/repair.md).
    #[arg(long)]
    proof: Option<PathBuf>,
    /// What is written: relations that are proved, or also those that held in every run that was made.
    #[arg(long, value_enum, default_value = "proved")]
    trust: TrustArg,
    /// Switch stages off: forward, reverse, backward, observe (comma list).
    #[arg(long, value_delimiter = ',')]
    ablate: Vec<StageArg>,
    /// Do not try proofs; everything is validated at most.
    #[arg(long)]
    no_proofs: bool,
    /// The SMT solver: z3 or cvc5, by name or path.
    #[arg(long)]
    solver: Option<String>,
    /// Seconds after which a solver that does nothing is given up.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    solver_timeout: u64,
    /// Variations of each input.
    #[arg(long, default_value_t = 2)]
    variations: u64,
    /// Seed of the variations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write an HTML page: disassembly with the variables per PC, before and after.
    #[arg(long)]
    html: Option<PathBuf>,
    /// Write the provenance of every new location here (default: OUTPUT.repair.json).
    #[arg(long)]
    sidecar: Option<PathBuf>,
    /// Skip the closing check of the new file against the reference.
    #[arg(long)]
    no_check: bool,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
    /// Arguments of the program's own run.
    #[arg(last = true)]
    args: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum TrustArg {
    Proved,
    Validated,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum StageArg {
    Forward,
    Reverse,
    Backward,
    Observe,
}

/// What `trueline repair --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Repair")]
pub struct Document<'a> {
    schema: &'static str,
    binary: &'a Path,
    output: &'a Path,
    reference: &'a str,
    size_before: u64,
    size_after: u64,
    functions: &'a [FunctionReport],
    availability: Availability,
    check: Option<&'a Closing>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Availability {
    pairs: usize,
    right_before: usize,
    right_after: usize,
    wrong_before: usize,
    wrong_after: usize,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let scratch = Scratch::new().context("cannot make a scratch directory")?;
    let image = Image::open(&args.binary)?;
    let (reference, how) = match &args.reference {
        Some(path) => (path.clone(), path.display().to_string()),
        None => producer::build_reference(&image, args.source.as_deref(), args.cc.as_deref(), &args.cflag, scratch.path())?,
    };
    let off = |s: StageArg| args.ablate.contains(&s);
    let request = Request {
        args: args.args.clone(),
        functions: args.function.clone(),
        stages: Stages {
            forward: !off(StageArg::Forward),
            reverse: !off(StageArg::Reverse),
            backward: !off(StageArg::Backward),
            observe: !off(StageArg::Observe),
        },
        trust: match args.trust {
            TrustArg::Proved => Trust::Proved,
            TrustArg::Validated => Trust::Validated,
        },
        variations: args.variations,
        seed: args.seed,
        proofs: if args.no_proofs { Proofs::Off } else { Proofs::On },
        solver: args.solver.clone(),
        patience: Duration::from_secs(args.solver_timeout),
        proof_file: args.proof.clone(),
        ..Request::new(&args.binary, &reference)
    };
    let progress = std::io::stderr().is_terminal() && !args.json;
    let outcome = repair(&request, &mut |f| {
        if progress {
            eprint!("\r\x1b[K{}", f.name);
            let _ = std::io::stderr().flush();
        }
    })?;
    if progress {
        eprint!("\r\x1b[K");
    }
    // Checked before anything is written: a file that is worse than the old one is of no use to anybody.
    let tried = scratch.path().join("repaired");
    written::write(&args.binary, &tried, &outcome.bytes)?;
    let check = if args.no_check { None } else { super::repair_check::compare(&args, &image, &reference, &tried) };
    if let Some(worse) = check.as_ref().filter(|c| !c.increased().is_empty()) {
        anyhow::bail!(
            "the repaired file is worse than {} in the closing check ({worse}); nothing was written. Repair single functions with \
             --function, or look at it with --no-check",
            args.binary.display()
        );
    }
    written::write(&args.binary, &args.output, &outcome.bytes)?;
    finish(&args, &image, &how, &outcome, check.as_ref())
}

fn finish(args: &Args, image: &Image, how: &str, outcome: &RepairOutcome, check: Option<&Closing>) -> anyhow::Result<CommandEnding> {
    let report = &outcome.report;
    let sidecar = args.sidecar.clone().unwrap_or_else(|| {
        let mut name = args.output.clone().into_os_string();
        name.push(".repair.json");
        name.into()
    });
    let document = Document {
        schema: "trueline.repair/1",
        binary: &args.binary,
        output: &args.output,
        reference: how,
        size_before: report.size_before,
        size_after: report.size_after,
        functions: &report.functions,
        availability: availability(report),
        check,
    };
    let text = serde_json::to_string_pretty(&document)?;
    std::fs::write(&sidecar, &text).with_context(|| format!("cannot write {}", sidecar.display()))?;
    if let Some(path) = &args.html {
        let page = html::page(image, &outcome.bytes, report).context("cannot make the HTML page")?;
        std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        println!("{text}");
    } else {
        print_table(report, &document);
    }
    Ok(CommandEnding::Clean)
}

fn availability(report: &Report) -> Availability {
    let sum = |f: fn(&FunctionReport) -> usize| report.functions.iter().map(f).sum();
    Availability {
        pairs: sum(|f| f.pairs),
        right_before: sum(|f| f.right_before),
        right_after: sum(|f| f.right_after),
        wrong_before: sum(|f| f.wrong_before),
        wrong_after: sum(|f| f.wrong_after),
    }
}

fn print_table(report: &Report, document: &Document<'_>) {
    println!("reference  {}", document.reference);
    println!("{:<20} {:>5} {:>5} {:>3} {:>5} {:>5} {:>5} {:>7} {:>9}", "function", "T", "U", "V", "O", "M", "I", "proved", "validated");
    for f in &report.functions {
        let note = f.reason.as_ref().map(|r| format!("  left alone: {r}")).unwrap_or_default();
        println!(
            "{:<20} {:>5} {:>5} {:>3} {:>5} {:>5} {:>5} {:>7} {:>9}{note}",
            f.name, f.total, f.updated, f.variables, f.original, f.missing, f.constant, f.proved, f.validated
        );
    }
    let a = &document.availability;
    let share = |n: usize| if a.pairs == 0 { 0.0 } else { 100.0 * n as f64 / a.pairs as f64 };
    println!(
        "\navailability  {:.1}% of {} PC×variable pairs right before, {:.1}% after",
        share(a.right_before),
        a.pairs,
        share(a.right_after)
    );
    println!(
        "wrong values  {} in the compiler's locations; {} replaced, {} left, for want of a proved relation",
        a.wrong_before,
        a.wrong_before - a.wrong_after.min(a.wrong_before),
        a.wrong_after
    );
    println!("size          {} bytes before, {} after", report.size_before, report.size_after);
    if let Some(check) = document.check {
        println!("check         {check}");
    }
    println!("wrote         {}", document.output.display());
}

impl Args {
    /// The file that was repaired.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The program's arguments.
    pub fn program_args(&self) -> &[String] {
        &self.args
    }
}
