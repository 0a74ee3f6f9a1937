//! Algorithm 1: which instructions need a location (destinations), and whose locations they should take
//! (sources). Beyond the paper's four manipulations, two are inferred from the snapshots, since passes
//! also work on lists and operands directly: instructions spliced into another block, and operands
//! rewritten one by one. A terminator that takes the place of another in its block is paired with it.

use crate::history::{Birth, History, InstId, Life, Place};
use crate::observation::StackId;
use crate::opcode;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use trueline_llvm_hook::wire::FunctionRecord;

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
                if life.before.zip(life.after).is_some_and(|(before, after)| folded(history, before, after)) {
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
                    continue;
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

/// Whether an original instruction was moved to another block: by a call we saw, or, as the snapshots
/// show, by splicing into a block that was there before. Moving within a block changes no path.
fn moved(history: &History<'_>, life: &Life) -> Option<StackId> {
    let (before, after) = (life.before?, life.after?);
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

/// Whether a block was folded into another as a whole: its terminator came along and ends that one now.
pub(crate) fn folded(history: &History<'_>, before: Place, after: Place) -> bool {
    let last = |functions: &[Arc<FunctionRecord>], place: Place| {
        functions[place.function].blocks[place.block.0 as usize].instructions.last().map(|i| i.at)
    };
    let old = last(&history.run.before, before).and_then(|at| history.before_ids.get(&at));
    let new = last(&history.run.after, after).and_then(|at| history.after_ids.get(&at));
    old.is_some() && old == new
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

/// Created instructions by the one original instruction whose place they took as an operand of surviving
/// users, where nothing uses that instruction any more.
fn rewritten_operands(history: &History<'_>) -> HashMap<InstId, InstId> {
    let mut used: HashSet<InstId> = HashSet::new();
    let mut took: HashMap<InstId, HashSet<InstId>> = HashMap::new();
    for inst in history.run.after.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.instructions) {
        let user = history.after_ids[&inst.at];
        // A user that was moved is another use of its operands, not the same use of another value.
        let stayed = moved(history, history.life(user)).is_none();
        let earlier = history.record_before(user).filter(|e| stayed && e.operands.len() == inst.operands.len());
        for (index, operand) in inst.operands.iter().enumerate() {
            let Some(now) = history.after_ids.get(operand) else { continue };
            used.insert(*now);
            let then = earlier.and_then(|e| history.before_ids.get(&e.operands[index]));
            let created = matches!(history.life(*now).birth, Birth::Created(_));
            let is_phi = history.record_after(*now).is_some_and(|r| r.opcode == opcode::PHI);
            if let (Some(then), true, false) = (then, created, is_phi)
                && then != now
            {
                took.entry(*now).or_default().insert(*then);
            }
        }
    }
    took.into_iter()
        .filter_map(|(new, old)| match old.into_iter().collect::<Vec<_>>().as_slice() {
            [one] if !used.contains(one) => Some((new, *one)),
            _ => None,
        })
        .collect()
}
