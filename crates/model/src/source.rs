//! Places in source text. A line alone says nothing: two files of one program both have a line 7, so
//! lines are always keyed together with their file.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A source file as the debug information names it, shared because every step repeats it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct FileName(pub Arc<str>);

impl FileName {
    /// Takes a name as the debug information spells it.
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component: what a person calls the file.
    pub fn base(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A one-based line number. Line 0, "no line" in DWARF, is never built: a step without a line has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Line(pub u32);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A line of a file: the key by which traces of two builds are compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LineKey {
    /// The file.
    pub file: FileName,
    /// The line in it.
    pub line: Line,
}

impl fmt::Display for LineKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.base(), self.line)
    }
}
