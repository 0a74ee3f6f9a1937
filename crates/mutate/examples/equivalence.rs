//! The loop of the paper's Algorithm 1, for measuring: seeds, variants, compilers and levels; whatever crashes a
//! compiler, hangs it or prints something else than its seed is minimized to the insertions it needs and written out.
//!
//! `cargo run --release -p trueline-mutate --example equivalence -- GENERATOR FIRST COUNT VARIANTS CC,CC LEVEL,LEVEL OUT [STRATEGIES]`

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use trueline_generate::SourceSpec;
use trueline_model::{Fault, Interesting, Language, OptLevel, Program, SeamError, StillShows};
use trueline_mutate::{ExpectedBehaviour, MutationOptions, Mutator, Strategy, Variants, judge, minimize};
use trueline_toolchain::{CompileRequest, Compiler, DebugInfo, Job, Limits, Scratch, find_compiler};

/// Seconds a compilation may take; a hang is a hundred times what programs of this size need.
const COMPILE_SECONDS: u64 = 60;

#[derive(Default)]
struct Totals {
    seeds: usize,
    refused: usize,
    programs: usize,
    cpu: Duration,
    faults: BTreeMap<String, usize>,
}

/// The same kind of fault (and for a crash, the same message) with the same compiler and level.
struct SameFault<'a> {
    fault: &'a Fault,
    compiler: &'a Compiler,
    opt: OptLevel,
    expected: &'a ExpectedBehaviour,
}

impl Interesting for SameFault<'_> {
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        let (fault, _) = attempt(candidate, self.compiler, self.opt, self.expected);
        let same = match (&fault, self.fault) {
            (Some(Fault::Crash { message: a }), Fault::Crash { message: b }) => site(a) == site(b),
            (Some(a), b) => std::mem::discriminant(a) == std::mem::discriminant(b),
            (None, _) => false,
        };
        Ok(if same { StillShows::Yes } else { StillShows::No })
    }
}

/// The part of a crash message that names the place, without the file it happened on.
fn site(message: &str) -> &str {
    message.find("internal compiler error").or_else(|| message.find("Assertion")).map_or(message, |at| &message[at..])
}

/// Compiles and runs; the fault, and the CPU time all of it took.
fn attempt(program: &Program, compiler: &Compiler, opt: OptLevel, expected: &ExpectedBehaviour) -> (Option<Fault>, Duration) {
    let Ok(scratch) = Scratch::new() else { return (None, Duration::ZERO) };
    let Ok(source) = scratch.write("variant.c", &program.source) else { return (None, Duration::ZERO) };
    let mut request = CompileRequest::new(source, Language::C, opt, scratch.join("variant")).debug(DebugInfo::None);
    request.limits = Limits::seconds(COMPILE_SECONDS);
    match compiler.compile(&request.flags(program.cflags.clone())) {
        Err(error) => (judge(expected, Err(&error)), Duration::from_secs(1)),
        Ok(build) => match Job::new(&build.binary).limits(Limits::seconds(10)).run() {
            Ok(outcome) => (judge(expected, Ok(&outcome)), build.cpu + outcome.cpu),
            Err(_) => (None, build.cpu),
        },
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [generator, first, count, per_seed, compilers, levels, out, rest @ ..] = args.as_slice() else {
        eprintln!("usage: equivalence GENERATOR FIRST COUNT VARIANTS CC,CC LEVEL,LEVEL OUT [STRATEGIES]");
        std::process::exit(2);
    };
    let source = generator.parse::<SourceSpec>().expect("a generator").open().expect("the generator works");
    let (first, count): (u64, u64) = (first.parse().expect("a number"), count.parse().expect("a number"));
    let per_seed: usize = per_seed.parse().expect("a number");
    let compilers: Vec<Compiler> = compilers.split(',').map(|c| find_compiler(c).expect("the compiler")).collect();
    let levels: Vec<OptLevel> = levels.split(',').map(|l| l.parse().expect("a level")).collect();
    let mut options = MutationOptions::default();
    if let Some(list) = rest.first() {
        options.strategies = list.split(',').map(|s| s.parse::<Strategy>().expect("a strategy")).collect();
    }
    let mutator = Mutator::new(options).expect("a profiling clang");
    let totals = Mutex::new(Totals::default());
    (first..first + count).into_par_iter().for_each(|seed| {
        let Ok(Some(program)) = source.program(seed, Language::C) else { return };
        let Ok(made) = mutator.variants(&program, per_seed, seed) else {
            totals.lock().unwrap().refused += 1;
            return;
        };
        let mut cpu = made.profiling_cpu;
        let mut faults: Vec<String> = Vec::new();
        for compiler in &compilers {
            for &opt in &levels {
                cpu += test(seed, &program, &made, compiler, opt, Path::new(out), &mut faults);
            }
        }
        let mut t = totals.lock().unwrap();
        t.seeds += 1;
        t.programs += made.variants.len() + 1;
        t.cpu += cpu;
        for fault in faults {
            *t.faults.entry(fault).or_default() += 1;
        }
    });
    let t = totals.into_inner().unwrap();
    let hours = t.cpu.as_secs_f64() / 3600.0;
    println!(
        "{} seeds ({} refused), {} programs, {:.1} CPU-minutes: {:.0} programs per core-hour",
        t.seeds,
        t.refused,
        t.programs,
        hours * 60.0,
        t.programs as f64 / hours
    );
    for (fault, count) in &t.faults {
        println!("{count:4} × {fault}");
    }
}

/// Tests the seed and its variants with one compiler at one level. Stops at the first fault: later variants of the
/// chain have the same insertions and would only repeat it.
fn test(
    seed: u64,
    program: &Program,
    made: &Variants,
    compiler: &Compiler,
    opt: OptLevel,
    out: &Path,
    faults: &mut Vec<String>,
) -> Duration {
    let (fault, mut cpu) = attempt(program, compiler, opt, &made.expected);
    if let Some(fault) = fault {
        faults.push(format!("{} {opt} on the seed {seed} itself: {fault:?}", compiler.id));
        return cpu;
    }
    for variant in &made.variants {
        let (fault, spent) = attempt(&variant.program, compiler, opt, &made.expected);
        cpu += spent;
        let Some(fault) = fault else { continue };
        let same = SameFault { fault: &fault, compiler, opt, expected: &made.expected };
        let minimal = minimize(variant, &same).expect("judging never fails");
        let strategies: Vec<&str> = minimal.variant.insertions.iter().map(|i| i.strategy.name()).collect();
        let name = format!("{}-{}{opt}.c", variant.program.name.trim_end_matches(".c"), compiler.id.to_string().replace(' ', "-"));
        std::fs::create_dir_all(out).expect("a directory");
        std::fs::write(out.join(&name), &minimal.variant.program.source).expect("a file");
        faults.push(format!("{} {opt}: {name} needs {strategies:?}: {fault:?}", compiler.id));
        break;
    }
    cpu
}
