//! A variable shows a value that it has elsewhere in the run, and at no moment that the stop can be in. Which moments those
//! are takes runs of both builds: `check` makes them for what the traces leave in doubt, and the placing is in `moments`.

use super::{ToldBy, at_stop, value, views};
use crate::case::{Candidate, Case, Subject};
use crate::moments::Placement;
use std::sync::Arc;
use trueline_model::{Assignment, Breach, Listed, OtherMoment, Step, Violation};

/// Values that are kept of those that the moments have.
const LISTED: usize = 4;

pub(super) const TOLD_BY: ToldBy = value::TOLD_BY;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    for (number, placed) in case.placed.iter().enumerate() {
        let (suspect, Placement::Stale(stale)) = (&placed.suspect, &placed.placement) else { continue };
        let Some(digest) = case.optimized.lines.get(&suspect.line) else { continue };
        let is_it = |s: &&crate::digest::StopId| case.optimized.stop(**s).pc == suspect.pc;
        let Some(stop) = digest.stops.iter().find(is_it) else { continue };
        let assignment = placed.order.as_ref().map(|o| o.assignment);
        let breach = OtherMoment {
            variable: Arc::clone(&suspect.variable.name),
            element: suspect.is_part.then_some(suspect.leaf),
            value: Arc::clone(&suspect.value),
            expected: Listed::first_of(stale.expected.iter().cloned(), LISTED),
            assignment: assignment.and_then(|a| Some(Assignment { line: a.line?, shown: a.shown })),
            location: placed.location.clone(),
        };
        found(at_stop(case, &suspect.line, *stop, Subject::Moment(number), Breach::Stale(breach)));
    }
}

pub(super) fn shows(violation: &Violation, _: &OtherMoment, step: &Step) -> bool {
    value::shows_value(violation, step) && views(step).any(|(line, _)| line == Some(violation.line))
}
