//! A variable may show on the line that declares it, wherever on that line its block begins; macros declare
//! temporaries on the line of their use.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "own-line",
    invariants: &[Invariant::Scope, Invariant::SelfContradiction],
    reason: "the line declares the variable",
    drop,
};

fn drop(candidate: &Candidate, _: &Case<'_>) -> bool {
    matches!(&candidate.subject, Subject::Variable(variable) if variable.decl_line == candidate.violation.line.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn a_declaration_shows_its_own_variable() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.optimized_stop(5, &["main"], &[local("x", 5, "1")]);
        bench.know("main", "x", 5);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Dropped("own-line")]);
    }
}
