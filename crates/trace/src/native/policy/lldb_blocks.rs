//! Which block an address is in, as lldb 16 finds out.
//!
//! It keeps two lists of ranges per block and searches both by halving. The one from the debug information is sorted
//! and keeps empty ranges (gcc writes them for code that is no more), so that an address where an empty range starts is not
//! found in the range that follows. The other is merged, but a range of an inner block that the outer one does not contain is
//! appended to the outer one's without sorting it again, and ranges behind it may then not be found: the inlined call
//! there has no caller, and the rest of the activation is missing from the backtrace.

use trueline_dwarf::{BlockId, Module};

type Range = (u64, u64);

/// The ranges of every block, by its number.
#[derive(Debug)]
pub(crate) struct LldbBlocks {
    /// As described, sorted.
    described: Vec<Vec<Range>>,
    /// Merged, then added to.
    kept: Vec<Vec<Range>>,
}

impl LldbBlocks {
    pub fn new(module: &Module) -> Self {
        let mut described: Vec<Vec<Range>> = module.blocks.iter().map(|b| b.described.clone()).collect();
        described.iter_mut().for_each(|ranges| ranges.sort_unstable());
        let mut this = Self { kept: vec![Vec::new(); described.len()], described };
        // Blocks are numbered outer ones first, as lldb reads them.
        for index in 0..module.blocks.len() {
            let block = BlockId(index as u32);
            for at in 0..this.described[index].len() {
                let range = this.described[index][at];
                this.add(module, block, range);
            }
            merge(&mut this.kept[index]);
        }
        this
    }

    fn add(&mut self, module: &Module, block: BlockId, range: Range) {
        if let Some(parent) = module.block(block).parent
            && find(&self.kept[parent.0 as usize], range).is_none()
        {
            self.add(module, parent, range);
        }
        self.kept[block.0 as usize].push(range);
    }

    /// The innermost block at an address, from the function's own block inwards.
    pub fn innermost(&self, module: &Module, function: BlockId, pc: u64) -> BlockId {
        let holds = |b: &&BlockId| find(&self.described[b.0 as usize], (pc, pc.saturating_add(1))).is_some();
        let mut block = function;
        while let Some(&child) = module.block(block).children.iter().find(holds) {
            block = child;
        }
        block
    }

    /// The range of a block around an address.
    pub fn range(&self, block: BlockId, pc: u64) -> Option<Range> {
        find(&self.kept[block.0 as usize], (pc, pc.saturating_add(1)))
    }
}

/// Sorts ranges and joins those that touch.
fn merge(ranges: &mut Vec<Range>) {
    ranges.sort_unstable();
    let mut merged: Vec<Range> = Vec::with_capacity(ranges.len());
    for &(low, high) in ranges.iter() {
        match merged.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    *ranges = merged;
}

/// The range that contains another: the first that does not start before it, or the one before that. The steps of the
/// search matter where the list is not sorted.
fn find(ranges: &[Range], wanted: Range) -> Option<Range> {
    let (mut first, mut length) = (0, ranges.len());
    while length > 0 {
        let half = length / 2;
        if ranges[first + half].0 < wanted.0 {
            first += half + 1;
            length -= half + 1;
        } else {
            length = half;
        }
    }
    let contains = |r: &&Range| r.0 <= wanted.0 && wanted.0 < r.1 && wanted.1 <= r.1;
    let before = first.checked_sub(1).map(|i| &ranges[i]);
    ranges.get(first).filter(contains).or_else(|| before.filter(contains)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_range_hides_the_one_that_starts_where_it_does() {
        let ranges = [(0x10, 0x10), (0x10, 0x20)];
        assert_eq!(find(&ranges, (0x10, 0x11)), None);
        assert_eq!(find(&ranges, (0x11, 0x12)), Some((0x10, 0x20)));
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = vec![(0x20, 0x30), (0x10, 0x10), (0x10, 0x20), (0x40, 0x50)];
        merge(&mut ranges);
        assert_eq!(ranges, [(0x10, 0x30), (0x40, 0x50)]);
    }

    #[test]
    fn what_stands_behind_an_unsorted_end_is_not_found() {
        let ranges = [(0x6, 0x6), (0x17, 0x21), (0x24, 0x38), (0x6, 0x6), (0x6, 0x6), (0x6, 0x6)];
        assert_eq!(find(&ranges, (0x17, 0x18)), None);
        assert_eq!(find(&ranges[..5], (0x17, 0x18)), Some((0x17, 0x21)));
    }
}
