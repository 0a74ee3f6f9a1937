//! A variable that lives at one fixed place in memory for all of its scope shows what memory holds. Stores may be
//! delayed, merged or doubled by right, so such a value is a fact about the code, not a claim of the debug information.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use crate::facts::Home;
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "fixed-home",
    invariants: &[Invariant::Parameter, Invariant::Value, Invariant::Stale, Invariant::Dwarf],
    reason: "the variable has one fixed place in memory: what is shown is what the code stored so far",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let variable = match &candidate.subject {
        Subject::Variable(variable) => variable,
        _ => match candidate.scalar(case) {
            Some((variable, _)) => variable,
            None => return false,
        },
    };
    case.optimized_facts.homes.get(variable) == Some(&Home::Memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn memory_shows_what_was_stored() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["1"], &[5], &[]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Reported]);
        bench.optimized_facts.homes.insert(x, Home::Memory);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("fixed-home")]);
    }
}
