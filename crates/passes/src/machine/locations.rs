//! What became of locations: the paper's algorithms 2 and 3 over machine control flow.

use super::function::MirFunction;
use super::matching::{Matching, MirPair, MirPlace, real};
use crate::flow::{BlockIndex, Flow, PathSets};
use crate::judge::{ErrorKind, Evidence, Operation, error_kind};
use crate::observation::{LocationId, Locations};
use crate::pairs::Manipulation;
use crate::rules::Rule;
use std::collections::{HashMap, HashSet};

/// A judged pair of machine instructions.
#[derive(Clone, Debug)]
pub struct MirVerdict {
    /// The pair, sources with a line only.
    pub pair: MirPair,
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

/// The flow of a machine function.
pub fn flow(function: &MirFunction) -> Flow {
    let index: HashMap<u32, u32> = function.blocks.iter().enumerate().map(|(i, b)| (b.number, i as u32)).collect();
    let edges = function.blocks.iter().map(|b| b.successors.iter().filter_map(|s| index.get(s).copied()).collect());
    Flow::from_edges(edges.collect())
}

/// Judges every pair of a pass on one function.
pub fn judge_locations(before: &MirFunction, after: &MirFunction, matching: &Matching, locations: &Locations) -> Vec<MirVerdict> {
    let (old_flow, new_flow) = (flow(before), flow(after));
    let line = |id: LocationId| locations.get(id).line;
    let located = |function: &MirFunction, keep: &dyn Fn(MirPlace) -> bool| -> Vec<Vec<LocationId>> {
        let mut lists = vec![Vec::new(); function.blocks.len()];
        for (place, inst) in real(function).filter(|(place, _)| keep(*place)) {
            lists[place.block].extend(inst.location.filter(|l| line(*l) != 0));
        }
        lists
    };
    // A branch that was made anew shows nothing of where its block was.
    let stayed = |place: MirPlace| matching.stayed.contains_key(&place);
    let mut judge = Judge {
        before,
        after,
        matching,
        locations,
        old: PathSets::new(&old_flow, located(before, &|_| true), locations),
        new: PathSets::new(&new_flow, located(after, &stayed), locations),
        old_flow: &old_flow,
        new_flow: &new_flow,
        gone: gone(before, matching),
        continued: matching.blocks.iter().map(|(new, old)| (*old, *new)).collect(),
    };
    let in_place = matching.stayed.iter().map(|(new, old)| MirPair {
        destination: *new,
        sources: std::iter::once(*old).chain(judge.merged_into(*new, *old)).collect(),
        manipulation: Manipulation::Rewrite,
    });
    let pairs: Vec<MirPair> =
        in_place.collect::<Vec<_>>().into_iter().chain(matching.pairs.iter().cloned()).chain(judge.terminators()).collect();
    pairs.into_iter().filter_map(|pair| judge.pair(pair)).collect()
}

struct Judge<'a> {
    before: &'a MirFunction,
    after: &'a MirFunction,
    matching: &'a Matching,
    locations: &'a Locations,
    old: PathSets<'a>,
    new: PathSets<'a>,
    old_flow: &'a Flow,
    new_flow: &'a Flow,
    /// Instructions that nothing behind the pass stands for, by their text.
    gone: HashMap<&'a str, Vec<MirPlace>>,
    /// For each block in front of the pass, the one behind it that continues it.
    continued: HashMap<usize, usize>,
}

/// Instructions in front of the pass that were matched with none behind it.
fn gone<'a>(before: &'a MirFunction, matching: &Matching) -> HashMap<&'a str, Vec<MirPlace>> {
    let taken: HashSet<MirPlace> =
        matching.stayed.values().copied().chain(matching.pairs.iter().flat_map(|p| p.sources.iter().copied())).collect();
    let mut gone: HashMap<&str, Vec<MirPlace>> = HashMap::new();
    for (place, inst) in real(before).filter(|(place, _)| !taken.contains(place)) {
        gone.entry(&inst.key).or_default().push(place);
    }
    gone
}

/// The numbers of the blocks that a branch names.
fn targets(text: &str) -> impl Iterator<Item = u32> + '_ {
    text.split("%bb.").skip(1).filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
}

