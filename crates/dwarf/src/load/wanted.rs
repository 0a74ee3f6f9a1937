//! Which units are read, and how much of them.

use super::types::Pointees;
use trueline_model::FileName;

/// Which compilation units are read.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Really all of them.
    Everything,
    /// All of them, except a language's own library.
    All,
    /// Those whose line program names one of these files, by base name.
    Files(&'a [String]),
}

impl Wanted<'_> {
    /// By the user's choice: no names, all files.
    pub fn new(user_files: &[String]) -> Wanted<'_> {
        if user_files.is_empty() { Wanted::All } else { Wanted::Files(user_files) }
    }

    /// Whether the types that pointers lead to are read as well.
    pub(super) fn pointees(self) -> Pointees {
        match self {
            Self::Everything => Pointees::Read,
            Self::All | Self::Files(_) => Pointees::Named,
        }
    }

    pub(crate) fn accepts(&self, name: &FileName) -> bool {
        match self {
            Self::Everything => true,
            _ if is_languages_own(name) => false,
            Self::All => true,
            Self::Files(names) => names.iter().any(|n| n == name.base()),
        }
    }
}

/// Whether a file is of Rust's own library or of what that is made of. It comes with debug information, and many of its files
/// have the names that files of programs have.
pub fn is_languages_own(file: &FileName) -> bool {
    let path = file.as_str();
    path.starts_with("/rustc/") || path.starts_with("/rust/deps/") || path.contains("/rustlib/src/rust/library/")
}

/// What becomes of the expressions of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expressions {
    /// They are decoded.
    Decoded,
    /// They are kept as they are written, too.
    Kept,
}
