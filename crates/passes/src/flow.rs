//! Control-flow paths of a function, as sets of blocks.
//!
//! A path runs from the entry and traverses every loop once, so it never takes an edge back to a block
//! that is already on it. In a reducible graph these are exactly the paths of the graph without its
//! retreating edges, and the blocks that share a path with block `b` are its ancestors, itself and its
//! descendants there: linear time instead of an enumeration. (In an irreducible graph the retreating
//! edges depend on the order of the search; LLVM's own passes rarely make one.)

use crate::observation::{LocationId, Locations};
use std::collections::HashMap;
use trueline_llvm_hook::wire::{BlockRecord, FunctionRecord};

/// Index of a block within its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockIndex(pub u32);

/// A set of locations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationSet {
    words: Vec<u64>,
}

impl LocationSet {
    /// The empty set over `count` locations.
    pub fn new(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)] }
    }

    /// Adds one.
    pub fn insert(&mut self, id: LocationId) {
        self.words[id.0 as usize / 64] |= 1 << (id.0 % 64);
    }

    /// Whether it holds `id`.
    pub fn contains(&self, id: LocationId) -> bool {
        self.words[id.0 as usize / 64] & (1 << (id.0 % 64)) != 0
    }

    /// Adds all of another.
    pub fn extend(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Whether all of it is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    /// Those that are not in `other`.
    pub fn minus<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = LocationId> + 'a {
        self.words.iter().zip(&other.words).enumerate().flat_map(|(i, (a, b))| {
            let rest = a & !b;
            (0..64).filter(move |bit| rest & (1 << bit) != 0).map(move |bit| LocationId((i * 64 + bit) as u32))
        })
    }
}

/// The forward edges of a function.
#[derive(Clone, Debug)]
pub struct Flow {
    /// All edges.
    edges: Vec<Vec<u32>>,
    /// Those that lead on.
    forward: Vec<Vec<u32>>,
    backward: Vec<Vec<u32>>,
    reachable: Vec<bool>,
    /// Retreating edges, (from, to).
    retreating: Vec<(u32, u32)>,
}

impl Flow {
    /// The flow of a function.
    pub fn of(function: &FunctionRecord) -> Self {
        Self::by(function, |block, to| block.successors.contains(&to))
    }

    /// The flow of a function without the edges that a constant condition never takes.
    pub fn feasible(function: &FunctionRecord) -> Self {
        Self::by(function, |block, to| block.decided == 0 || block.decided == to)
    }

    /// The flow of a function without the edges that a pass ruled out. A condition that was constant before the pass, as in
    /// many a test, is not so in general: both of its edges count.
    pub fn left_by_pass(before: &FunctionRecord, after: &FunctionRecord) -> Self {
        let given: HashMap<u64, bool> = before.blocks.iter().map(|b| (b.at, b.decided != 0)).collect();
        Self::by(after, |block, to| block.decided == 0 || block.decided == to || given.get(&block.at) == Some(&true))
    }

    fn by(function: &FunctionRecord, takes: impl Fn(&BlockRecord, u64) -> bool) -> Self {
        let index: HashMap<u64, u32> = function.blocks.iter().enumerate().map(|(i, b)| (b.at, i as u32)).collect();
        let edges = |block: &BlockRecord| {
            block.successors.iter().filter(|to| takes(block, **to)).filter_map(|to| index.get(to).copied()).collect::<Vec<_>>()
        };
        Self::from_edges(function.blocks.iter().map(|b| edges(b)).collect())
    }

