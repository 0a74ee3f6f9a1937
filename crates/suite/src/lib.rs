//! Other people's debugger tests, run on any engine: GCC's guality tests, rustc's debuginfo tests and LLVM's Dexter tests. They ask
//! for values where the program stands, or for what is shown on a walk through it.
//!
//! A test is built once and put to each engine; every answer is a pass, a failure or unsupported, the last with its reason.
//! Deliberately absent: files of any suite; whether the compiler or the debugger is to blame for a failure.

mod answer;
mod ask;
mod dexter;
mod guality;
mod printed;
mod read;
mod run;
mod rustc;
mod script;
mod seat;

pub use answer::Verdict;
pub use ask::Asker;
pub use dexter::Script;
pub use read::{Format, read};
pub use run::{Agreement, Asked, EngineOutcome, Tally, TestOutcome, agreement, reasons, run_test, tally};
pub use rustc::Transcript;
pub use script::{Action, Expected, Place, Plan, Question, Run, Test};

/// Why a suite cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file or directory cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable {
        /// What was to be read.
        path: std::path::PathBuf,
        /// Why the file cannot be read.
        source: std::io::Error,
    },
    /// Nothing there asks a question.
    #[error("no test in {path}: {format} tests are {looks_like}", path = path.display())]
    Empty {
        /// What was looked at.
        path: std::path::PathBuf,
        /// The suite's name.
        format: &'static str,
        /// What its tests look like.
        looks_like: &'static str,
    },
    /// An engine that does not take the suite's expressions.
    #[error("{0} does not take these tests' expressions; use --engine native,gdb")]
    NoEngine(trueline_model::EngineKind),
    /// A debugger is not there.
    #[error(transparent)]
    Tool(#[from] trueline_toolchain::ToolError),
}
