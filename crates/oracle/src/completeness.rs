//! How much of the -O0 view the optimized build keeps. A figure, not a verdict: losing what was
//! optimized away is no fault.

use crate::digest::Digest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_model::VarKey;

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Ratio {
    /// In the optimized build.
    pub kept: u64,
    /// At -O0.
    pub of: u64,
}

impl Ratio {
    /// As a number, 1 for an empty whole.
    pub fn value(self) -> f64 {
        if self.of == 0 { 1.0 } else { self.kept as f64 / self.of as f64 }
    }
}

/// Completeness of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FunctionCompleteness {
    /// The function.
    pub function: Arc<str>,
    /// Lines stepped on.
    pub lines: Ratio,
    /// Locals and parameters with a value, summed over the lines that both traces step on.
    pub variables: Ratio,
}

/// Completeness of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Completeness {
    /// Lines stepped on.
    pub lines: Ratio,
    /// Locals and parameters with a value, summed over the lines that both traces step on.
    pub variables: Ratio,
    /// The same for each function that ran at -O0, by name.
    pub functions: Vec<FunctionCompleteness>,
}

/// Measures it.
pub fn measure(reference: &Digest, optimized: &Digest) -> Completeness {
    let mut total = Completeness::default();
    let mut per_function: BTreeMap<Arc<str>, (Ratio, Ratio)> = BTreeMap::new();
    for (key, line) in &reference.lines {
        let owners: BTreeSet<Arc<str>> =
            line.stops.iter().filter_map(|s| reference.stop(*s).stack.first()).map(|a| Arc::clone(&a.function)).collect();
        let other = optimized.lines.get(key);
        let count = |ratio: &mut Ratio, kept: usize, of: usize| {
            ratio.kept += kept as u64;
            ratio.of += of as u64;
        };
        count(&mut total.lines, usize::from(other.is_some()), 1);
        let kept_vars = |vars: &BTreeSet<&VarKey>| other.map_or(0, |o| vars.iter().filter(|v| o.available.contains(**v)).count());
        if other.is_some() {
            let all: BTreeSet<&VarKey> = line.available.iter().collect();
            count(&mut total.variables, kept_vars(&all), all.len());
        }
        for owner in owners {
            let own: BTreeSet<&VarKey> = line.available.iter().filter(|v| v.function == owner).collect();
            let entry = per_function.entry(owner).or_default();
            count(&mut entry.0, usize::from(other.is_some()), 1);
            if other.is_some() {
                count(&mut entry.1, kept_vars(&own), own.len());
            }
        }
    }
    total.functions =
        per_function.into_iter().map(|(function, (lines, variables))| FunctionCompleteness { function, lines, variables }).collect();
    total
}
