//! What a pass does to the descriptions of source variables: `llvm.dbg.*` calls and debug records.
//!
//! `defs` collects the descriptions on both sides of a pass and ties them, `reach` says which of them holds at which
//! instruction, `dominance` which values exist there, `meaning` what values and expressions compute, `judge` compares,
//! `recovery` finds what a lost value could be described by, `proof` asks a solver, `unequal` finds values that were replaced by
//! others which are equal only somewhere, `choices` those of a few numbers, `context` says under which numbers an execution gets there, `early_exit` finds loops
//! that are left earlier, `memory` addresses that nothing writes any more, `typed` expressions that no debugger can evaluate,
//! `rules` leave out what LLVM's guide allows, and `report` groups by the place in LLVM.
//!
//! Only instructions that stay where they are through the pass are points of comparison, and a variable that is described in
//! pieces is compared piece by piece where both sides have the same pieces. Deliberately absent: what memory holds. A
//! variable that is declared at an address is followed as long as that address is described and written.

mod choices;
mod context;
mod copies;
mod defs;
pub mod dominance;
mod early_exit;
mod floating;
pub mod judge;
pub mod meaning;
mod memory;
pub mod proof;
pub mod reach;
pub mod recovery;
pub mod report;
pub mod rules;
mod typed;
mod unequal;
mod unpassed;

pub use judge::{Attention, Described, VariableErrorKind, VariableVerdict, judge_variables};
pub use report::{Certainty, VariableCount, VariableError};
pub use rules::VariableRule;