    /// The flow of a graph given by its successor lists; block 0 is the entry.
    pub fn from_edges(edges: Vec<Vec<u32>>) -> Self {
        #[derive(Clone, Copy, PartialEq)]
        enum Visit {
            New,
            Open,
            Done,
        }
        let count = edges.len();
        let mut state = vec![Visit::New; count];
        let (mut forward, mut backward) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut retreating = Vec::new();
        let mut stack: Vec<(u32, usize)> = Vec::new();
        if count > 0 {
            state[0] = Visit::Open;
            stack.push((0, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            let from = *block;
            let Some(to) = edges[from as usize].get(*next).copied() else {
                state[from as usize] = Visit::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            // An edge to a block that is still open leads back: the path has been there.
            if state[to as usize] == Visit::Open {
                retreating.push((from, to));
                continue;
            }
            if !forward[from as usize].contains(&to) {
                forward[from as usize].push(to);
                backward[to as usize].push(from);
            }
            if state[to as usize] == Visit::New {
                state[to as usize] = Visit::Open;
                stack.push((to, 0));
            }
        }
        Self { edges, forward, backward, reachable: state.iter().map(|s| *s != Visit::New).collect(), retreating }
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Where a block leads.
    pub fn successors(&self, block: BlockIndex) -> &[u32] {
        &self.edges[block.0 as usize]
    }

    /// The blocks that the entry reaches, each in front of those it leads on to.
    pub fn reverse_postorder(&self) -> Vec<u32> {
        let mut seen = vec![false; self.forward.len()];
        let mut order = Vec::new();
        let mut stack: Vec<(u32, usize)> = Vec::new();
        if let Some(entry) = seen.first_mut() {
            *entry = true;
            stack.push((0, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            match self.forward[*block as usize].get(*next).copied() {
                Some(to) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        stack.push((to, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// Whether the entry reaches it.
    pub fn is_reachable(&self, block: BlockIndex) -> bool {
        self.reachable[block.0 as usize]
    }

    /// The end of an execution that passes `block` and none of `avoided`, if there is one.
    pub fn end_avoiding(&self, block: BlockIndex, avoided: &[BlockIndex]) -> Option<BlockIndex> {
        let blocked = |at: u32| avoided.contains(&BlockIndex(at));
        let reach = |from: u32| {
            let mut seen = vec![false; self.edges.len()];
            let mut work = if blocked(from) { Vec::new() } else { vec![from] };
            while let Some(at) = work.pop() {
                if !std::mem::replace(&mut seen[at as usize], true) {
                    work.extend(self.edges[at as usize].iter().filter(|to| !blocked(**to)));
                }
            }
            seen
        };
        if !reach(0)[block.0 as usize] {
            return None;
        }
        let after = reach(block.0);
        (0..self.edges.len() as u32).find(|at| after[*at as usize] && self.edges[*at as usize].is_empty()).map(BlockIndex)
    }

    /// Whether two blocks are always executed together: no execution passes one without the other, and both
    /// are in the same loops.
    pub fn always_together(&self, a: BlockIndex, b: BlockIndex) -> bool {
        let never_alone = |a, b| self.end_avoiding(a, &[b]).is_none();
        a == b
            || self.on_paths_through(a).contains(&b)
                && never_alone(a, b)
                && never_alone(b, a)
                && self.loop_headers(a) == self.loop_headers(b)
    }

    /// The headers of the loops around a block.
    fn loop_headers(&self, block: BlockIndex) -> Vec<u32> {
        let mut headers: Vec<u32> =
            self.retreating.iter().filter(|(latch, header)| self.in_loop(block.0, *latch, *header)).map(|e| e.1).collect();
        headers.sort_unstable();
        headers.dedup();
        headers
    }

    /// Whether `block` is the header or reaches the latch without passing it.
    fn in_loop(&self, block: u32, latch: u32, header: u32) -> bool {
        let mut seen = vec![false; self.forward.len()];
        seen[header as usize] = true;
        let mut work = vec![latch];
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut seen[at as usize], true) {
                work.extend(&self.backward[at as usize]);
            }
        }
        seen[block as usize]
    }

    /// The blocks that lie on a path through `block`, itself included.
    pub fn on_paths_through(&self, block: BlockIndex) -> Vec<BlockIndex> {
        let mut member = vec![false; self.forward.len()];
        member[block.0 as usize] = true;
        for edges in [&self.forward, &self.backward] {
            let mut work = vec![block.0];
            while let Some(at) = work.pop() {
                for next in &edges[at as usize] {
                    if !std::mem::replace(&mut member[*next as usize], true) {
                        work.push(*next);
                    }
                }
            }
        }
        (0..self.forward.len() as u32).filter(|i| member[*i as usize]).map(BlockIndex).collect()
    }
}

/// The location sets of one function: 𝓛 of definition 3.3, by block, remembered.
pub struct PathSets<'a> {
    flow: &'a Flow,
    by_block: Vec<Vec<LocationId>>,
    count: usize,
    known: HashMap<BlockIndex, LocationSet>,
}

impl<'a> PathSets<'a> {
    /// Path sets over the given locations of each block.
    pub fn new(flow: &'a Flow, by_block: Vec<Vec<LocationId>>, locations: &Locations) -> Self {
        Self { flow, by_block, count: locations.len(), known: HashMap::new() }
    }

    /// All locations on the paths through a block.
    pub fn through(&mut self, block: BlockIndex) -> &LocationSet {
        let (flow, by_block, count) = (self.flow, &self.by_block, self.count);
        self.known.entry(block).or_insert_with(|| {
            let mut set = LocationSet::new(count);
            for other in flow.on_paths_through(block) {
                by_block[other.0 as usize].iter().for_each(|id| set.insert(*id));
            }
            set
        })
    }

    /// All locations on the paths through any of the blocks.
    pub fn through_any(&mut self, blocks: impl IntoIterator<Item = BlockIndex>) -> LocationSet {
        let mut set = LocationSet::new(self.count);
        for block in blocks {
            set.extend(self.through(block));
        }
        set
    }

    /// The block on a path through `block` that carries `location`.
    pub fn carrier(&self, block: BlockIndex, location: LocationId) -> Option<BlockIndex> {
        let on_path = self.flow.on_paths_through(block);
        on_path.into_iter().find(|b| self.by_block[b.0 as usize].contains(&location))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(edges: &[&[u32]], block: u32) -> Vec<u32> {
        let flow = Flow::from_edges(edges.iter().map(|e| e.to_vec()).collect());
        flow.on_paths_through(BlockIndex(block)).into_iter().map(|b| b.0).collect()
    }

    #[test]
    fn the_other_arm_of_a_branch_is_on_no_path_through_this_one() {
        assert_eq!(through(&[&[1, 2], &[3], &[3], &[]], 1), [0, 1, 3]);
        assert_eq!(through(&[&[1, 2], &[3], &[3], &[]], 3), [0, 1, 2, 3]);
    }

    #[test]
    fn a_loop_is_traversed_once() {
        // 0 → 1 (header) → 2 | 3, both → 4 (latch) → 1 | 5
        let edges: [&[u32]; 6] = [&[1], &[2, 3], &[4], &[4], &[1, 5], &[]];
        assert_eq!(through(&edges, 2), [0, 1, 2, 4, 5]);
        // A body that a zero-trip execution skips does not share a path with the exit.
        let while_loop: [&[u32]; 4] = [&[1], &[2, 3], &[1], &[]];
        assert_eq!(through(&while_loop, 2), [0, 1, 2]);
        assert_eq!(through(&while_loop, 3), [0, 1, 3]);
    }

    #[test]
    fn sets_agree_with_an_enumeration_of_all_simple_paths() {
        // Random reducible graphs: a random acyclic graph plus edges back to dominators.
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let n = 3 + random(7) as usize;
            let mut edges: Vec<Vec<u32>> = vec![Vec::new(); n];
            for (from, list) in edges.iter_mut().enumerate().take(n - 1) {
                for _ in 0..=random(2) {
                    list.push(from as u32 + 1 + random((n - from - 1) as u64) as u32);
                }
            }
            let dominators = dominators(&edges);
            for from in 1..n {
                if random(3) == 0 && !dominators[from].is_empty() {
                    let header = dominators[from][random(dominators[from].len() as u64) as usize];
                    edges[from].push(header);
                }
            }
            let flow = Flow::from_edges(edges.clone());
            let mut shares = vec![vec![false; n]; n];
            enumerate(&edges, &mut vec![0], &mut shares);
            for b in (0..n).filter(|b| flow.is_reachable(BlockIndex(*b as u32))) {
                let expected: Vec<u32> = (0..n).filter(|o| shares[b][*o]).map(|o| o as u32).collect();
                let got: Vec<u32> = flow.on_paths_through(BlockIndex(b as u32)).iter().map(|b| b.0).collect();
                assert_eq!(got, expected, "block {b} of {edges:?}");
            }
        }
    }

    /// Marks the pairs of blocks on each simple path that cannot be extended.
    fn enumerate(edges: &[Vec<u32>], path: &mut Vec<u32>, shares: &mut [Vec<bool>]) {
        let last = *path.last().unwrap();
        let next: Vec<u32> = edges[last as usize].iter().copied().filter(|n| !path.contains(n)).collect();
        if next.is_empty() {
            for a in path.iter() {
                for b in path.iter() {
                    shares[*a as usize][*b as usize] = true;
                }
            }
        }
        for to in next {
            path.push(to);
            enumerate(edges, path, shares);
            path.pop();
        }
    }

    /// The blocks that every path from the entry to each block passes, itself included.
    fn dominators(edges: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let reach_without = |banned: Option<u32>| {
            let mut seen = vec![false; edges.len()];
            let mut work = if banned == Some(0) { vec![] } else { vec![0u32] };
            while let Some(at) = work.pop() {
                if !std::mem::replace(&mut seen[at as usize], true) {
                    work.extend(edges[at as usize].iter().filter(|t| Some(**t) != banned));
                }
            }
            seen
        };
        let all = reach_without(None);
        let mut result = vec![Vec::new(); edges.len()];
        for d in 0..edges.len() {
            let without = reach_without(Some(d as u32));
            for b in 0..edges.len() {
                if all[b] && !without[b] {
                    result[b].push(d as u32);
                }
            }
        }
        result
    }

    #[test]
    fn an_execution_that_skips_a_branch_is_found_and_one_that_cannot_is_not() {
        let flow = |edges: &[&[u32]]| Flow::from_edges(edges.iter().map(|e| e.to_vec()).collect());
        let one_armed = flow(&[&[1, 2], &[2], &[]]);
        assert_eq!(one_armed.end_avoiding(BlockIndex(0), &[BlockIndex(1)]), Some(BlockIndex(2)));
        assert_eq!(one_armed.end_avoiding(BlockIndex(0), &[BlockIndex(2)]), None);
        let while_loop = flow(&[&[1], &[2, 3], &[1], &[]]);
        assert_eq!(while_loop.end_avoiding(BlockIndex(0), &[BlockIndex(2)]), Some(BlockIndex(3)));
        // Every execution that ends leaves the loop.
        assert_eq!(while_loop.end_avoiding(BlockIndex(0), &[BlockIndex(3)]), None);
    }

    #[test]
    fn a_preheader_and_its_loop_are_not_always_executed_together() {
        let flow = |edges: &[&[u32]]| Flow::from_edges(edges.iter().map(|e| e.to_vec()).collect());
        let single = flow(&[&[1], &[1, 2], &[]]);
        assert!(!single.always_together(BlockIndex(0), BlockIndex(1)));
        assert!(single.always_together(BlockIndex(0), BlockIndex(2)));
        let body = flow(&[&[1], &[2], &[1, 3], &[]]);
        assert!(body.always_together(BlockIndex(1), BlockIndex(2)));
        assert!(!flow(&[&[1, 2], &[2], &[]]).always_together(BlockIndex(0), BlockIndex(1)));
    }

    #[test]
    fn ten_thousand_blocks_take_linear_work_per_block() {
        // A ladder of diamonds; no timing here (see the bench), only that depth does not overflow.
        let mut edges: Vec<Vec<u32>> = Vec::new();
        for i in 0..3333u32 {
            edges.extend([vec![3 * i + 1, 3 * i + 2], vec![3 * i + 3], vec![3 * i + 3]]);
        }
        edges.push(vec![]);
        let flow = Flow::from_edges(edges);
        assert_eq!(flow.on_paths_through(BlockIndex(1)).len(), 9999);
    }
}
