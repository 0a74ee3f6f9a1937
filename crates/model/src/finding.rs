//! A finding: a fault in the toolchain, with who sees it and which pass did it.

use crate::{CompilerId, OptLevel, Policy, Violation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Number of a finding in its campaign store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct FindingId(pub i64);

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "fault")]
pub enum Fault {
    /// A debug-information invariant is broken.
    Violation(Violation),
    /// The compiler crashed; the message identifies the place.
    Crash {
        /// First line of the diagnostic.
        message: String,
    },
    /// The compiler did not come back within its limit.
    Hang {
        /// The limit in seconds.
        seconds: u64,
    },
    /// The program prints something else at this level.
    WrongCode {
        /// Output of the reference, shortened.
        expected: String,
        /// Output of the build, shortened.
        actual: String,
    },
    /// The compiler takes many times what it takes at the level below and what others take at this one.
    Explosion {
        /// What it takes too much of.
        resource: Resource,
        /// How much it takes: milliseconds of CPU time, or KiB of memory.
        used: u64,
        /// The most that a neighbour takes.
        neighbour: u64,
    },
}

/// What a compilation uses up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// CPU time.
    Time,
    /// Resident memory.
    Memory,
}

impl Resource {
    /// An amount of it for people.
    pub fn amount(self, amount: u64) -> String {
        match self {
            Self::Time => format!("{}.{} s", amount / 1000, amount % 1000 / 100),
            Self::Memory => format!("{} MiB", amount >> 10),
        }
    }
}

impl Fault {
    /// One word: the invariant, or what else it is.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Violation(violation) => violation.invariant().name(),
            Self::Crash { .. } => "crash",
            Self::Hang { .. } => "hang",
            Self::WrongCode { .. } => "wrong-code",
            Self::Explosion { .. } => "explosion",
        }
    }
}

/// A reader of the same debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase", tag = "reader", content = "policy")]
pub enum Reader {
    /// The native engine under a policy.
    Native(Policy),
    /// gdb itself.
    Gdb,
    /// lldb itself.
    Lldb,
}

/// What one reader said of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reading {
    /// Who.
    pub reader: Reader,
    /// Whether it sees the fault; `None` when the reader could not be asked.
    pub sees: Option<bool>,
    /// What it shows there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Why it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Reading {
    /// Of a reader that answered.
    pub fn answer(reader: Reader, sees: bool, detail: String) -> Self {
        Self { reader, sees: Some(sees), detail: Some(detail), reason: None }
    }

    /// Of a reader that could not be asked.
    pub fn unasked(reader: Reader, reason: String) -> Self {
        Self { reader, sees: None, detail: None, reason: Some(reason) }
    }
}

/// Whose fault the readers make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All readers see it.
    Compiler,
    /// One debugger sees it, and the native engine under that debugger's policy does not.
    Debugger,
    /// Seen under one policy only: the DWARF can be read both ways.
    Ambiguous,
}

/// Name of an optimization pass as the compiler spells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct PassName(pub String);

/// What a pass has to do with a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PassRole {
    /// Its effect creates the fault.
    Guilty,
    /// The fault needs it, but something else creates it.
    Enabling,
    /// Only a set of passes together hides it.
    Set,
    /// The fault is there without any optional pass.
    None,
    /// The fault is there and nothing that could be switched off hides it.
    Unswitchable,
}

impl PassRole {
    /// The name used in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guilty => "guilty",
            Self::Enabling => "enabling",
            Self::Set => "set",
            Self::None => "none",
            Self::Unswitchable => "unswitchable",
        }
    }
}

/// One component of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FingerprintEntry {
    /// The pass (or set of passes, joined with `+`) that the fault was attributed to.
    Pass(PassName),
    /// The fault does not show with this version.
    Absent,
    /// It shows, but no pass could be named.
    Unattributed,
    /// This version does not compile the program.
    Unbuildable,
}

/// The vector over compiler versions that identifies a bug (*Who's Debugging the Debuggers?*, section 2.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Fingerprint(pub BTreeMap<String, FingerprintEntry>);

/// A fault with everything needed to see it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// What is wrong.
    #[serde(flatten)]
    pub fault: Fault,
    /// The compiler.
    pub compiler: CompilerId,
    /// The level.
    pub opt: OptLevel,
    /// Content address of the program in the store.
    pub program: String,
    /// Which readers see it, and which were asked and do not.
    pub seen_by: Vec<Reader>,
    /// Readers that were asked and do not see it.
    pub not_seen_by: Vec<Reader>,
    /// Whose fault that makes it, once at least two readers were asked.
    pub verdict: Option<Verdict>,
}
