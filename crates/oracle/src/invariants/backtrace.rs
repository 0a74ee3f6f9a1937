//! BI: the functions on the stack at a stop were all active, together, when -O0 came to some row of the same line. Every row
//! that ran counts, since a debugger passes over those that the compiler does not recommend as a stop.

use super::{ToldBy, at_stop, views};
use crate::case::{Candidate, Case, Subject};
use std::collections::BTreeSet;
use std::sync::Arc;
use trueline_model::{Breach, Listed, NotActive, Step, Violation};

/// Sets of functions that are kept of what -O0 has on the line.
const LISTED: usize = 4;

pub(super) const TOLD_BY: ToldBy = ToldBy::Callers;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    for (key, digest) in &case.optimized.lines {
        let mut allowed: BTreeSet<BTreeSet<Arc<str>>> =
            case.reference.stops_on(key).map(|s| s.stack.iter().map(|a| Arc::clone(&a.function)).collect()).collect();
        allowed.extend(case.reference.passed.get(key).into_iter().flatten().cloned());
        let mut seen: BTreeSet<BTreeSet<Arc<str>>> = BTreeSet::new();
        for stop in &digest.stops {
            let active: BTreeSet<Arc<str>> = case.optimized.stop(*stop).stack.iter().map(|a| Arc::clone(&a.function)).collect();
            if allowed.iter().any(|set| active.is_subset(set)) || !seen.insert(active.clone()) {
                continue;
            }
            let sets = allowed.iter().map(|set| set.iter().cloned().collect());
            // Of a line that -O0 was not looked at to the end nobody knows who never is there.
            let is_known = !case.reference.given_up.has_line(key);
            let intruder = active.iter().filter(|_| is_known).find(|f| !allowed.iter().any(|set| set.contains(*f))).cloned();
            let breach = NotActive { allowed: Listed::first_of(sets, LISTED), intruder };
            found(at_stop(case, key, *stop, Subject::Stop, Breach::Backtrace(breach)));
        }
    }
}

pub(super) fn shows(violation: &Violation, _: &NotActive, step: &Step) -> bool {
    views(step).any(|(line, frames)| line == Some(violation.line) && frames == violation.frames)
}

#[cfg(test)]
mod tests {
    use crate::rules::bench::{Bench, Verdict, line};
    use trueline_model::{Breach, Invariant, Violation};

    #[test]
    fn of_a_line_that_was_given_up_no_function_is_said_never_to_be_there() {
        let intruder = |given_up: bool| {
            let mut bench = Bench::new();
            bench.reference_stop(5, &["leaf", "work", "main"], &[]);
            bench.optimized_stop(5, &["work", "other", "main"], &[]);
            bench.function("work", 20, 30);
            if given_up {
                bench.reference.given_up.lines.insert(line(5));
            }
            let reported = bench.violations(Invariant::Backtrace);
            let [Violation { breach: Breach::Backtrace(breach), .. }] = reported.as_slice() else { panic!("{reported:?}") };
            breach.intruder.clone()
        };
        assert_eq!(intruder(false).as_deref(), Some("other"));
        assert_eq!(intruder(true), None);
    }

    #[test]
    fn a_row_that_ran_without_a_stop_allows_its_backtrace() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.optimized_stop(5, &["pick", "main"], &[]);
        assert_eq!(bench.verdicts(Invariant::Backtrace), [Verdict::Reported]);
        bench.reference_pass(5, &["pick", "main"]);
        assert_eq!(bench.verdicts(Invariant::Backtrace), []);
    }
}
