//! Writes seeds and their variants as files, for measurements that take directories.
//!
//! `cargo run --release -p trueline-mutate --example derive -- GENERATOR FIRST COUNT VARIANTS SEEDS-DIR VARIANTS-DIR [STRATEGIES]`
//! Seeds go into both directories, so that the second holds everything a campaign would compile.

use rayon::prelude::*;
use trueline_generate::SourceSpec;
use trueline_model::Language;
use trueline_mutate::{MutationOptions, Mutator, Strategy};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [generator, first, count, per_seed, seeds, variants, rest @ ..] = args.as_slice() else {
        eprintln!("usage: derive GENERATOR FIRST COUNT VARIANTS SEEDS-DIR VARIANTS-DIR [STRATEGIES]");
        std::process::exit(2);
    };
    let source = generator.parse::<SourceSpec>().expect("a generator").open().expect("the generator works");
    let (first, count): (u64, u64) = (first.parse().expect("a number"), count.parse().expect("a number"));
    let per_seed: usize = per_seed.parse().expect("a number");
    let mut options = MutationOptions::default();
    if let Some(list) = rest.first() {
        options.strategies = list.split(',').map(|s| s.parse::<Strategy>().expect("a strategy")).collect();
    }
    let mutator = Mutator::new(options).expect("a profiling clang");
    for dir in [seeds, variants] {
        std::fs::create_dir_all(dir).expect("a directory");
    }
    (first..first + count).into_par_iter().for_each(|seed| {
        let Ok(Some(program)) = source.program(seed, Language::C) else { return };
        let made = match mutator.variants(&program, per_seed, seed) {
            Ok(made) => made,
            Err(error) => return eprintln!("{error}"),
        };
        for dir in [seeds, variants] {
            std::fs::write(format!("{dir}/{}", program.name), &program.source).expect("a file");
        }
        for variant in &made.variants {
            std::fs::write(format!("{variants}/{}", variant.program.name), &variant.program.source).expect("a file");
        }
        // What every compilation of them needs, for the caller to pass on.
        if seed == first {
            println!("{}", program.cflags.join(" "));
        }
    });
}
