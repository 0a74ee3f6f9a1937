//! Why debug information cannot be read.

use std::path::PathBuf;

/// Why a binary's debug information cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot read {binary}: {reason}", binary = binary.display())]
pub struct DwarfError {
    /// The binary that was asked for.
    pub binary: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}
