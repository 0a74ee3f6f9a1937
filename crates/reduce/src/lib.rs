//! Makes a program as small as it can be while it still shows its fault.
//!
//! Two ways to the same end: an external reducer (cvise, creduce) that asks a generated `interesting.sh`,
//! or our own, on the C tree and by lines elsewhere. What is interesting and what is valid comes in through `model`'s traits; the
//! original is never written to, and the best program so far is handed out at every step, so that an
//! interrupted reduction has a result.
//!
//! Deliberately absent: any knowledge of what the fault is.

mod builtin;
mod candidates;
mod external;
mod layout;
mod lines;
mod rewrite;
mod script;

pub use builtin::Builtin;
pub use external::{External, ExternalTool};
pub use lines::LineReducer;
pub use script::{Demand, ScriptSpec, interesting_script};

use std::ops::ControlFlow;
use trueline_model::{Interesting, Program, SeamError, StillShows, Validity};

/// A state of the reduction worth keeping.
#[derive(Clone, Debug)]
pub struct ReduceProgress<'a> {
    /// The best text so far.
    pub text: &'a str,
    /// Lines that are not blank.
    pub lines: usize,
    /// Lines of the original.
    pub from: usize,
    /// Candidates judged so far, 0 where the tool does not say.
    pub judged: usize,
    /// What is being tried.
    pub phase: &'a str,
}

/// Is told of progress; `Break` ends the reduction in good order with the best so far.
pub type Watch<'a> = dyn Fn(&ReduceProgress<'_>) -> ControlFlow<()> + Sync + 'a;

/// A finished (or interrupted) reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The smallest text that was judged interesting.
    pub text: String,
    /// How many candidates were judged.
    pub judged: usize,
    /// Whether it ran to its end.
    pub end: ReduceEnd,
}

/// Refuses a program that a reduction could only make worse: one that does not show the fault, or is not valid.
fn admit(program: &Program, interesting: &dyn Interesting, validity: &dyn Validity) -> Result<(), ReduceError> {
    match interesting.judge(program)? {
        StillShows::Yes => {}
        StillShows::No => return Err(ReduceError::NotInteresting(String::new())),
        StillShows::Unjudged => return Err(ReduceError::NotInteresting(": it cannot be judged".to_owned())),
    }
    validity.reject(program)?.map_or(Ok(()), |reason| Err(ReduceError::NotValid(reason)))
}

/// How a reduction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceEnd {
    /// Nothing more can be taken out.
    Finished,
    /// The watcher stopped it, or the time was up.
    Interrupted,
}

/// Why there is no reduced program.
#[derive(Debug, thiserror::Error)]
pub enum ReduceError {
    /// The starting point is not interesting: nothing to keep.
    #[error("the program does not show the fault to begin with{0}")]
    NotInteresting(String),
    /// The starting point is not a valid program.
    #[error("the program is not valid to begin with: {0}")]
    NotValid(String),
    /// The C front end does not read it.
    #[error("the built-in reducer needs C that it can parse: {0}")]
    Parse(String),
    /// The external reducer is missing.
    #[error(transparent)]
    Tool(#[from] trueline_toolchain::ToolError),
    /// The external reducer died.
    #[error("{tool} ended early: {message}\nthe best program so far was kept; `--tool builtin` reduces without it")]
    Died {
        /// The reducer that ended early.
        tool: String,
        /// The last words it printed.
        message: String,
    },
    /// A judge of candidates failed.
    #[error(transparent)]
    Seam(#[from] SeamError),
    /// A process could not be run.
    #[error(transparent)]
    Job(#[from] trueline_toolchain::JobError),
    /// A file could not be written.
    #[error("cannot write in the working directory of the reduction: {0}")]
    Io(#[from] std::io::Error),
}

/// Lines of a program that are not blank: the size that people count.
pub fn count_lines(text: &str) -> usize {
    text.lines().filter(|l| !l.trim().is_empty()).count()
}
