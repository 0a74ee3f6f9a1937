//! Prints the program of a seed: `cargo run -p trueline-generate --example weave -- SEED [c|rust]`, of the
//! wide generator with `wide-c`, `wide-c++` or `wide-rust`, of the swarm with `swarm-c` and so on. With a second
//! number, writes the programs of that many seeds into a directory: `SEED rust COUNT DIR`.

use std::path::Path;
use trueline_generate::{weave, weave_swarm, weave_wide};
use trueline_model::Language;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seed: u64 = args.first().and_then(|a| a.parse().ok()).unwrap_or(1);
    let kind = args.get(1).map_or("c", String::as_str);
    let program = |seed| match kind {
        "rust" => (weave(seed, Language::Rust).source, "rs"),
        "wide-c" => (weave_wide(seed, Language::C).source, "c"),
        "wide-c++" => (weave_wide(seed, Language::Cpp).source, "cpp"),
        "wide-rust" => (weave_wide(seed, Language::Rust).source, "rs"),
        "swarm-c" => (weave_swarm(seed, Language::C).source, "c"),
        "swarm-c++" => (weave_swarm(seed, Language::Cpp).source, "cpp"),
        "swarm-rust" => (weave_swarm(seed, Language::Rust).source, "rs"),
        _ => (weave(seed, Language::C).source, "c"),
    };
    match (args.get(2).and_then(|a| a.parse::<u64>().ok()), args.get(3)) {
        (Some(count), Some(dir)) => {
            std::fs::create_dir_all(dir)?;
            for seed in seed..seed + count {
                let (text, extension) = program(seed);
                std::fs::write(Path::new(dir).join(format!("weave-{seed}.{extension}")), text)?;
            }
        }
        _ => print!("{}", program(seed).0),
    }
    Ok(())
}
