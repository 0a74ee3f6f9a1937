//! Where a debugger puts a breakpoint that is set on a line.

use std::collections::BTreeMap;
use trueline_model::LineKey;

/// One place of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The link-time address.
    pub pc: u64,
    /// The line that the debugger shows when the program stops there: another one where it moved the breakpoint.
    pub shown: Option<LineKey>,
}

/// The places of each line; none where the debugger finds no code for it.
pub type Placements = BTreeMap<LineKey, Vec<Placement>>;
