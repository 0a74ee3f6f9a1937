//! What a comparison hands over.

use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use trueline_dwarf::{BlockKind, Module, Var};
use trueline_model::VarKind;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// The line rows in force.
    Rows,
    /// The function or the inlined calls at an address.
    Frames,
    /// A variable that one of the files does not have in scope.
    Variables,
    /// What a variable is: its kind, declaration or type.
    Declarations,
    /// Where a variable is.
    Locations,
    /// What a function's variables at fixed offsets are measured from.
    FrameBases,
    /// What a caller says about a call: entry values and tail calls come from it.
    Calls,
    /// A variable at file scope.
    Globals,
}

impl Aspect {
    /// All of them, in the order they are printed in.
    pub const ALL: [Self; 8] =
        [Self::Rows, Self::Frames, Self::Variables, Self::Declarations, Self::Locations, Self::FrameBases, Self::Calls, Self::Globals];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Frames => "frames",
            Self::Variables => "variables",
            Self::Declarations => "declarations",
            Self::Locations => "locations",
            Self::FrameBases => "frame bases",
            Self::Calls => "calls",
            Self::Globals => "globals",
        }
    }
}

/// An entry of the debug information.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// The file that holds it.
    pub file: PathBuf,
    /// Its offset in that file's .debug_info.
    pub offset: usize,
    /// Its tag.
    pub tag: &'static str,
    /// Its name in the source, where it has one.
    pub name: Option<String>,
}

/// What one file says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// What it says, in words.
    pub says: String,
    /// The entries that say it.
    pub entries: Vec<Entry>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// What differs.
    pub aspect: Aspect,
    /// What it is about: a function, a variable of a function.
    pub subject: String,
    /// The addresses where it shows; none when it is not about addresses.
    pub ranges: Vec<(u64, u64)>,
    /// What the first file says.
    pub a: Side,
    /// What the second one says.
    pub b: Side,
}

/// How much was looked at: a comparison of nothing finds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Looked {
    /// Functions that both have.
    pub functions: usize,
    /// Line rows of the first file.
    pub rows: usize,
    /// Ranges of addresses in which no frame begins or ends.
    pub ranges: usize,
    /// Variables in scope that both have.
    pub variables: usize,
    /// Expressions and constants of the first file's locations.
    pub locations: usize,
    /// Calls that the first file describes.
    pub calls: usize,
    /// Variables at file scope of the first file.
    pub globals: usize,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct ViewComparison {
    /// In the order of aspects and addresses.
    pub differences: Vec<Difference>,
    /// How much was looked at.
    pub looked: Looked,
}

impl ViewComparison {
    /// How many differences there are of an aspect.
    pub fn count(&self, aspect: Aspect) -> usize {
        self.differences.iter().filter(|d| d.aspect == aspect).count()
    }

    pub(crate) fn add(&mut self, aspect: Aspect, subject: impl Into<String>, ranges: Vec<(u64, u64)>, a: Side, b: Side) {
        self.differences.push(Difference { aspect, subject: subject.into(), ranges: trueline_dwarf::join_ranges(ranges), a, b });
    }
}

impl Side {
    /// What is said without an entry.
    pub(crate) fn says(says: impl Into<String>) -> Self {
        Self { says: says.into(), entries: Vec::new() }
    }

    /// What a variable's entry says.
    pub(crate) fn of_var(module: &Module, var: &Var, says: impl Into<String>) -> Self {
        let tag = match var.kind {
            VarKind::Param => "DW_TAG_formal_parameter",
            _ => "DW_TAG_variable",
        };
        Self { says: says.into(), entries: vec![entry(module, var.die, tag, Some(&var.name))] }
    }

    /// What the entries of blocks say.
    pub(crate) fn of_blocks(module: &Module, blocks: &[trueline_dwarf::BlockId], says: impl Into<String>) -> Self {
        let entries = blocks.iter().filter_map(|&id| {
            let block = module.block(id);
            let (tag, name) = match &block.kind {
                BlockKind::Function => ("DW_TAG_subprogram", Some(&*module.function(block.function).name)),
                BlockKind::Lexical => ("DW_TAG_lexical_block", None),
                BlockKind::Inlined { name, .. } => ("DW_TAG_inlined_subroutine", Some(&**name)),
            };
            Some(entry(module, block.die?, tag, name))
        });
        Self { says: says.into(), entries: entries.collect() }
    }
}

fn entry(module: &Module, die: usize, tag: &'static str, name: Option<&str>) -> Entry {
    let (file, offset) = module.place_of(die);
    Entry { file: file.to_owned(), offset, tag, name: name.map(str::to_owned) }
}
