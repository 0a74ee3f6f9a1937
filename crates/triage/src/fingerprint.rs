//! The vector over compiler versions that identifies a bug, clusters of equal ones, and the summary that
//! sets violations against unique fingerprints (*Who's Debugging the Debuggers?*, section 2.4 and Table 1).

use crate::attribution::{AttributeError, Attribution, attribute};
use crate::probe::{CachedProbe, ProbeError, Setting};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trueline_model::{Fingerprint, FingerprintEntry, OptLevel};

/// What one version says.
#[derive(Debug)]
pub struct Level {
    /// The version, `clang 16.0.6`.
    pub version: String,
    /// Its component of the vector.
    pub entry: FingerprintEntry,
    /// The full answer, where there is one.
    pub attribution: Option<Attribution>,
    /// Why this version could not be judged.
    pub reason: Option<String>,
}

/// Searches every version. Versions that lack the fault or do not build the program are components too.
pub fn fingerprint(cached: &CachedProbe<'_>, settings: &[Setting]) -> Result<(Fingerprint, Vec<Level>), ProbeError> {
    let mut levels = Vec::new();
    for setting in settings {
        let version = setting.compiler.id.to_string();
        let level = match attribute(cached, setting) {
            Ok(attribution) => {
                let entry = attribution.fingerprint_name().map_or(FingerprintEntry::Unattributed, FingerprintEntry::Pass);
                Level { version, entry, attribution: Some(attribution), reason: None }
            }
            Err(AttributeError::NotPresent { .. }) => Level { version, entry: FingerprintEntry::Absent, attribution: None, reason: None },
            Err(AttributeError::Unbuildable { reason, .. }) => {
                Level { version, entry: FingerprintEntry::Unbuildable, attribution: None, reason: Some(reason) }
            }
            Err(AttributeError::NoSwitches(reason)) => {
                Level { version, entry: FingerprintEntry::Unattributed, attribution: None, reason: Some(reason) }
            }
            Err(AttributeError::Probe(error)) => return Err(error),
        };
        levels.push(level);
    }
    let vector = levels.iter().map(|l| (l.version.clone(), l.entry.clone())).collect();
    Ok((Fingerprint(vector), levels))
}

/// Findings that are, with high probability, one bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Counted from 1 in order of first appearance.
    pub number: usize,
    /// The answers that all its findings share.
    pub fingerprint: Fingerprint,
    /// Indices of its members in what was clustered.
    pub members: Vec<usize>,
}

/// Groups equal fingerprints. A vector that names no pass at all identifies nothing by itself; `kind` (the
/// invariant) then joins it, so that unrelated unattributed faults do not become one bug.
pub fn cluster(findings: &[(Fingerprint, String)]) -> Vec<Cluster> {
    let names_a_pass = |f: &Fingerprint| f.0.values().any(|e| matches!(e, FingerprintEntry::Pass(_)));
    let mut clusters: Vec<(Option<&str>, Cluster)> = Vec::new();
    for (index, (vector, kind)) in findings.iter().enumerate() {
        let key = (!names_a_pass(vector)).then_some(kind.as_str());
        match clusters.iter_mut().find(|(k, c)| *k == key && c.fingerprint == *vector) {
            Some((_, cluster)) => cluster.members.push(index),
            None => {
                let number = clusters.len() + 1;
                clusters.push((key, Cluster { number, fingerprint: vector.clone(), members: vec![index] }));
            }
        }
    }
    clusters.into_iter().map(|(_, cluster)| cluster).collect()
}

/// Violations against unique fingerprints, per level and invariant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Level, then invariant: how many violations, how many unique fingerprints.
    pub cells: BTreeMap<OptLevel, BTreeMap<String, (usize, usize)>>,
}

/// Counts findings and distinct fingerprints by level and kind.
pub fn summarise<'f>(findings: impl IntoIterator<Item = (OptLevel, String, &'f Fingerprint)>) -> Summary {
    let mut seen: BTreeMap<OptLevel, BTreeMap<String, (usize, BTreeSet<&Fingerprint>)>> = BTreeMap::new();
    for (opt, kind, vector) in findings {
        let cell = seen.entry(opt).or_default().entry(kind).or_default();
        cell.0 += 1;
        cell.1.insert(vector);
    }
    let counted =
        |kinds: BTreeMap<String, (usize, BTreeSet<&Fingerprint>)>| kinds.into_iter().map(|(k, (n, set))| (k, (n, set.len()))).collect();
    Summary { cells: seen.into_iter().map(|(opt, kinds)| (opt, counted(kinds))).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::PassName;

    fn vector(entries: &[(&str, FingerprintEntry)]) -> Fingerprint {
        Fingerprint(entries.iter().map(|(v, e)| ((*v).to_owned(), e.clone())).collect())
    }

    #[test]
    fn equal_vectors_are_one_bug_and_nameless_ones_stay_apart_by_invariant() {
        let pass = |name: &str| FingerprintEntry::Pass(PassName(name.to_owned()));
        let licm = vector(&[("clang 14", pass("LICMPass")), ("clang 16", FingerprintEntry::Absent)]);
        let nameless = vector(&[("clang 14", FingerprintEntry::Unattributed), ("clang 16", FingerprintEntry::Unattributed)]);
        let findings = [
            (licm.clone(), "line".to_owned()),
            (nameless.clone(), "line".to_owned()),
            (licm.clone(), "parameter".to_owned()),
            (nameless.clone(), "scope".to_owned()),
            (nameless.clone(), "line".to_owned()),
        ];
        let members: Vec<Vec<usize>> = cluster(&findings).into_iter().map(|c| c.members).collect();
        assert_eq!(members, [vec![0, 2], vec![1, 4], vec![3]]);
        let summary = summarise([(OptLevel::O2, "line".to_owned(), &licm), (OptLevel::O2, "line".to_owned(), &licm)]);
        assert_eq!(summary.cells[&OptLevel::O2]["line"], (2, 1));
    }
}
