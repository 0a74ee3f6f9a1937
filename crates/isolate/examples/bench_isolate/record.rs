//! What the benchmark keeps on disk: bugs as they are described, and sets of blocks.

use crate::SeenFailure;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use trueline_model::{CoverageSet, Language, Origin, Program};

/// A known bug.
#[derive(Clone, Debug, Deserialize)]
pub struct Bug {
    pub file: String,
    #[serde(default = "usual_compiler")]
    pub compiler: String,
    #[serde(default)]
    pub options: Vec<String>,
    #[serde(alias = "gcc12_fails_at")]
    pub fails_at: Vec<String>,
    pub buggy_files: Vec<String>,
    #[serde(default)]
    pub buggy_functions: Vec<HashMap<String, Vec<String>>>,
}

fn usual_compiler() -> String {
    "gcc-12".to_owned()
}

impl Bug {
    /// The options of the failing compilation, its level apart.
    pub fn flags(&self) -> Vec<String> {
        self.options.iter().filter(|flag| !flag.starts_with("-O")).cloned().collect()
    }
}

/// A program from a file.
pub fn read_program(path: &Path) -> Result<Program, SeenFailure> {
    Ok(Program {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        language: Language::C,
        source: std::fs::read_to_string(path)?,
        origin: Origin::File { path: path.to_owned() },
        cflags: vec![format!("-I{}/../../bench/isolate/include", env!("CARGO_MANIFEST_DIR"))],
    })
}

/// Reads the descriptions.
pub fn bugs(dir: &Path) -> Result<Vec<Bug>, SeenFailure> {
    Ok(serde_json::from_slice(&std::fs::read(dir.join("bugs.json"))?)?)
}

/// What every run of a bug shares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Base {
    pub kind: String,
    pub level: String,
    pub message: String,
    pub telling: String,
    pub switches: Vec<String>,
    /// CPU seconds for the failing compilation and the switches; part of every run's budget.
    pub cpu_seconds: f64,
}

/// One search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    pub judged: usize,
    pub failing: usize,
    pub unjudged: usize,
    pub order: usize,
    pub exhausted: bool,
    pub rules: Vec<Vec<String>>,
    /// CPU seconds, those of the shared part included.
    pub cpu_seconds: f64,
}

pub fn save(path: &Path, set: &CoverageSet) -> std::io::Result<()> {
    let bytes: Vec<u8> = set.iter().flat_map(u32::to_le_bytes).collect();
    std::fs::write(path, bytes)
}

pub fn load(path: &Path) -> std::io::Result<CoverageSet> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect())
}

/// The sets of a directory whose names begin so, in order.
pub fn load_all(dir: &Path, prefix: &str) -> Result<Vec<CoverageSet>, SeenFailure> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
    // The witnesses' sources lie beside their sets.
    let ours = |name: &str| name.starts_with(prefix) && name.ends_with(".bits");
    paths.retain(|path| path.file_name().is_some_and(|name| ours(&name.to_string_lossy())));
    paths.sort();
    paths.iter().map(|path| Ok(load(path)?)).collect()
}
