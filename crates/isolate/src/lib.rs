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

pub use failure::{FailureError, FailureJudge, FailureKind, SeenFailure, diagnose, diagnose_telling};
pub use mutate::RuleSites;
pub use observe::{ProgramExtent, ProgramSetting};
pub use oracle_code::OracleCode;
pub use passes::{bisected_pass, compiler_switches, debug_counters};
pub use rank::{Aggregate, Passing, RankLevel, Suspect, ochiai, place, rank, reports_diagnostics};
pub use report::{RankingReport, diff};
pub use rule::MutationRule;
pub use search::{SearchError, SearchEvent, SearchOutcome, SearchStrategy, WitnessProgram, WitnessSearch};
pub use switch::{SwitchWitness, Switchboard, switch_witnesses};
