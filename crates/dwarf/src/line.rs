//! Line rows as they stand in the line program. How a debugger reads them is a policy's business.

use crate::{FileId, UnitId};

/// One row of a line program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address it holds from.
    pub address: u64,
    /// The file it names.
    pub file: FileId,
    /// Its line, 0 for none.
    pub line: u32,
    /// Its column, 0 for none.
    pub column: u32,
    /// Tells blocks on one line apart.
    pub discriminator: u32,
    /// The unit of its line program.
    pub unit: UnitId,
    /// How many rows at this address precede it: gcc's location view.
    pub view: u32,
    /// What else it says.
    pub flags: RowFlags,
}

/// The flags of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RowFlags {
    /// A recommended place to stop.
    pub is_stmt: bool,
    /// The first address after a prologue.
    pub prologue_end: bool,
    /// The end of a sequence, not a row of its own.
    pub end_sequence: bool,
}
