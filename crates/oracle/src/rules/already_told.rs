//! What one trace shows alone is not reported again where the comparison of both traces reports it on the same line, nor is
//! a breakpoint that is hit on a line that is stepped on and never runs. The rule looks at the other reports, not at the case, so it stands apart from [`RULES`](super::RULES).

use super::Rule;
use crate::case::Candidate;
use trueline_model::{Astray, Breach, Invariant, Violation};

/// Told already.
pub const RULE: Rule = Rule {
    name: "already-told",
    invariants: &[Invariant::SelfContradiction, Invariant::Breakpoint],
    reason: "a line, backtrace or scope violation on this line already says so",
    drop: |_, _| false,
};

/// True when another report on the line already says it.
pub(crate) fn is_told(candidate: &Candidate, violations: &[Violation]) -> bool {
    let told = |v: &Violation| {
        let same_line = v.file == candidate.violation.file && v.line == candidate.violation.line;
        let same_matter = match v.invariant() {
            Invariant::Line => true,
            Invariant::Backtrace => candidate.violation.invariant() == Invariant::SelfContradiction,
            Invariant::Scope if candidate.violation.invariant() == Invariant::SelfContradiction => {
                v.function == candidate.violation.function
            }
            _ => false,
        };
        same_line && same_matter
    };
    let may_repeat = matches!(candidate.violation.breach, Breach::SelfContradiction(_) | Breach::Breakpoint(Astray::NotRun { .. }));
    may_repeat && violations.iter().any(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line};

    #[test]
    fn a_line_that_never_runs_is_not_reported_again_for_standing_outside_its_function() {
        let mut bench = Bench::new();
        bench.function("main", 1, 5);
        bench.reference_facts.rows.insert(line(7));
        bench.optimized_stop(7, &["main"], &[]);
        assert_eq!(bench.verdicts(Invariant::SelfContradiction), [Verdict::Reported]);
        let both = [Invariant::Line, Invariant::SelfContradiction];
        assert_eq!(bench.verdicts_of(&both), [Verdict::Reported, Verdict::Dropped("already-told")]);
    }

    #[test]
    fn a_report_on_another_line_tells_nothing() {
        let mut bench = Bench::new();
        bench.function("main", 1, 5);
        bench.reference_facts.rows.extend([line(4), line(7)]);
        bench.reference_facts.executed.insert(line(7));
        bench.optimized_stop(4, &["main"], &[]);
        bench.optimized_stop(7, &["main"], &[]);
        let both = [Invariant::Line, Invariant::SelfContradiction];
        assert_eq!(bench.verdicts_of(&both), [Verdict::Reported, Verdict::Reported, Verdict::Dropped("executed-row")]);
    }
}
