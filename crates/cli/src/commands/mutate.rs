//! `trueline mutate`: programs that behave as their seed and look different to an optimizer.

use crate::exit::CommandEnding;
use anyhow::{Context, bail};
use serde::Serialize;
use std::path::{Path, PathBuf};
use trueline_model::{CompilerId, Language, Origin, Program};
use trueline_mutate::{Insertion, MutationOptions, Mutator, Strategy, Variants};

/// Derive programs that behave exactly as a seed program but make the optimizer see something else.
///
/// The program is profiled once under MemorySanitizer; code is then synthesized that, for the values
/// seen, is free of undefined behaviour and leaves the program's state as it was.
#[derive(clap::Args)]
pub struct Args {
    /// The seed program: a whole C program that takes no input.
    file: PathBuf,
    /// Directory to write the variants to; it is created.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How many variants to make.
    #[arg(long, value_name = "N", default_value_t = 10)]
    variants: usize,
    /// The same seed, options and program give the same bytes.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// What to do, as a comma list: fcb (always-false blocks), tg (always-true guards), tcb (blocks
    /// that run and restore), dead (changes where nothing runs), local (code that runs on variables
    /// of its own). One that is named twice has twice the chance.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fcb,tg,tcb,dead")]
    strategies: Vec<Strategy>,
    /// Chance of a program point to be changed in each variant.
    #[arg(long, value_name = "P", default_value_t = 0.1)]
    sampling: f64,
    /// Points to change in each variant at most.
    #[arg(long, value_name = "N")]
    most_points: Option<usize>,
    /// Variants build on one another up to this many, then start at the seed again.
    #[arg(long, value_name = "N", default_value_t = 10)]
    chain: usize,
    /// Variants that rest on one profile; then the last one is profiled again and insertions nest. [default: no limit]
    #[arg(long, value_name = "N")]
    generation: Option<usize>,
    /// Flag for every compilation of the program (repeatable).
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    cflags: Vec<String>,
    /// The clang to profile with, by name or path; the newest one with MemorySanitizer otherwise.
    #[arg(long, value_name = "CC")]
    profiler: Option<String>,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    json: bool,
}

/// What `trueline mutate --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Mutate")]
pub struct Document<'a> {
    schema: &'static str,
    program: &'a Path,
    seed: u64,
    profiler: &'a CompilerId,
    points: PointCounts,
    expected: Expected,
    variants: Vec<VariantRow<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct PointCounts {
    total: usize,
    sampled: usize,
    live: usize,
    dead: usize,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Expected {
    stdout: String,
    exit_code: i32,
}

#[derive(Serialize, schemars::JsonSchema)]
struct VariantRow<'a> {
    file: PathBuf,
    insertions: &'a [Insertion],
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<CommandEnding> {
    if !(args.sampling > 0.0 && args.sampling <= 1.0) {
        bail!("--sampling {} is not a probability; give a number above 0 and up to 1", args.sampling);
    }
    let program = read_program(&args)?;
    let options = MutationOptions {
        strategies: args.strategies.clone(),
        sampling: args.sampling,
        most_points: args.most_points.unwrap_or(usize::MAX),
        chain: args.chain,
        generation: args.generation.unwrap_or(usize::MAX),
        profiler: args.profiler.clone(),
        ..MutationOptions::default()
    };
    let mutator = Mutator::new(options)?;
    let made = mutator.variants(&program, args.variants, args.seed).with_context(|| format!("cannot mutate {}", args.file.display()))?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    for variant in &made.variants {
        let path = args.out.join(&variant.program.name);
        std::fs::write(&path, &variant.program.source).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&document(&args, &mutator, &made))?);
    } else {
        print_table(&args, &mutator, &made);
    }
    Ok(CommandEnding::Clean)
}

fn read_program(args: &Args) -> anyhow::Result<Program> {
    if Language::of_path(&args.file) == Some(Language::Cpp) {
        bail!(
            "{}: mutate inserts C statements by a C syntax tree and cannot tell what C++ code means; it takes .c and .i files",
            args.file.display()
        );
    }
    if Language::of_path(&args.file) != Some(Language::C) {
        bail!("{} is not a C file; mutate takes .c and .i files", args.file.display());
    }
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    let source = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{} is not UTF-8 text", args.file.display()))?;
    let name = args.file.file_name().map_or_else(|| "program.c".to_owned(), |n| n.to_string_lossy().into_owned());
    let origin = Origin::File { path: args.file.clone() };
    Ok(Program { name, language: Language::C, source, origin, cflags: args.cflags.clone() })
}

fn document<'a>(args: &'a Args, mutator: &'a Mutator, made: &'a Variants) -> Document<'a> {
    Document {
        schema: "trueline.mutate/1",
        program: &args.file,
        seed: args.seed,
        profiler: mutator.profiler(),
        points: PointCounts {
            total: made.points,
            sampled: made.profile.visits.len(),
            live: made.profile.live(),
            dead: made.profile.dead(),
        },
        expected: Expected { stdout: String::from_utf8_lossy(&made.expected.output).into_owned(), exit_code: made.expected.exit_code },
        variants: made.variants.iter().map(|v| VariantRow { file: args.out.join(&v.program.name), insertions: &v.insertions }).collect(),
    }
}

fn print_table(args: &Args, mutator: &Mutator, made: &Variants) {
    let profile = &made.profile;
    println!(
        "{}: {} program points, {} sampled: {} live, {} never reached · profiled with {} in {:.2} s",
        args.file.display(),
        made.points,
        profile.visits.len(),
        profile.live(),
        profile.dead(),
        mutator.profiler(),
        made.profiling_cpu.as_secs_f64(),
    );
    for variant in &made.variants {
        let count = |strategy| variant.insertions.iter().filter(|i| i.strategy == strategy).count();
        let counts: Vec<String> =
            Strategy::ALL.into_iter().filter(|s| args.strategies.contains(s)).map(|s| format!("{s} {}", count(s))).collect();
        println!("  {}  {}", args.out.join(&variant.program.name).display(), counts.join("  "));
    }
    println!("{} variants, each must print what its seed prints and exit with {}", made.variants.len(), made.expected.exit_code);
}
