//! Algorithm 1: which instructions need a location (destinations), and whose locations they should take
//! (sources). Beyond the paper's four manipulations, two are inferred from the snapshots, since passes
//! also work on lists and operands directly: instructions spliced into another block, and operands
//! rewritten one by one. A terminator that takes the place of another in its block is paired with it.

use crate::history::{Birth, History, InstId, Life, Place};
use crate::naming;
use crate::observation::{LocationId, StackId};
use crate::opcode;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use trueline_llvm_hook::wire::{FunctionRecord, InstructionRecord};

/// What was done to the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Manipulation {
    /// Created, and the sources' uses replaced by it.
    Replace,
    /// Cloned from its source.
    Clone,
    /// Moved from its source's place.
    Move,
    /// A new terminator where another ended the block.
    Terminator,
    /// Created, and operands that used the source now use it.
    Rewrite,
    /// Created, and given the location of the sources without taking their place.
    Insert,
    /// Deleted: only told of the code of a line that a breakpoint was meant for.
    Delete,
}

/// A destination and its sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdatePair {
    /// The instruction whose location was to be updated.
    pub destination: InstId,
    /// The original instructions whose locations count.
    pub sources: Vec<InstId>,
    /// What was done.
    pub manipulation: Manipulation,
    /// Where in the pass.
    pub stack: StackId,
}

/// All pairs of a run whose destination is alive at its end.
pub fn find_pairs(history: &History<'_>) -> Vec<UpdatePair> {
    let terminators = replaced_terminators(history);
    let rewritten = rewritten_operands(history);
    let mut lenders = None;
    let mut pairs = Vec::new();
    for (index, life) in history.lives.iter().enumerate() {
        let destination = InstId(index as u32);
        let is_debug = |id: InstId| {
            let record = history.record_after(id).or_else(|| history.record_before(id));
            record.is_some_and(|r| r.callee.starts_with("llvm.dbg.") || r.callee.starts_with("llvm.pseudoprobe"))
        };
        if life.after.is_none() || is_debug(destination) {
            continue;
        }
        let from_replaced = || life.replaced.iter().flat_map(|(from, _)| history.origins(*from));
        let (manipulation, mut sources, stack) = match life.birth {
            Birth::Original => {
                let Some(stack) = moved(history, life) else { continue };
                let whole = |(before, after)| folded(history, before, after) && !crossed(history, before, after);
                if life.before.zip(life.after).is_some_and(whole) {
                    continue;
                }
                let sources = std::iter::once(destination).chain(from_replaced()).collect::<Vec<_>>();
                (Manipulation::Move, sources, stack)
            }
            Birth::Cloned(from, stack) => {
                let sources = history.origins(from).into_iter().chain(from_replaced()).collect();
                (Manipulation::Clone, sources, stack)
            }
            Birth::Created(stack) => {
                let sources: Vec<InstId> = from_replaced().collect();
                if !sources.is_empty() {
                    (Manipulation::Replace, sources, stack)
                } else if let Some(old) = terminators.get(&destination) {
                    (Manipulation::Terminator, vec![*old], stack)
                } else if let Some(old) = rewritten.get(&destination) {
                    (Manipulation::Rewrite, vec![*old], stack)
                } else {
                    (Manipulation::Insert, lenders.get_or_insert_with(|| Lenders::of(history)).to(history, life), stack)
                }
            }
            Birth::Unseen => continue,
        };
        sources.sort();
        sources.dedup();
        sources.retain(|s| !is_debug(*s));
        if !sources.is_empty() {
            pairs.push(UpdatePair { destination, sources, manipulation, stack });
        }
    }
    pairs
}

/// The original instructions of each function that have a location, one of each block.
struct Lenders(HashMap<(u64, LocationId), Vec<InstId>>);

impl Lenders {
    fn of(history: &History<'_>) -> Self {
        let mut by_location: HashMap<(u64, LocationId), Vec<InstId>> = HashMap::new();
        let mut known = HashSet::new();
        for (index, life) in history.lives.iter().enumerate() {
            let (Some(location), Some(place)) = (life.location_before, life.before) else { continue };
            if known.insert((place.function, place.block, location)) {
                by_location.entry((history.run.before[place.function].at, location)).or_default().push(InstId(index as u32));
            }
        }
        Self(by_location)
    }

    /// Those that have the location which a created instruction was given. Its own place must show that it belongs there, since
    /// it took nobody's. Phis have none to speak of, and calls must have some.
    fn to(&self, history: &History<'_>, life: &Life) -> Vec<InstId> {
        let (Some(location), Some(place)) = (life.location_after, life.after) else { return Vec::new() };
        let (function, record) = naming::at(&history.run.after, place);
        let counts = history.locations.get(location).line != 0 && !matches!(record.opcode, opcode::PHI | opcode::ALLOCA);
        let lenders = self.0.get(&(function.at, location)).filter(|_| counts && !opcode::is_call(record.opcode));
        lenders.cloned().unwrap_or_default()
    }
}

/// Whether an original instruction was moved to another block: by a call we saw, or, as the snapshots
/// show, by splicing into a block that was there before. Moving within a block changes no path.
fn moved(history: &History<'_>, life: &Life) -> Option<StackId> {
    let (before, after) = (life.before?, life.after?);
    if crossed(history, before, after) {
        return Some(life.moved.unwrap_or_default());
    }
    let (from, to) = (history.block_before(before), history.block_after(after));
    let is_new = history.new_blocks.contains(&to);
    if from == to && !is_new {
        return None;
    }
    if life.moved.is_some() {
        return life.moved;
    }
    let was_there = !is_new && history.run.before[before.function].blocks.iter().any(|b| b.at == to);
    (was_there && !folded(history, before, after)).then_some(StackId(0))
}

