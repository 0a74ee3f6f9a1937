//! The ledger: one directory per root cause found in a compiler or debugger, with its program, its report and what must be seen.
//!
//! [`Ledger::read`] reads the directories and refuses an entry that lacks a part. [`verify`] builds the program of an entry with a
//! compiler, or shows it to a debugger, and says whether the fault still shows. Deliberately absent: finding causes, which hunts and triage do, and printing.

mod entry;
mod verify;

pub use entry::{
    Bug, Component, EntryId, Ledger, LedgerEntry, LedgerError, Near, Severity, Site, Standing, Status, Symptom, Tie, ToolFamily,
};
pub use verify::{Answer, Recorded, State, Tried, verify};
