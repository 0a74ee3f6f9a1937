//! `trueline.toml`: a project's defaults. Flags override it; it is looked for in the working directory and
//! then in each parent, as people expect of such files.

use anyhow::Context;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use trueline_model::{EngineKind, OptLevel, Policy};

/// The file's name.
pub const FILE_NAME: &str = "trueline.toml";

/// Defaults for the commands. Every key is optional; an unknown key is an error, since it is a typing mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Compilers, by name or path.
    pub cc: Vec<String>,
    /// Optimization levels.
    pub opt: Vec<OptLevel>,
    /// Flags for every compilation of a program.
    pub cflags: Vec<String>,
    /// Tracing engine.
    pub engine: Option<EngineKind>,
    /// How the native engine reads line tables.
    pub policy: Option<Policy>,
    /// Where hunts take programs from.
    pub generator: Option<String>,
    /// Workers of a hunt.
    pub jobs: Option<usize>,
    /// The campaign's database.
    pub db: Option<PathBuf>,
    /// Limits.
    pub limits: LimitsConfig,
}

/// Limits on what is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Steps after which a trace is cut off.
    pub max_steps: Option<u64>,
    /// Seconds for one traced run.
    pub seconds: Option<u64>,
}

impl Config {
    /// Reads the nearest file, or the defaults when there is none.
    pub fn load() -> anyhow::Result<Self> {
        let start = std::env::current_dir().context("the working directory cannot be read")?;
        match start.ancestors().map(|dir| dir.join(FILE_NAME)).find(|path| path.is_file()) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    /// Reads one file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut config: Self = toml::from_str(&text).with_context(|| format!("{} is not a valid configuration", path.display()))?;
        // Relative paths are meant from the file, not from wherever the command was started.
        if let (Some(db), Some(dir)) = (&mut config.db, path.parent()) {
            *db = dir.join(&*db);
        }
        Ok(config)
    }
}

/// The flag where one was given, else the file's value, else the default.
pub fn choose<T: Clone>(flag: &[T], file: &[T], default: impl FnOnce() -> Vec<T>) -> Vec<T> {
    [flag, file].into_iter().find(|list| !list.is_empty()).map_or_else(default, <[T]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_understood() {
        let text = "cc = [\"gcc-12\"]\nopt = [\"-Og\", \"-O2\"]\nengine = \"gdb\"\ngenerator = \"csmith\"\n[limits]\nmax_steps = 5000\n";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.opt, [OptLevel::Og, OptLevel::O2]);
        assert_eq!(config.engine, Some(EngineKind::Gdb));
        assert_eq!(config.limits.max_steps, Some(5000));
    }

    #[test]
    fn a_mistyped_key_is_an_error_that_names_it() {
        let error = toml::from_str::<Config>("compiler = \"gcc\"").unwrap_err().to_string();
        assert!(error.contains("compiler"), "{error}");
    }

    #[test]
    fn a_flag_beats_the_file_and_the_file_beats_the_default() {
        assert_eq!(choose(&[1], &[2], || vec![3]), [1]);
        assert_eq!(choose(&[], &[2], || vec![3]), [2]);
        assert_eq!(choose(&[], &[], || vec![3]), [3]);
    }
}
