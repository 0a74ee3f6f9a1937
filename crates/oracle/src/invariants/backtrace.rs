//! BI: the functions on the stack at a stop were all active, together, at some -O0 stop on the same line.

use super::at_stop;
use crate::case::{Candidate, Case, Subject};
use std::collections::BTreeSet;
use std::sync::Arc;
use trueline_model::Invariant;

pub(super) fn list(case: &Case<'_>, found: &mut Vec<Candidate>) {
    for (key, digest) in &case.optimized.lines {
        let allowed: BTreeSet<BTreeSet<Arc<str>>> =
            case.reference.stops_on(key).map(|s| s.stack.iter().map(|a| Arc::clone(&a.function)).collect()).collect();
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
