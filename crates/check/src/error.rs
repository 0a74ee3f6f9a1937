//! Why a check has no result.

use std::path::PathBuf;
use trueline_dwarf::DwarfError;
use trueline_model::{Fault, OptLevel};
use trueline_toolchain::{BuildError, ToolError};
use trueline_trace::TraceError;

/// Why a check has no result. Faults of the compiler under test have variants of their own: to a
/// campaign they are findings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The compiler crashed on the program.
    #[error("{compiler} crashed at {opt}: {message}")]
    CompilerCrashed {
        /// Family and version.
        compiler: String,
        /// The level.
        opt: OptLevel,
        /// The line that identifies the crash.
        message: String,
    },
    /// The compiler did not come back.
    #[error("{compiler} did not finish at {opt} within {seconds} s")]
    CompilerHung {
        /// Family and version.
        compiler: String,
        /// The level.
        opt: OptLevel,
        /// The limit.
        seconds: u64,
    },
    /// The optimized program does something else than at -O0.
    #[error("the program behaves differently at {opt}: {actual} instead of {expected}")]
    WrongCode {
        /// The level.
        opt: OptLevel,
        /// How -O0 ended and what it printed, shortened.
        expected: String,
        /// How this build ended and what it printed, shortened.
        actual: String,
    },
    /// The program cannot be compiled, or not at this level.
    #[error(transparent)]
    Build(BuildError),
    /// A tool is missing or broken.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The program ends by itself, after more steps than a trace may have.
    #[error("the program makes more than {steps} steps at -O0; raise --max-steps or shorten it")]
    TooLong {
        /// How many it may have.
        steps: u64,
    },
    /// The program does not come to an end by itself, or does what it has no permission for.
    #[error("the program {reason}")]
    BadProgram {
        /// What it does.
        reason: String,
    },
    /// The runs went well and nothing of the user's code was seen: there is nothing to say about the build.
    #[error("nothing was checked: {reason}")]
    NothingChecked {
        /// What was looked for.
        reason: String,
    },
    /// A binary cannot be read.
    #[error("cannot check {binary}: {reason}", binary = binary.display())]
    BadBinary {
        /// The binary.
        binary: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no trace.
    #[error(transparent)]
    Trace(TraceError),
    /// A file cannot be read or written.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted, on what.
        what: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl CheckError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// What a compilation at a level ended with.
    pub fn of_build(error: BuildError, opt: OptLevel) -> Self {
        match error {
            BuildError::Crashed { compiler, message, .. } => Self::CompilerCrashed { compiler, opt, message },
            BuildError::Hung { compiler, seconds, .. } => Self::CompilerHung { compiler, opt, seconds },
            other => Self::Build(other),
        }
    }

    /// The compiler's fault that it is, if it is one.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::CompilerCrashed { message, .. } => Some(Fault::Crash { message: message.clone() }),
            Self::CompilerHung { seconds, .. } => Some(Fault::Hang { seconds: *seconds }),
            Self::WrongCode { expected, actual, .. } => Some(Fault::WrongCode { expected: expected.clone(), actual: actual.clone() }),
            _ => None,
        }
    }
}

impl From<DwarfError> for CheckError {
    fn from(DwarfError { binary, reason }: DwarfError) -> Self {
        Self::BadBinary { binary, reason }
    }
}

impl From<TraceError> for CheckError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::BadProgram { reason, .. } => Self::BadProgram { reason },
            TraceError::BadBinary { binary, reason } => Self::BadBinary { binary, reason },
            TraceError::Tool(tool) => Self::Tool(tool),
            other => Self::Trace(other),
        }
    }
}
