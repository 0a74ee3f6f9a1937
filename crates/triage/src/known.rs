//! Known bugs: what was triaged before, one TOML file each, shipped and growable by users. The ledger's entries have theirs
//! beside their reports (`ledger/NAME/known*.toml`); `known/` beside this crate's sources has those without an entry.
//!
//! A known bug lists the versions it was judged with. A finding matches when at least one version is common to both,
//! every common version says the same, and at least one of those names a pass: versions that only one side has say
//! nothing either way. A pass alone is behind many bugs, so that the finding must look like the bug, too (its construct).
//! A bug whose construct names the operators of the location is known by these, whichever pass wrote them: it may do
//! without versions.

use crate::construct::Construct;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueline_model::{Fault, Fingerprint, FingerprintEntry, PassName, Program};

/// The files that ship, each with its path; the build script lists them.
const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/known.rs"));

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
    /// Version to pass, or `absent`, `unattributed`, `unbuildable`; none when the location alone tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fingerprint: BTreeMap<String, String>,
    /// What it looks like in a program; only a hang or wrong code may do without.
    #[serde(default, skip_serializing_if = "Construct::is_empty")]
    pub construct: Construct,
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
            bugs.push(KnownBug::parse(&text, &path)?);
        }
        Ok(Self { bugs })
    }

    /// The ones that ship with the program.
    pub fn shipped() -> Result<Self, KnownError> {
        Ok(Self { bugs: SHIPPED.iter().map(|(path, text)| KnownBug::parse(text, path.as_ref())).collect::<Result<_, _>>()? })
    }

    /// Adds the ones of another directory.
    pub fn extend(&mut self, other: Self) {
        self.bugs.extend(other.bugs);
    }

    /// The known bug that a finding is, if any; `location` is what the debug information says of the variable there, if it was
    /// looked at.
    pub fn matching(&self, fault: &Fault, program: &Program, fingerprint: &Fingerprint, location: Option<&str>) -> Option<&KnownBug> {
        let fits = |bug: &KnownBug| bug.invariant == fault.kind() && bug.construct.fits(fault, program, location);
        self.bugs.iter().find(|bug| fits(bug) && agrees(bug, fingerprint))
    }
}

impl KnownBug {
    /// One file's text; `path` is for the error only.
    pub fn parse(text: &str, path: &Path) -> Result<Self, KnownError> {
        let bad = |message: String| KnownError::Bad { path: path.to_owned(), message };
        let bug: Self = toml::from_str(text).map_err(|e| bad(e.to_string()))?;
        if bug.construct.is_empty() && !matches!(bug.invariant.as_str(), "hang" | "wrong-code") {
            let advice = "it names a pass, which may be behind other bugs; add a [construct] with what the finding looks like";
            return Err(bad(format!("{advice} (statement, repeated, width, declared, value, location or message)")));
        }
        if bug.fingerprint.is_empty() && bug.construct.location.is_empty() {
            return Err(bad("it names no version; add a [fingerprint], or a location to its [construct]".to_owned()));
        }
        Ok(bug)
    }
}

