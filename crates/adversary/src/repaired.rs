//! What `trueline repair` says it did: the part of its sidecar that the judge needs.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How a location is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LocationLabel {
    /// On every input.
    Proved,
    /// In the runs that were made.
    Validated,
    /// The compiler's own.
    Compiler,
}

/// A new location.
#[derive(Clone, Debug, Deserialize)]
pub struct RepairedLocation {
    /// First PC.
    pub low: u64,
    /// One past the last.
    pub high: u64,
    /// The variable.
    pub variable: String,
    /// Line of its declaration.
    pub decl_line: u64,
    /// The source function it belongs to.
    pub function: String,
    /// How it is known.
    pub label: LocationLabel,
    /// The relation, readable.
    #[serde(default)]
    pub relation: String,
}

/// A function of the sidecar.
#[derive(Clone, Debug, Deserialize)]
pub struct RepairedFunction {
    /// Its name.
    pub name: String,
    /// Its first instruction.
    pub address: u64,
    /// Why nothing was done.
    pub reason: Option<String>,
    /// Every new location.
    pub locations: Vec<RepairedLocation>,
}

/// The sidecar.
#[derive(Clone, Debug, Deserialize)]
pub struct Sidecar {
    /// Every function.
    pub functions: Vec<RepairedFunction>,
}

impl Sidecar {
    /// Reads `OUT.repair.json`.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Every range with a new location.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self.functions.iter().flat_map(|f| &f.locations).map(|l| (l.low, l.high)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The functions that have new locations, and those that variables with new locations come from.
    pub fn improved(&self) -> BTreeSet<String> {
        let with = self.functions.iter().filter(|f| !f.locations.is_empty());
        with.flat_map(|f| f.locations.iter().map(|l| l.function.clone()).chain([f.name.clone()])).collect()
    }

    /// The new locations by variable, for lookups by PC.
    pub fn index(&self) -> Index<'_> {
        let mut by_variable: BTreeMap<(&str, u64), Vec<&RepairedLocation>> = BTreeMap::new();
        for location in self.functions.iter().flat_map(|f| &f.locations) {
            by_variable.entry((&location.variable, location.decl_line)).or_default().push(location);
        }
        Index { by_variable }
    }
}

/// New locations by variable.
pub struct Index<'a> {
    by_variable: BTreeMap<(&'a str, u64), Vec<&'a RepairedLocation>>,
}

impl Index<'_> {
    /// The new location of a variable at a PC, if it has one there.
    pub fn at(&self, variable: &str, decl_line: u64, pc: u64) -> Option<&RepairedLocation> {
        self.by_variable.get(&(variable, decl_line))?.iter().find(|l| (l.low..l.high).contains(&pc)).copied()
    }
}
