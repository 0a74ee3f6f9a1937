//! Functions that share a source line (one-line definitions, code from one macro) cannot be told apart by line: a
//! stop on the line may belong to either.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "same-line-function",
    invariants: &[Invariant::Backtrace],
    reason: "several functions have code on this line, so the line does not identify the function",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let key = candidate.key();
    let sharing = case.reference_facts.functions.values().flatten().filter(|e| e.contains(&key)).count();
    sharing > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    #[test]
    fn functions_on_one_line_are_not_told_apart() {
        let mut bench = Bench::new();
        bench.reference_stop(1, &["g", "main"], &[]);
        bench.optimized_stop(1, &["f", "main"], &[]);
        bench.function("f", 1, 1);
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Reported]);
        bench.function("g", 1, 1);
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Dropped("same-line-function")]);
    }
}
