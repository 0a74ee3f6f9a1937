//! What a program under test may do beyond computing: each permission is given by name.

use std::fmt;
use std::str::FromStr;

/// One thing that closed programs do not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    /// Open sockets, in a network where nobody else is.
    Net,
    /// Replace itself by another program.
    Exec,
    /// It may start processes of its own.
    Fork,
    /// Write files in its working directory, which is a copy that goes away.
    Write,
}

impl Permission {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Net, Self::Exec, Self::Fork, Self::Write];
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Net => "net",
            Self::Exec => "exec",
            Self::Fork => "fork",
            Self::Write => "write",
        })
    }
}

impl FromStr for Permission {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|p| p.to_string() == text);
        known.ok_or_else(|| format!("unknown permission `{text}`; use net, exec, fork or write"))
    }
}

/// The permissions that were given; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Permissions(u8);

impl Permissions {
    /// Whether one is among them.
    pub fn allow(self, permission: Permission) -> bool {
        self.0 & 1 << permission as u8 != 0
    }

    /// These and one more.
    pub fn with(self, permission: Permission) -> Self {
        Self(self.0 | 1 << permission as u8)
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(all: I) -> Self {
        Self(all.into_iter().fold(0, |bits, p| bits | 1 << p as u8))
    }
}
