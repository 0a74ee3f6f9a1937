//! When a block's code is optimized away the compilers leave its variables in a block without addresses. By the
//! standard such a block is nowhere in scope; gdb (and the native engine, reading as gdb does) lists its variables in the
//! block around it. That is the reader's choice, and the values are all optimized out.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "block-without-code",
    invariants: &[Invariant::Scope, Invariant::SelfContradiction],
    reason: "the variable's block has no code left in the optimized build; the reader lists it in the block around it",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    case.optimized_facts.codeless.contains(variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn variables_of_a_vanished_block_are_not_out_of_scope() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.optimized_stop(5, &["main"], &[local("x", 7, "1")]);
        let x = bench.know("main", "x", 7);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Reported]);
        bench.optimized_facts.codeless.insert(x);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Dropped("block-without-code")]);
    }
}
