//! A line's instructions may run after an assignment that the source has behind them: sinking, scheduling. Then the value from
//! after the assignment is right for where the program is. So nothing is said where the assignment's own instructions ran
//! before the stop, or where another line that the source has after this one did.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::{Invariant, Timing};

pub(super) const RULE: Rule = Rule {
    name: "line-late",
    invariants: &[Invariant::Stale],
    reason: "the line runs late: the assignment, or another line that the source has after it, ran before the stop",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let order = candidate.placed(case).and_then(|p| p.order.as_ref());
    order.is_some_and(|order| order.assignment.shown == Timing::Early && (order.crosses || order.is_moved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    fn verdict(order: Option<(bool, bool)>) -> Vec<Verdict> {
        let (mut bench, _) = Bench::with_a_stale_value();
        if let Some((crosses, is_moved)) = order {
            bench.order(Timing::Early, crosses, is_moved);
        }
        bench.verdicts(Invariant::Stale)
    }

    #[test]
    fn an_assignment_that_ran_already_may_show() {
        assert_eq!(verdict(Some((true, false))), [Verdict::Dropped("line-late")]);
    }

    #[test]
    fn a_line_that_another_one_came_before_was_moved() {
        assert_eq!(verdict(Some((false, true))), [Verdict::Dropped("line-late")]);
    }

    #[test]
    fn an_assignment_that_did_not_run_must_not_show() {
        assert_eq!(verdict(Some((false, false))), [Verdict::Reported]);
    }
}
