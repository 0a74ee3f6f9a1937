//! A program under test: closed, deterministic, single-threaded, in one language.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The language a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// C, for gcc and clang.
    C,
    /// C++, for g++ and clang++.
    #[serde(rename = "c++")]
    Cpp,
    /// Rust, for rustc.
    Rust,
}

impl Language {
    /// All languages, in the order reports list them.
    pub const ALL: [Self; 3] = [Self::C, Self::Cpp, Self::Rust];

    /// The name that flags and databases use: `c`, `c++`, `rust`.
    pub fn key(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "c++",
            Self::Rust => "rust",
        }
    }

    /// Whether the C preprocessor reads it first, so that include directories mean something.
    pub fn is_preprocessed(self) -> bool {
        self != Self::Rust
    }

    /// The language of a file by its extension, `None` for anything else. `.i` and `.ii` are C and C++ behind the preprocessor.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "c" | "i" => Some(Self::C),
            "cpp" | "cc" | "cxx" | "c++" | "C" | "ii" => Some(Self::Cpp),
            "rs" => Some(Self::Rust),
            _ => None,
        }
    }

    /// The extension its source files carry, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::Rust => "rs",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Rust => "Rust",
        })
    }
}

/// A language we do not know.
#[derive(Debug, thiserror::Error)]
#[error("unknown language `{0}`; use c, c++ or rust")]
pub struct ParseLanguageError(String);

impl FromStr for Language {
    type Err = ParseLanguageError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|l| l.key() == text).ok_or_else(|| ParseLanguageError(text.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_files_and_by_its_name() {
        for (file, language) in
            [("a.c", Language::C), ("a.i", Language::C), ("a.C", Language::Cpp), ("a.ii", Language::Cpp), ("a.rs", Language::Rust)]
        {
            assert_eq!(Language::of_path(Path::new(file)), Some(language), "{file}");
        }
        assert_eq!(Language::of_path(Path::new("a.h")), None);
        for language in Language::ALL {
            assert_eq!(language.key().parse::<Language>().unwrap(), language);
            assert_eq!(Language::of_path(Path::new(&format!("a.{}", language.extension()))), Some(language));
        }
        assert!("cobol".parse::<Language>().unwrap_err().to_string().contains("c, c++ or rust"));
    }
}
