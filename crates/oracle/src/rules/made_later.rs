//! The instruction that makes an assignment may carry the line after it, when the two were combined or one was moved. A stop
//! on it stands before the assignment, whatever its line says, and the value from before is right for where the program is.
//! So nothing is said where the variable shows the right value next, and the instruction right in front of that place
//! computes it. A copy from one register to another computes nothing: there the value was at hand.

use super::Rule;
use crate::case::{Candidate, Case};
use crate::moments::Making;
use trueline_model::{Invariant, Timing};

pub(super) const RULE: Rule = Rule {
    name: "made-later",
    invariants: &[Invariant::Stale],
    reason: "an instruction that runs after the stop makes the value that should be shown, under another line than the assignment's",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let order = candidate.placed(case).and_then(|p| p.order.as_ref());
    order.is_some_and(|order| order.assignment.shown == Timing::Late && order.making == Making::AfterStop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    #[test]
    fn a_value_that_is_made_under_the_next_line_cannot_be_shown_before() {
        for (shown, making, verdict) in [
            (Timing::Late, Making::AfterStop, Verdict::Dropped("made-later")),
            (Timing::Late, Making::Unseen, Verdict::Reported),
            (Timing::Early, Making::AfterStop, Verdict::Reported),
        ] {
            let (mut bench, _) = Bench::with_a_stale_value();
            bench.order(shown, false, false);
            if let Some(order) = &mut bench.last_placed().order {
                order.making = making;
            }
            assert_eq!(bench.verdicts(Invariant::Stale), [verdict]);
        }
    }
}
