//! An optimizer may run a line ahead of its condition and throw the result away: conditional moves, hoisting out of an `if`,
//! loops that were turned around. Where the source does not run the line it has no moment of it, and the moments of other
//! visits say nothing. An address that the run comes by more often than the source runs any part of the line, in the same
//! call and the same observable state, is come by where the source's condition is false.

use super::Rule;
use crate::case::{Candidate, Case};
use crate::moments::{Placement, Runs};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "speculated",
    invariants: &[Invariant::Stale],
    reason: "the line runs more often than in the source: ahead of its condition, or for nothing",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let placement = candidate.placed(case).map(|p| &p.placement);
    matches!(placement, Some(Placement::Stale(stale)) if stale.runs == Runs::MoreOften)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};
    use trueline_model::Timing;

    fn verdict(runs: Runs) -> Vec<Verdict> {
        let (mut bench, _) = Bench::with_a_stale_value();
        bench.order(Timing::Late, false, false);
        if let Placement::Stale(stale) = &mut bench.last_placed().placement {
            stale.runs = runs;
        }
        bench.verdicts(Invariant::Stale)
    }

    #[test]
    fn a_line_that_runs_without_its_condition_has_no_moment() {
        assert_eq!(verdict(Runs::MoreOften), [Verdict::Dropped("speculated")]);
        assert_eq!(verdict(Runs::AsInSource), [Verdict::Reported]);
    }
}
