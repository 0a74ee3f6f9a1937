//! A line's instructions may run before an assignment that the source has in front of them: scheduling, hoisting. Then the
//! value from before the assignment is right for where the program is. So nothing is said where the assignment's own
//! instructions still come after the stop in the call, where another line that the source has before this one does, or where
//! no assignment is to be found.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::{Invariant, Timing};

pub(super) const RULE: Rule = Rule {
    name: "line-early",
    invariants: &[Invariant::Stale],
    reason: "the line runs early: the assignment, or another line that the source has before it, comes after the stop",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Some(placed) = candidate.placed(case) else { return false };
    match &placed.order {
        Some(order) => order.assignment.shown == Timing::Late && (order.crosses || order.is_moved),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    fn verdict(order: Option<(bool, bool)>) -> Vec<Verdict> {
        let (mut bench, _) = Bench::with_a_stale_value();
        if let Some((crosses, is_moved)) = order {
            bench.order(Timing::Late, crosses, is_moved);
        }
        bench.verdicts(Invariant::Stale)
    }

    #[test]
    fn an_assignment_that_is_still_to_run_cannot_be_shown() {
        assert_eq!(verdict(Some((true, false))), [Verdict::Dropped("line-early")]);
    }

    #[test]
    fn a_line_that_another_one_comes_after_was_moved() {
        assert_eq!(verdict(Some((false, true))), [Verdict::Dropped("line-early")]);
        assert_eq!(verdict(None), [Verdict::Dropped("line-early")]);
    }

    #[test]
    fn an_assignment_that_ran_before_the_stop_must_show() {
        assert_eq!(verdict(Some((false, false))), [Verdict::Reported]);
    }
}
