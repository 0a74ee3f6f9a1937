//! A pair of binaries that somebody built: what can be known of its findings without a compiler. The readers say whose fault
//! each is, and the debug information shows what is wrong. No pass is searched, since nothing can be built again.

use crate::readers::{ReaderQuestion, Readers};
use std::collections::BTreeMap;
use trueline_check::{CheckRun, Reference};
use trueline_model::{Reading, Verdict, Violation};
use trueline_triage::{excerpt, verdict};

/// A finding of a pair.
#[derive(Clone, Debug)]
pub struct PairFinding {
    /// What is wrong.
    pub violation: Violation,
    /// What each reader said.
    pub readings: Vec<Reading>,
    /// Whose fault, and why.
    pub verdict: Option<(Verdict, String)>,
    /// The wrong part of the debug information.
    pub dwarf: Option<String>,
}

/// Explains findings of a pair. The debuggers look at each finding's address.
pub fn explain_pair(readers: Option<&Readers>, reference: &Reference, run: &CheckRun, violations: Vec<Violation>) -> Vec<PairFinding> {
    let mut answers: BTreeMap<usize, Vec<Reading>> = BTreeMap::new();
    if let Some(readers) = readers {
        let of_program = readers.of_program(reference);
        let mut files: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, violation) in violations.iter().enumerate() {
            files.entry(violation.file.base().to_owned()).or_default().push(index);
        }
        for (file, members) in &files {
            let questions = members.iter().map(|i| ReaderQuestion { violation: &violations[*i], class: String::new() }).collect();
            let of_build = of_program.of_build(run, file, questions);
            answers.extend(members.iter().enumerate().map(|(at, index)| (*index, of_build.at_the_spot(at))));
        }
        readers.dismiss();
    }
    let explained = violations.into_iter().enumerate().map(|(index, violation)| {
        let readings = answers.remove(&index).unwrap_or_default();
        PairFinding { verdict: verdict(&readings), dwarf: excerpt(&run.debug, &violation), readings, violation }
    });
    explained.collect()
}