impl Judge<'_> {
    /// Instructions of other blocks that an instruction stands for as well, since their blocks lead to its block now
    /// instead of doing the same themselves: tails that were merged.
    fn merged_into(&self, new: MirPlace, old: MirPlace) -> Vec<MirPlace> {
        let key = &old.of(self.before).key;
        // Branches of one text lead to other blocks.
        if key.contains("%bb") {
            return Vec::new();
        }
        let leads_here = |block: usize| {
            let now = self.continued.get(&block).copied();
            let leads = |function: &MirFunction, from: usize, to: u32| function.blocks[from].successors.contains(&to);
            now.is_some_and(|now| {
                leads(self.after, now, self.after.blocks[new.block].number)
                    && !leads(self.before, block, self.before.blocks[old.block].number)
            })
        };
        let others = self.gone.get(key.as_str()).into_iter().flatten().copied();
        let found: Vec<MirPlace> = others.filter(|place| place.block != old.block && leads_here(place.block)).collect();
        // The same text twice in a block cannot be told apart.
        if found.len() == 1 { found } else { Vec::new() }
    }

    /// New branches of a block by those that ended it before.
    fn terminators(&self) -> Vec<MirPair> {
        let mut pairs = Vec::new();
        for (new, old) in &self.matching.blocks {
            let ends = |function: &MirFunction, block: usize| -> Vec<MirPlace> {
                let places = (0..function.blocks[block].instructions.len()).map(|index| MirPlace { block, index });
                places
                    .filter(|p| p.of(function).is_real() && p.of(function).text.contains("%bb.") && p.of(function).opcode != "PHI")
                    .collect()
            };
            let sources = ends(self.before, *old);
            let is_paired =
                |place: &MirPlace| self.matching.stayed.contains_key(place) || self.matching.pairs.iter().any(|p| p.destination == *place);
            let one_location = sources.windows(2).all(|w| w[0].of(self.before).location == w[1].of(self.before).location);
            for destination in ends(self.after, *new).into_iter().filter(|p| !is_paired(p)) {
                match sources.first() {
                    Some(source) if one_location => {
                        pairs.push(MirPair { destination, sources: vec![*source], manipulation: Manipulation::Terminator });
                    }
                    // The block ended without a branch, and the one that it has now got its location from elsewhere.
                    None => pairs.extend(self.lent(destination)),
                    Some(_) if sources.iter().all(|s| s.of(self.before).location != destination.of(self.after).location) => {
                        pairs.extend(self.lent(destination));
                    }
                    Some(_) => {}
                }
            }
        }
        // The branch of a block that is not known from before got its location from elsewhere as well.
        let is_new_branch = |(place, inst): &(MirPlace, &super::function::MirInstruction)| {
            let known = self.matching.blocks.contains_key(&place.block) || self.matching.pairs.iter().any(|p| p.destination == *place);
            !known && inst.text.contains("%bb.") && inst.opcode != "PHI"
        };
        pairs.extend(real(self.after).filter(is_new_branch).filter_map(|(place, _)| self.lent(place)));
        pairs.sort_by_key(|p| p.destination);
        pairs
    }

    /// A new instruction with those that have its location in front of the pass, one of each block.
    fn lent(&self, destination: MirPlace) -> Option<MirPair> {
        let location = destination.of(self.after).location.filter(|l| self.locations.get(*l).line != 0)?;
        let mut sources: Vec<MirPlace> = real(self.before).filter(|(_, i)| i.location == Some(location)).map(|(place, _)| place).collect();
        sources.dedup_by_key(|place| place.block);
        (!sources.is_empty()).then_some(MirPair { destination, sources, manipulation: Manipulation::Insert })
    }

    fn pair(&mut self, mut pair: MirPair) -> Option<MirVerdict> {
        let has_line = |id: Option<LocationId>| id.is_some_and(|l| self.locations.get(l).line != 0);
        let all = pair.sources.len();
        pair.sources.retain(|s| has_line(s.of(self.before).location) && self.old_flow.is_reachable(BlockIndex(s.block as u32)));
        let reachable = self.new_flow.is_reachable(BlockIndex(pair.destination.block as u32));
        if pair.sources.is_empty() || pair.sources.len() < all || !reachable {
            return None;
        }
        if !self.leads_alike(&pair) {
            // Made for another edge, it was given its location for that.
            return self.lent(pair.destination).and_then(|lent| self.pair(lent));
        }
        let location = pair.destination.of(self.after).location;
        let evidence = self.deviation(pair.destination, &pair.sources, pair.manipulation);
        let before = self.before;
        let of_source = |place: &MirPlace| place.of(before).location;
        let same = pair.sources.windows(2).all(|w| of_source(&w[0]) == of_source(&w[1]));
        let expected = match (&evidence, same) {
            (Some(_), _) => Operation::Drop,
            (None, true) => Operation::Preserve,
            (None, false) => Operation::Merge,
        };
        let observed = match location {
            None => Operation::Drop,
            Some(id) if self.locations.get(id).line == 0 => Operation::Merge,
            Some(id) if pair.sources.iter().any(|s| of_source(s) == Some(id)) => Operation::Preserve,
            Some(_) => Operation::Merge,
        };
        let kind = error_kind(self.locations, expected, observed, location);
        if kind.is_none() {
            // Of what stands for nothing only what is wrong is worth telling.
            if pair.manipulation == Manipulation::Insert {
                return None;
            }
            // What has neither its own location nor none has somebody else's.
            let is_own = |id: LocationId| pair.sources.iter().any(|s| of_source(s) == Some(id));
            if location.is_some_and(|id| !is_own(id))
                && let Some(verdict) = self.lent(pair.destination).and_then(|lent| self.pair(lent))
            {
                return Some(verdict);
            }
        }
        let hidden_by = kind.and_then(|kind| self.rule(kind, expected, &pair, location));
        Some(MirVerdict { pair, expected, observed, kind, hidden_by, evidence })
    }

    /// Whether a branch leads where one of its sources led: one that leads elsewhere was made for another edge.
    fn leads_alike(&self, pair: &MirPair) -> bool {
        let text = &pair.destination.of(self.after).text;
        if !text.contains("%bb.") || pair.manipulation == Manipulation::Insert {
            return true;
        }
        let index = |function: &MirFunction, number: u32| function.blocks.iter().position(|b| b.number == number);
        let now = targets(text).filter_map(|n| self.matching.blocks.get(&index(self.after, n)?).copied()).collect::<HashSet<usize>>();
        let block = |s: &MirPlace| self.before.blocks[s.block].successors.iter().filter_map(|n| index(self.before, *n));
        pair.sources.iter().any(|s| match pair.manipulation {
            // The branches of a block are made anew together, and each may lead where another did.
            Manipulation::Terminator => block(s).any(|b| now.contains(&b)),
            _ => targets(&s.of(self.before).text).filter_map(|n| index(self.before, n)).any(|b| now.contains(&b)),
        })
    }

    /// Where the paths through the destination go that none through a source goes.
    fn deviation(&mut self, destination: MirPlace, sources: &[MirPlace], manipulation: Manipulation) -> Option<Evidence> {
        let continues = |source: &MirPlace| self.matching.blocks.get(&destination.block) == Some(&source.block);
        if manipulation != Manipulation::Move && sources.iter().any(continues) || sources.iter().all(continues) {
            return None;
        }
        let at = BlockIndex(destination.block as u32);
        let on_paths = self.new.through(at).clone();
        let allowed = self.old.through_any(sources.iter().map(|p| BlockIndex(p.block as u32)));
        if let Some(location) = on_paths.minus(&allowed).next() {
            let block = self.new.carrier(at, location).unwrap_or(at);
            return Some(Evidence { block, location: Some(location) });
        }
        self.bypass(destination, sources).map(|block| Evidence { block, location: None })
    }

    /// The end of an execution that passes the destination's block and no source's, before and after alike.
    fn bypass(&self, destination: MirPlace, sources: &[MirPlace]) -> Option<BlockIndex> {
        let old_place = BlockIndex(*self.matching.blocks.get(&destination.block)? as u32);
        let now = |old: usize| self.continued.get(&old).map(|new| BlockIndex(*new as u32));
        let old_sources: Vec<BlockIndex> = sources.iter().map(|s| BlockIndex(s.block as u32)).collect();
        let new_sources = sources.iter().map(|s| now(s.block)).collect::<Option<Vec<_>>>()?;
        self.old_flow.end_avoiding(old_place, &old_sources)?;
        self.new_flow.end_avoiding(BlockIndex(destination.block as u32), &new_sources)
    }

    /// The first rule of LLVM's guide that allows the difference.
    fn rule(&mut self, kind: ErrorKind, expected: Operation, pair: &MirPair, location: Option<LocationId>) -> Option<Rule> {
        let destination = pair.destination;
        let lines: Vec<_> = pair.sources.iter().filter_map(|s| s.of(self.before).location).map(|l| self.locations.get(l)).collect();
        match kind {
            ErrorKind::Lost if location.is_some() => Some(Rule::LineZero),
            ErrorKind::Lost
                if expected == Operation::Merge && lines.windows(2).any(|w| (w[0].line, w[0].scope) != (w[1].line, w[1].scope)) =>
            {
                Some(Rule::MergeHasNoLine)
            }
            ErrorKind::Lost => {
                let together = pair.sources.iter().any(|s| {
                    let now = self.continued.get(&s.block).map(|new| BlockIndex(*new as u32));
                    now.is_some_and(|now| self.new_flow.always_together(BlockIndex(destination.block as u32), now))
                });
                (!together).then_some(Rule::LeftItsBlock)
            }
            ErrorKind::Incorrect if destination.of(self.after).is_call => Some(Rule::CallKeepsLocation),
            ErrorKind::Incorrect => {
                let bearing: Vec<MirPlace> =
                    real(self.before).filter(|(_, i)| i.location.is_some() && i.location == location).map(|(place, _)| place).collect();
                let covered = expected == Operation::Drop && self.deviation(destination, &bearing, Manipulation::Clone).is_none();
                let stands_for_nothing = pair.manipulation == Manipulation::Insert;
                covered.then_some(Rule::LocationOnPath).or(stands_for_nothing.then_some(Rule::StandsForNothing))
            }
        }
    }
}
