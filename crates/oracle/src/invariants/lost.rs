//! A variable that -O0 has is not shown as optimized out where its value is at hand. What is at hand is found by `check`,
//! with the evidence; a variable without such evidence is not lost, however much one would like to see it.

use super::{ToldBy, is_in_function, variables_of};
use crate::case::{Candidate, Case, Subject};
use std::sync::Arc;
use trueline_model::{Breach, Missing, Observation, Step, Violation};

pub(super) const TOLD_BY: ToldBy = ToldBy::Values;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    for note in &case.effects.lost {
        let missing = Missing { variable: Arc::clone(&note.variable.name), evidence: note.evidence.clone() };
        let violation = Violation {
            file: note.line.file.clone(),
            line: note.line.line,
            function: Arc::clone(&note.variable.function),
            frames: note.frames.clone(),
            pc: Some(note.pc),
            breach: Breach::Lost(missing),
        };
        found(Candidate { violation, subject: Subject::Variable(note.variable.clone()), stop: None });
    }
}

pub(super) fn shows(violation: &Violation, _: &Missing, step: &Step) -> bool {
    let is_shown = variables_of(violation, step).any(|v| matches!(v.observation, Observation::Value(_)));
    let is_gone = variables_of(violation, step).any(|v| v.observation == Observation::OptimizedOut);
    is_in_function(violation, step) && is_gone && !is_shown
}
