//! Value sets are bounded; where some -O0 values were left out, absence from the set proves nothing.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "too-many-values",
    invariants: &[Invariant::Parameter, Invariant::Value],
    reason: "the variable has more -O0 values than are kept",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Leaf(variable, leaf) = &candidate.subject else { return false };
    case.reference.vars.get(variable).and_then(|v| v.leaves.get(*leaf)).is_some_and(|l| l.overflow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn an_overfull_set_proves_nothing() {
        let mut bench = Bench::new();
        for i in 0..70_000 {
            bench.reference_stop(5, &["main"], &[local("x", 3, &i.to_string())]);
        }
        bench.optimized_stop(5, &["main"], &[local("x", 3, "-1")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["1"], &[5], &[]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("too-many-values")]);
    }
}
