//! Line rows as they stand in the line program. How a debugger reads them is a policy's business.

use super::module::{FileId, UnitId};

/// One row of a line table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub address: u64,
    pub file: FileId,
    /// 0 for "no line".
    pub line: u32,
    pub column: u32,
    pub discriminator: u32,
    pub unit: UnitId,
    /// How many rows at this address precede it: gcc's location view.
    pub view: u32,
    pub flags: RowFlags,
}

/// Flags of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct RowFlags {
    pub is_stmt: bool,
    pub prologue_end: bool,
    pub end_sequence: bool,
}
