//! An assignment that left no code may still have a row: gcc marks where each statement begins. Where that row comes after the
//! stop, the stop's line was moved in front of the assignment (an address that was hoisted out of a loop, say), and the value
//! from before is right for where the program is. A late location is another matter: there the row comes before the stop.

use super::Rule;
use crate::case::{Candidate, Case};
use crate::moments::{Beginning, Code};
use trueline_model::{Invariant, Timing};

pub(super) const RULE: Rule = Rule {
    name: "begins-later",
    invariants: &[Invariant::Stale],
    reason: "the assignment left no code, and the line table has its line after the stop, before the stop's line comes again",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let order = candidate.placed(case).and_then(|p| p.order.as_ref());
    order.is_some_and(|o| o.assignment.shown == Timing::Late && o.code == Code::Gone && o.beginning == Beginning::AfterStop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    #[test]
    fn an_assignment_without_code_is_where_its_row_is() {
        for (shown, code, beginning, verdict) in [
            (Timing::Late, Code::Gone, Beginning::AfterStop, Verdict::Dropped("begins-later")),
            (Timing::Late, Code::Gone, Beginning::Unseen, Verdict::Reported),
            (Timing::Late, Code::Runs, Beginning::AfterStop, Verdict::Reported),
            (Timing::Early, Code::Gone, Beginning::AfterStop, Verdict::Dropped("early-unseen")),
        ] {
            let (mut bench, _) = Bench::with_a_stale_value();
            bench.order(shown, false, false);
            if let Some(order) = &mut bench.last_placed().order {
                (order.code, order.beginning) = (code, beginning);
            }
            assert_eq!(bench.verdicts(Invariant::Stale), [verdict]);
        }
    }
}
