//! LI: the lines stepped on in the optimized trace are a subset of those stepped on at -O0.

use super::{at_stop, shared_rows};
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) fn list(case: &Case<'_>, found: &mut Vec<Candidate>) {
    for (key, digest) in &case.optimized.lines {
        if case.reference.lines.contains_key(key) {
            continue;
        }
        // Every stop counts: a rule may explain one address and not another.
        for stop in &digest.stops {
            let mut candidate = at_stop(case, Invariant::Line, key, *stop, Subject::Stop);
            candidate.violation.expected = Some("never executed at -O0".into());
            candidate.violation.why = shared_rows(case, case.optimized.stop(*stop).pc);
            found.push(candidate);
        }
    }
}
