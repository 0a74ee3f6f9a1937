//! Measures validity and cost: derives variants and checks that each compiles, prints what its seed
//! prints at gcc -O0 and clang -O0, and runs clean under UBSan+ASan and MSan.
//!
//! `cargo run --release -p trueline-mutate --example validity -- GENERATOR FIRST COUNT VARIANTS [last|all [DIR [hunt|code]]]`, where
//! GENERATOR is what `hunt --generator` takes; sanitizers run on the last variant of each seed, which has the insertions of all
//! before it, or on all. Seeds that are refused, or fail a check themselves, are named and not counted. Variants that fail are
//! written to DIR. The options are the defaults of `trueline mutate`, with `hunt` those of
//! hunts, with `code` those of hunts for wrong code.

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use trueline_generate::SourceSpec;
use trueline_model::{Language, OptLevel, Program};
use trueline_mutate::{ExpectedBehaviour, MutationOptions, Mutator, Strategy, judge};
use trueline_toolchain::{BuildError, CompileRequest, Compiler, DebugInfo, Job, Limits, Scratch, find_compiler};

#[derive(Default)]
struct Totals {
    seeds: usize,
    refused: Vec<String>,
    variants: usize,
    sanitized: usize,
    failures: Vec<String>,
    insertions: BTreeMap<Strategy, usize>,
    seed_bytes: usize,
    variant_bytes: usize,
    points: usize,
    live: usize,
    dead: usize,
    profiling: Duration,
    synthesis: Duration,
    gcc: Duration,
    clang: Duration,
}

struct Check {
    name: &'static str,
    compiler: Compiler,
    flags: &'static [&'static str],
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [generator, first, count, per_seed, rest @ ..] = args.as_slice() else {
        eprintln!("usage: validity GENERATOR FIRST COUNT VARIANTS [last|all [DIR [hunt|code]]]");
        std::process::exit(2);
    };
    let source = generator.parse::<SourceSpec>().expect("a generator").open().expect("the generator works");
    let (first, count): (u64, u64) = (first.parse().expect("a number"), count.parse().expect("a number"));
    let per_seed: usize = per_seed.parse().expect("a number");
    let sanitize_all = rest.first().is_some_and(|w| w == "all");
    let failed_dir = rest.get(1).cloned();
    let options = match rest.get(2).map(String::as_str) {
        Some("hunt") => MutationOptions::for_hunts(),
        Some("code") => MutationOptions::for_wrong_code(),
        _ => MutationOptions::default(),
    };
    let mutator = Mutator::new(options).expect("a profiling clang");
    let clang = find_compiler("clang-16").or_else(|_| find_compiler("clang")).expect("clang");
    let checks = [
        Check { name: "gcc -O0", compiler: find_compiler("gcc").expect("gcc"), flags: &[] },
        Check { name: "clang -O0", compiler: clang.clone(), flags: &[] },
        Check { name: "ASan+UBSan", compiler: clang.clone(), flags: &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"] },
        Check { name: "MSan", compiler: clang, flags: &["-fsanitize=memory", "-fno-sanitize-recover=all"] },
    ];
    let totals = Mutex::new(Totals::default());
    (first..first + count).into_par_iter().for_each(|seed| {
        let program = match source.program(seed, Language::C) {
            Ok(Some(program)) => program,
            other => panic!("no program from seed {seed}: {:?}", other.err()),
        };
        let before = thread_cpu();
        let made = mutator.variants(&program, per_seed, seed);
        let synthesis = thread_cpu() - before;
        let made = match made {
            Ok(made) => made,
            Err(error) => return totals.lock().unwrap().refused.push(error.to_string()),
        };
        let mut failures = Vec::new();
        let mut costs = BTreeMap::new();
        for (i, variant) in made.variants.iter().enumerate() {
            // The last variant of a chain has the insertions of all before it.
            let last = i + 1 == made.variants.len();
            for check in checks.iter().filter(|c| c.flags.is_empty() || last || sanitize_all) {
                match run(&variant.program, check, &made.expected) {
                    Ok(cpu) => *costs.entry(check.name).or_insert(Duration::ZERO) += cpu,
                    Err(why) => {
                        if let Err(own) = run(&program, check, &made.expected) {
                            let refusal = format!("{}: the seed itself fails: {}: {own}", program.name, check.name);
                            return totals.lock().unwrap().refused.push(refusal);
                        }
                        failures.push(format!("{}: {}: {why}", variant.program.name, check.name));
                        if let Some(dir) = &failed_dir {
                            std::fs::create_dir_all(dir).expect("a directory");
                            std::fs::write(format!("{dir}/{}", variant.program.name), &variant.program.source).expect("a file");
                        }
                    }
                }
            }
        }
        let mut t = totals.lock().unwrap();
        t.seeds += 1;
        t.variants += made.variants.len();
        t.sanitized += if sanitize_all { made.variants.len() } else { 1 };
        t.failures.extend(failures);
        for insertion in made.variants.last().into_iter().flat_map(|v| &v.insertions) {
            *t.insertions.entry(insertion.strategy).or_default() += 1;
        }
        t.seed_bytes += program.source.len();
        t.variant_bytes += made.variants.iter().map(|v| v.program.source.len()).sum::<usize>() / made.variants.len();
        t.points += made.points;
        t.live += made.profile.live();
        t.dead += made.profile.dead();
        t.profiling += made.profiling_cpu;
        t.synthesis += synthesis;
        t.gcc += costs.get("gcc -O0").copied().unwrap_or_default();
        t.clang += costs.get("clang -O0").copied().unwrap_or_default();
    });
    report(&totals.into_inner().unwrap());
}

