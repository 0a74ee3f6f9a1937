//! clang describes a function that was inlined once, and its copies refer to that description; the blocks inside the copies do
//! not say which described blocks they are copies of. gdb (and the native engine, reading as gdb does) then takes every
//! described block for one that the copy leaves out, and shows its variables all over the copy, beside those of the copy's
//! own blocks. The debug information gives no such address to the variable; the display is the reader's.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "inherited-block",
    invariants: &[Invariant::Scope, Invariant::SelfContradiction],
    reason: "no block that holds the variable has this address; the reader takes it from the description of the inlined function",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    let Some(ranges) = case.optimized_facts.blocks.get(variable) else { return false };
    // What is visible is kept per line: any of its stops may be the one that shows the variable.
    let holds = |pc: u64| ranges.iter().any(|(low, high)| (*low..*high).contains(&pc));
    !case.optimized.stops_on(&candidate.key()).any(|s| s.stack.first().is_some_and(|a| a.function == variable.function) && holds(s.pc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn a_variable_shown_outside_all_of_its_blocks_is_the_readers_doing() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        let pc = bench.optimized_stop(5, &["main"], &[local("x", 7, "1")]);
        let x = bench.know("main", "x", 7);
        bench.optimized_facts.blocks.insert(x.clone(), vec![(pc + 8, pc + 16)]);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Dropped("inherited-block")]);
        bench.optimized_facts.blocks.insert(x, vec![(pc, pc + 16)]);
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Reported]);
    }
}
