//! A campaign as a list of causes, best first: wrong code, wrong values, frames, lines, losses; within a kind the newest compilers first.

use std::collections::BTreeMap;
use std::fmt::Write;
use trueline_model::FindingId;
use trueline_store::{CauseCount, Store, StoreError};

/// A cause with all that was found of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCause {
    /// The cause, or the class where none is known.
    pub name: String,
    /// Whether triage named it.
    pub explained: bool,
    /// The kind of fault.
    pub kind: String,
    /// The compilers that have it, newest first.
    pub compilers: Vec<String>,
    /// Findings that were kept.
    pub findings: u64,
    /// The first of them, which represents it.
    pub first: FindingId,
    /// How many versions of its family are newer than the newest that has it.
    age: usize,
}

/// What is worst for somebody who debugs comes first.
fn rank(kind: &str) -> usize {
    const ORDER: [&[&str]; 6] = [
        &["wrong-code", "crash", "hang", "explosion"],
        &["value", "parameter", "stale"],
        &["backtrace", "self"],
        &["line", "breakpoint"],
        &["scope", "dwarf", "codegen"],
        &["lost"],
    ];
    ORDER.iter().position(|kinds| kinds.contains(&kind)).unwrap_or(1)
}

/// The causes in a store.
pub fn causes_of(store: &Store) -> Result<Vec<ListedCause>, StoreError> {
    Ok(sort(&store.causes()?))
}

/// Numbers of a version, to be compared one by one.
fn version_of(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn sort(counts: &[CauseCount]) -> Vec<ListedCause> {
    let mut versions: BTreeMap<&str, Vec<Vec<u64>>> = BTreeMap::new();
    for count in counts {
        versions.entry(&count.family).or_default().push(version_of(&count.version));
    }
    let age = |count: &CauseCount| {
        let mut newer: Vec<&Vec<u64>> = versions[count.family.as_str()].iter().filter(|v| **v > version_of(&count.version)).collect();
        newer.sort();
        newer.dedup();
        newer.len()
    };
    type Aged = Vec<(usize, String)>;
    let mut causes: BTreeMap<(&str, &str), (ListedCause, Aged)> = BTreeMap::new();
    for count in counts {
        let new = || {
            let (name, kind) = (count.cause.clone(), count.kind.clone());
            (
                ListedCause {
                    name,
                    explained: count.explained,
                    kind,
                    compilers: Vec::new(),
                    findings: 0,
                    first: count.first,
                    age: age(count),
                },
                Vec::new(),
            )
        };
        let (cause, compilers) = causes.entry((&count.cause, &count.kind)).or_insert_with(new);
        cause.findings += count.findings;
        cause.first = cause.first.min(count.first);
        cause.age = cause.age.min(age(count));
        compilers.push((age(count), format!("{} {}", count.family, count.version)));
    }
    let mut causes: Vec<ListedCause> = causes
        .into_values()
        .map(|(mut cause, mut compilers)| {
            compilers.sort();
            cause.compilers = compilers.into_iter().map(|(_, name)| name).collect();
            cause
        })
        .collect();
    causes.sort_by_key(|c| (rank(&c.kind), !c.explained, c.age, std::cmp::Reverse(c.findings), c.first));
    causes
}

/// The list as text.
pub fn causes_text(causes: &[ListedCause]) -> String {
    let explained = causes.iter().filter(|c| c.explained).count();
    let mut text = format!("{explained} causes, and {} classes without one, best first\n", causes.len() - explained);
    for (number, cause) in causes.iter().enumerate() {
        let state = if cause.explained { "" } else { " (not explained)" };
        let _ = writeln!(text, "{:>4}. {}{state}", number + 1, cause.name);
        let _ = writeln!(text, "      {} findings, first #{} · {}", cause.findings, cause.first.0, cause.compilers.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(cause: &str, kind: &str, family: &str, version: &str, first: i64) -> CauseCount {
        let (cause, kind, family, version) = (cause.to_owned(), kind.to_owned(), family.to_owned(), version.to_owned());
        CauseCount { cause, explained: true, kind, family, version, findings: 3, first: FindingId(first) }
    }

    #[test]
    fn wrong_values_come_before_frames_lines_and_losses_and_new_compilers_before_old() {
        let counts = [
            count("lost", "lost", "gcc", "16.2.0", 1),
            count("line", "line", "clang", "22.1.0", 2),
            count("frame", "backtrace", "gcc", "16.2.0", 3),
            count("old value", "value", "gcc", "9.5.0", 4),
            count("value", "value", "gcc", "16.2.0", 5),
            count("value", "value", "gcc", "9.5.0", 6),
        ];
        let sorted = sort(&counts);
        let names: Vec<&str> = sorted.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["value", "old value", "frame", "line", "lost"]);
        assert_eq!(
            (sorted[0].findings, sorted[0].first, sorted[0].compilers.join(", ").as_str()),
            (6, FindingId(5), "gcc 16.2.0, gcc 9.5.0")
        );
        assert!(causes_text(&sorted).starts_with("5 causes, and 0 classes without one"));
    }
}