fn agrees(bug: &KnownBug, fingerprint: &Fingerprint) -> bool {
    if bug.fingerprint.is_empty() {
        return true;
    }
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
    use trueline_model::{Language, Origin};

    fn vector(entries: &[(&str, FingerprintEntry)]) -> Fingerprint {
        Fingerprint(entries.iter().map(|(v, e)| ((*v).to_owned(), e.clone())).collect())
    }

    fn pass(name: &str) -> FingerprintEntry {
        FingerprintEntry::Pass(PassName(name.to_owned()))
    }

    fn program(source: &str) -> Program {
        let origin = Origin::File { path: "a.c".into() };
        Program { name: "a.c".to_owned(), language: Language::C, source: source.to_owned(), origin, cflags: Vec::new() }
    }

    fn violation(invariant: &str, line: u32, variable: &str) -> Fault {
        showing(invariant, line, variable, "13")
    }

    fn showing(invariant: &str, line: u32, variable: &str, value: &str) -> Fault {
        let document = format!(
            r#"{{"invariant":"{invariant}","file":"a.c","line":{line},"function":"f","frames":["f"],"rows":[],"owner":"f","declared":1,
                "variable":"{variable}","value":"{value}","allowed":{{"first":["105","205","5"],"cut":false}}}}"#
        );
        Fault::Violation(serde_json::from_str(&document).unwrap())
    }

    fn known(text: &str) -> Result<KnownBugs, KnownError> {
        Ok(KnownBugs { bugs: vec![KnownBug::parse(text, Path::new("x.toml"))?] })
    }

    #[test]
    fn a_finding_is_known_when_all_common_versions_agree_and_one_names_a_pass() {
        let known = known(
            "id = \"x\"\ntitle = \"t\"\ninvariant = \"line\"\n[fingerprint]\n\"clang 14\" = \"LICMPass\"\n\"clang 16\" = \"absent\"\n[construct]\nstatement = \"return\"\n",
        )
        .unwrap();
        let program = program("int f(void) {\n  return 1;\n}\n");
        let (line, scope) = (violation("line", 2, ""), violation("scope", 2, ""));
        let same = vector(&[("clang 14", pass("LICMPass")), ("clang 19", FingerprintEntry::Absent)]);
        assert_eq!(known.matching(&line, &program, &same, None).map(|b| b.id.as_str()), Some("x"));
        assert!(known.matching(&scope, &program, &same, None).is_none());
        let other = vector(&[("clang 14", pass("LICMPass")), ("clang 16", pass("LICMPass"))]);
        assert!(known.matching(&line, &program, &other, None).is_none());
        let nothing_common = vector(&[("clang 16", FingerprintEntry::Absent)]);
        assert!(known.matching(&line, &program, &nothing_common, None).is_none());
    }

    #[test]
    fn another_finding_of_the_same_pass_is_not_taken_for_the_known_one() {
        let known = known(
            "id = \"narrow\"\ntitle = \"t\"\ninvariant = \"parameter\"\n[fingerprint]\n\"clang 16\" = \"Selection\"\n[construct]\nwidth = \"narrow\"\nvalue = \"low-bits\"\n",
        )
        .unwrap();
        let selection = vector(&[("clang 16", pass("Selection"))]);
        let program = program("static unsigned f(unsigned char p, unsigned q) {\n  return (p & 0x7f) + q;\n}\n");
        let shown = |variable, value| showing("parameter", 2, variable, value);
        let id = |variable, value| known.matching(&shown(variable, value), &program, &selection, None).map(|b| b.id.as_str());
        assert_eq!(id("p", "13"), Some("narrow"), "the low bits of 205");
        assert_eq!(id("p", "14"), None, "no low bits of 105, 205 or 5");
        assert_eq!(id("q", "13"), None, "a wide parameter");
    }

    #[test]
    fn a_return_that_stands_alone_is_not_a_merged_one() {
        let known = KnownBugs::shipped().unwrap();
        let estimate = vector(&[("gcc 12.2.0", pass("tree-profile_estimate"))]);
        let id =
            |source: &str, line| known.matching(&violation("line", line, ""), &program(source), &estimate, None).map(|b| b.id.as_str());
        assert_eq!(id("int f(void) {\n  if (g)\n    return g;\n  a = 0;\n  return g;\n}\n", 5), Some("gcc-merged-return"));
        assert_eq!(id("int f(void) {\n  if (g)\n    return g;\n  a = 0;\n  return a;\n}\n", 5), None);
        assert_eq!(id("int f(void) {\n  if (g)\n    return g;\n  a = 0;\n  return g;\n}\n", 4), None);
    }

    #[test]
    fn an_entry_that_names_only_a_pass_is_refused_and_says_what_to_add() {
        let error = known("id = \"x\"\ntitle = \"t\"\ninvariant = \"line\"\n[fingerprint]\n\"clang 14\" = \"LICMPass\"\n").unwrap_err();
        assert!(error.to_string().contains("[construct]"), "{error}");
    }

    #[test]
    fn a_location_that_tells_the_cause_needs_no_version_and_no_pass() {
        let known = KnownBugs::shipped().unwrap();
        let fault: Fault = Fault::Violation(
            serde_json::from_str(r#"{"invariant":"dwarf","file":"a.c","line":2,"function":"f","frames":["f"],"variable":"p"}"#).unwrap(),
        );
        let any = vector(&[("clang 99.0.0", pass("SomePass"))]);
        let id = |location| known.matching(&fault, &program("int f;\n"), &any, location).map(|b| b.id.as_str());
        assert_eq!(id(Some("breg0 0, convert 0x2b, lit4, shr, stack_value")), Some("llvm-mixed-operand-types"));
        assert_eq!(id(Some("breg0 0, lit4, shr, stack_value")), None);
        assert_eq!(id(None), None, "nobody looked at the location");
    }

    #[test]
    fn an_entry_without_versions_and_location_is_refused() {
        let error = known("id = \"x\"\ntitle = \"t\"\ninvariant = \"line\"\n[construct]\nstatement = \"return\"\n").unwrap_err();
        assert!(error.to_string().contains("[fingerprint]"), "{error}");
    }

    #[test]
    fn every_known_file_of_the_ledger_ships_under_its_entrys_name() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let shipped = KnownBugs::shipped().unwrap().bugs;
        assert!(KnownBugs::read(&root.join("known")).unwrap().bugs.iter().all(|bug| shipped.contains(bug)));
        let mut seen = 0;
        for entry in std::fs::read_dir(root.join("../../ledger")).unwrap().flatten() {
            for bug in std::fs::read_dir(entry.path()).unwrap().flatten().filter(|f| f.file_name().to_string_lossy().starts_with("known")) {
                let read = KnownBug::parse(&std::fs::read_to_string(bug.path()).unwrap(), &bug.path()).unwrap();
                assert_eq!(read.id, entry.file_name().to_string_lossy());
                assert!(shipped.contains(&read), "{} does not ship", bug.path().display());
                seen += 1;
            }
        }
        assert!(seen >= 3);
    }
}
