//! `trueline passes`: wrong updates of debug locations and variables inside LLVM, found on a stock `opt`.

use crate::exit::CommandEnding;
use crate::style::plural;
use anyhow::Context;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;
use trueline_model::OptLevel;
use trueline_passes::report::InstructionView;
use trueline_passes::site::Site;
use trueline_passes::{
    Batch, Detail, ErrorKind, FileReport, Operation, Options, PassStage, ProblemKind, UpdateError, VariableError, VariableErrorKind, Watch,
    find_hook, page,
};
use trueline_toolchain::{Limits, ToolKind, find_tool};

/// Find LLVM passes that update debug locations or variables wrongly, by watching an unmodified `opt`.
#[derive(clap::Args)]
pub struct Args {
    /// LLVM IR (.ll, .bc), lit tests (their RUN lines are followed), C, C++ and Rust files, or directories of these; with
    /// --codegen also machine IR (.mir).
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// The `opt` to watch: a name or a path. Without it, the plain `opt`, or the newest versioned one.
    #[arg(long, value_name = "OPT")]
    opt_tool: Option<String>,
    /// Look at code generation instead: instruction selection and the machine passes, by the compiler's own text of them.
    #[arg(long)]
    codegen: bool,
    /// Run these passes (in `opt -passes=` syntax) instead of what the file asks for; with --codegen, report these machine
    /// passes only (`machine-sink,branch-folder`).
    #[arg(long, value_name = "PASSES")]
    passes: Option<String>,
    /// The compiler of source files. Without it, the clang of the version of `opt`, or rustc.
    #[arg(long)]
    cc: Option<String>,
    /// The level whose pipeline C files and IR without RUN lines go through.
    #[arg(long, value_name = "LEVEL", default_value = "-O2", allow_hyphen_values = true)]
    opt: OptLevel,
    /// A flag for the compilation of C files.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
    /// Watch only the locations of instructions, or only the variables.
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<Only>,
    /// Show what rules hid, too.
    #[arg(long)]
    all: bool,
    /// Write a page with the control-flow graphs before and after.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also run `opt` without the hooks and fail a file whose output differs.
    #[arg(long)]
    verify_output: bool,
    /// Seconds that each run of `opt` may take.
    #[arg(long, default_value_t = 60)]
    timeout: u64,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// What `--only` asks for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Only {
    /// Locations of instructions.
    Locations,
    /// Descriptions of variables.
    Variables,
}

/// What `trueline passes --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Passes")]
pub struct Document<'a> {
    schema: &'static str,
    files: &'a [FileReport],
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    let started = Instant::now();
    let options = Options {
        stage: if args.codegen { PassStage::CodeGeneration } else { PassStage::Optimizer },
        opt: find_tool(ToolKind::Opt, args.opt_tool.as_deref())?,
        hook: find_hook()?,
        passes: args.passes,
        cc: args.cc,
        level: args.opt,
        cflags: args.cflags,
        limits: Limits::seconds(args.timeout),
        detail: Detail {
            hidden: args.all,
            pictures: args.html.is_some(),
            watch: match args.only {
                None => Watch::Everything,
                Some(Only::Locations) => Watch::Locations,
                Some(Only::Variables) => Watch::Variables,
            },
            ..Detail::default()
        },
        compare_output: args.verify_output,
    };
    let batch = Batch::collect(&args.inputs, options.stage);
    let terminal = std::io::stderr().is_terminal();
    let reports = batch.run(&options, |done, total| {
        if terminal && total > 1 && started.elapsed().as_secs() >= 2 {
            let _ = write!(std::io::stderr(), "\r{done} of {total} files\x1b[K");
        }
    });
    if terminal && started.elapsed().as_secs() >= 2 {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    if let Some(path) = &args.html {
        std::fs::write(path, page::page(&reports)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&Document { schema: "trueline.passes/1", files: &reports })?);
    } else {
        print_reports(&reports, &options, started);
    }
    ending(&reports)
}

/// Something found, nothing found, or nothing that could be looked at: the last is an error.
fn ending(reports: &[FileReport]) -> anyhow::Result<CommandEnding> {
    let serious = |r: &&FileReport| r.problems.iter().any(|p| p.kind != ProblemKind::Skipped);
    if reports.iter().any(|r| !r.report.errors.is_empty() || !r.report.variable_errors.is_empty()) {
        return Ok(CommandEnding::Found);
    }
    match reports.iter().find(serious) {
        Some(_) if reports.iter().all(|r| r.analysed == 0) => {
            let first = reports.iter().flat_map(|r| &r.problems).find(|p| p.kind != ProblemKind::Skipped);
            anyhow::bail!("no file could be analysed; the first problem: {}", first.map_or("", |p| p.message.as_str()))
        }
        _ if reports.is_empty() => anyhow::bail!("no file of IR (.ll, .bc), C, C++ or Rust among the inputs"),
        _ => Ok(CommandEnding::Clean),
    }
}

