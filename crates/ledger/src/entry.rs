//! Entries of the ledger as their directories have them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use trueline_model::{CompilerKind, Invariant, Language, OptLevel, Origin, Program};
use trueline_toolchain::ToolKind;

/// The name of an entry's directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct EntryId(pub String);

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The GNU compilers.
    Gcc,
    /// LLVM and clang.
    Llvm,
    /// The Rust compiler.
    Rustc,
    /// The GNU debugger.
    Gdb,
    /// LLVM's debugger.
    Lldb,
}

/// What an entry is looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFamily {
    /// Compilers of a kind.
    Compilers(CompilerKind),
    /// Releases of a debugger.
    Debuggers(ToolKind),
}

impl Component {
    /// What its entries are looked for in.
    pub fn family(self) -> ToolFamily {
        match self {
            Self::Gcc => ToolFamily::Compilers(CompilerKind::Gcc),
            Self::Llvm => ToolFamily::Compilers(CompilerKind::Clang),
            Self::Rustc => ToolFamily::Compilers(CompilerKind::Rustc),
            Self::Gdb => ToolFamily::Debuggers(ToolKind::Gdb),
            Self::Lldb => ToolFamily::Debuggers(ToolKind::Lldb),
        }
    }

    /// The name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Llvm => "llvm",
            Self::Rustc => "rustc",
            Self::Gdb => "gdb",
            Self::Lldb => "lldb",
        }
    }
}

/// What a person who believes the debugger gets wrong, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A variable shows a value that it never had, or has not now.
    WrongValue,
    /// Functions are on the stack that were not called, or one that was is missing.
    WrongFrame,
    /// A line is shown that did not run.
    WrongLine,
    /// A variable is listed where it does not exist.
    OutOfScope,
    /// A variable is not shown although its value is there.
    Lost,
}

impl Severity {
    /// The name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::WrongValue => "wrong value",
            Self::WrongFrame => "wrong frame",
            Self::WrongLine => "wrong line",
            Self::OutOfScope => "out of scope",
            Self::Lost => "lost",
        }
    }
}

/// What is known of it in public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// No public report was found that is about it.
    Unreported,
    /// A public report is about it: the first `near` entry with `tie = "same"`.
    Reported,
    /// It was reported, and is mended in a release.
    Fixed,
}

/// Where in the compiler it happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// The function of the compiler.
    pub function: String,
    /// Its file in the compiler's sources.
    pub file: String,
}

/// What must be seen for the fault to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Symptom {
    /// The invariant that is broken, as `trueline check` sees it. Without one the entry's `reproduce.sh` is asked: for what a
    /// debugger does, and for what no invariant speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<Invariant>,
    /// The line on which it is seen; the function that it is shown in may differ between levels.
    pub line: u32,
    /// The variable that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// What the debugger shows, in one sentence.
    pub shown: String,
    /// What is true there, in one sentence.
    pub truth: String,
}

/// How a public report relates to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// It is about this cause.
    Same,
    /// It is about another cause that looks alike.
    Different,
    /// It may be: what is public does not tell.
    Unclear,
}

/// A public report that is near.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Near {
    /// Its address, or its name in a tracker.
    pub report: String,
    /// How it relates.
    pub tie: Tie,
    /// Why that is so.
    pub why: String,
}

/// `bug.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bug {
    /// One line for people.
    pub title: String,
    /// Whose fault it is.
    pub component: Component,
    /// The guilty pass, as the compiler names it.
    pub pass: String,
    /// Where in the pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// How bad it is.
    pub severity: Severity,
    /// What is known of it in public.
    pub status: Status,
    /// How many findings of hunts it explains.
    pub findings: u32,
    /// What must be seen.
    pub shows: Symptom,
    /// Versions (`gcc 12.2.0`) and the levels at which it shows; a version without levels was looked at and does not show it.
    pub versions: BTreeMap<String, Vec<OptLevel>>,
    /// Public reports that are near.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<Near>,
}

/// Whether everybody would call it a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It contradicts what the compiler's own documentation promises.
    Bug,
    /// It may be by design: the report gives both views. Such entries are below `debatable/`.
    Debatable,
}

/// One directory of the ledger.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// Its name.
    pub id: EntryId,
    /// Where it is.
    pub directory: PathBuf,
    /// Whether everybody would call it a bug.
    pub standing: Standing,
    /// What is known of it.
    pub bug: Bug,
    /// The program that shows it.
    pub program: Program,
    /// `report.md`.
    pub report: String,
}

/// Why a ledger cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file is missing or cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// An entry is not what an entry must be.
    #[error("{path}: {message}", path = path.display())]
    Bad {
        /// Which.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
}

/// All entries, the worst first.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The entries.
    pub entries: Vec<LedgerEntry>,
}

impl Ledger {
    /// Reads a directory: one entry per directory that has a `bug.toml`, and the same below `debatable/`.
    pub fn read(dir: &Path) -> Result<Self, LedgerError> {
        let mut entries = Vec::new();
        for (within, standing) in [(dir.to_owned(), Standing::Bug), (dir.join("debatable"), Standing::Debatable)] {
            if standing == Standing::Debatable && !within.is_dir() {
                continue;
            }
            for path in directories(&within)? {
                if path.join("bug.toml").is_file() {
                    entries.push(LedgerEntry::read(&path, standing)?);
                } else if path != dir.join("debatable") {
                    let message = "it has no bug.toml; an entry has bug.toml, report.md, reproduce.sh and a program".to_owned();
                    return Err(LedgerError::Bad { path, message });
                }
            }
        }
        entries.sort_by(|a, b| rank(a).cmp(&rank(b)));
        Ok(Self { entries })
    }
}

