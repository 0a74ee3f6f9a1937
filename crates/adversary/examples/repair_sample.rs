//! Judges a repaired program of any size at sampled places, in gdb, against its -O0 build.
//!
//! `repair_sample REFERENCE REPAIRED [--seed S] [--limit STOPS] [-- ARGS…]`, with `REPAIRED.repair.json` beside the file. Prints one JSON
//! document: values compared, wrong and not judged per label, and every wrong value of a new location.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueline_adversary::calls::{self, Sampled};
use trueline_adversary::judge::ValueVerdict;
use trueline_adversary::repaired::{LocationLabel, Sidecar};
use trueline_adversary::tally::TrialTally;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let args = match words.iter().position(|w| w == "--") {
        Some(at) => words.split_off(at)[1..].to_vec(),
        None => Vec::new(),
    };
    let (mut seed, mut limit) = (1, 60_000);
    let mut files = Vec::new();
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--seed" => seed = rest.next().and_then(|w| w.parse().ok()).unwrap_or(seed),
            "--limit" => limit = rest.next().and_then(|w| w.parse().ok()).unwrap_or(limit),
            _ => files.push(PathBuf::from(word)),
        }
    }
    let [reference, repaired] = files.as_slice() else {
        eprintln!("usage: repair_sample REFERENCE REPAIRED [--seed S] [--limit STOPS] [-- ARGS...]");
        return ExitCode::from(2);
    };
    let sidecar = PathBuf::from(format!("{}.repair.json", repaired.display()));
    let sampled = Sidecar::read(&sidecar).and_then(|sidecar| {
        let (reference, repaired) = (absolute(reference)?, absolute(repaired)?);
        calls::sample(&reference, &repaired, &sidecar, &args, seed, limit).map_err(|e| e.to_string())
    });
    match sampled {
        Ok(sampled) => {
            println!("{}", document(&sampled));
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("repair_sample: {e}");
            ExitCode::from(2)
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn document(sampled: &Sampled) -> serde_json::Value {
    let mut tally = TrialTally { stops: sampled.stops as u64, ..TrialTally::default() };
    let mut wrong = Vec::new();
    let mut places: BTreeMap<LocationLabel, BTreeSet<(u64, &str)>> = BTreeMap::new();
    for one in sampled.judged.iter().filter(|j| j.label != LocationLabel::Compiler) {
        tally.count("all", one);
        if !matches!(one.verdict, ValueVerdict::NotJudged(_)) {
            places.entry(one.label).or_default().insert((one.pc, &one.variable));
        }
        if let ValueVerdict::Wrong { expected } = &one.verdict {
            wrong.push(serde_json::json!({
                "function": one.function, "line": one.line, "pc": format!("{:#x}", one.pc), "arrival": one.arrival,
                "variable": one.variable, "label": one.label, "relation": one.relation, "shown": one.shown, "expected": expected,
            }));
        }
    }
    let places: BTreeMap<String, usize> = places.into_iter().map(|(l, p)| (format!("{l:?}").to_lowercase(), p.len())).collect();
    serde_json::json!({
        "stops": tally.stops,
        "counts": tally.counts.get("all"),
        "places": places,
        "functions": sampled.matched.len(),
        "functions_whose_calls_differ": sampled.unmatched,
        "wrong": wrong,
    })
}
