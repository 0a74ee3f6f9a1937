//! Why coverage cannot be measured.

use std::io;
use std::path::PathBuf;

/// An error of a coverage back end; every one says what is missing.
#[derive(Debug, thiserror::Error)]
pub enum CoverageError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The compiler's binary does not tell enough about itself.
    #[error("cannot map {image} to source files: {reason}; use a distribution's gcc or clang, or --coverage gcov with a compiler built with --coverage", image = image.display())]
    Unmappable {
        /// The binary.
        image: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The compiler ran, but the breakpoints were never set.
    #[error("{compiler} ran without its breakpoints: {reason}")]
    NotAttached {
        /// The compiler.
        compiler: String,
        /// Why.
        reason: String,
    },
    /// Notes or counters of gcov that cannot be understood.
    #[error("{path}: {reason}", path = path.display())]
    BadNotes {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The compiler could not be started.
    #[error(transparent)]
    Job(#[from] trueline_toolchain::JobError),
}
