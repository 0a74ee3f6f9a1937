//! A directory of programs: every C, C++ and Rust file below it with a main function, in the order of
//! their paths. A compiler's test suite works as it is; files that do not build alone are skipped by the
//! hunt and counted.

use crate::source::{ProgramSource, SourceError};
use std::path::{Path, PathBuf};
use trueline_model::{Language, Origin, Program};

/// Files above this size are not programs one steps through.
const MAX_BYTES: u64 = 1 << 20;

/// A directory of programs.
#[derive(Clone, Debug)]
pub struct Corpus {
    dir: PathBuf,
    files: Vec<PathBuf>,
}

impl Corpus {
    /// Lists the programs of a directory, in order of their paths.
    pub fn open(dir: &Path) -> Result<Self, SourceError> {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let mut files = Vec::new();
        list(&dir, &mut files, 0).map_err(|source| SourceError::Io { path: dir.clone(), source })?;
        files.sort();
        if files.is_empty() {
            return Err(SourceError::EmptyCorpus { dir });
        }
        Ok(Self { dir, files })
    }
}

fn list(dir: &Path, files: &mut Vec<PathBuf>, depth: u32) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        // Links are not followed: a cycle would never end.
        if kind.is_dir() && depth < 32 {
            let _ = list(&path, files, depth + 1);
        } else if kind.is_file() && Language::of_path(&path).is_some() && has_main(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn has_main(path: &Path) -> bool {
    let small = std::fs::metadata(path).is_ok_and(|m| m.len() <= MAX_BYTES);
    let bytes = if small { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    match Language::of_path(path) {
        Some(Language::Rust) => text.contains("fn main"),
        _ => text.split("main").skip(1).any(|rest| rest.trim_start().starts_with('(')),
    }
}

impl ProgramSource for Corpus {
    fn name(&self) -> String {
        format!("corpus:{}", self.dir.display())
    }

    fn program(&self, seed: u64, language: Language) -> Result<Option<Program>, SourceError> {
        let Some(path) = usize::try_from(seed).ok().and_then(|i| self.files.get(i)) else { return Ok(None) };
        if Language::of_path(path) != Some(language) {
            return Ok(None);
        }
        let bytes = std::fs::read(path).map_err(|source| SourceError::Io { path: path.clone(), source })?;
        let name = path.file_name().map_or_else(|| format!("{seed}.{}", language.extension()), |n| n.to_string_lossy().into_owned());
        // Programs may include their neighbours.
        let include = path.parent().map(|p| format!("-I{}", p.display()));
        let cflags = if language.is_preprocessed() { include.into_iter().collect() } else { Vec::new() };
        let source = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Some(Program { name, language, source, origin: Origin::File { path: path.clone() }, cflags }))
    }

    fn has(&self, seed: u64, language: Language) -> bool {
        let file = usize::try_from(seed).ok().and_then(|i| self.files.get(i));
        file.is_some_and(|path| Language::of_path(path) == Some(language))
    }

    fn count(&self) -> Option<u64> {
        Some(self.files.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_toolchain::Scratch;

    #[test]
    fn a_corpus_lists_programs_in_order_and_skips_the_rest() {
        let scratch = Scratch::new().unwrap();
        std::fs::create_dir(scratch.join("sub")).unwrap();
        scratch.write("b.c", "int main (void) { return 0; }").unwrap();
        scratch.write("sub/a.rs", "fn main() {}").unwrap();
        scratch.write("lib.c", "int helper(void) { return 1; }").unwrap();
        scratch.write("notes.txt", "main(").unwrap();
        scratch.write("binary.c", [0xff, 0xfe, 0, 1]).unwrap();
        let corpus = Corpus::open(scratch.path()).unwrap();
        assert_eq!(corpus.count(), Some(2));
        assert_eq!(corpus.program(0, Language::C).unwrap().unwrap().name, "b.c");
        assert_eq!(corpus.program(0, Language::Rust).unwrap(), None);
        assert_eq!(corpus.program(1, Language::Rust).unwrap().unwrap().name, "a.rs");
        assert_eq!(corpus.program(2, Language::C).unwrap(), None);
    }

    #[test]
    fn an_empty_corpus_says_what_to_do() {
        let scratch = Scratch::new().unwrap();
        let error = Corpus::open(scratch.path()).unwrap_err().to_string();
        assert!(error.contains("name a directory with .c, .cpp or .rs files"), "{error}");
        let error = Corpus::open(&scratch.join("nowhere")).unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
    }
}
