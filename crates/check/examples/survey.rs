//! What `check` reports on csmith programs: counts by invariant, compiler and level, each report with its program, so that a
//! sample can be judged by hand.
//!
//! usage: survey DIR [--seeds 1..101] [--cc gcc-12,clang-16] [--opt=-Og,-O2] [--invariant lost,…]   (programs with reports are kept in DIR)

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use trueline_check::{CheckOptions, Checker};
use trueline_model::{Invariant, Language, OptLevel, Origin, Program};
use trueline_toolchain::{Job, Limits, find_compiler};

/// Small programs: a report has to be judged by a person.
const CSMITH: &str = include_str!("../../../bench/csmith-small.txt");

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = args.next().expect("usage: survey DIR [--seeds A..B] [--cc CC,…] [--opt=LEVEL,…]");
    let rest: Vec<String> = args.flat_map(|a| a.splitn(2, '=').map(str::to_owned).collect::<Vec<_>>()).collect();
    let option = |name: &str, usual: &str| {
        rest.iter().position(|a| a == name).and_then(|i| rest.get(i + 1)).cloned().unwrap_or_else(|| usual.to_owned())
    };
    let seeds = option("--seeds", "1..101");
    let (from, to) = seeds.split_once("..").expect("A..B");
    let seeds = from.parse::<u64>().expect("a number")..to.parse::<u64>().expect("a number");
    let levels: Vec<OptLevel> = option("--opt", "-Og,-O2").split(',').map(|l| l.parse().expect("a level")).collect();
    let compilers: Vec<_> = option("--cc", "gcc-12,clang-16").split(',').map(|c| find_compiler(c).expect("a compiler")).collect();
    let usual = Invariant::usual().filter(|i| *i != Invariant::Codegen).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let invariants: Vec<Invariant> = option("--invariant", &usual).split(',').map(|i| i.parse().expect("an invariant")).collect();
    // A program that loops for long says nothing that a short one does not say. CPU time, since the machine may be loaded.
    let limits = Limits { cpu: Duration::from_secs(3), ..Limits::seconds(300) };
    let options = CheckOptions { invariants, max_steps: 20_000, limits, ..CheckOptions::default() };
    let checker = Checker::new(options).expect("an engine");
    let mut counts: BTreeMap<(String, String, String), (usize, usize)> = BTreeMap::new();
    let (mut programs, mut runs) = (0, 0);
    for seed in seeds {
        let Ok(outcome) =
            Job::new("csmith").args(CSMITH.split_whitespace()).arg("--seed").arg(seed.to_string()).limits(Limits::seconds(20)).run()
        else {
            continue;
        };
        let source = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let name = format!("s{seed}.c");
        let cflags = ["-I/usr/include/csmith", "-DUSE_MATH_MACROS", "-w"].map(str::to_owned).to_vec();
        let path = Path::new(&dir).join(&name);
        let program = Program { name, language: Language::C, source, origin: Origin::File { path: path.clone() }, cflags };
        programs += 1;
        for compiler in &compilers {
            let reference = match checker.reference(&program, compiler) {
                Ok(reference) => reference,
                Err(e) => {
                    println!("seed {seed} {}: left out: {e}", compiler.id.path.display());
                    break;
                }
            };
            for level in &levels {
                let Ok(run) = checker.check(&program, &reference, compiler, *level, &[]) else { continue };
                runs += 1;
                let mut here: BTreeMap<Invariant, usize> = BTreeMap::new();
                for v in &run.violations {
                    *here.entry(v.invariant()).or_default() += 1;
                    println!("{}", serde_json::json!({"seed": seed, "cc": compiler.id.path, "opt": level, "violation": v}));
                }
                for (invariant, count) in here {
                    let entry = counts.entry((invariant.to_string(), compiler.id.kind.to_string(), level.to_string())).or_default();
                    entry.0 += 1;
                    entry.1 += count;
                }
                if !run.violations.is_empty() {
                    std::fs::write(&path, &program.source).expect("the program is kept");
                }
            }
        }
    }
    println!("{programs} programs, {runs} runs; invariant compiler level: runs with reports, reports");
    for ((invariant, compiler, level), (with, all)) in counts {
        println!("{invariant} {compiler} {level}: {with}, {all}");
    }
}
