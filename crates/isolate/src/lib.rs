//! Isolates a compiler bug: from one failing program to a ranking of the compiler's own files.
//!
//! The failing program is mutated a little until it passes; such *witness programs* run almost the same
//! compiler code, and what only the failing one runs is suspect (DiWi; Chen et al., ESEC/FSE 2019).
//!
//! Deliberately absent: how coverage is measured (a [`trueline_model::Coverage`] does that), what a
//! debug-information invariant is (a [`trueline_model::Interesting`] judges it), and printing.

mod failure;
mod lexical;
mod mutate;
mod observe;
mod oracle_code;
mod passes;
mod rank;
mod report;
mod rule;
mod search;
mod select;
mod signature;
mod switch;
mod widen;

pub use failure::{Failure, FailureError, FailureJudge, FailureKind, diagnose, diagnose_telling};
pub use mutate::Sites;
pub use observe::{Extent, Setting};
pub use oracle_code::OracleCode;
pub use passes::{bisected_pass, compiler_switches, debug_counters};
pub use rank::{Aggregate, Level, Passing, Suspect, ochiai, place, rank, reports_diagnostics};
pub use report::{RankingReport, diff};
pub use rule::Rule;
pub use search::{Found, SearchError, SearchEvent, Strategy, Witness, WitnessSearch};
pub use signature::crash_signature;
pub use switch::{SwitchWitness, Switchboard, switch_witnesses};
