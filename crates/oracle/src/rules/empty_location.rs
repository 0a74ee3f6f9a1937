//! gcc writes locations that hold at no address: they are for a debugger that tells several lines at one address apart. gdb
//! takes such a location for the value where a function begins. What it shows there is gdb's doing.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "empty-location",
    invariants: &[Invariant::Stale],
    reason: "the location holds at no address: gdb alone reads it, where a function begins",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let location = candidate.placed(case).and_then(|p| p.location.as_ref());
    location.is_some_and(|l| l.low == l.high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};
    use trueline_model::Timing;

    #[test]
    fn a_location_that_holds_nowhere_is_no_claim() {
        let (mut bench, stop) = Bench::with_a_stale_value();
        bench.order(Timing::Late, false, false);
        assert_eq!(bench.verdicts(Invariant::Stale), [Verdict::Reported]);
        let span = trueline_model::LocationSpan { low: stop, high: stop, expression: "reg5".into(), instructions: 0, lines: 0 };
        bench.last_placed().location = Some(span);
        assert_eq!(bench.verdicts(Invariant::Stale), [Verdict::Dropped("empty-location")]);
    }
}
