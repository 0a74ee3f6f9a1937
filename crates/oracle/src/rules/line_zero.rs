//! The compiler marked the address with line 0, "no line"; gdb drops such rows, and the address inherits the line
//! of the row before. The debug information is right; the display is the debugger's.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "line-zero",
    invariants: &[Invariant::Line, Invariant::Backtrace, Invariant::SelfContradiction],
    reason: "the line table says line 0 here; the line shown is inherited from the row before",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    candidate.stop(case).is_some_and(|s| case.optimized_facts.is_line_zero(s.pc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line};

    #[test]
    fn an_inherited_line_is_the_debuggers_doing() {
        let mut bench = Bench::new();
        bench.reference_facts.rows.insert(line(7));
        let pc = bench.optimized_stop(7, &["main"], &[]);
        bench.optimized_facts.line_zero = vec![(pc, pc + 1)];
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Dropped("line-zero")]);
        bench.optimized_facts.line_zero = vec![(pc + 1, pc + 2)];
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Reported]);
    }
}
