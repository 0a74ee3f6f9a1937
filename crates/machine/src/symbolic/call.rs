//! Calls of code that is not followed.

use super::memory::{Store, Version};
use crate::term::Term;

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// In a general register, so many bytes of it.
    Integer(u32),
    /// In a vector register, so many bytes of it.
    Float(u32),
}

/// What a callee does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It neither reads nor writes any: a mathematical function.
    Function,
    /// It reads what the program can see and writes nothing of it.
    Reads,
    /// It may write whatever it can reach.
    Writes,
}

/// A call as the code makes it.
#[derive(Clone, Debug)]
pub struct Site<'n> {
    /// The callee, if it is known.
    pub name: Option<&'n str>,
    /// Its arguments, if they are known.
    pub arguments: Option<Vec<Argument>>,
    /// What it does.
    pub effect: Effect,
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The callee.
    pub name: String,
    /// What was passed.
    pub args: Vec<Term>,
    /// Memory at the call.
    pub before: (Version, Vec<Store>),
}