fn rank(entry: &LedgerEntry) -> (Standing, Severity, std::cmp::Reverse<u32>, &EntryId) {
    (entry.standing, entry.bug.severity, std::cmp::Reverse(entry.bug.findings), &entry.id)
}

fn directories(dir: &Path) -> Result<Vec<PathBuf>, LedgerError> {
    let entries = std::fs::read_dir(dir).map_err(|source| LedgerError::Io { path: dir.to_owned(), source })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    paths.sort();
    Ok(paths)
}

impl LedgerEntry {
    fn read(directory: &Path, standing: Standing) -> Result<Self, LedgerError> {
        let text = |name: &str| {
            let path = directory.join(name);
            std::fs::read_to_string(&path).map_err(|source| LedgerError::Io { path, source })
        };
        let bad = |message: String| LedgerError::Bad { path: directory.to_owned(), message };
        let bug: Bug = toml::from_str(&text("bug.toml")?).map_err(|e| bad(format!("bug.toml: {e}")))?;
        let report = text("report.md")?;
        text("reproduce.sh")?;
        let program = directory
            .read_dir()
            .map_err(|source| LedgerError::Io { path: directory.to_owned(), source })?
            .flatten()
            .map(|e| e.path())
            .find(|p| p.file_stem().is_some_and(|s| s == "program") && Language::of_path(p).is_some())
            .ok_or_else(|| bad("it has no program.c or program.rs".to_owned()))?;
        let name = program.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let source = text(&name)?;
        let language = Language::of_path(&program).expect("it was chosen by its language");
        let lines = source.lines().count() as u32;
        if !(1..=lines).contains(&bug.shows.line) {
            return Err(bad(format!("shows.line is {}, and {name} has {lines} lines", bug.shows.line)));
        }
        if !bug.versions.values().any(|levels| !levels.is_empty()) {
            return Err(bad("it shows with no version; name the versions and levels that were tried".to_owned()));
        }
        if matches!(bug.component.family(), ToolFamily::Debuggers(_)) && bug.shows.invariant.is_some() {
            return Err(bad(
                "it is about a debugger, and names an invariant of compilers; leave it out, and reproduce.sh is asked".to_owned()
            ));
        }
        if bug.status != Status::Unreported && !bug.near.iter().any(|n| n.tie == Tie::Same) {
            return Err(bad("it counts as reported; add a [[near]] with tie = \"same\"".to_owned()));
        }
        let id = EntryId(directory.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default());
        let program = Program { name, language, source, origin: Origin::File { path: program }, cflags: Vec::new() };
        Ok(Self { id, directory: directory.to_owned(), standing, bug, program, report })
    }

    /// Every level at which it was ever seen, in the order of levels.
    pub fn levels(&self) -> Vec<OptLevel> {
        let mut levels: Vec<OptLevel> = self.bug.versions.values().flatten().copied().collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUG: &str = r#"
title = "t"
component = "gcc"
pass = "rtl-sched2"
severity = "wrong-line"
status = "unreported"
findings = 3
[shows]
invariant = "line"
line = 2
shown = "line 2"
truth = "line 1"
[versions]
"gcc 12.2.0" = ["-O2"]
"gcc 11.3.0" = []
"#;

    fn write(dir: &Path, bug: &str) {
        std::fs::create_dir_all(dir).unwrap();
        for (name, text) in
            [("bug.toml", bug), ("report.md", "# t\n"), ("reproduce.sh", "exit 1\n"), ("program.c", "int f(void)\n{ return 0; }\n")]
        {
            std::fs::write(dir.join(name), text).unwrap();
        }
    }

    #[test]
    fn the_worst_come_first_and_what_is_debatable_last() {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("a-line"), BUG);
        write(&dir.path().join("b-value"), &BUG.replace("wrong-line", "wrong-value"));
        write(&dir.path().join("debatable/c-value"), &BUG.replace("wrong-line", "wrong-value"));
        let ledger = Ledger::read(dir.path()).unwrap();
        let ids: Vec<&str> = ledger.entries.iter().map(|e| e.id.0.as_str()).collect();
        assert_eq!(ids, ["b-value", "a-line", "c-value"]);
        assert_eq!(ledger.entries[0].levels(), [OptLevel::O2]);
    }

    #[test]
    fn an_entry_that_lacks_a_part_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |change: &dyn Fn(&Path)| {
            let entry = dir.path().join("x");
            write(&entry, BUG);
            change(&entry);
            Ledger::read(dir.path()).unwrap_err().to_string()
        };
        let put = |text: String| move |entry: &Path| std::fs::write(entry.join("bug.toml"), &text).unwrap();
        assert!(refused(&|e| std::fs::remove_file(e.join("report.md")).unwrap()).contains("report.md"));
        assert!(refused(&|e| std::fs::remove_file(e.join("program.c")).unwrap()).contains("no program.c"));
        assert!(refused(&|e| std::fs::remove_file(e.join("bug.toml")).unwrap()).contains("no bug.toml"));
        assert!(refused(&put(BUG.replace("line = 2", "line = 9"))).contains("has 2 lines"));
        assert!(refused(&put(BUG.replace("[\"-O2\"]", "[]"))).contains("shows with no version"));
        assert!(refused(&put(BUG.replace("unreported", "reported"))).contains("[[near]]"));
        assert!(refused(&put(BUG.replace("findings", "finding"))).contains("finding"));
        assert!(refused(&put(BUG.replace("\"gcc\"", "\"gdb\""))).contains("leave it out"));
    }
}
