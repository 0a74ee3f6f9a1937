//! The one thing a hunt asks of a place that programs come from.

use crate::yarpgen::Yarpgen;
use crate::{Corpus, Csmith, CsmithOptions, weave};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use trueline_model::{Language, Program};
use trueline_toolchain::{JobError, ToolError};

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The generator is not installed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The generator could not be started.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The generator ran and made nothing.
    #[error("{generator} made no program from seed {seed}: {reason}")]
    NoProgram {
        /// The generator that was asked for a program.
        generator: &'static str,
        /// The seed it was given.
        seed: u64,
        /// What the generator said about it.
        reason: String,
    },
    /// The directory has no program in it.
    #[error("the corpus {dir} holds no C, C++ or Rust program with a main function; name a directory with .c, .cpp or .rs files", dir = dir.display())]
    EmptyCorpus {
        /// The directory without any program.
        dir: PathBuf,
    },
    /// Files could not be read or written.
    #[error("cannot read or write {path}", path = path.display())]
    Io {
        /// The file that was to be read or written.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// The generator's own library could not be prepared.
    #[error("cannot prepare {generator}: {reason}")]
    Setup {
        /// The generator that cannot be prepared.
        generator: &'static str,
        /// What went wrong when it was tried.
        reason: String,
    },
}

/// A place that programs come from, by number. The same number gives the same program.
pub trait ProgramSource: Send + Sync {
    /// The name findings carry: `weave`, `csmith`, `corpus:DIR`…
    fn name(&self) -> String;

    /// The program of a number in a language, `None` when the source has none in it.
    fn program(&self, seed: u64, language: Language) -> Result<Option<Program>, SourceError>;

    /// Whether there is a program of this number in this language, without making it.
    fn has(&self, seed: u64, language: Language) -> bool {
        let _ = seed;
        language == Language::C
    }

    /// How many programs there are, `None` for as many as one likes.
    fn count(&self) -> Option<u64> {
        None
    }

    /// What the program of a number is made of, by name, where that is known without making it: hunts choose by it.
    fn traits(&self, seed: u64, language: Language) -> Vec<String> {
        let _ = (seed, language);
        Vec::new()
    }

    /// Whether programs are defined by construction, so that the filter need not be asked.
    fn trusted(&self) -> bool {
        false
    }
}

/// The generator that is part of this binary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weave;

impl ProgramSource for Weave {
    fn name(&self) -> String {
        "weave".to_owned()
    }

    fn program(&self, seed: u64, language: Language) -> Result<Option<Program>, SourceError> {
        Ok(self.has(seed, language).then(|| weave(seed, language)))
    }

    fn has(&self, _seed: u64, language: Language) -> bool {
        matches!(language, Language::C | Language::Rust)
    }

    fn trusted(&self) -> bool {
        true
    }
}

/// The generator that is part of this binary, with all that each language has.
#[derive(Clone, Copy, Debug, Default)]
pub struct WideWeave;

impl ProgramSource for WideWeave {
    fn name(&self) -> String {
        "weave:wide".to_owned()
    }

    fn program(&self, seed: u64, language: Language) -> Result<Option<Program>, SourceError> {
        Ok(Some(crate::weave_wide(seed, language)))
    }

    fn has(&self, _seed: u64, _language: Language) -> bool {
        true
    }

    fn trusted(&self) -> bool {
        true
    }
}

/// The generator that is part of this binary, with a mixture of its own for each seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SwarmWeave;

impl ProgramSource for SwarmWeave {
    fn name(&self) -> String {
        "weave:swarm".to_owned()
    }

    fn program(&self, seed: u64, language: Language) -> Result<Option<Program>, SourceError> {
        Ok(Some(crate::weave::weave_swarm(seed, language)))
    }

    fn has(&self, _seed: u64, _language: Language) -> bool {
        true
    }

    fn traits(&self, seed: u64, language: Language) -> Vec<String> {
        crate::weave::swarm_traits(seed, language)
    }

    fn trusted(&self) -> bool {
        true
    }
}

/// Which source, as a user writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSpec {
    /// `weave`, the generator of this project: what C and Rust have in common.
    Weave,
    /// `weave:wide`, the same with what each language has of its own.
    WideWeave,
    /// `weave:swarm`, the same in a mixture that differs from seed to seed.
    SwarmWeave,
    /// `csmith`, with options bounded so that traces are short.
    Csmith,
    /// `csmith-default`: csmith as it comes, for comparison.
    CsmithDefault,
    /// `yarpgen`, where it is on PATH.
    Yarpgen,
    /// `corpus:DIR`, the programs of a directory.
    Corpus(PathBuf),
}

impl SourceSpec {
    /// Makes the source ready for use.
    pub fn open(&self) -> Result<Box<dyn ProgramSource>, SourceError> {
        Ok(match self {
            Self::Weave => Box::new(Weave),
            Self::WideWeave => Box::new(WideWeave),
            Self::SwarmWeave => Box::new(SwarmWeave),
            Self::Csmith => Box::new(Csmith::new(CsmithOptions::Bounded)?),
            Self::CsmithDefault => Box::new(Csmith::new(CsmithOptions::Default)?),
            Self::Yarpgen => Box::new(Yarpgen::new()?),
            Self::Corpus(dir) => Box::new(Corpus::open(dir)?),
        })
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weave => f.write_str("weave"),
            Self::WideWeave => f.write_str("weave:wide"),
            Self::SwarmWeave => f.write_str("weave:swarm"),
            Self::Csmith => f.write_str("csmith"),
            Self::CsmithDefault => f.write_str("csmith-default"),
            Self::Yarpgen => f.write_str("yarpgen"),
            Self::Corpus(dir) => write!(f, "corpus:{}", dir.display()),
        }
    }
}

impl FromStr for SourceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "weave" => Ok(Self::Weave),
            "weave:wide" => Ok(Self::WideWeave),
            "weave:swarm" => Ok(Self::SwarmWeave),
            "csmith" => Ok(Self::Csmith),
            "csmith-default" => Ok(Self::CsmithDefault),
            "yarpgen" => Ok(Self::Yarpgen),
            _ => match text.strip_prefix("corpus:") {
                Some(dir) if !dir.is_empty() => Ok(Self::Corpus(PathBuf::from(dir))),
                _ => Err(format!(
                    "unknown generator `{text}`; use weave, weave:wide, weave:swarm, csmith, csmith-default, yarpgen or corpus:DIR"
                )),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_reads_back_as_it_is_written() {
        for text in ["weave", "weave:wide", "weave:swarm", "csmith", "csmith-default", "yarpgen", "corpus:some/dir"] {
            assert_eq!(text.parse::<SourceSpec>().unwrap().to_string(), text);
        }
        assert!("corpus:".parse::<SourceSpec>().is_err());
        assert!("dice".parse::<SourceSpec>().unwrap_err().contains("weave"));
    }
}
