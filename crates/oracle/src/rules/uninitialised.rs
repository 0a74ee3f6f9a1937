//! Before its first assignment a variable has no value, so none shown is wrong. A scalar counts as initialised on a
//! line when it is so, at -O0, on every visit of that line; a line that -O0 does not visit in that function says nothing.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "uninitialised",
    invariants: &[Invariant::Parameter, Invariant::Value],
    reason: "at -O0 the variable is not (always) initialised on this line",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Leaf(variable, leaf) = &candidate.subject else { return false };
    let Some(testimony) = case.witness.testify(variable) else { return false };
    let key = candidate.key();
    let is_global = variable.function.is_empty();
    !is_global && (!testimony.lines.contains(&key) || testimony.uninitialised_on.contains(&(key, *leaf)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn before_its_first_assignment_no_value_is_wrong() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["1"], &[5], &[5]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("uninitialised")]);
        bench.testify(&x, &["1"], &[4], &[]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("uninitialised")]);
        bench.testify(&x, &["1"], &[5], &[4]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Reported]);
    }
}
