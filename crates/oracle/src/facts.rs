//! What is known of the two builds and the source beside their traces. Pure data: `check` reads it from
//! the binaries and the source text, and runs the reference again where a question needs it.

use crate::unsteady::Unsteady;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_model::{LineKey, VarKey};

/// Where a function stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Base name of the file.
    pub file: Arc<str>,
    /// First line, that of the declaration.
    pub first: u32,
    /// Last line with code.
    pub last: u32,
}

impl Extent {
    /// True when the line is inside.
    pub fn contains(&self, key: &LineKey) -> bool {
        *self.file == *key.file.as_str() && (self.first..=self.last).contains(&key.line.0)
    }
}

/// Static knowledge of the -O0 build and what it executed, every line row counted, whether or not the
/// engine stops there.
#[derive(Clone, Debug, Default)]
pub struct ReferenceFacts {
    /// Base names of the files that are looked at; empty for all.
    pub user_files: Vec<String>,
    /// Lines that have a row.
    pub rows: BTreeSet<LineKey>,
    /// Lines of which a row was executed.
    pub executed: BTreeSet<LineKey>,
    /// Variables in scope somewhere on a line.
    pub scope: BTreeMap<LineKey, BTreeSet<VarKey>>,
    /// Every local and parameter the build describes.
    pub variables: BTreeSet<VarKey>,
    /// Extents of functions; a name that several functions share has several.
    pub functions: BTreeMap<Arc<str>, Vec<Extent>>,
    /// What two runs of the build do not agree on.
    pub unsteady: Unsteady,
}

/// How a variable's home is described in the optimized build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Home {
    /// One fixed place in memory for all of its scope: what is shown is what memory holds.
    Memory,
    /// Anything else: location lists, registers, constants, expressions. Here the debug information
    /// *claims* where the value is.
    Described,
}

/// A variable as its declaration tells it: name and line.
pub type Declared = (Arc<str>, u32);

/// Static knowledge of the optimized build.
#[derive(Clone, Debug, Default)]
pub struct OptimizedFacts {
    /// Homes of variables, the most modest claim of all copies of a variable.
    pub homes: BTreeMap<VarKey, Home>,
    /// Address ranges whose row says line 0, ends excluded, sorted.
    pub line_zero: Vec<(u64, u64)>,
    /// Variables of blocks that have no code left.
    pub codeless: BTreeSet<VarKey>,
    /// Addresses where a variable, by name and declaration line, is marked as not initialised by the debug information itself.
    pub uninitialised: BTreeMap<Declared, Vec<(u64, u64)>>,
    /// Addresses of the blocks that hold a variable, of all its copies.
    pub blocks: BTreeMap<VarKey, Vec<(u64, u64)>>,
    /// Variables that are declared outside of functions, and share name and line with no static of a function's.
    pub file_scope: BTreeSet<VarKey>,
    /// Rows by address: what the line table says there, every row in order.
    pub rows_at: BTreeMap<u64, Vec<RowNote>>,
}

/// One row of the line table, as much as an explanation needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowNote {
    /// The line, `None` for line 0.
    pub line: Option<LineKey>,
    /// Whether the compiler recommends it as a breakpoint.
    pub is_stmt: bool,
}

impl OptimizedFacts {
    /// True when the row that covers `pc` says line 0.
    pub fn is_line_zero(&self, pc: u64) -> bool {
        let after = self.line_zero.partition_point(|(start, _)| *start <= pc);
        after > 0 && pc < self.line_zero[after - 1].1
    }
}

/// A block of the source: its braces' lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Line of `{`.
    pub open: u32,
    /// Line of `}`.
    pub close: u32,
    /// How many blocks are around it.
    pub depth: u32,
}

/// What the source text itself says.
#[derive(Clone, Debug, Default)]
pub struct SourceFacts {
    /// Base name of the file; empty when the source is not known.
    pub file: Arc<str>,
    /// Its blocks, in the order they open; empty when the braces do not match.
    pub blocks: Vec<Block>,
    /// Its lines.
    pub lines: Vec<Arc<str>>,
}

impl SourceFacts {
    /// Reads a source text.
    pub fn of(file: &str, text: &str) -> Self {
        Self { file: Arc::from(file), blocks: crate::source::blocks_of(text), lines: text.lines().map(Arc::from).collect() }
    }

    /// Last line of the outermost block that opens between two lines: the end of a function's body.
    pub fn body_end(&self, first: u32, last: u32) -> Option<u32> {
        let inside = self.blocks.iter().filter(|b| (first..=last).contains(&b.open));
        let outermost = inside.clone().map(|b| b.depth).min()?;
        inside.filter(|b| b.depth == outermost).map(|b| b.close).max()
    }

    /// True when `word` stands as a word of its own on a line; `None` when the line is not known.
    pub fn has_word(&self, line: u32, word: &str) -> Option<bool> {
        let text = self.lines.get((line as usize).checked_sub(1)?)?;
        Some(text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == word))
    }

    /// The innermost block that holds all of `line`, blocks that open or close on that line left out.
    pub fn block_of(&self, line: u32) -> Option<Block> {
        self.blocks.iter().filter(|b| b.open < line && line < b.close).max_by_key(|b| b.depth).copied()
    }
}

/// What a variable did at -O0, instruction by instruction.
#[derive(Clone, Debug, Default)]
pub struct Testimony {
    /// For each of its scalars, every value it held while initialised.
    pub values: Vec<BTreeSet<String>>,
    /// Lines of its function where, at some visit, a scalar was not yet initialised.
    pub uninitialised_on: BTreeSet<(LineKey, usize)>,
    /// Lines of its function that were executed.
    pub lines: BTreeSet<LineKey>,
}

/// Asks the -O0 build about one variable. Filled in by `check`, which runs the build again, under a
/// microscope; asked only where a candidate depends on it.
pub trait Witness {
    /// `None` when it cannot say (too long a run, an unusual location).
    fn testify(&self, variable: &VarKey) -> Option<Testimony>;
}

/// A witness that knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWitness;

impl Witness for NoWitness {
    fn testify(&self, _: &VarKey) -> Option<Testimony> {
        None
    }
}