fn report(t: &Totals) {
    let per = |d: Duration, n: usize| d.as_secs_f64() / n.max(1) as f64;
    println!("seeds          {} ({} refused)", t.seeds, t.refused.len());
    println!("variants       {} ({} of them sanitized), of which {} fail", t.variants, t.sanitized, t.failures.len());
    println!(
        "points         {} per seed, sampled live {} and dead {}",
        t.points / t.seeds.max(1),
        t.live / t.seeds.max(1),
        t.dead / t.seeds.max(1)
    );
    println!("insertions     {:?} in the last variants", t.insertions);
    println!("size           seeds {} bytes, variants {}", t.seed_bytes / t.seeds.max(1), t.variant_bytes / t.seeds.max(1));
    println!("CPU per seed   profiling {:.3} s, parsing and synthesis {:.3} s", per(t.profiling, t.seeds), per(t.synthesis, t.seeds));
    println!("               compiling its variants at -O0: gcc {:.3} s, clang {:.3} s", per(t.gcc, t.seeds), per(t.clang, t.seeds));
    for line in t.refused.iter().chain(&t.failures) {
        println!("{line}");
    }
}

/// Compiles and runs one variant; CPU time of the compilation, or what is wrong.
fn run(program: &Program, check: &Check, expected: &ExpectedBehaviour) -> Result<Duration, String> {
    let scratch = Scratch::new().map_err(|e| e.to_string())?;
    let source = scratch.write("variant.c", &program.source).map_err(|e| e.to_string())?;
    let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("variant")).debug(DebugInfo::None);
    let mut request = request.flags(check.flags.iter().map(|f| (*f).to_owned())).flags(program.cflags.clone());
    // CPU time is the limit: on a busy machine everything waits longer than it works.
    request.limits = Limits { wall: Duration::from_secs(900), ..Limits::seconds(60) };
    let build = match check.compiler.compile(&request) {
        Ok(build) => build,
        Err(BuildError::Refused { message, .. }) => return Err(message),
        Err(error) => return Err(error.to_string()),
    };
    let limits = Limits { memory: None, wall: Duration::from_secs(900), ..Limits::seconds(20) };
    let outcome = Job::new(&build.binary).limits(limits).run().map_err(|e| e.to_string())?;
    match judge(expected, Ok(&outcome)) {
        Some(fault) => Err(format!("{fault:?} {}", outcome.stderr_text().lines().take(3).collect::<Vec<_>>().join(" | "))),
        None => Ok(build.cpu),
    }
}

/// CPU time of this thread: children are counted apart.
fn thread_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0))
}
