//! Reaching descriptions: which description of a variable holds in front of which instruction.

use super::defs::{DefId, Defs};
use crate::flow::{BlockIndex, Flow};
use crate::history::Place;
use std::collections::BTreeSet;

/// A description that holds, or none where an execution comes from the entry without one.
pub type Holding = BTreeSet<Option<DefId>>;

/// The descriptions of one variable in one function.
#[derive(Debug)]
pub struct Reaching {
    /// Descriptions of each block, in order, with the index of the instruction they stand in front of.
    by_block: Vec<Vec<(usize, DefId)>>,
    /// What holds at the start of each block.
    at_start: Vec<Holding>,
}

impl Reaching {
    /// Follows the descriptions `ids` of one variable through a function.
    pub fn of(flow: &Flow, defs: &Defs<'_>, ids: &[DefId]) -> Self {
        let mut by_block = vec![Vec::new(); flow.len()];
        for id in ids {
            let place = defs.get(*id).place;
            by_block[place.block.0 as usize].push((place.index, *id));
        }
        let mut at_start: Vec<Holding> = vec![Holding::new(); flow.len()];
        if let Some(entry) = at_start.first_mut() {
            entry.insert(None);
        }
        let order = flow.reverse_postorder();
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for block in &order {
                let at_end: Holding = match by_block[*block as usize].last() {
                    Some((_, last)) => [Some(*last)].into(),
                    None => at_start[*block as usize].clone(),
                };
                for to in flow.successors(BlockIndex(*block)) {
                    let start = &mut at_start[*to as usize];
                    let size = start.len();
                    start.extend(at_end.iter().copied());
                    changed |= start.len() > size;
                }
            }
        }
        Self { by_block, at_start }
    }

    /// What holds when the instruction at a place is executed. Records in front of it count, a call that describes is one itself.
    pub fn at(&self, place: Place) -> Holding {
        let block = place.block.0 as usize;
        match self.by_block[block].iter().rev().find(|(index, _)| *index <= place.index) {
            Some((_, id)) => [Some(*id)].into(),
            None => self.at_start[block].clone(),
        }
    }
}
