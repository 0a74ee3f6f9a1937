//! A program under test: closed, deterministic, single-threaded, in one language.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The language a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C, for gcc and clang.
    C,
    /// Rust, for rustc.
    Rust,
}

impl Language {
    /// The language of a file by its extension, `None` for anything else.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "c" | "i" => Some(Self::C),
            "rs" => Some(Self::Rust),
            _ => None,
        }
    }

    /// The extension its source files carry, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Rust => "rs",
        }
    }
}

/// Where a program came from, enough to make it again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Origin {
    /// A file the user named.
    File {
        /// Its path.
        path: PathBuf,
    },
    /// A generator with a seed.
    Generated {
        /// The generator's name: `csmith`, `yarpgen`, `weave`.
        generator: String,
        /// The seed.
        seed: u64,
    },
    /// A mutation of another program.
    Mutated {
        /// Content address of the seed program.
        parent: String,
        /// Seed of the mutation.
        seed: u64,
        /// Names of the strategies applied, in order.
        strategies: Vec<String>,
    },
}

/// One source text with its language and origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Program {
    /// File name to write it under, base name only.
    pub name: String,
    /// The language.
    pub language: Language,
    /// The whole text.
    pub source: String,
    /// Where it came from.
    pub origin: Origin,
    /// Flags every compilation of it needs (include directories, runtime objects).
    pub cflags: Vec<String>,
}
