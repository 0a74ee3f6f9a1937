//! Prints the program of a seed: `cargo run -p trueline-generate --example weave -- SEED [c|rust]`.
//! With a second number, writes the programs of that many seeds into a directory: `SEED rust COUNT DIR`.

use std::path::Path;
use trueline_generate::weave;
use trueline_model::Language;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let seed: u64 = args.first().and_then(|a| a.parse().ok()).unwrap_or(1);
    let language = if args.get(1).is_some_and(|a| a == "rust") { Language::Rust } else { Language::C };
    match (args.get(2).and_then(|a| a.parse::<u64>().ok()), args.get(3)) {
        (Some(count), Some(dir)) => {
            std::fs::create_dir_all(dir)?;
            for seed in seed..seed + count {
                let program = weave(seed, language);
                std::fs::write(Path::new(dir).join(&program.name), &program.source)?;
            }
        }
        _ => print!("{}", weave(seed, language).source),
    }
    Ok(())
}
