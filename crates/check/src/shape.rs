//! What a cause looks like in the debug information, whatever function it is in. A real program has hundreds of causes; one habit of
//! a compiler, such as a first row of the caller's inside an inlined call, makes most of them.
//!
//! Deliberately absent: which pass has the habit; `triage` tells.

use super::group::Cause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use trueline_dwarf::{Block, Module};
use trueline_model::Violation;

/// Where the debug information goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// At an address that begins a range of an inlined call.
    CallStart,
    /// Further on in the addresses of an inlined call.
    CallInside,
    /// At an address that begins a range of a block.
    BlockStart,
    /// Further on in the addresses of a block.
    BlockInside,
    /// In the location of a variable.
    Variable,
    /// In the rows or frames of a function of its own.
    Function,
    /// In the build as a whole.
    Build,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CallStart => "where the addresses of an inlined call begin",
            Self::CallInside => "inside the addresses of an inlined call",
            Self::BlockStart => "where the addresses of a block begin",
            Self::BlockInside => "inside the addresses of a block",
            Self::Variable => "in the location of a variable",
            Self::Function => "in a function's own rows",
            Self::Build => "in the build as a whole",
        })
    }
}

impl Shape {
    /// The shape of a violation of a known cause.
    pub(crate) fn of(violation: &Violation, cause: &Cause, module: &Module) -> Self {
        let begins = |wanted: fn(&Block) -> bool| {
            let Some(pc) = violation.pc else { return false };
            let chain = module.chain_at(pc);
            chain.into_iter().map(|b| module.block(b)).any(|b| wanted(b) && b.ranges.iter().any(|r| r.0 == pc))
        };
        match cause {
            Cause::InlinedCall { .. } if begins(Block::is_inlined) => Self::CallStart,
            Cause::InlinedCall { .. } => Self::CallInside,
            Cause::Block { .. } if begins(|b| !b.is_inlined()) => Self::BlockStart,
            Cause::Block { .. } => Self::BlockInside,
            Cause::Variable { .. } => Self::Variable,
            Cause::Function { .. } | Cause::Invariant { .. } | Cause::Shape { .. } => Self::Function,
            Cause::Build => Self::Build,
        }
    }
}
