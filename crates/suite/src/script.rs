//! What a test wants of a debugger, whichever suite it comes from.

use crate::dexter::Script;
use crate::rustc::Transcript;
use std::path::PathBuf;
use trueline_model::Language;

/// Where a breakpoint goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a line of the test's file.
    Line(u32),
    /// At a function.
    Function(String),
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// What this expression comes to in the same place.
    Expression(String),
    /// The text that the debugger prints, where `[...]` stands for anything.
    Printed(String),
    /// What must be seen on a walk, in words.
    Seen(String),
}

impl Expected {
    /// As it is written.
    pub fn text(&self) -> &str {
        match self {
            Self::Expression(text) | Self::Printed(text) | Self::Seen(text) => text,
        }
    }
}

/// One question of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The line that it is about; 0 where it is about a function.
    pub line: u32,
    /// What is printed there.
    pub expression: String,
    /// What it must be.
    pub expected: Expected,
    /// Why nobody may be asked: a target that is not this one, or a question that is not understood.
    pub barrier: Option<String>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// On to the next breakpoint.
    Run,
    /// The question, by its number among the test's.
    Ask(usize),
}

/// One run of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Where it is stopped.
    pub breaks: Vec<Place>,
    /// What is done, in order.
    pub actions: Vec<Action>,
}

/// One file.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The file.
    pub path: PathBuf,
    /// The language it is compiled as.
    pub language: Language,
    /// Flags that it asks for.
    pub options: Vec<String>,
    /// Files that are compiled with it.
    pub sources: Vec<PathBuf>,
    /// Why it is not run at all.
    pub skipped: Option<String>,
    /// What it asks, in its order.
    pub questions: Vec<Question>,
    /// How it asks.
    pub plan: Plan,
}

/// How a test asks its questions.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// One run for each place.
    Breaks(Vec<Run>),
    /// The commands of each debugger, in order.
    Transcript(Vec<Transcript>),
    /// A walk through the program.
    Walk(Script),
}
