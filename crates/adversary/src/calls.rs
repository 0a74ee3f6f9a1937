//! Programs that nobody made for this: the repaired values at sampled places of sampled calls.
//!
//! Memory of two builds of a large program cannot be compared byte by byte, so a stop is tied to its function's call instead. The
//! n-th call of a function in one build is the n-th in the other when the callers of all calls up to the last one looked
//! at are the same in both; where they differ (a call was inlined, cloned or moved) the function is not judged.
//! Inside a call the judge's rules hold as they stand. Variables of inner blocks and of inlined functions are not judged.

use crate::gdb::{GdbError, GdbRecord, GdbStop, run_script};
use crate::judge::{self, JudgedShown, ReferenceMoments};
use crate::repaired::Sidecar;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trueline_generate::Dice;

const SCRIPT: &str = concat!(include_str!("shown.py"), include_str!("calls.py"));

/// The calls that are looked at: early ones, where first-call constants hold, and later ones, where they do not.
const CALLS: [usize; 10] = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89];

/// Places per function.
const PLACES: usize = 12;

#[derive(Serialize)]
struct SampleConfig<'a> {
    binary: &'a Path,
    args: &'a [String],
    functions: Vec<(String, Option<u64>, Vec<u64>)>,
    calls: &'a [usize],
    shared: [(String, u64); 0],
    fill: bool,
    limit: usize,
}

/// What the two runs gave.
#[derive(Debug, Default)]
pub struct Sampled {
    /// Every value at every stop that has a new location.
    pub judged: Vec<JudgedShown>,
    /// Stops of the repaired build.
    pub stops: usize,
    /// Functions stopped in whose calls are the same in both builds.
    pub matched: BTreeSet<String>,
    /// Functions stopped in whose calls differ, so that nothing in them is judged.
    pub unmatched: BTreeSet<String>,
}

struct SampledRun {
    stops: Vec<GdbStop>,
    callers: BTreeMap<String, Vec<String>>,
    overflown: BTreeSet<String>,
    cut: bool,
}

fn run(config: &SampleConfig<'_>) -> Result<SampledRun, GdbError> {
    let mut found = SampledRun { stops: Vec::new(), callers: BTreeMap::new(), overflown: BTreeSet::new(), cut: false };
    for record in run_script(SCRIPT, config.binary, config)? {
        match record {
            GdbRecord::Stop(stop) => found.stops.push(*stop),
            GdbRecord::Calls { function, callers } => {
                found.callers.insert(function, callers);
            }
            GdbRecord::Overflow { overflow } => {
                found.overflown.insert(overflow);
            }
            GdbRecord::Cut { .. } => found.cut = true,
            _ => {}
        }
    }
    Ok(found)
}

/// Runs both builds on one input and judges the repaired one at sampled places.
pub fn sample(reference: &Path, repaired: &Path, sidecar: &Sidecar, args: &[String], seed: u64, limit: usize) -> Result<Sampled, GdbError> {
    let mut dice = Dice::new(seed);
    let mut places: BTreeMap<String, (u64, BTreeSet<u64>)> = BTreeMap::new();
    for function in sidecar.functions.iter().filter(|f| !f.locations.is_empty()) {
        let chosen = (0..PLACES).map(|_| dice.pick(&function.locations).low).collect();
        places.insert(function.name.clone(), (function.address, chosen));
    }
    let functions = places.into_iter().map(|(name, (entry, pcs))| (name, Some(entry), pcs.into_iter().collect())).collect();
    let config = SampleConfig { binary: repaired, args, functions, calls: &CALLS, shared: [], fill: false, limit };
    let shown = run(&config)?;
    let mut lines: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for stop in &shown.stops {
        let function = stop.memory.split('#').next().unwrap_or_default();
        lines.entry(function.to_owned()).or_default().extend(stop.frames.first().map(|f| f.1));
    }
    let functions = lines.into_iter().map(|(name, lines)| (name, None, lines.into_iter().collect())).collect();
    let source = run(&SampleConfig { binary: reference, args, functions, fill: true, ..config })?;
    let mut sampled = Sampled { stops: shown.stops.len(), ..Sampled::default() };
    for (name, callers) in &source.callers {
        // A run that was cut off may have ended inside a call that is looked at.
        let whole = !(shown.cut || source.cut) || callers.len() > CALLS[CALLS.len() - 1];
        let same = whole && shown.callers.get(name).is_some_and(|c| c == callers);
        if same { &mut sampled.matched } else { &mut sampled.unmatched }.insert(name.clone());
    }
    let sound = |s: &GdbStop| {
        let function = s.memory.split('#').next().unwrap_or_default();
        sampled.matched.contains(function) && !shown.overflown.contains(&s.memory) && !source.overflown.contains(&s.memory)
    };
    let stops: Vec<GdbStop> = shown.stops.into_iter().filter(sound).collect();
    let arrivals: Vec<GdbStop> = source.stops.into_iter().filter(sound).collect();
    sampled.judged = judge::judge(&ReferenceMoments::new(&arrivals), &stops, &sidecar.index());
    Ok(sampled)
}
