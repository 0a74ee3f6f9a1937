//! What a finding's page shows: both builds, both traces, who sees it, and what they read.

use serde::{Deserialize, Serialize};
use trueline_model::{Program, Reader, Trace};

/// One build and its trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// The command that made it.
    pub command: String,
    /// What a debugger shows of it, stop by stop.
    pub trace: Trace,
    /// Whether the trace was shortened for keeping.
    #[serde(default)]
    pub shortened: bool,
}

/// One reader's testimony.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReaderRecord {
    /// Who.
    pub reader: Reader,
    /// Whether it sees the fault.
    pub sees: bool,
    /// What it shows there, or why it could not be asked.
    pub detail: String,
}

/// Everything kept for a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
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
}
