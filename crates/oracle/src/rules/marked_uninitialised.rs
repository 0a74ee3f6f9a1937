//! gcc marks locations of variables that the source has not given a value yet (`DW_OP_GNU_uninit`); gdb prints such a value as
//! `[uninitialized]`. Nothing is claimed about it.

use super::Rule;
use crate::case::{Candidate, Case};
use std::sync::Arc;
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "marked-uninitialised",
    invariants: &[Invariant::Parameter, Invariant::Value, Invariant::Stale],
    reason: "the debug information itself marks the value as not initialised here",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let (Some((variable, _)), Some(stop)) = (candidate.scalar(case), candidate.stop(case)) else { return false };
    let ranges = case.optimized_facts.uninitialised.get(&(Arc::clone(&variable.name), variable.decl_line));
    ranges.is_some_and(|r| r.iter().any(|(low, high)| (*low..*high).contains(&stop.pc)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn what_the_compiler_marks_as_uninitialised_is_no_claim() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        let pc = bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["1"], &[5], &[]);
        bench.optimized_facts.uninitialised.insert(("x".into(), 3), vec![(pc, pc + 4)]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("marked-uninitialised")]);
        bench.optimized_facts.uninitialised.insert(("x".into(), 3), vec![(pc + 4, pc + 8)]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Reported]);
    }
}
