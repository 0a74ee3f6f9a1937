//! Watched instruction by instruction, -O0 does give the variable this value, between two stops of the debugger.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "intermediate-value",
    invariants: &[Invariant::Parameter, Invariant::Value],
    reason: "-O0 gives the variable this value between two stops",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let (Subject::Leaf(variable, leaf), Some(held)) = (&candidate.subject, candidate.violation.breach.wrong_value()) else { return false };
    let Some(testimony) = case.witness.testify(variable) else { return false };
    testimony.values.get(*leaf).is_some_and(|set| set.contains(&**held.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn a_value_between_two_stops_is_a_value() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["1", "2"], &[5], &[]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("intermediate-value")]);
    }
}