/// Whether an instruction went to another function, as outliners move whole blocks.
fn crossed(history: &History<'_>, before: Place, after: Place) -> bool {
    history.run.before[before.function].at != history.run.after[after.function].at
}

/// Whether a block was folded into another as a whole: it is gone, and its terminator came along and ends that one now. A branch
/// that was hoisted alone leaves its block behind.
pub(crate) fn folded(history: &History<'_>, before: Place, after: Place) -> bool {
    let last = |functions: &[Arc<FunctionRecord>], place: Place| {
        functions[place.function].blocks[place.block.0 as usize].instructions.last().map(|i| i.at)
    };
    let old = last(&history.run.before, before).and_then(|at| history.before_ids.get(&at));
    let new = last(&history.run.after, after).and_then(|at| history.after_ids.get(&at));
    let from = history.block_before(before);
    let is_there = || history.run.after.iter().flat_map(|f| &f.blocks).any(|b| b.at == from && !history.new_blocks.contains(&from));
    old.is_some() && old == new && !is_there()
}

/// New terminators by the one that ended the same block before, where that one died or was moved away.
/// (One that went along with the tail of a split block does not count: the block itself was cut.)
fn replaced_terminators(history: &History<'_>) -> HashMap<InstId, InstId> {
    let last = |functions: &[Arc<FunctionRecord>]| -> HashMap<u64, u64> {
        functions.iter().flat_map(|f| &f.blocks).filter_map(|b| Some((b.at, b.instructions.last()?.at))).collect()
    };
    let before = last(&history.run.before);
    let mut found = HashMap::new();
    for (block, new) in last(&history.run.after) {
        let (Some(old), false) = (before.get(&block), history.new_blocks.contains(&block)) else { continue };
        let (old, new) = (history.before_ids[old], history.after_ids[&new]);
        let (old_life, new_life) = (history.life(old), history.life(new));
        if old == new || !matches!(new_life.birth, Birth::Created(_)) {
            continue;
        }
        if old_life.dead || old_life.after.is_none() || moved(history, old_life).is_some() {
            found.insert(new, old);
        }
    }
    found
}

/// Created instructions by the one original instruction whose place they took as an operand of the same users, where
/// nothing uses that instruction any more. A user counts as the same when it stayed, and when it was itself made or copied
/// for one that it took the place of: whole chains of addresses are made anew that way. A conversion may use the value that
/// it stands for.
fn rewritten_operands(history: &History<'_>) -> HashMap<InstId, InstId> {
    let after = || history.run.after.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.instructions);
    let mut users: HashMap<InstId, HashSet<InstId>> = HashMap::new();
    for inst in after() {
        let user = history.after_ids[&inst.at];
        for operand in inst.operands.iter().filter_map(|o| history.after_ids.get(o)) {
            users.entry(*operand).or_default().insert(user);
        }
    }
    let mut found: HashMap<InstId, InstId> = HashMap::new();
    loop {
        let mut took: HashMap<InstId, HashSet<InstId>> = HashMap::new();
        for inst in after() {
            let user = history.after_ids[&inst.at];
            let Some(earlier) = earlier_user(history, user, &found) else { continue };
            for (operand, then) in inst.operands.iter().zip(&earlier.operands) {
                let (Some(now), Some(then)) = (history.after_ids.get(operand), history.before_ids.get(then)) else { continue };
                let created = matches!(history.life(*now).birth, Birth::Created(_));
                let is_phi = history.record_after(*now).is_some_and(|r| r.opcode == opcode::PHI);
                if created && !is_phi && then != now {
                    took.entry(*now).or_default().insert(*then);
                }
            }
        }
        let is_conversion = |id: InstId| history.record_after(id).is_some_and(|r| opcode::is_conversion(r.opcode));
        let alone = |new: InstId, old: InstId| {
            let left = users.get(&old).into_iter().flatten();
            left.filter(|user| !(is_conversion(new) && **user == new)).count() == 0
        };
        let known = found.len();
        for (new, old) in took {
            if let (1, Some(one)) = (old.len(), old.iter().next().copied())
                && alone(new, one)
            {
                found.entry(new).or_insert(one);
            }
        }
        if found.len() == known {
            return found;
        }
    }
}

/// What a user was in front of the pass: itself, or the one that it was copied from or took the place of.
fn earlier_user<'h>(history: &History<'h>, user: InstId, found: &HashMap<InstId, InstId>) -> Option<&'h InstructionRecord> {
    let life = history.life(user);
    let record = match life.birth {
        // A user that was moved is another use of its operands, not the same use of another value.
        Birth::Original => history.record_before(user).filter(|_| moved(history, life).is_none()),
        Birth::Cloned(..) | Birth::Created(_) => {
            let origin = match (found.get(&user), history.origins(user).as_slice()) {
                (Some(origin), _) => Some(*origin),
                (None, [origin]) => Some(*origin),
                _ => None,
            };
            let same_function = |o: &InstId| {
                let (old, new) = (history.life(*o).before, life.after);
                old.zip(new).is_some_and(|(o, n)| history.run.before[o.function].at == history.run.after[n.function].at)
            };
            // One that still stands beside its copy uses its own operands; the copy's are others.
            origin.filter(|o| history.life(*o).after.is_none() && same_function(o)).and_then(|o| history.record_before(o))
        }
        Birth::Unseen => None,
    };
    let now = history.record_after(user)?;
    record.filter(|r| r.opcode == now.opcode && r.operands.len() == now.operands.len())
}
