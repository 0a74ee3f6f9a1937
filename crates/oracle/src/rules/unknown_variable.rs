//! A variable that the -O0 build does not describe at all has no scope there to compare with.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "unknown-variable",
    invariants: &[Invariant::Scope],
    reason: "the -O0 build does not know the variable, so its scope cannot be compared",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    !case.reference_facts.variables.contains(variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn a_variable_that_o0_does_not_know_is_not_judged() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "1")]);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Dropped("unknown-variable")]);
    }
}
