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
    let mut answers = match readers {
        Some(readers) => {
            let questions = violations.iter().map(|violation| ReaderQuestion { violation, class: String::new() }).collect();
            readings_of(readers, reference, run, questions)
        }
        None => violations.iter().map(|_| Vec::new()).collect(),
    };
    if let Some(readers) = readers {
        readers.dismiss();
    }
    let explained = violations.into_iter().zip(answers.drain(..)).map(|(violation, readings)| PairFinding {
        verdict: verdict(&readings),
        dwarf: excerpt(&run.debug, &violation),
        readings,
        violation,
    });
    explained.collect()
}

/// What every reader says of each violation of a pair, which may be in several files.
pub fn readings_of(readers: &Readers, reference: &Reference, run: &CheckRun, questions: Vec<ReaderQuestion<'_>>) -> Vec<Vec<Reading>> {
    let mut answers: Vec<Vec<Reading>> = questions.iter().map(|_| Vec::new()).collect();
    let of_program = readers.of_program(reference);
    let mut files: BTreeMap<String, Vec<(usize, ReaderQuestion<'_>)>> = BTreeMap::new();
    for (index, question) in questions.into_iter().enumerate() {
        files.entry(question.violation.file.base().to_owned()).or_default().push((index, question));
    }
    for (file, members) in files {
        let (places, questions): (Vec<usize>, Vec<ReaderQuestion<'_>>) = members.into_iter().unzip();
        let of_build = of_program.of_build(run, &file, questions);
        for (at, place) in places.into_iter().enumerate() {
            answers[place] = of_build.at_the_spot(at);
        }
    }
    answers
}
