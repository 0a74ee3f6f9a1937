//! Insertions and the variants they make. An insertion leaves the program's state as it was, so any subset
//! of a variant's insertions makes a variant too.

use crate::judge::ExpectedBehaviour;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use trueline_ctree::{Edits, Span};
use trueline_model::{Origin, Program};

/// How an insertion keeps the program's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Always-false conditional block: dead code behind a condition that is false for the values seen.
    Fcb,
    /// Always-true guard: an existing statement behind a condition that is true for the values seen.
    Tg,
    /// Always-true conditional block: code that runs, changes variables and restores them.
    Tcb,
    /// A change in a region that never runs: a statement deleted, or dead code put in.
    Dead,
    /// Code that runs on variables of its own and only reads the program's.
    Local,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Fcb, Self::Tg, Self::Tcb, Self::Dead, Self::Local];

    /// Those of the paper and its predecessors.
    pub const PUBLISHED: [Self; 4] = [Self::Fcb, Self::Tg, Self::Tcb, Self::Dead];

    /// As flags and reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fcb => "fcb",
            Self::Tg => "tg",
            Self::Tcb => "tcb",
            Self::Dead => "dead",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|s| s.name() == text.trim());
        known.ok_or_else(|| format!("unknown strategy `{text}`; use fcb, tg, tcb, dead or local"))
    }
}

/// Number of an insertion within one call of the mutator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct InsertionId(pub u32);

/// One change to the seed program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Insertion {
    /// Its number.
    pub id: InsertionId,
    /// Its strategy.
    pub strategy: Strategy,
    /// The round of the chain that made it.
    pub round: u32,
    /// Line of the statement it concerns, in the seed program.
    pub line: u32,
    /// That statement's bytes in the seed program.
    #[serde(skip)]
    pub span: Span,
    /// The text it adds (empty for a deletion).
    pub text: String,
    #[serde(skip)]
    pub(crate) change: InsertedChange,
    /// The function it calls, when that is new too.
    #[serde(skip)]
    pub(crate) function: Option<NewFunction>,
}

/// A definition that an insertion brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewFunction {
    /// Where it is put: the start of another function.
    pub(crate) at: usize,
    /// The text of the function, line by line.
    pub(crate) text: String,
}

/// What an insertion does to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InsertedChange {
    /// Puts text in front of the statement.
    Before(String),
    /// Puts text on both sides of it.
    Around(String, String),
    /// Puts an empty statement in its place.
    Delete,
}

/// A program equivalent to its seed, modulo its input.
#[derive(Clone, Debug)]
pub struct MutatedProgram {
    /// The program.
    pub program: Program,
    /// What was inserted, in order of numbers.
    pub insertions: Vec<Insertion>,
    /// The program that the insertions go into: the seed, or an earlier variant.
    pub seed: Arc<Program>,
    /// What the seed does, and so what the variant must do.
    pub expected: Arc<ExpectedBehaviour>,
    pub(crate) mutation_seed: u64,
}

impl MutatedProgram {
    pub(crate) fn assemble(
        seed: &Arc<Program>,
        expected: &Arc<ExpectedBehaviour>,
        name: String,
        mutation_seed: u64,
        parent: &str,
        insertions: Vec<Insertion>,
    ) -> Self {
        let source = apply(&seed.source, &insertions);
        let strategies = insertions.iter().map(|i| i.strategy.name().to_owned()).collect();
        let origin = Origin::Mutated { parent: parent.to_owned(), seed: mutation_seed, strategies };
        let program = Program { name, source, origin, ..Program::clone(seed) };
        Self { program, insertions, seed: Arc::clone(seed), expected: Arc::clone(expected), mutation_seed }
    }

    /// The variant under another name.
    pub(crate) fn renamed(mut self, name: String) -> Self {
        self.program.name = name;
        self
    }

    /// The variant with only some of its insertions.
    pub fn only(&self, keep: &[InsertionId]) -> Self {
        let keep: BTreeSet<InsertionId> = keep.iter().copied().collect();
        let insertions = self.insertions.iter().filter(|i| keep.contains(&i.id)).cloned().collect();
        let parent = match &self.program.origin {
            Origin::Mutated { parent, .. } => parent.clone(),
            _ => String::new(),
        };
        Self::assemble(&self.seed, &self.expected, self.program.name.clone(), self.mutation_seed, &parent, insertions)
    }

    /// The variant without some of its insertions.
    pub fn without(&self, drop: &[InsertionId]) -> Self {
        let keep: Vec<InsertionId> = self.insertions.iter().map(|i| i.id).filter(|id| !drop.contains(id)).collect();
        self.only(&keep)
    }
}

/// The seed's text with the insertions made.
fn apply(text: &str, insertions: &[Insertion]) -> String {
    let deleted: Vec<Span> = insertions.iter().filter(|i| i.change == InsertedChange::Delete).map(|i| i.span).collect();
    let mut edits = Edits::new();
    for insertion in insertions {
        let span = insertion.span;
        // What lies inside a deleted statement goes with it.
        if deleted.iter().any(|d| d.contains(span) && *d != span) {
            continue;
        }
        if let Some(function) = &insertion.function {
            edits.insert_before(function.at, &function.text);
        }
        match &insertion.change {
            InsertedChange::Before(before) => edits.insert_before(span.start, before),
            InsertedChange::Around(before, after) => edits.wrap(span, before, after),
            InsertedChange::Delete => edits.replace(span, ";"),
        };
    }
    edits.apply(text).expect("insertions stand at the borders of the seed's statements")
}
