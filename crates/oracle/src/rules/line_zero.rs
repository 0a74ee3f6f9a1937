//! The compiler marked the address with line 0, "no line"; gdb drops such rows, and the address inherits the line
//! of the row before. The debug information is right; the display is the debugger's. A breakpoint on a line whose effect is
//! had by such an instruction has no place to go to: the compiler gave the line up, since it made one of several.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "line-zero",
    invariants: &[Invariant::Line, Invariant::Backtrace, Invariant::SelfContradiction, Invariant::Breakpoint],
    reason: "the line table says line 0 here; the line shown is inherited from the row before",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let pc = candidate.stop(case).map(|s| s.pc).or(candidate.violation.pc);
    pc.is_some_and(|pc| case.optimized_facts.is_line_zero(pc))
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

    #[test]
    fn an_effect_of_code_without_a_line_has_no_breakpoint() {
        let mut bench = Bench::new();
        bench.effects.tied.push(crate::rules::bench::tied(5, 0x40));
        bench.optimized_facts.line_zero = vec![(0x40, 0x44)];
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Dropped("line-zero")]);
    }
}