fn print_reports(reports: &[FileReport], options: &Options, started: Instant) {
    for report in reports {
        for problem in &report.problems {
            eprintln!("{:?}: {}", problem.kind, problem.message);
        }
        for error in report.report.errors.iter().chain(&report.report.hidden) {
            print_error(report, error);
        }
        for error in report.report.variable_errors.iter().chain(&report.report.variable_hidden) {
            print_variable_error(report, error);
        }
    }
    print_totals(reports, options.detail.watch);
    let tool = match options.stage {
        PassStage::Optimizer => format!("opt {}", options.opt.version),
        PassStage::CodeGeneration => format!("code generation of LLVM {}", options.opt.major()),
    };
    println!("{} · {tool} · {:.1} s", plural(reports.len(), "file"), started.elapsed().as_secs_f64());
    let mut losses: Vec<&String> = reports.iter().flat_map(|r| &r.report.losses).collect();
    losses.sort();
    losses.dedup();
    losses.iter().for_each(|loss| eprintln!("not observed: {loss}"));
}

/// What was judged and found, a line each for locations and variables, and what each rule hid.
fn print_totals(reports: &[FileReport], watch: Watch) {
    let sum = |count: fn(&FileReport) -> usize| reports.iter().map(count).sum::<usize>();
    if watch.locations() {
        let wrong = plural(sum(|r| r.report.errors.iter().map(|e| e.instances).sum()), "wrong update");
        println!("{wrong} of locations at {}, {}", plural(places(reports), "place"), plural(sum(|r| r.report.pairs), "pair"));
    }
    if watch.variables() {
        let all = reports.iter().flat_map(|r| &r.report.variable_errors);
        let at: std::collections::BTreeSet<_> = all.map(|e| (&e.pass, &e.site.function, e.site.address)).collect();
        println!(
            "{} of variables at {}, {} compared, {} in other pieces than before and not compared",
            plural(sum(|r| r.report.variables.errors), "wrong description"),
            plural(at.len(), "place"),
            sum(|r| r.report.variables.compared),
            sum(|r| r.report.variables.reshaped)
        );
    }
    let mut hidden: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for (rule, count) in reports.iter().flat_map(|r| &r.report.by_rule) {
        *hidden.entry(rule).or_default() += count;
    }
    if !hidden.is_empty() {
        let list: Vec<String> = hidden.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
        println!("allowed by rules: {}", list.join(", "));
    }
}

/// Distinct places in LLVM over all files.
fn places(reports: &[FileReport]) -> usize {
    let all = reports.iter().flat_map(|r| &r.report.errors);
    all.map(|e| (&e.pass, &e.site.function, e.site.address)).collect::<std::collections::BTreeSet<_>>().len()
}

fn place_of(view: &InstructionView) -> String {
    match view.line {
        Some(line) => format!("{} in {}, line {line}", view.text, view.block),
        None => format!("{} in {}, no line", view.text, view.block),
    }
}

fn print_error(report: &FileReport, error: &UpdateError) {
    let head = match (error.hidden_by, error.kind) {
        (Some(_), _) => "HIDDEN   ",
        (None, ErrorKind::Lost) => "LOST     ",
        (None, ErrorKind::Incorrect) => "INCORRECT",
    };
    let operation = |operation: Operation| format!("{operation:?}").to_lowercase();
    println!("{head} {} · {} · {}", error.pass, error.function, report.file.display());
    println!("  destination  {}", place_of(&error.dst));
    for source in &error.srcs {
        println!("  source       {}", place_of(source));
    }
    let manipulation = format!("{:?}", error.manipulation).to_lowercase();
    println!("  operation    expected {}, observed {} ({manipulation})", operation(error.expected), operation(error.observed));
    if let Some(evidence) = &error.evidence {
        println!("  evidence     {}", evidence.sentence());
    }
    let rule = error.hidden_by.map(|r| (r.name(), r.reason(), r.section()));
    print_tail(&error.site, &error.skeleton, rule, error.instances);
}

fn print_variable_error(report: &FileReport, error: &VariableError) {
    let head = match (error.hidden_by, error.kind) {
        (Some(_), _) => "HIDDEN   ",
        (None, VariableErrorKind::Lost) => "LOST     ",
        (None, VariableErrorKind::Stale) => "STALE    ",
        (None, VariableErrorKind::Wrong) => "WRONG    ",
        (None, VariableErrorKind::Misplaced) => "MISPLACED",
    };
    let piece = error.fragment.map_or_else(String::new, |(offset, size)| format!(", bits {offset} to {}", offset + size));
    println!("{head} {} · {} · {}", error.pass, error.function, report.file.display());
    println!("  variable     {}{piece}, declared on line {}", error.variable, error.line);
    if let Some(point) = &error.point {
        println!("  at           {}", place_of(point));
    }
    error.before.iter().for_each(|text| println!("  before       {text}"));
    error.after.iter().for_each(|text| println!("  after        {text}"));
    println!("  evidence     {}", error.evidence);
    if let Some(numbers) = &error.counterexample {
        println!("  numbers      {numbers}");
    }
    let rule = error.hidden_by.map(|r| (r.name(), r.reason(), r.section()));
    print_tail(&error.site, &error.skeleton, rule, error.instances);
}

/// Where in LLVM, what is missing, the rule that allows it (name, reason, section of the guide) and how often it happened.
fn print_tail(site: &Site, skeleton: &str, rule: Option<(&str, &str, &str)>, instances: usize) {
    println!("  site         {}", site.chain.join(" → "));
    println!("  skeleton     {skeleton}");
    if let Some((name, reason, section)) = rule {
        println!("  rule         {name}: {reason} (LLVM's guide: {section})");
    }
    if instances > 1 {
        println!("  instances    {instances}");
    }
    println!();
}
