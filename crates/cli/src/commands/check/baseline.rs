//! Known violations: a file that says what is wrong today, so that only what is new fails.
//!
//! A violation is recognised by its program, its build (compiler, major version and level), its invariant, function and
//! variable, and the *text* of its source line, so that lines added above it do not make it new. Each entry excuses
//! one violation. With `--group-by cause` the causes are recorded instead, and each excuses whatever it shows. Builds that cannot be checked are recorded too, with the kind of their error.

use super::batch::{BuildRow, Checked};
use super::json::kind_of;
use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use trueline_check::{Cause, GroupBy, cause_of};
use trueline_model::{CompilerId, Invariant, OptLevel, Violation};

const SCHEMA: &str = "trueline.baseline/1";

/// The file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Baseline")]
pub struct Document {
    /// `trueline.baseline/1`.
    schema: String,
    /// Violations that are there and do not fail.
    known: Vec<BaselineEntry>,
    /// Builds that cannot be checked.
    unchecked: Vec<Unchecked>,
    /// Causes whose violations do not fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    causes: Vec<KnownCause>,
}

/// One known cause of violations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
struct KnownCause {
    /// The program, from the directory of this file.
    program: String,
    /// Its build.
    build: String,
    /// What the violations have in common.
    cause: Cause,
}

/// One known violation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Known")]
struct BaselineEntry {
    /// The program, from the directory of this file.
    program: String,
    /// Its build: `gcc 12 -O2`.
    build: String,
    /// What is broken.
    invariant: Invariant,
    /// The line when this was written; for people.
    line: u32,
    /// Its text, which is what is compared. Empty for binaries built elsewhere, where the number is compared.
    text: String,
    /// The function.
    function: String,
    /// The variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
}

/// One build that cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
struct Unchecked {
    /// The program, from the directory of this file.
    program: String,
    /// Its build.
    build: String,
    /// Why: `not-compiled`, `wrong-code`, `bad-program`…
    kind: String,
}

impl BaselineEntry {
    fn excuses(&self, v: &Violation, text: &str) -> bool {
        let same_place = if text.is_empty() || self.text.is_empty() { self.line == v.line.0 } else { self.text == text };
        same_place
            && self.invariant == v.invariant()
            && *self.function == *v.function
            && self.variable.as_deref() == v.variable().map(|name| &**name)
    }
}

/// A baseline and where it stands.
pub struct Baseline {
    document: Document,
    dir: PathBuf,
}

/// `gcc 12 -O2`: a patch release of a compiler does not make its violations new, another major version does.
fn build_key(compiler: Option<&CompilerId>, opt: Option<OptLevel>) -> String {
    match (compiler, opt) {
        (Some(c), Some(opt)) => format!("{} {} {opt}", c.kind, c.version.split('.').next().unwrap_or("")),
        _ => "binary".to_owned(),
    }
}

