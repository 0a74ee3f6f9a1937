//! `trueline check`: one program, its optimized builds against -O0.

mod json;
mod sarif;
mod text;

use crate::exit::Ending;
use crate::input::{BuildFlags, read_program};
use crate::style::Style;
use anyhow::{Context, bail};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;
use trueline_check::{CheckError, CheckOptions, CheckRun, Checker, Reference, Strictness};
use trueline_model::{EngineKind, Invariant, OptLevel, Policy};
use trueline_toolchain::{Compiler, Limits};

/// Check one program: does an optimized build mislead a debugger? Exits with 1 when it does.
#[derive(clap::Args)]
pub struct Args {
    /// The program, C or Rust, closed and deterministic.
    #[arg(value_name = "FILE", required_unless_present = "reference", conflicts_with = "reference")]
    file: Option<PathBuf>,
    /// A binary built elsewhere at -O0 with -g; goes with --optimized.
    #[arg(long, value_name = "BINARY", requires = "optimized")]
    reference: Option<PathBuf>,
    /// The optimized build of the same program.
    #[arg(long, value_name = "BINARY", requires = "reference")]
    optimized: Option<PathBuf>,
    /// Arguments of the program.
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    #[command(flatten)]
    build: BuildFlags,
    /// Who traces: native, gdb or lldb.
    #[arg(long, default_value_t = CheckOptions::default().engine)]
    engine: EngineKind,
    /// Whose habits the native engine follows in reading line tables: gdb, lldb or standard. [default: gdb]
    #[arg(long)]
    policy: Option<Policy>,
    /// Invariants to check: line, backtrace, scope, parameter, value, codegen, self, dwarf. [default: all]
    #[arg(long = "invariant", value_name = "NAME", value_delimiter = ',')]
    invariants: Vec<Invariant>,
    /// Apply the literal definitions, without the rules that drop known artefacts.
    #[arg(long)]
    strict: bool,
    /// List the candidates that were dropped, by rule.
    #[arg(long)]
    explain: bool,
    /// Most steps of one trace.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_steps: u64,
    /// Seconds one run of the program may take, traced or not.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time_limit: u64,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    /// Write a SARIF log.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
}

/// One build that was checked, or why it could not be.
struct Row {
    compiler: Option<Compiler>,
    opt: Option<OptLevel>,
    result: Result<CheckRun, CheckError>,
    reference: usize,
}

/// Everything that the printers need.
struct Outcome<'a> {
    program: String,
    source: Option<&'a str>,
    engine: EngineKind,
    policy: Option<Policy>,
    references: Vec<Reference>,
    rows: Vec<Row>,
    seconds: f64,
    explain: bool,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Ending> {
    let started = Instant::now();
    let options = CheckOptions {
        engine: args.engine,
        policy: args.policy.unwrap_or(Policy::Gdb),
        strictness: if args.strict { Strictness::Literal } else { Strictness::Filtered },
        invariants: if args.invariants.is_empty() { Invariant::ALL.to_vec() } else { args.invariants.clone() },
        args: args.args.clone(),
        max_steps: args.max_steps,
        limits: Limits::seconds(args.time_limit),
        cflags: args.build.cflags.clone(),
    };
    let policy = (args.engine == EngineKind::Native).then_some(options.policy);
    if args.policy.is_some() && policy.is_none() {
        bail!("--policy is a choice of the native engine only; {} reads line tables in its own way", args.engine);
    }
    let checker = Checker::new(options)?;
    let source;
    let (program, source, references, rows) = match (&args.file, &args.reference, &args.optimized) {
        (Some(file), _, _) => {
            let program = read_program(file)?;
            let (references, rows) = check_levels(&checker, &program, &args.build)?;
            source = program.source;
            (file.display().to_string(), Some(source.as_str()), references, rows)
        }
        (None, Some(reference), Some(optimized)) => {
            let (reference, row) = check_pair(&checker, reference, optimized, &args.args)?;
            (optimized.display().to_string(), None, vec![reference], vec![row])
        }
        _ => bail!("give a program, or both --reference and --optimized"),
    };
    let seconds = started.elapsed().as_secs_f64();
    let outcome = Outcome { program, source, engine: args.engine, policy, references, rows, seconds, explain: args.explain };
    if let Some(path) = &args.sarif {
        std::fs::write(path, sarif::log(&outcome)?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        println!("{}", json::document(&outcome)?);
    } else {
        print!("{}", text::report(&outcome, Style::of_stdout()));
    }
    let failed = outcome.rows.iter().filter(|r| r.result.is_err()).count();
    if failed > 0 {
        let first = outcome.rows.into_iter().find_map(|r| r.result.err()).expect("counted");
        return Err(anyhow::Error::new(first).context(format!("{failed} build(s) could not be checked")));
    }
    let found = outcome.rows.iter().any(|r| r.result.as_ref().is_ok_and(|run| !run.violations.is_empty()));
    Ok(if found { Ending::Found } else { Ending::Clean })
}

fn check_levels(checker: &Checker, program: &trueline_model::Program, build: &BuildFlags) -> anyhow::Result<(Vec<Reference>, Vec<Row>)> {
    let compilers = build.compilers(program.language)?;
    let references: Vec<Reference> = compilers.par_iter().map(|c| checker.reference(program, c)).collect::<Result<_, _>>()?;
    let wanted: Vec<(usize, OptLevel)> = (0..compilers.len()).flat_map(|i| build.levels().into_iter().map(move |o| (i, o))).collect();
    let rows = wanted
        .into_par_iter()
        .map(|(index, opt)| {
            let compiler = &compilers[index];
            let result = checker.check(program, &references[index], compiler, opt, &[]);
            Row { compiler: Some(compiler.clone()), opt: Some(opt), result, reference: index }
        })
        .collect();
    Ok((references, rows))
}

fn check_pair(checker: &Checker, reference: &Path, optimized: &Path, args: &[String]) -> anyhow::Result<(Reference, Row)> {
    let reference = checker.reference_pair(reference, args)?;
    let result = checker.check_against(&reference, optimized);
    Ok((reference, Row { compiler: None, opt: None, result, reference: 0 }))
}
