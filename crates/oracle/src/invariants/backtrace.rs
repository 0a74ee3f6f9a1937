//! BI: the functions on the stack at a stop were all active, together, when -O0 came to some row of the same line. Every row
//! that ran counts, since a debugger passes over those that the compiler does not recommend as a stop.

use super::at_stop;
use crate::case::{Candidate, Case, Subject};
use std::collections::BTreeSet;
use std::sync::Arc;
use trueline_model::Invariant;

pub(super) fn list(case: &Case<'_>, found: &mut Vec<Candidate>) {
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
            let mut candidate = at_stop(case, Invariant::Backtrace, key, *stop, Subject::Stop);
            let lists: Vec<String> = allowed.iter().take(4).map(|set| set.iter().map(|f| &**f).collect::<Vec<_>>().join(", ")).collect();
            candidate.violation.expected = Some(lists.join(" or ").into());
            let spurious = active.iter().find(|f| !allowed.iter().any(|set| set.contains(*f)));
            candidate.violation.why = spurious.map(|f| format!("`{f}` is on the stack here, and never is on this line at -O0").into());
            found.push(candidate);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::bench::{Bench, Verdict};
    use trueline_model::Invariant;

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
