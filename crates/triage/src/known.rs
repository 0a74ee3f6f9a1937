//! Known bugs: fingerprints that were triaged before, one TOML file each, shipped in `known/` and growable
//! by users.
//!
//! A known bug lists the versions it was judged with. A finding matches when at least one version is common
//! to both, every common version says the same, and at least one of those names a pass: versions that only
//! one side has say nothing either way.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueline_model::{Fingerprint, FingerprintEntry, PassName};

/// One known bug as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KnownBug {
    /// A short name, unique in a directory: `clang-licm-sunk-store`.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// Where it was reported, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The invariant it breaks (or `crash`, `hang`, `wrong-code`).
    pub invariant: String,
    /// Version to pass, or `absent`, `unattributed`, `unbuildable`.
    pub fingerprint: BTreeMap<String, String>,
}

/// Why a directory of known bugs cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// A file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file is not a known bug.
    #[error("{path} is not a known bug: {message}", path = path.display())]
    Bad {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// A directory of them.
#[derive(Clone, Debug, Default)]
pub struct KnownBugs {
    bugs: Vec<KnownBug>,
}

impl KnownBugs {
    /// Reads every `*.toml` of a directory; one that does not exist is empty.
    pub fn read(dir: &Path) -> Result<Self, KnownError> {
        let mut paths: Vec<PathBuf> = match std::fs::read_dir(dir) {
            Ok(entries) => entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|x| x == "toml")).collect(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(KnownError::Io { path: dir.to_owned(), source }),
        };
        paths.sort();
        let mut bugs = Vec::new();
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(|source| KnownError::Io { path: path.clone(), source })?;
            bugs.push(toml::from_str(&text).map_err(|e| KnownError::Bad { path, message: e.to_string() })?);
        }
        Ok(Self { bugs })
    }

    /// Adds the ones of another directory.
    pub fn extend(&mut self, other: Self) {
        self.bugs.extend(other.bugs);
    }

    /// Adds the ones compiled into the program, as TOML texts.
    pub fn from_texts(texts: &[&str]) -> Result<Self, KnownError> {
        let parse = |text: &&str| toml::from_str(text).map_err(|e| KnownError::Bad { path: "built-in".into(), message: e.to_string() });
        Ok(Self { bugs: texts.iter().map(parse).collect::<Result<_, _>>()? })
    }

    /// The known bug that a finding is, if any.
    pub fn matching(&self, invariant: &str, fingerprint: &Fingerprint) -> Option<&KnownBug> {
        self.bugs.iter().filter(|b| b.invariant == invariant).find(|b| agrees(b, fingerprint))
    }
}

impl KnownBug {
    /// A file for a finding that a user wants to have known.
    pub fn of(id: &str, title: &str, invariant: &str, fingerprint: &Fingerprint) -> Self {
        let entries = fingerprint.0.iter().map(|(v, e)| (v.clone(), entry_text(e))).collect();
        Self { id: id.to_owned(), title: title.to_owned(), url: None, invariant: invariant.to_owned(), fingerprint: entries }
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}

fn agrees(bug: &KnownBug, fingerprint: &Fingerprint) -> bool {
    let common = bug.fingerprint.iter().filter_map(|(version, text)| Some((text, fingerprint.0.get(version)?)));
    let mut named = false;
    for (text, entry) in common {
        if *text != entry_text(entry) {
            return false;
        }
        named |= matches!(entry, FingerprintEntry::Pass(_));
    }
    named
}

/// An entry as tables and files print it.
pub fn entry_text(entry: &FingerprintEntry) -> String {
    match entry {
        FingerprintEntry::Pass(PassName(name)) => name.clone(),
        FingerprintEntry::Absent => "absent".to_owned(),
        FingerprintEntry::Unattributed => "unattributed".to_owned(),
        FingerprintEntry::Unbuildable => "unbuildable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_known_when_all_common_versions_agree_and_one_names_a_pass() {
        let text =
            "id = \"x\"\ntitle = \"t\"\ninvariant = \"line\"\n[fingerprint]\n\"clang 14\" = \"LICMPass\"\n\"clang 16\" = \"absent\"\n";
        let known = KnownBugs::from_texts(&[text]).unwrap();
        let vector =
            |entries: &[(&str, FingerprintEntry)]| Fingerprint(entries.iter().map(|(v, e)| ((*v).to_owned(), e.clone())).collect());
        let licm = FingerprintEntry::Pass(PassName("LICMPass".to_owned()));
        let same = vector(&[("clang 14", licm.clone()), ("clang 19", FingerprintEntry::Absent)]);
        assert_eq!(known.matching("line", &same).map(|b| b.id.as_str()), Some("x"));
        assert!(known.matching("scope", &same).is_none());
        let other = vector(&[("clang 14", licm.clone()), ("clang 16", licm)]);
        assert!(known.matching("line", &other).is_none());
        let nothing_common = vector(&[("clang 16", FingerprintEntry::Absent)]);
        assert!(known.matching("line", &nothing_common).is_none());
    }
}
