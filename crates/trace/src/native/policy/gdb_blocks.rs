//! Where blocks are, and where they begin, for gdb 16 and later.
//!
//! gdb 13 takes the start of a block's first range for its entry. gdb 16 takes `DW_AT_entry_pc` if a range of the block holds
//! that address. gdb 18 gives every empty range of an inlined call one byte: gcc writes such ranges where statements of the
//! call have lines but no code, and enters calls there. By the standard an empty range holds nothing.

use std::collections::HashSet;
use trueline_dwarf::{BlockId, Module, UnitId};
use trueline_model::Policy;

/// What a block is to these releases.
#[derive(Debug)]
pub(crate) struct GdbBlocks {
    /// By the number of the block.
    entries: Vec<u64>,
    /// The added bytes of inlined calls, in the order of addresses.
    added: Vec<(u64, BlockId)>,
    /// Units in which a block has several ranges: gdb finds blocks by a map of addresses there, by where they begin elsewhere.
    mapped: HashSet<UnitId>,
}

impl GdbBlocks {
    /// None for a policy that has only the tables' own ranges.
    pub fn of(module: &Module, policy: Policy) -> Option<Self> {
        match policy {
            Policy::Gdb16 => Some(Self::new(module, |_| false)),
            Policy::Gdb18 => Some(Self::new(module, |block| module.block(block).is_inlined())),
            Policy::Gdb | Policy::Lldb | Policy::Lldb22 | Policy::Standard => None,
        }
    }

    fn new(module: &Module, has_bytes: impl Fn(BlockId) -> bool) -> Self {
        let all = || (0..module.blocks.len() as u32).map(BlockId);
        let empty = |block: BlockId| module.block(block).described.iter().filter(|r| r.0 == r.1).map(move |r| (r.0, block));
        let mut added: Vec<(u64, BlockId)> = all().filter(|&b| has_bytes(b)).flat_map(empty).collect();
        added.sort_unstable();
        let splits = added.iter().map(|a| a.1).filter(|&b| module.block(b).described.len() > 1).map(|b| unit_of(module, b));
        let split = (0..module.units.len() as u32).map(UnitId).filter(|&u| module.unit(u).has_split_block);
        let mapped = splits.chain(split).collect();
        let mut this = Self { entries: Vec::new(), added, mapped };
        let entry = |block: BlockId| {
            let wanted = module.block(block).entry_pc.filter(|&pc| module.block(block).contains(pc) || this.is_added(block, pc));
            let first = module.block(block).described.iter().find(|r| r.0 < r.1 || has_bytes(block)).map_or(0, |r| r.0);
            wanted.unwrap_or(first)
        };
        let entries = all().map(entry).collect();
        this.entries = entries;
        this
    }

    fn is_added(&self, block: BlockId, pc: u64) -> bool {
        self.at(pc).iter().any(|a| a.1 == block)
    }

    fn at(&self, pc: u64) -> &[(u64, BlockId)] {
        let start = self.added.partition_point(|a| a.0 < pc);
        let len = self.added[start..].partition_point(|a| a.0 == pc);
        &self.added[start..start + len]
    }

    /// Where control enters a block.
    pub fn entry(&self, block: BlockId) -> u64 {
        self.entries[block.0 as usize]
    }

    /// The innermost block at an address, where that is an added byte. Of blocks that share an address gdb takes the one that the
    /// debug information describes last; those inside a block come after it. Where it has a map, an address belongs to the block
    /// that ends first in the debug information.
    pub fn innermost(&self, module: &Module, pc: u64) -> Option<BlockId> {
        let added = self.at(pc);
        let last = added.last()?.1;
        let here = module.block_at(pc);
        if !self.mapped.contains(&unit_of(module, last)) {
            return Some(here.map_or(last, |here| here.max(last)));
        }
        added.iter().map(|a| a.1).chain(here).reduce(|a, b| ends_first(module, a, b))
    }
}

fn unit_of(module: &Module, block: BlockId) -> UnitId {
    module.function(module.block(block).function).unit
}

/// Blocks are numbered as they begin; one inside another ends before it.
fn ends_first(module: &Module, a: BlockId, b: BlockId) -> BlockId {
    let (first, second) = (a.min(b), a.max(b));
    if module.is_within(second, first) { second } else { first }
}
