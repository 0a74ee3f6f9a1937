//! What a finding's page shows: both builds, both traces, who sees it, and what they read.

use crate::filing::KeptTrace;
use serde::{Deserialize, Serialize};
use trueline_model::{Program, Reader, Reading};

/// One build and its trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildRecord {
    /// The command that made it.
    pub command: String,
    /// What a debugger shows of it, stop by stop.
    pub trace: KeptTrace,
    /// Whether the trace was shortened for keeping.
    pub shortened: bool,
}

/// One reader's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderRecord {
    /// Who.
    pub reader: Reader,
    /// Whether it sees the fault.
    pub sees: bool,
    /// What it shows there.
    pub detail: String,
}

impl ReaderRecord {
    /// The record of an answer; none of a reader that could not be asked.
    pub fn of(reading: &Reading) -> Option<Self> {
        Some(Self { reader: reading.reader, sees: reading.sees?, detail: reading.detail.clone().unwrap_or_default() })
    }
}

/// One change that a mutation made to its seed program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsertionRecord {
    /// The mutation's strategy: `fcb`, `tg`, `tcb`, `dead` or `local`.
    pub strategy: String,
    /// Line of the statement it concerns, in the seed program.
    pub line: u32,
    /// The text it adds; empty for a deletion.
    pub text: String,
}

/// What a finding on a mutated program needs: the seed program with no more changes than it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minimal {
    /// The seed program with these insertions only.
    pub program: Program,
    /// The insertions, none when the seed program shows the same.
    pub insertions: Vec<InsertionRecord>,
}

impl Minimal {
    /// The strategies that are needed together, as `fcb+tcb`; `none` when the seed program shows the same.
    pub fn strategies(&self) -> String {
        let mut names: Vec<&str> = self.insertions.iter().map(|i| i.strategy.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { "none".to_owned() } else { names.join("+") }
    }
}

/// Everything kept for a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingEvidence {
    /// The program.
    pub program: Program,
    /// The -O0 build.
    pub reference: BuildRecord,
    /// The optimized build.
    pub optimized: BuildRecord,
    /// Who was asked and what they said.
    pub readers: Vec<ReaderRecord>,
    /// Line rows, ranges and locations at the place, one per line.
    pub dwarf: Vec<String>,
    /// For the first finding of a class on a mutated program: the changes it needs.
    pub minimal: Option<Minimal>,
}
