//! Which blocks of the old function a block of the new one continues, and what may be called evidence of
//! a path: instructions that stayed where they were, and those of blocks that were copied as a whole.

use crate::flow::BlockIndex;
use crate::history::{Birth, History, InstId, Place};
use crate::observation::LocationId;
use crate::opcode;
use std::collections::{HashMap, HashSet};

/// Block ancestry of one run.
pub struct Provenance {
    /// Old blocks (by address) that each new block (by address) continues.
    origins: HashMap<u64, HashSet<u64>>,
    /// Old blocks that were cloned as a whole.
    copied: HashSet<u64>,
}

impl Provenance {
    /// Works it out from the instructions.
    pub fn of(history: &History<'_>) -> Self {
        let copied = copied_blocks(history);
        let mut origins: HashMap<u64, HashSet<u64>> = HashMap::new();
        for life in &history.lives {
            let Some(after) = life.after else { continue };
            let block = history.block_after(after);
            let entry = origins.entry(block).or_default();
            let source = match life.birth {
                Birth::Original if life.moved.is_none() => life.before,
                Birth::Cloned(from, _) => history.origins(from).first().and_then(|o| history.life(*o).before),
                _ => None,
            };
            let Some(source) = source.map(|place| history.block_before(place)) else { continue };
            if matches!(life.birth, Birth::Original) || copied.contains(&source) {
                entry.insert(source);
            }
        }
        let existing: HashSet<u64> = history.run.before.iter().flat_map(|f| &f.blocks).map(|b| b.at).collect();
        for block in history.run.after.iter().flat_map(|f| &f.blocks).map(|b| b.at) {
            if existing.contains(&block) && !history.new_blocks.contains(&block) {
                origins.entry(block).or_default().insert(block);
            }
        }
        Self { origins, copied }
    }

    /// Whether `after` is in a block that continues the block of `before`.
    pub fn same_block(&self, history: &History<'_>, after: Place, before: Place) -> bool {
        self.origins.get(&history.block_after(after)).is_some_and(|o| o.contains(&history.block_before(before)))
    }

    /// Whether the block of `before` was copied as a whole.
    pub fn was_copied(&self, history: &History<'_>, before: Place) -> bool {
        self.copied.contains(&history.block_before(before))
    }

    /// The locations that show, block by block, which old paths a new function's paths are.
    pub fn evidence(&self, history: &History<'_>, function: usize) -> Vec<Vec<LocationId>> {
        let blocks = &history.run.after[function].blocks;
        let shows = |id: InstId| {
            let life = history.life(id);
            let counts = match life.birth {
                Birth::Original => life.moved.is_none(),
                Birth::Cloned(from, _) => {
                    let origin = history.origins(from).first().and_then(|o| history.life(*o).before);
                    origin.is_some_and(|place| self.was_copied(history, place))
                }
                Birth::Created(_) | Birth::Unseen => false,
            };
            life.location_after.filter(|l| counts && history.locations.get(*l).line != 0)
        };
        blocks.iter().map(|b| b.instructions.iter().filter_map(|i| shows(history.after_ids[&i.at])).collect()).collect()
    }
}

/// Blocks of which every instruction was cloned, phis and debug intrinsics apart, and the terminator too
/// when there is only one other: one cloned instruction does not make a copy of its block.
fn copied_blocks(history: &History<'_>) -> HashSet<u64> {
    let cloned: HashSet<InstId> = history
        .lives
        .iter()
        .filter_map(|life| match life.birth {
            Birth::Cloned(from, _) => Some(history.origins(from)),
            _ => None,
        })
        .flatten()
        .collect();
    let mut copied = HashSet::new();
    for block in history.run.before.iter().flat_map(|f| &f.blocks) {
        let Some((last, rest)) = block.instructions.split_last() else { continue };
        let is_cloned = |at: u64| history.before_ids.get(&at).is_some_and(|id| cloned.contains(id));
        let body: Vec<u64> = rest.iter().filter(|i| i.opcode != opcode::PHI && !i.callee.starts_with("llvm.dbg.")).map(|i| i.at).collect();
        let whole = body.iter().all(|at| is_cloned(*at));
        if whole && (is_cloned(last.at) || body.len() > 1) {
            copied.insert(block.at);
        }
    }
    copied
}

/// The locations of each block of an old function.
pub fn locations_before(history: &History<'_>, function: usize) -> Vec<Vec<LocationId>> {
    let of = |at: u64| history.locations.at(at).filter(|l| history.locations.get(*l).line != 0);
    history.run.before[function].blocks.iter().map(|b| b.instructions.iter().filter_map(|i| of(i.location)).collect()).collect()
}

/// The blocks of an old function that carry a location.
pub fn bearers(history: &History<'_>, function: usize, location: LocationId) -> Vec<Place> {
    let blocks = history.run.before[function].blocks.iter().enumerate();
    let bears = |at: u64| history.locations.at(at) == Some(location);
    blocks
        .filter_map(|(b, block)| {
            let index = block.instructions.iter().position(|i| bears(i.location))?;
            Some(Place { function, block: BlockIndex(b as u32), index })
        })
        .collect()
}
