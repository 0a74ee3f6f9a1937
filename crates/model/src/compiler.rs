//! Compilers and optimization levels, as names only; finding and running them is `toolchain`'s job.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The compiler families we know how to drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompilerKind {
    /// GNU C.
    Gcc,
    /// LLVM's C.
    Clang,
    /// The Rust compiler.
    Rustc,
    /// Any other C compiler with a gcc-like command line (tcc and friends).
    Other,
}

impl fmt::Display for CompilerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
            Self::Rustc => "rustc",
            Self::Other => "cc",
        })
    }
}

/// Which compiler made a build.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CompilerId {
    /// Where it was found.
    pub path: PathBuf,
    /// Its family.
    pub kind: CompilerKind,
    /// Its version, `12.2.0`.
    pub version: String,
}

impl fmt::Display for CompilerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.version)
    }
}

/// An optimization level as the user writes it for a C compiler: `-O0`, `-Og`, `-O2`, `-Ofast`…
/// rustc gets the same levels under its own names (`-Og` has no rustc equivalent).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub enum OptLevel {
    /// `-O0`
    #[serde(rename = "-O0")]
    O0,
    /// `-Og`
    #[serde(rename = "-Og")]
    Og,
    /// `-O1`
    #[serde(rename = "-O1")]
    O1,
    /// `-O2`
    #[serde(rename = "-O2")]
    O2,
    /// `-O3`
    #[serde(rename = "-O3")]
    O3,
    /// `-Ofast`
    #[serde(rename = "-Ofast")]
    Ofast,
    /// `-Os`
    #[serde(rename = "-Os")]
    Os,
    /// `-Oz`
    #[serde(rename = "-Oz")]
    Oz,
}

impl OptLevel {
    /// All levels above -O0, in the order reports list them.
    pub const OPTIMIZED: [Self; 7] = [Self::Og, Self::O1, Self::O2, Self::O3, Self::Ofast, Self::Os, Self::Oz];

    /// The flag as C compilers take it.
    pub fn flag(self) -> &'static str {
        match self {
            Self::O0 => "-O0",
            Self::Og => "-Og",
            Self::O1 => "-O1",
            Self::O2 => "-O2",
            Self::O3 => "-O3",
            Self::Ofast => "-Ofast",
            Self::Os => "-Os",
            Self::Oz => "-Oz",
        }
    }

    /// rustc's value for `-C opt-level=`, `None` where rustc has no such level.
    pub fn rustc_value(self) -> Option<&'static str> {
        match self {
            Self::O0 => Some("0"),
            Self::O1 => Some("1"),
            Self::O2 => Some("2"),
            Self::O3 => Some("3"),
            Self::Os => Some("s"),
            Self::Oz => Some("z"),
            Self::Og | Self::Ofast => None,
        }
    }
}

impl fmt::Display for OptLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.flag())
    }
}

/// A level we do not know.
#[derive(Debug, thiserror::Error)]
#[error("unknown optimization level `{0}`; use one of -O0 -Og -O1 -O2 -O3 -Ofast -Os -Oz")]
pub struct ParseOptLevelError(String);

impl FromStr for OptLevel {
    type Err = ParseOptLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim().trim_start_matches('-').trim_start_matches('O');
        Ok(match name {
            "0" => Self::O0,
            "g" => Self::Og,
            "1" | "" => Self::O1,
            "2" => Self::O2,
            "3" => Self::O3,
            "fast" => Self::Ofast,
            "s" => Self::Os,
            "z" => Self::Oz,
            _ => return Err(ParseOptLevelError(text.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_reads_back_as_it_is_written() {
        for level in OptLevel::OPTIMIZED {
            assert_eq!(level.flag().parse::<OptLevel>().unwrap(), level);
            assert_eq!(level.flag().trim_start_matches("-O").parse::<OptLevel>().unwrap(), level);
        }
        assert!("-O9".parse::<OptLevel>().is_err());
    }
}
