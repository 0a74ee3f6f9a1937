//! Algorithms 2 and 3: the operation that keeps every path conformant, against the one the pass did.

use crate::flow::{BlockIndex, Flow, LocationSet, PathSets};
use crate::history::{Birth, History, InstId, Place, Write};
use crate::observation::{LocationId, Locations};
use crate::pairs::{Manipulation, UpdatePair, find_pairs};
use crate::provenance::{Provenance, bearers, locations_before};
use crate::rules::{self, Rule};
use crate::transfer::Transfers;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;
use trueline_llvm_hook::wire::BlockRecord;

/// What is done with a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The destination has its source's location.
    Preserve,
    /// The destination has the merged location of its sources.
    Merge,
    /// The destination has no location.
    Drop,
}

/// What is wrong with an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// A location that belongs there is missing.
    Lost,
    /// A location is there that does not belong.
    Incorrect,
}

/// Why a destination's location does not belong: a block on a path through the destination that no path
/// through a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The block of the new function.
    pub block: BlockIndex,
    /// The location it carries; `None` when it is the end of an execution that passes no source.
    pub location: Option<LocationId>,
}

/// A judged pair.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The pair.
    pub pair: UpdatePair,
    /// The sources that have a location.
    pub located: Vec<InstId>,
    /// What conformance asks for.
    pub expected: Operation,
    /// What the pass did.
    pub observed: Operation,
    /// What is wrong, `None` when nothing is.
    pub kind: Option<ErrorKind>,
    /// The rule by which it is no error all the same.
    pub hidden_by: Option<Rule>,
    /// The control-flow evidence for a drop.
    pub evidence: Option<Evidence>,
}

impl Verdict {
    /// Whether it is reported.
    pub fn is_error(&self) -> bool {
        self.kind.is_some() && self.hidden_by.is_none()
    }
}

/// What rules look at.
pub struct Case<'a, 'h> {
    /// The lives.
    pub history: &'a History<'h>,
    /// Block ancestry.
    pub provenance: &'a Provenance,
    /// The pair.
    pub pair: &'a UpdatePair,
    /// Sources with a location.
    pub located: &'a [InstId],
    /// The new function's flow.
    pub flow: &'a Flow,
    /// Where the destination is.
    pub place: Place,
    /// Its location.
    pub location: Option<LocationId>,
    /// Whether the destination's paths are covered by those of all bearers of its location.
    pub location_is_on_path: bool,
}

struct Function<'a> {
    before: usize,
    old: PathSets<'a>,
    new: PathSets<'a>,
    old_flow: &'a Flow,
    new_flow: &'a Flow,
}

/// Judges every pair of a run.
pub fn judge(history: &History<'_>) -> Vec<Verdict> {
    let provenance = Provenance::of(history);
    let old_flows: Vec<Flow> = history.run.before.iter().map(|f| Flow::of(f)).collect();
    let new_flow = |after: &Arc<trueline_llvm_hook::wire::FunctionRecord>| {
        let before = history.run.before.iter().find(|before| before.at == after.at);
        before.map_or_else(|| Flow::feasible(after), |before| Flow::left_by_pass(before, after))
    };
    let new_flows: Vec<Flow> = history.run.after.iter().map(new_flow).collect();
    let mut functions: HashMap<usize, Function<'_>> = HashMap::new();
    let mut verdicts = Vec::new();
    let pairs = find_pairs(history);
    let transfers = Transfers::of(history, &pairs);
    for pair in pairs {
        let place = history.life(pair.destination).after.expect("pairs have living destinations");
        let at = history.run.after[place.function].at;
        if let Some(verdict) = transfers.judge(history, &pair) {
            verdicts.push(verdict);
            continue;
        }
        let Some(before) = history.run.before.iter().position(|f| f.at == at) else { continue };
        let function = functions.entry(place.function).or_insert_with(|| Function {
            before,
            old: PathSets::new(&old_flows[before], locations_before(history, before), history.locations),
            new: PathSets::new(&new_flows[place.function], provenance.evidence(history, place.function), history.locations),
            old_flow: &old_flows[before],
            new_flow: &new_flows[place.function],
        });
        // Of what stands for nothing only what is wrong is worth telling.
        let counts = |v: &Verdict| v.kind.is_some() || v.pair.manipulation != Manipulation::Insert;
        verdicts.extend(judge_pair(history, &provenance, function, pair, place).filter(counts));
    }
    verdicts
}

