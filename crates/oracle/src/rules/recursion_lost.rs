//! A function that calls itself may become a loop. Then one call of the optimized build is several of the source, and which of
//! them a stop is in cannot be told.

use super::Rule;
use crate::case::{Candidate, Case};
use crate::visits::Recursion;
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "recursion-lost",
    invariants: &[Invariant::Stale],
    reason: "the function calls itself, and the optimized build does not make the same calls",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    candidate.placed(case).is_some_and(|p| p.suspect.recursion == Recursion::Lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};
    use trueline_model::Timing;

    #[test]
    fn a_call_that_became_a_loop_has_many_moments_in_one() {
        let (mut bench, _) = Bench::with_a_stale_value();
        bench.order(Timing::Late, false, false);
        assert_eq!(bench.verdicts(Invariant::Stale), [Verdict::Reported]);
        bench.last_placed().suspect.recursion = Recursion::Lost;
        assert_eq!(bench.verdicts(Invariant::Stale), [Verdict::Dropped("recursion-lost")]);
    }
}
