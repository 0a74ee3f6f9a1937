//! Hostile programs against `trueline repair`, thousands of them, resumable.
//!
//! `cargo run --release -p trueline-adversary --example repair_hostile -- [--count FUNCTIONS] [--seed S] [--jobs N] [--batch N]
//! [--builds gcc-12:-O2,…] [--kinds a,b] [--trueline PATH] [--out DIR] [--emit DIR]`
//!
//! Every finished program leaves one line in `OUT/done.jsonl`; the next run with the same directory goes on after it.
//! Wrong values are written as directories with source, script and what gdb says. `--emit` only writes the programs and the
//! arguments of their runs.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use trueline_adversary::program::{HostileProgram, Round, choose};
use trueline_adversary::repaired::LocationLabel;
use trueline_adversary::tally::TrialTally;
use trueline_adversary::trial::{self, TrialBuild};
use trueline_adversary::written;

struct Options {
    count: usize,
    seed: u64,
    jobs: usize,
    batch: usize,
    builds: Vec<TrialBuild>,
    kinds: Vec<String>,
    trueline: PathBuf,
    out: PathBuf,
    emit: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        count: 100,
        seed: 1,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        batch: 20,
        builds: ["gcc-12:-O2", "gcc-12:-O3", "clang-16:-O1", "clang-16:-O2"].iter().filter_map(|b| TrialBuild::parse(b)).collect(),
        kinds: Vec::new(),
        trueline: PathBuf::from("target/release/trueline"),
        out: PathBuf::from("target/fuzz-repair"),
        emit: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{word} {value}: {e}"));
        match word.as_str() {
            "--count" => options.count = number()? as usize,
            "--seed" => options.seed = number()?,
            "--jobs" => options.jobs = number()? as usize,
            "--batch" => options.batch = number()? as usize,
            "--builds" => {
                let parsed: Option<Vec<TrialBuild>> = value.split(',').map(TrialBuild::parse).collect();
                options.builds = parsed.ok_or_else(|| format!("{value}: a build is COMPILER:LEVEL"))?;
            }
            "--kinds" => options.kinds = value.split(',').map(str::to_owned).collect(),
            "--trueline" => options.trueline = PathBuf::from(&value),
            "--out" => options.out = PathBuf::from(&value),
            "--emit" => options.emit = Some(PathBuf::from(&value)),
            other => return Err(format!("unknown word {other}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    match options().and_then(|o| hunt(&o)) {
        Ok(tally) => {
            print!("{tally}");
            let proved = tally.of(LocationLabel::Proved);
            println!("\nproved: {} values compared, {} wrong", proved.compared(), proved.wrong);
            ExitCode::from(u8::from(proved.wrong > 0 || proved.compared() == 0))
        }
        Err(e) => {
            eprintln!("repair_hostile: {e}");
            ExitCode::from(2)
        }
    }
}

fn hunt(options: &Options) -> Result<TrialTally, String> {
    let kinds = choose(&options.kinds);
    if kinds.is_empty() {
        return Err("no kind has such a name".to_owned());
    }
    let programs = options.count.div_ceil(options.batch) as u64;
    if let Some(dir) = &options.emit {
        for seed in options.seed..options.seed + programs {
            emit(dir, &HostileProgram::make(seed, options.batch, &kinds)).map_err(|e| e.to_string())?;
        }
        return Ok(TrialTally::default());
    }
    if !options.trueline.is_file() {
        return Err(format!("{} is not there; build it, or name it with --trueline", options.trueline.display()));
    }
    std::fs::create_dir_all(&options.out).map_err(|e| format!("{}: {e}", options.out.display()))?;
    let ledger = options.out.join("done.jsonl");
    let (total, done) = before(&ledger)?;
    let seeds: Vec<u64> = (options.seed..options.seed + programs).filter(|s| !done.contains(s)).collect();
    let (next, total) = (AtomicUsize::new(0), Mutex::new(total));
    let work = || -> Result<(), String> {
        while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let program = HostileProgram::make(seed, options.batch, &kinds);
            let findings = trial::run(&program, &options.builds, &options.trueline).map_err(|e| e.to_string())?;
            for wrong in &findings.wrong {
                written::write(&options.out, &program, wrong).map_err(|e| e.to_string())?;
            }
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            let line = serde_json::json!({"seed": seed, "tally": findings.tally});
            let mut file = std::fs::File::options().create(true).append(true).open(&ledger).map_err(|e| e.to_string())?;
            writeln!(file, "{line}").map_err(|e| e.to_string())?;
            total.add(&findings.tally);
            let (proved, validated) = (total.of(LocationLabel::Proved), total.of(LocationLabel::Validated));
            eprintln!(
                "seed {seed}: proved {} compared, {} wrong; validated {} compared, {} wrong; {} stops",
                proved.compared(),
                proved.wrong,
                validated.compared(),
                validated.wrong,
                total.stops
            );
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())))
    })?;
    Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Writes a program's units and the arguments of its two runs.
fn emit(dir: &Path, program: &HostileProgram) -> std::io::Result<()> {
    let dir = dir.join(program.seed.to_string());
    std::fs::create_dir_all(&dir)?;
    for (name, text) in program.units() {
        std::fs::write(dir.join(name), text)?;
    }
    let arguments = |rounds: Vec<Round>| rounds.iter().map(Round::argument).collect::<Vec<_>>().join(" ") + "\n";
    std::fs::write(dir.join("ordinary"), arguments(program.ordinary()))?;
    std::fs::write(dir.join("hostile"), arguments(program.hostile()))
}

/// What earlier runs with this directory counted.
fn before(ledger: &Path) -> Result<(TrialTally, BTreeSet<u64>), String> {
    let mut found = (TrialTally::default(), BTreeSet::new());
    let Ok(text) = std::fs::read_to_string(ledger) else { return Ok(found) };
    for line in text.lines() {
        // A line that a killed run left half written is done again.
        let Ok(mut value) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let tally: TrialTally = serde_json::from_value(value["tally"].take()).map_err(|e| format!("{}: {e}", ledger.display()))?;
        found.0.add(&tally);
        found.1.extend(value["seed"].as_u64());
    }
    Ok(found)
}
