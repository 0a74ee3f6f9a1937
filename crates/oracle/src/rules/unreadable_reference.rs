//! Where -O0 cannot be read either, the reader lacks something (a type it does not know, a value too large), and
//! the debug information is not to blame.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "unreadable-reference",
    invariants: &[Invariant::Dwarf],
    reason: "the variable cannot be read at -O0 either, so the reader may be at fault",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    case.reference.vars.get(variable).is_none_or(|v| !v.ever_available || !v.unreadable.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};
    use trueline_model::{Observation, Variable};

    #[test]
    fn what_o0_cannot_read_either_is_the_readers_fault() {
        let mut bench = Bench::new();
        let broken = Variable { observation: Observation::Unreadable, ..local("x", 3, "1") };
        bench.optimized_stop(5, &["main"], std::slice::from_ref(&broken));
        bench.reference_stop(5, &["main"], &[broken]);
        assert_eq!(bench.verdicts(Invariant::Dwarf), [Verdict::Dropped("unreadable-reference")]);
    }
}
