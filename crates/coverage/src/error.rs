//! Why coverage cannot be measured.

use std::io;
use std::path::PathBuf;

/// An error of a coverage back end; every one says what is missing.
#[derive(Debug, thiserror::Error)]
pub enum CoverageError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file that cannot be read.
        path: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file that cannot be written.
        path: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// The compiler's binary does not tell enough about itself.
    #[error("cannot map {image} to source files: {reason}; use a distribution's gcc or clang, or --coverage gcov with a compiler built with --coverage", image = image.display())]
    Unmappable {
        /// The binary that cannot be measured.
        image: PathBuf,
        /// What the binary lacks for it.
        reason: String,
    },
    /// The compiler ran, but the breakpoints were never set.
    #[error("{compiler} ran without its breakpoints: {reason}")]
    NotAttached {
        /// The compiler that was to be measured.
        compiler: String,
        /// Why they were never set.
        reason: String,
    },
    /// Notes or counters of gcov that cannot be understood.
    #[error("{path}: {reason}", path = path.display())]
    BadNotes {
        /// The file of notes or counters.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The compiler could not be started.
    #[error(transparent)]
    Job(#[from] trueline_toolchain::JobError),
}
