//! A value that shows before its assignment is wrong when the assignment is still to run. Where the assignment left no code,
//! the line may as well run late: its instructions were moved behind the place where the debug information makes the
//! assignment. Unrolled loops end like that.

use super::Rule;
use crate::case::{Candidate, Case};
use crate::moments::Code;
use trueline_model::{Invariant, Timing};

pub(super) const RULE: Rule = Rule {
    name: "early-unseen",
    invariants: &[Invariant::Stale],
    reason: "the assignment left no code: whether its value is early or the line late cannot be told",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let order = candidate.placed(case).and_then(|p| p.order.as_ref());
    order.is_some_and(|order| order.assignment.shown == Timing::Early && order.code == Code::Gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    #[test]
    fn only_an_assignment_that_is_still_to_run_is_early_for_certain() {
        for (shown, code, verdict) in [
            (Timing::Early, Code::Gone, Verdict::Dropped("early-unseen")),
            (Timing::Early, Code::Runs, Verdict::Reported),
            (Timing::Late, Code::Gone, Verdict::Reported),
        ] {
            let (mut bench, _) = Bench::with_a_stale_value();
            bench.order(shown, false, false);
            if let Some(order) = &mut bench.last_placed().order {
                order.code = code;
            }
            assert_eq!(bench.verdicts(Invariant::Stale), [verdict]);
        }
    }
}
