//! The campaign database: one SQLite file with what is planned, what is done, what was found, and the
//! evidence for it as compressed blobs under their content address.
//!
//! Crash safety comes from two rules. A unit becomes done in the same transaction that adds its findings,
//! so that a process killed at any moment leaves either both or neither. And whoever works on a program
//! holds a claim that names its process: a claim of a dead process is free again.
//!
//! Deliberately absent: what to run next and why (`campaign`), and any judgement on findings.

mod blob;
mod claim;
mod error;
mod evidence;
mod filing;
mod finding;
mod merge;
mod query;
mod schema;
mod store;
mod upgrade;

pub use claim::{Claim, PlannedUnit, StoredUnitId};
pub use error::StoreError;
pub use evidence::{BuildRecord, FindingEvidence, InsertionRecord, Minimal, ReaderRecord};
pub use filing::KeptTrace;
pub use finding::{FindingRecord, NewFinding, UnitResult};
pub use merge::MergeSummary;
pub use query::{CauseCount, Counts, LevelCount, ProgramYield, UnitRecord};
pub use store::{ProgramKey, Store};
