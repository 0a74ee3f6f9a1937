//! What can go wrong with a database, in words a user can act on.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is missing.
    #[error("there is no campaign database at {path}; `trueline hunt --db {path}` makes one", path = path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A newer Trueline wrote it.
    #[error("{path} was written by a newer version of trueline; update trueline, or choose another file with --db", path = path.display())]
    Newer {
        /// The database of the newer version.
        path: PathBuf,
    },
    /// It is no database of ours, or damaged.
    #[error("{path} is not a campaign database or is damaged ({reason}); move it away, or try `sqlite3 {path} .recover`", path = path.display())]
    Corrupt {
        /// The database that is damaged.
        path: PathBuf,
        /// What SQLite says about it.
        reason: String,
    },
    /// Another program holds its lock.
    #[error("{path} is locked by another program; wait until it has finished, or end it", path = path.display())]
    Locked {
        /// The database that somebody else holds.
        path: PathBuf,
    },
    /// It may not be written.
    #[error("{path} cannot be written; check its permissions and those of its directory, or choose another file with --db", path = path.display())]
    ReadOnly {
        /// The database that may not be written.
        path: PathBuf,
    },
    /// No room is left.
    #[error("the disk that holds {path} is full; make room and run the same command again: nothing recorded is lost", path = path.display())]
    Full {
        /// The database that has no room to grow.
        path: PathBuf,
    },
    /// There is no such finding.
    #[error("there is no finding {id} in {path}; `trueline report --db {path}` lists them", path = path.display())]
    NoFinding {
        /// The number asked for.
        id: i64,
        /// The database that was asked.
        path: PathBuf,
    },
    /// A stored document cannot be read.
    #[error("a record in {path} cannot be read: {reason}", path = path.display())]
    BadRecord {
        /// The database that holds the record.
        path: PathBuf,
        /// What is wrong with the record.
        reason: String,
    },
    /// Anything else SQLite says.
    #[error("{path}: {source}", path = path.display())]
    Sql {
        /// The database that was being used.
        path: PathBuf,
        /// What SQLite says about it.
        source: rusqlite::Error,
    },
}

impl StoreError {
    pub(crate) fn from_sql(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let code = match &source {
            rusqlite::Error::SqliteFailure(error, _) => Some(error.code),
            _ => None,
        };
        match code {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, reason: source.to_string() },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
            Some(ErrorCode::CannotOpen) if !path.exists() => Self::Missing { path },
            Some(ErrorCode::CannotOpen) => Self::ReadOnly { path },
            // A write that the file size limit or a full quota refuses arrives as an I/O error.
            Some(ErrorCode::SystemIoFailure) if source.to_string().contains("disk I/O error") => Self::Full { path },
            _ => Self::Sql { path, source },
        }
    }

    /// True when the same call may succeed later without anybody changing the database.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::Full { .. })
    }
}
