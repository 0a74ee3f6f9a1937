//! Ill-formed debug information: a location is given, and following it as the standard says fails.

use super::{ToldBy, at_stop, variables_of};
use crate::case::{Candidate, Case, Subject};
use std::sync::Arc;
use trueline_model::{Breach, IllFormed, Observation, Step, Violation};

pub(super) const TOLD_BY: ToldBy = ToldBy::Values;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    for (key, variable) in &case.optimized.vars {
        for sighting in &variable.unreadable {
            let Some(line) = case.optimized.stop(sighting.0).line.clone() else { continue };
            let breach = Breach::Dwarf(IllFormed { variable: Arc::clone(&key.name) });
            found(at_stop(case, &line, sighting.0, Subject::Variable(key.clone()), breach));
        }
    }
}

pub(super) fn shows(violation: &Violation, _: &IllFormed, step: &Step) -> bool {
    variables_of(violation, step).any(|v| v.observation == Observation::Unreadable)
}
