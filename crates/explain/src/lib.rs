//! One fault explained: whose it is by the readers' answers, which pass made it and which update in it, in which versions
//! it shows, the smallest program that shows it, and all of this as a document and as a bug draft.
//!
//! This crate puts the feature crates together; the command line and the hunt both use it. Deliberately absent: flags,
//! printing, exit codes, and the campaign store.

mod aim;
mod cause;
mod document;
mod draft;
mod error;
mod expectation;
mod explainer;
mod failure;
mod isolation;
mod judge;
mod pair;
mod passing;
mod project;
mod project_functions;
mod readers;
mod update;
mod versions;

pub use aim::{Aim, Reducer, demand_of, filter_of, self_contained, shrink};
pub use cause::explain_one;
pub use document::TriageDocument;
pub use error::ExplainError;
pub use expectation::{faults_of, pass_of, shows_expected};
pub use explainer::{ExplainStage, Explained, Explainer, FindingCase, Steadiness};
pub use failure::{FailingCase, FailureScope, FailureSearch, Soundness, SwitchJudge, find_case};
pub use isolation::{command_for_file, files, is_settled};
pub use judge::{BuildJudge, FaultProbe, JudgedLevel, Looking, ShownBuild, Sought, check_options};
pub use pair::{PairFinding, explain_pair, readings_of};
pub use passing::{LEAST_PASSING, PassingPrograms, passing_programs};
pub use project::{ProjectCause, ProjectExplainer};
pub use project_functions::Functions;
pub use readers::{BuildReaders, ProgramReaders, ReaderQuestion, Readers, is_confirmed, verdict};
pub use update::{Update, WrongUpdate};
pub use versions::Versions;
