//! What an oracle found wrong in one optimized trace.

use crate::{FileName, Line};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The invariants. The first four are the paper's (*Who's Debugging the Debuggers?*, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Invariant {
    /// LI: a line is stepped on that never runs.
    Line,
    /// BI: a backtrace names a function that was not active there.
    Backtrace,
    /// SI: a variable is visible where it is not in scope.
    Scope,
    /// PI: a parameter shows a value that it never had.
    Parameter,
    /// A local or global shows a value that it never had.
    Value,
    /// `-g` changed the generated code.
    Codegen,
    /// One trace contradicts the source or itself.
    #[serde(rename = "self")]
    Consistency,
    /// The debug information is ill-formed: it cannot be evaluated as the standard says.
    Dwarf,
}

impl Invariant {
    /// All of them, in the order reports list them.
    pub const ALL: [Self; 8] =
        [Self::Line, Self::Backtrace, Self::Scope, Self::Parameter, Self::Value, Self::Codegen, Self::Consistency, Self::Dwarf];

    /// The name used in JSON, tables and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Backtrace => "backtrace",
            Self::Scope => "scope",
            Self::Parameter => "parameter",
            Self::Value => "value",
            Self::Codegen => "codegen",
            Self::Consistency => "self",
            Self::Dwarf => "dwarf",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Invariant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|i| i.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|i| i.name()).collect();
            format!("unknown invariant `{text}`; there are {}", names.join(", "))
        })
    }
}

/// One broken invariant at one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Violation {
    /// Which invariant.
    pub invariant: Invariant,
    /// File of the stop.
    pub file: FileName,
    /// Line of the stop.
    pub line: Line,
    /// The innermost function shown there.
    pub function: Arc<str>,
    /// The frames shown there, innermost first, names only.
    pub frames: Vec<Arc<str>>,
    /// The variable, for scope, parameter and value violations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<Arc<str>>,
    /// What was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Arc<str>>,
    /// What -O0 allows, in words or as the list of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Arc<str>>,
    /// Link-time address of the first stop that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pc: Option<u64>,
    /// One sentence on the cause in the debug information, when the oracle can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
}

impl Violation {
    /// True when `other` is the same complaint, whatever the addresses and the other facts of the build:
    /// this is what a bisection, a reduction step or another reader compares.
    pub fn same_as(&self, other: &Self) -> bool {
        self.complaint() == other.complaint()
    }

    /// The part of it that other builds and readers can share.
    pub fn complaint(&self) -> Complaint {
        let base = self.file.base();
        let file = if base.len() == self.file.0.len() { self.file.clone() } else { FileName::new(base) };
        Complaint { invariant: self.invariant, file, line: self.line, variable: self.variable.clone() }
    }
}

/// A violation without the facts of the build that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Complaint {
    invariant: Invariant,
    /// The last component of the file's name.
    file: FileName,
    line: Line,
    variable: Option<Arc<str>>,
}
