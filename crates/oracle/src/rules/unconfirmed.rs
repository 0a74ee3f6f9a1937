//! A debugger's stops do not see every value a variable has: the last of a loop counter, those between two statements
//! on one line. A value is called wrong only after -O0 was watched instruction by instruction; where that is not
//! possible (too long a run, an unusual home at -O0), nothing is claimed.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "unconfirmed",
    invariants: &[Invariant::Parameter, Invariant::Value],
    reason: "-O0 could not be watched closely enough to be sure",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Leaf(variable, _) = &candidate.subject else { return false };
    case.witness.testify(variable).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn without_a_witness_no_value_is_called_wrong() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("unconfirmed")]);
    }
}
