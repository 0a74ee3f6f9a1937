//! In a loop a store may be moved over a line by right, and then the observable state of a stop is that of another visit of
//! the line. Where the variable has the value on some visit of the line in the same call, the state alone does not decide:
//! the debugger must stop on the line equally often in both builds, and the count of stops must say what the state says.

use super::Rule;
use crate::case::{Candidate, Case};
use crate::moments::{Iteration, Placement};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "other-visit",
    invariants: &[Invariant::Stale],
    reason: "the variable has the value on another visit of the line, and which visit this is cannot be told",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let placement = candidate.placed(case).map(|p| &p.placement);
    matches!(placement, Some(Placement::Stale(stale)) if stale.iteration == Iteration::Doubtful)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};
    use trueline_model::Timing;

    #[test]
    fn a_value_of_another_iteration_is_stale_only_when_the_iteration_is_known() {
        for (iteration, verdict) in [
            (Iteration::Doubtful, Verdict::Dropped("other-visit")),
            (Iteration::Counted, Verdict::Reported),
            (Iteration::Any, Verdict::Reported),
        ] {
            let mut bench = Bench::new();
            bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
            bench.reference_stop(6, &["main"], &[local("x", 3, "2")]);
            let stop = bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
            let x = bench.know("main", "x", 3);
            bench.place(stop, &x, "2", "1", iteration);
            bench.order(Timing::Late, false, false);
            assert_eq!(bench.verdicts(Invariant::Stale), [verdict]);
        }
    }
}
