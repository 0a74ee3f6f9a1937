//! Ill-formed debug information: a location is given, and following it as the standard says fails.

use super::at_stop;
use crate::case::{Candidate, Case, Subject};
use std::sync::Arc;
use trueline_model::Invariant;

pub(super) fn list(case: &Case<'_>, found: &mut Vec<Candidate>) {
    for (key, variable) in &case.optimized.vars {
        for sighting in &variable.unreadable {
            let Some(line) = case.optimized.stop(sighting.0).line.clone() else { continue };
            let mut candidate = at_stop(case, Invariant::Dwarf, &line, sighting.0, Subject::Variable(key.clone()));
            candidate.violation.variable = Some(Arc::clone(&key.name));
            candidate.violation.expected = Some("a location that can be followed, or none".into());
            candidate.violation.why = Some("its location at this address cannot be evaluated or read".into());
            found.push(candidate);
        }
    }
}
