//! Without a -O0 stop on the line there is no backtrace to compare with; whether the line may be stepped on at all is
//! the line invariant's question.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "no-reference-stop",
    invariants: &[Invariant::Backtrace],
    reason: "the -O0 trace has no stop on this line to compare backtraces with",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    !case.reference.lines.contains_key(&candidate.key())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    #[test]
    fn a_backtrace_needs_another_to_be_compared_with() {
        let mut bench = Bench::new();
        bench.optimized_stop(7, &["f", "main"], &[]);
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Dropped("no-reference-stop")]);
        bench.reference_stop(7, &["main"], &[]);
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Reported]);
    }
}
