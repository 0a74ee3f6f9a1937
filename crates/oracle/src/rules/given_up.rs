//! A long -O0 run is not looked at to its end everywhere: an address that showed nothing new for many visits is no longer stopped
//! at. What was not seen there may have been, so that nothing follows from its absence. A witness that watched the whole run still
//! tells of values, and the code itself of functions that can never stand on a line.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

/// Not looked at to the end.
pub const RULE: Rule = Rule {
    name: "given-up",
    invariants: &[Invariant::Backtrace, Invariant::Parameter, Invariant::Value],
    reason: "-O0 was not looked at here to the end of the run",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let given_up = &case.reference.given_up;
    match &candidate.subject {
        Subject::Leaf(variable, _) => given_up.has_variable(variable) && case.witness.testify(variable).is_none(),
        _ => given_up.has_line(&candidate.key()) && may_stand_here(candidate, case),
    }
}

/// Whether the innermost function of a stop has code on the line at -O0.
fn may_stand_here(candidate: &Candidate, case: &Case<'_>) -> bool {
    let extents = case.reference_facts.functions.get(&candidate.violation.function);
    extents.is_none_or(|extents| extents.iter().any(|e| e.contains(&candidate.key())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Extent;
    use crate::rules::bench::{Bench, Verdict, line, local};

    #[test]
    fn nothing_follows_from_what_was_not_seen_on_a_line_that_was_given_up() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["work", "main"], &[]);
        bench.optimized_stop(5, &["work", "other", "main"], &[]);
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Reported]);
        bench.reference.given_up.lines.insert(line(5));
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Dropped("given-up")]);
    }

    #[test]
    fn a_function_without_code_on_the_line_is_wrong_there_however_long_the_run() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.optimized_stop(5, &["inlined", "main"], &[]);
        bench.reference.given_up.lines.insert(line(5));
        let extent = Extent { file: line(5).file.0, first: 20, last: 30 };
        bench.reference_facts.functions.insert("inlined".into(), vec![extent]);
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Reported]);
    }

    #[test]
    fn a_value_is_wrong_when_the_whole_run_was_watched_and_not_otherwise() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "1")]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "2")]);
        bench.reference.given_up.functions.insert("main".into());
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("given-up")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["1"], &[5], &[]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Reported]);
    }
}
