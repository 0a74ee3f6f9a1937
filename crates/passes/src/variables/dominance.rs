//! Which blocks every execution passes on its way to a block.

use crate::flow::{BlockIndex, Flow};

/// The dominators of a function's blocks.
#[derive(Debug)]
pub struct Dominance {
    /// The closest other block that every path passes, by block; the entry is its own, unreachable blocks have none.
    immediate: Vec<Option<u32>>,
    /// Distance from the entry in the tree of these.
    depth: Vec<u32>,
}

impl Dominance {
    /// Works them out by the iteration of Cooper, Harvey and Kennedy.
    pub fn of(flow: &Flow) -> Self {
        let order = flow.reverse_postorder();
        let mut rank = vec![usize::MAX; flow.len()];
        order.iter().enumerate().for_each(|(position, block)| rank[*block as usize] = position);
        let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); flow.len()];
        for from in &order {
            flow.successors(BlockIndex(*from)).iter().for_each(|to| predecessors[*to as usize].push(*from));
        }
        let mut immediate: Vec<Option<u32>> = vec![None; flow.len()];
        if let Some(entry) = order.first() {
            immediate[*entry as usize] = Some(*entry);
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for block in order.iter().skip(1) {
                let known = predecessors[*block as usize].iter().copied().filter(|p| immediate[*p as usize].is_some());
                let common = known.reduce(|mut a, mut b| {
                    while a != b {
                        while rank[a as usize] > rank[b as usize] {
                            a = immediate[a as usize].expect("reached");
                        }
                        while rank[b as usize] > rank[a as usize] {
                            b = immediate[b as usize].expect("reached");
                        }
                    }
                    a
                });
                if immediate[*block as usize] != common {
                    immediate[*block as usize] = common;
                    changed = true;
                }
            }
        }
        let mut depth = vec![0; flow.len()];
        for block in order.iter().skip(1) {
            depth[*block as usize] = immediate[*block as usize].map_or(0, |above| depth[above as usize] + 1);
        }
        Self { immediate, depth }
    }

    /// Whether every path to `below` passes `above`; a block dominates itself.
    pub fn dominates(&self, above: BlockIndex, below: BlockIndex) -> bool {
        let (Some(_), Some(_)) = (self.immediate[above.0 as usize], self.immediate[below.0 as usize]) else { return false };
        let mut at = below.0;
        while self.depth[at as usize] > self.depth[above.0 as usize] {
            at = self.immediate[at as usize].expect("reachable");
        }
        at == above.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diamond_is_dominated_by_its_entry_and_not_by_an_arm() {
        let flow = Flow::from_edges(vec![vec![1, 2], vec![3], vec![3], vec![4], vec![3]]);
        let dominance = Dominance::of(&flow);
        let dominates = |a, b| dominance.dominates(BlockIndex(a), BlockIndex(b));
        assert!(dominates(0, 3) && dominates(3, 4) && dominates(3, 3) && dominates(0, 0));
        assert!(!dominates(1, 3) && !dominates(4, 3) && !dominates(3, 1));
    }

    #[test]
    fn what_is_never_reached_is_dominated_by_nothing() {
        let dominance = Dominance::of(&Flow::from_edges(vec![vec![], vec![0]]));
        assert!(!dominance.dominates(BlockIndex(0), BlockIndex(1)) && !dominance.dominates(BlockIndex(1), BlockIndex(1)));
    }
}
