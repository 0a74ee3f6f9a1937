//! The source texts that a report quotes: a program's own file, or the files that a binary's debug information names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trueline_dwarf::Module;
use trueline_model::FileName;

/// Larger files are nobody's source.
const LARGEST: u64 = 64 << 20;

/// Texts by the base names of their files.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<String, SourceText>);

#[derive(Debug)]
struct SourceText {
    path: String,
    lines: Vec<String>,
}

impl Sources {
    /// The one file of a program.
    pub fn of_program(path: &Path, name: &str, text: &str) -> Self {
        let source = SourceText { path: path.display().to_string(), lines: text.lines().map(str::to_owned).collect() };
        Self(BTreeMap::from([(name.to_owned(), source)]))
    }

    /// Those of the wanted files that are where the debug information says. A name that several files have is left out: a wrong
    /// text is worse than none.
    pub fn of_binary(module: &Module, wanted: &BTreeSet<&str>) -> Self {
        let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for file in module.files.iter().filter(|f| wanted.contains(f.base())) {
            found.entry(file.base()).or_default().insert(file.as_str());
        }
        let read = |path: &str| {
            let is_text = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= LARGEST);
            is_text.then(|| std::fs::read(path).ok()).flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let sources = found.into_iter().filter_map(|(name, paths)| {
            let mut there = paths.into_iter().filter_map(|path| Some((path, read(path)?)));
            let (path, text) = there.next()?;
            let lines = text.lines().map(str::to_owned).collect();
            there.next().is_none().then(|| (name.to_owned(), SourceText { path: path.to_owned(), lines }))
        });
        Self(sources.collect())
    }

    /// The lines of a file.
    pub fn lines(&self, file: &FileName) -> Option<&[String]> {
        self.0.get(file.base()).map(|s| &s.lines[..])
    }

    /// The text of one line, counted from 1.
    pub fn line(&self, file: &FileName, number: u32) -> Option<&str> {
        let lines = self.lines(file)?;
        lines.get((number as usize).checked_sub(1)?).map(String::as_str)
    }

    /// Where a file is.
    pub fn path(&self, file: &FileName) -> Option<&str> {
        self.0.get(file.base()).map(|s| &*s.path)
    }
}
