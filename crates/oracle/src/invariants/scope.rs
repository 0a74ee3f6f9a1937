//! SI: what is visible at a stop is visible at -O0 stops on the same line. The literal definition asks
//! for every -O0 stop; a rule relaxes that to some.

use super::at_stop;
use crate::case::{Candidate, Case, Subject};
use std::collections::BTreeSet;
use std::sync::Arc;
use trueline_model::Invariant;

pub(super) fn list(case: &Case<'_>, found: &mut Vec<Candidate>) {
    for (key, digest) in &case.optimized.lines {
        let Some(reference) = case.reference.lines.get(key) else { continue };
        let mut strangers: BTreeSet<&Arc<str>> = BTreeSet::new();
        for variable in digest.visible.difference(&reference.always_visible) {
            // A function that never stands on this line brings all of its variables: one of them tells it.
            let is_native = case.reference.stops_on(key).any(|s| s.stack.first().is_some_and(|a| a.function == variable.function));
            if !is_native && !strangers.insert(&variable.function) {
                continue;
            }
            // The digest keeps visibility per line; the stop to show is one in the variable's function.
            let shows = |id: &&crate::StopId| case.optimized.stop(**id).stack.first().is_some_and(|a| a.function == variable.function);
            let Some(stop) = digest.stops.iter().find(shows) else { continue };
            let mut candidate = at_stop(case, Invariant::Scope, key, *stop, Subject::Variable(variable.clone()));
            candidate.violation.variable = Some(Arc::clone(&variable.name));
            candidate.violation.expected = Some(
                format!(
                    "`{}` of `{}` (declared on line {}) is not in scope on this line",
                    variable.name, variable.function, variable.decl_line
                )
                .into(),
            );
            found.push(candidate);
        }
    }
}
