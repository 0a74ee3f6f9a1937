//! Why something could not be explained.

use trueline_check::CheckError;
use trueline_ctree::PreprocessError;
use trueline_isolate::FailureError;
use trueline_model::{OptLevel, SeamError};
use trueline_project::ProjectError;
use trueline_reduce::ReduceError;
use trueline_triage::{AttributeError, DraftError, ProbeError};

/// Why something could not be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// A checker cannot be had, or cannot do its work.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A project could not be built or run.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// A build could not be tried.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The search for a pass failed.
    #[error(transparent)]
    Attribute(#[from] AttributeError),
    /// The program does not fail in a way that can be looked into.
    #[error(transparent)]
    Failure(#[from] FailureError),
    /// A judgement or a measurement failed.
    #[error(transparent)]
    Seam(#[from] SeamError),
    /// The program cannot be freed of its includes.
    #[error(transparent)]
    Preprocess(#[from] PreprocessError),
    /// The program could not be reduced.
    #[error("reducing {name}: {source}")]
    Reduce {
        /// The name of the draft's directory.
        name: String,
        /// What failed below this.
        source: ReduceError,
    },
    /// A bug draft could not be written.
    #[error("draft {name}: {source}")]
    Draft {
        /// The name of the draft's directory.
        name: String,
        /// What failed below this.
        source: DraftError,
    },
    /// Nothing can be said about a build.
    #[error("{compiler} at {opt} cannot be judged: {reason}")]
    Unjudged {
        /// The compiler it was tried with.
        compiler: String,
        /// The level it was tried at.
        opt: OptLevel,
        /// The reason, as a sentence for people.
        reason: String,
    },
    /// The program does not show what it was said to.
    #[error("{compiler} at {opt} shows no {kind} fault")]
    Absent {
        /// The compiler it was tried with.
        compiler: String,
        /// The level it was tried at.
        opt: OptLevel,
        /// The kind of fault.
        kind: String,
    },
    /// Neither the program nor its debug information fails.
    #[error("{passes}\nand its debug information: {debug}")]
    NothingFails {
        /// What was found out about the program itself.
        passes: FailureError,
        /// What was found out about its debug information.
        debug: Box<ExplainError>,
    },
    /// No invariant is broken.
    #[error("no invariant is broken at {levels}")]
    NoViolation {
        /// The levels that were tried.
        levels: String,
    },
}
