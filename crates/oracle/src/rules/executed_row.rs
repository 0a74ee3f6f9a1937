//! A debugger does not stop on every line it passes (a `}`, a line reached by falling through): what counts is
//! whether -O0 *executed* a row of the line, not whether the debugger stopped there.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "executed-row",
    invariants: &[Invariant::Line],
    reason: "-O0 executed code of this line, it only did not stop there",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    case.reference_facts.executed.contains(&candidate.key())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line};

    #[test]
    fn a_line_that_ran_without_a_stop_is_no_fault() {
        let mut bench = Bench::new();
        bench.optimized_stop(7, &["main"], &[]);
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Dropped("no-reference-row")]);
        bench.reference_facts.rows.insert(line(7));
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Reported]);
        bench.reference_facts.executed.insert(line(7));
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Dropped("executed-row")]);
    }
}
