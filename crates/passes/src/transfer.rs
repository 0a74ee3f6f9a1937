//! Code that went from one function to another: copied by the inliner, moved by outliners.
//!
//! Destination and source have no paths in common. But the code went over as a whole, with its own control flow, so that an
//! instruction keeps its line whenever others of the same transfer do: they show that the call, or the new function, has a
//! location to hang lines on.

use crate::history::{History, InstId};
use crate::judge::{ErrorKind, Operation, Verdict};
use crate::pairs::{Manipulation, UpdatePair};
use std::collections::HashSet;

/// From which function to which.
type Route = (u64, u64);

/// The transfers of one run whose instructions kept lines.
pub(crate) struct Transfers {
    with_lines: HashSet<Route>,
}

impl Transfers {
    /// Finds those in which some instruction kept its source's line.
    pub(crate) fn of(history: &History<'_>, pairs: &[UpdatePair]) -> Self {
        let kept = |pair: &&UpdatePair| {
            let line = |id: Option<crate::observation::LocationId>| id.map(|l| history.locations.get(l).line).filter(|l| *l != 0);
            let now = line(history.life(pair.destination).location_after);
            now.is_some() && pair.sources.iter().any(|s| line(history.life(*s).location_before) == now)
        };
        Self { with_lines: pairs.iter().filter(kept).filter_map(|pair| route(history, pair)).collect() }
    }

    /// The verdict on a pair that went from one function to another; `None` for all others.
    pub(crate) fn judge(&self, history: &History<'_>, pair: &UpdatePair) -> Option<Verdict> {
        let route = route(history, pair)?;
        let has_line = |id: &InstId| history.life(*id).location_before.is_some_and(|l| history.locations.get(l).line != 0);
        let located: Vec<InstId> = pair.sources.iter().copied().filter(has_line).collect();
        if located.is_empty() || !self.with_lines.contains(&route) {
            return None;
        }
        let is_lost = history.life(pair.destination).location_after.is_none();
        // An alloca belongs to the whole function it is in, and has no line of its own there.
        let record = history.record_after(pair.destination)?;
        let counts = record.opcode != crate::opcode::ALLOCA && record.opcode != crate::opcode::PHI;
        Some(Verdict {
            pair: pair.clone(),
            located,
            expected: Operation::Preserve,
            observed: if is_lost { Operation::Drop } else { Operation::Preserve },
            kind: (is_lost && counts).then_some(ErrorKind::Lost),
            hidden_by: None,
            evidence: None,
        })
    }
}

/// The route of a pair whose sources are all of one function that is not the destination's.
fn route(history: &History<'_>, pair: &UpdatePair) -> Option<Route> {
    if !matches!(pair.manipulation, Manipulation::Clone | Manipulation::Move) {
        return None;
    }
    let to = history.run.after[history.life(pair.destination).after?.function].at;
    let of = |id: &InstId| history.life(*id).before.map(|place| history.run.before[place.function].at);
    let from = of(pair.sources.first()?)?;
    (from != to && pair.sources.iter().all(|s| of(s) == Some(from))).then_some((from, to))
}