fn judge_pair(history: &History<'_>, provenance: &Provenance, f: &mut Function<'_>, pair: UpdatePair, place: Place) -> Option<Verdict> {
    let has_line = |id: &InstId| history.life(*id).location_before.is_some_and(|l| history.locations.get(l).line != 0);
    // Sources of other functions than the destination's are judged by their transfer, and code that is never reached has
    // no paths at all.
    let comparable = |id: &InstId| {
        let place = history.life(*id).before.expect("sources are originals");
        place.function == f.before && f.old_flow.is_reachable(place.block)
    };
    let located: Vec<InstId> = pair.sources.iter().copied().filter(|id| has_line(id) && comparable(id)).collect();
    if located.is_empty() || !f.new_flow.is_reachable(place.block) || located.len() < pair.sources.iter().filter(|s| has_line(s)).count() {
        return None;
    }
    let life = history.life(pair.destination);
    let location = life.location_after;
    let places: Vec<Place> = located.iter().map(|id| history.life(*id).before.expect("an original")).collect();

    let on_paths = f.new.through(place.block).clone();
    let evidence = deviation(history, provenance, f, &pair, place, &places, &on_paths);
    let conforms = evidence.is_none();
    let same_location = |ids: &[InstId]| ids.windows(2).all(|w| history.life(w[0]).location_before == history.life(w[1]).location_before);
    let expected = match (conforms, same_location(&located)) {
        (false, _) => Operation::Drop,
        (true, true) => Operation::Preserve,
        (true, false) => Operation::Merge,
    };
    let observed = observe(history, pair.destination, &located);
    let location_is_on_path = location.is_some_and(|l| {
        let bearing = bearers(history, f.before, l);
        deviation(history, provenance, f, &pair, place, &bearing, &on_paths).is_none()
    });
    let case = Case { history, provenance, pair: &pair, located: &located, flow: f.new_flow, place, location, location_is_on_path };
    let kind = error_kind(history.locations, expected, observed, location);
    let hidden_by = kind.and_then(|kind| rules::apply(kind, expected, &case));
    Some(Verdict { pair, located, expected, observed, kind, hidden_by, evidence })
}

/// Definition 3.4: where the paths through the destination go that none through a source goes; `None` when
/// they conform. Locations show which old path a new one is; where destination and sources are in blocks that
/// both functions have, an execution that passes the one and not the others shows it without any location.
fn deviation(
    history: &History<'_>,
    provenance: &Provenance,
    f: &mut Function<'_>,
    pair: &UpdatePair,
    place: Place,
    sources: &[Place],
    on_paths: &LocationSet,
) -> Option<Evidence> {
    let in_the_same_block = sources.iter().any(|source| match pair.manipulation {
        // A moved instruction is itself what makes its new block continue its old one: paths decide.
        Manipulation::Move => false,
        Manipulation::Clone => provenance.was_copied(history, *source) || provenance.same_block(history, place, *source),
        Manipulation::Replace | Manipulation::Rewrite | Manipulation::Terminator | Manipulation::Insert | Manipulation::Delete => {
            provenance.same_block(history, place, *source)
        }
    });
    if in_the_same_block {
        return None;
    }
    let allowed = f.old.through_any(sources.iter().map(|p| p.block));
    if let Some(location) = on_paths.minus(&allowed).next() {
        let block = f.new.carrier(place.block, location).unwrap_or(place.block);
        return Some(Evidence { block, location: Some(location) });
    }
    bypass(history, f, place, sources).map(|block| Evidence { block, location: None })
}

/// The end of an execution that, before and after the pass alike, passes the destination's block and no
/// source's. Only asked where all of these blocks are there before and after, or the destination's is the function's entry.
fn bypass(history: &History<'_>, f: &Function<'_>, place: Place, sources: &[Place]) -> Option<BlockIndex> {
    let (old, new) = (&history.run.before[f.before].blocks, &history.run.after[place.function].blocks);
    let index_of = |blocks: &[Arc<BlockRecord>], at: u64| {
        let found = blocks.iter().position(|b| b.at == at).filter(|_| !history.new_blocks.contains(&at));
        found.map(|index| BlockIndex(index as u32))
    };
    // The entry is the entry, though it may be a new block.
    let entry = BlockIndex(0);
    let old_place = if place.block == entry { entry } else { index_of(old, new[place.block.0 as usize].at)? };
    let old_sources: Vec<BlockIndex> = sources.iter().map(|s| s.block).collect();
    let new_sources = old_sources.iter().map(|s| index_of(new, old[s.0 as usize].at)).collect::<Option<Vec<_>>>()?;
    f.old_flow.end_avoiding(old_place, &old_sources)?;
    f.new_flow.end_avoiding(place.block, &new_sources)
}

/// What the pass did, from its explicit writes where there are any and from the result where there are none.
fn observe(history: &History<'_>, destination: InstId, located: &[InstId]) -> Operation {
    let life = history.life(destination);
    let last = life.writes.last().copied();
    let merged = life.writes.contains(&Write::Merge);
    match life.location_after {
        None => Operation::Drop,
        Some(location) if history.locations.get(location).line == 0 => {
            if merged || last != Some(Write::Drop) {
                Operation::Merge
            } else {
                Operation::Drop
            }
        }
        Some(location) => {
            let is_a_source = located.iter().any(|s| history.life(*s).location_before == Some(location));
            if merged && !is_a_source { Operation::Merge } else { Operation::Preserve }
        }
    }
}

pub(crate) fn error_kind(
    locations: &Locations,
    expected: Operation,
    observed: Operation,
    location: Option<LocationId>,
) -> Option<ErrorKind> {
    let has_line = location.is_some_and(|l| locations.get(l).line != 0);
    match (expected, observed) {
        (Operation::Drop, _) => has_line.then_some(ErrorKind::Incorrect),
        (Operation::Preserve | Operation::Merge, Operation::Drop) => Some(ErrorKind::Lost),
        (Operation::Preserve, Operation::Merge) if !has_line => Some(ErrorKind::Lost),
        (Operation::Merge, Operation::Preserve) => Some(ErrorKind::Incorrect),
        _ => None,
    }
}

/// Whether a destination was made by the pass rather than carried over.
pub fn is_new(history: &History<'_>, id: InstId) -> bool {
    matches!(history.life(id).birth, Birth::Created(_) | Birth::Cloned(..))
}