impl Baseline {
    /// Reads a file that must be there.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let again = || format!("cannot read the baseline {}; make one with --write-baseline", path.display());
        let text = std::fs::read_to_string(path).with_context(again)?;
        let document: Document =
            serde_json::from_str(&text).with_context(|| format!("{} is not a baseline of trueline check", path.display()))?;
        if document.schema != SCHEMA {
            bail!("{} has the schema {}, expected {SCHEMA}; write it anew with --write-baseline", path.display(), document.schema);
        }
        Ok(Self { document, dir: directory(path) })
    }

    /// Reads a file, or begins one.
    pub fn read_or_empty(path: &Path) -> anyhow::Result<Self> {
        if path.exists() {
            return Self::read(path);
        }
        let document = Document { schema: SCHEMA.to_owned(), known: Vec::new(), unchecked: Vec::new(), causes: Vec::new() };
        Ok(Self { document, dir: directory(path) })
    }

    /// Moves what is known out of the builds of one program.
    pub fn excuse(&self, program: &str, rows: &mut [BuildRow], text_of: &dyn Fn(&Violation) -> Option<String>) {
        let program = self.key(program);
        for row in rows {
            let build = build_key(row.compiler.as_ref().map(|c| &c.id), row.opt);
            match &mut row.result {
                Ok(run) => {
                    let mut entries: Vec<&BaselineEntry> =
                        self.document.known.iter().filter(|e| e.program == program && e.build == build).collect();
                    let causes: Vec<&Cause> =
                        self.document.causes.iter().filter(|c| c.program == program && c.build == build).map(|c| &c.cause).collect();
                    let (known, new) = std::mem::take(&mut run.violations).into_iter().partition(|v| {
                        if causes.contains(&&cause_of(v, &run.debug, GroupBy::Cause)) {
                            row.known_by_cause += 1;
                            return true;
                        }
                        let text = text_of(v).unwrap_or_default();
                        let at = entries.iter().position(|e| e.excuses(v, &text));
                        at.map(|at| entries.swap_remove(at)).is_some()
                    });
                    (row.known, run.violations) = (known, new);
                }
                Err(error) => {
                    let is = |u: &Unchecked| u.program == program && u.build == build && u.kind == kind_of(error);
                    row.excused = self.document.unchecked.iter().any(is);
                }
            }
        }
    }

    /// Known violations of the builds that were checked now and that are no longer there.
    pub fn gone(&self, checked: &[Checked]) -> usize {
        let of_run = |program: &str, build: &str| self.document.known.iter().filter(|e| e.program == program && e.build == build).count();
        let runs = checked.iter().flat_map(|c| c.runs.iter().map(|run| (self.key(&c.program), run)));
        let checked = runs.filter(|(_, run)| run.error.is_none());
        checked
            .map(|(program, run)| of_run(&program, &build_key(run.compiler.as_ref(), run.opt)) + run.known_by_cause - run.known.len())
            .sum()
    }

    /// Takes what was found now in place of what was known of these builds; what is known of programs that are no
    /// longer there goes as well.
    pub fn replace(&mut self, checked: &[Checked], by: Option<GroupBy>) {
        let now = |program: &str, build: &str| {
            let of_program = checked.iter().filter(|c| self.key(&c.program) == program);
            of_program.flat_map(|c| &c.runs).any(|run| build_key(run.compiler.as_ref(), run.opt) == build)
        };
        let stays = |program: &str, build: &str| self.dir.join(program).exists() && !now(program, build);
        let mut known: Vec<BaselineEntry> = self.document.known.iter().filter(|e| stays(&e.program, &e.build)).cloned().collect();
        let mut unchecked: Vec<Unchecked> = self.document.unchecked.iter().filter(|u| stays(&u.program, &u.build)).cloned().collect();
        let mut causes: Vec<KnownCause> = self.document.causes.iter().filter(|c| stays(&c.program, &c.build)).cloned().collect();
        for (program, run) in checked.iter().flat_map(|c| c.runs.iter().map(move |run| (c, run))) {
            let (name, build) = (self.key(&program.program), build_key(run.compiler.as_ref(), run.opt));
            if by == Some(GroupBy::Cause) {
                causes.extend(run.causes.iter().map(|cause| KnownCause {
                    program: name.clone(),
                    build: build.clone(),
                    cause: cause.clone(),
                }));
                unchecked.extend(run.error.iter().map(|e| Unchecked { program: name.clone(), build: build.clone(), kind: e.kind.clone() }));
                continue;
            }
            known.extend(run.violations.iter().map(|v| BaselineEntry {
                program: name.clone(),
                build: build.clone(),
                invariant: v.invariant(),
                line: v.line.0,
                text: program.lines.get(&(v.file.base().to_owned(), v.line.0)).cloned().unwrap_or_default(),
                function: v.function.to_string(),
                variable: v.variable().map(ToString::to_string),
            }));
            unchecked.extend(run.error.iter().map(|e| Unchecked { program: name.clone(), build: build.clone(), kind: e.kind.clone() }));
        }
        known.sort();
        unchecked.sort();
        causes.sort();
        causes.dedup();
        self.document = Document { schema: SCHEMA.to_owned(), known, unchecked, causes };
    }

    /// The file's text: sorted, one entry after another, so that changes read well in a review.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(&self.document)? + "\n")
    }

    /// How many violations are known.
    pub fn known(&self) -> usize {
        self.document.known.len()
    }

    /// How many causes are known.
    pub fn causes(&self) -> usize {
        self.document.causes.len()
    }

    /// How many builds cannot be checked.
    pub fn unchecked(&self) -> usize {
        self.document.unchecked.len()
    }

    /// A program's path from the directory of the baseline, so that the file means the same wherever the command is run.
    fn key(&self, program: &str) -> String {
        let path = std::fs::canonicalize(program).unwrap_or_else(|_| PathBuf::from(program));
        relative(&path, &self.dir).display().to_string()
    }
}

fn directory(path: &Path) -> PathBuf {
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned())
}

/// The way from one absolute directory to a path.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let shared = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_between_two_places_is_found() {
        let way = |path: &str, from: &str| relative(Path::new(path), Path::new(from)).display().to_string();
        assert_eq!(way("/a/b/c.c", "/a/b"), "c.c");
        assert_eq!(way("/a/x/c.c", "/a/b"), "../x/c.c");
        assert_eq!(way("/c.c", "/a/b"), "../../c.c");
    }

    #[test]
    fn a_patch_release_keeps_the_build_and_a_major_one_does_not() {
        let id = |version: &str| CompilerId { path: "gcc".into(), kind: trueline_model::CompilerKind::Gcc, version: version.into() };
        let key = |version: &str| build_key(Some(&id(version)), Some(OptLevel::O2));
        assert_eq!(key("12.2.0"), key("12.3.0"));
        assert_ne!(key("12.2.0"), key("13.1.0"));
    }

    proptest::proptest! {
        #[test]
        fn a_damaged_baseline_is_refused_or_read_and_never_trusted_blindly(at in 0usize..400, byte in proptest::num::u8::ANY, cut in 0usize..400) {
            let sound = format!(
                "{{\"schema\":\"{SCHEMA}\",\"known\":[{{\"program\":\"a.c\",\"build\":\"gcc 12 -O2\",\"invariant\":\"line\",\"line\":3,\"text\":\"x\",\"function\":\"f\"}}],\
                 \"unchecked\":[{{\"program\":\"b.c\",\"build\":\"gcc 12 -O2\",\"kind\":\"hang\"}}]}}"
            );
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("baseline.json");
            std::fs::write(&path, &sound).unwrap();
            let read = Baseline::read(&path).unwrap();
            proptest::prop_assert_eq!((read.known(), read.unchecked()), (1, 1));
            let mut bytes = sound.into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut % bytes.len());
            std::fs::write(&path, bytes).unwrap();
            if let Ok(mut read) = Baseline::read(&path) {
                proptest::prop_assert_eq!(read.gone(&[]), 0);
                // Programs that are not there are no longer known.
                read.replace(&[], None);
                proptest::prop_assert_eq!((read.known(), read.unchecked()), (0, 0));
            }
        }
    }
}
