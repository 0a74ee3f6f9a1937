//! The literal definition compares with every -O0 stop on the line. A line can hold the end of one block and the
//! beginning of another: a variable that is in scope *somewhere* on the line at -O0 is not out of scope there.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "visible-on-line",
    invariants: &[Invariant::Scope],
    reason: "the variable is in scope somewhere on this line at -O0",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    let key = candidate.key();
    let stopped = case.reference.lines.get(&key).is_some_and(|l| l.visible.contains_key(variable));
    stopped || case.reference_facts.scope.get(&key).is_some_and(|s| s.contains(variable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line, local};

    #[test]
    fn a_variable_in_scope_on_part_of_the_line_is_in_scope() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "1")]);
        let x = bench.know("main", "x", 3);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Reported]);
        bench.reference_facts.scope.entry(line(5)).or_default().insert(x);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Dropped("visible-on-line")]);
    }
}
