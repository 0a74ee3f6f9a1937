//! A variable may have one value twice: a counter of two loops, say. Then a value that looks like the one from before an
//! assignment may be the one of a later assignment, and the line was moved behind that: a store that sinks below a loop, a test
//! that two loops share. So the assignment on the other side of the stop is asked in the same way as the likely one. Where it
//! left no code, a line of the source in between tells whether the stop's line is still on its own side.

use super::Rule;
use crate::case::{Candidate, Case};
use crate::moments::{Code, Kept};
use trueline_model::{Invariant, Timing};

pub(super) const RULE: Rule = Rule {
    name: "other-side",
    invariants: &[Invariant::Stale],
    reason: "the variable has the value on the line's other side too, and the line may have been moved there",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Some(order) = candidate.placed(case).and_then(|p| p.other.as_ref()) else { return false };
    let is_unseen = order.assignment.shown == Timing::Early && order.code == Code::Gone && order.kept == Kept::Unknown;
    order.crosses || order.is_moved || is_unseen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    fn verdict(other: Option<(Timing, bool, Code, Kept)>) -> Vec<Verdict> {
        let (mut bench, _) = Bench::with_a_stale_value();
        bench.order(Timing::Late, false, false);
        if let Some((shown, is_moved, code, kept)) = other {
            bench.other(shown, is_moved, code, kept);
        }
        bench.verdicts(Invariant::Stale)
    }

    #[test]
    fn a_line_that_was_moved_behind_a_later_assignment_shows_that_one() {
        let dropped = [Verdict::Dropped("other-side")];
        assert_eq!(verdict(Some((Timing::Early, true, Code::Runs, Kept::Unknown))), dropped);
        assert_eq!(verdict(Some((Timing::Early, false, Code::Gone, Kept::Unknown))), dropped);
    }

    #[test]
    fn a_line_that_kept_its_place_does_not() {
        assert_eq!(verdict(None), [Verdict::Reported]);
        assert_eq!(verdict(Some((Timing::Early, false, Code::Runs, Kept::Unknown))), [Verdict::Reported]);
        assert_eq!(verdict(Some((Timing::Early, false, Code::Gone, Kept::ByLineBetween))), [Verdict::Reported]);
    }
}
