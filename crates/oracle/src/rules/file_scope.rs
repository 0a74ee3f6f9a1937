//! What is declared outside of functions is visible in all code of its unit, and of no other. A header's inline function has its
//! only code at -O0 in one unit and is inlined into another: the lines are then in a unit with other globals, which is no claim
//! of the debug information's.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "file-scope",
    invariants: &[Invariant::Scope],
    reason: "the variable is declared outside of functions: it is visible wherever the code of its unit is",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    case.optimized_facts.file_scope.contains(variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};
    use trueline_model::{VarKind, Variable};

    #[test]
    fn globals_of_the_unit_that_a_function_was_inlined_into_are_not_out_of_scope() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.optimized_stop(5, &["main"], &[Variable { kind: VarKind::Global, ..local("count", 9, "1") }]);
        let count = bench.know("", "count", 9);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Reported]);
        bench.optimized_facts.file_scope.insert(count);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Dropped("file-scope")]);
    }
}
