//! The -O0 build was run twice. What its own two runs do not agree on depends on more than the program: the clock, a process number,
//! the order of threads, an address on the stack. Nothing follows from a third run being different again.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "differs-between-runs",
    invariants: &[
        Invariant::Line,
        Invariant::Backtrace,
        Invariant::Scope,
        Invariant::Parameter,
        Invariant::Value,
        Invariant::Stale,
        Invariant::Breakpoint,
    ],
    reason: "two runs at -O0 differ here too",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let unsteady = &case.reference_facts.unsteady;
    match candidate.scalar(case) {
        Some((variable, index)) => unsteady.scalars.contains(&(variable.clone(), index)),
        None => unsteady.lines.contains(&candidate.key()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line, local};

    #[test]
    fn what_two_runs_at_o0_differ_on_is_not_held_against_a_build() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        bench.optimized_stop(5, &["odd", "main"], &[]);
        bench.optimized_stop(6, &["main"], &[local("x", 3, "2")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["1"], &[5, 6], &[]);
        assert_eq!(bench.verdicts_of(&[Invariant::Backtrace, Invariant::Value])[..2], [Verdict::Reported, Verdict::Reported]);
        bench.reference_facts.unsteady.lines.insert(line(5));
        bench.reference_facts.unsteady.scalars.insert((x, 0));
        let left: Vec<Verdict> = bench.verdicts_of(&[Invariant::Backtrace, Invariant::Value]);
        assert_eq!(left.iter().filter(|v| **v == Verdict::Dropped("differs-between-runs")).count(), 2, "{left:?}");
    }
}
