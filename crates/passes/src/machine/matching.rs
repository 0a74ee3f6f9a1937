//! Which instruction behind a machine pass is which in front of it. Machine instructions have no identity in text, so they
//! are matched by block, by opcode and operands, and by order; what cannot be told apart is left unmatched.

use super::function::{MirFunction, MirInstruction};
use crate::pairs::Manipulation;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where an instruction is: indices of its block in the layout and of itself in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MirPlace {
    /// Index of the block.
    pub block: usize,
    /// Index in the block.
    pub index: usize,
}

impl MirPlace {
    /// The instruction there.
    pub fn of(self, function: &MirFunction) -> &MirInstruction {
        &function.blocks[self.block].instructions[self.index]
    }
}

/// An instruction behind the pass and those in front of it that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirPair {
    /// The instruction behind the pass.
    pub destination: MirPlace,
    /// Those in front of it.
    pub sources: Vec<MirPlace>,
    /// How it came about.
    pub manipulation: Manipulation,
}

/// The instructions of one text.
#[derive(Default)]
struct Bearers {
    /// In front of the pass, matched with none behind it.
    gone: Vec<MirPlace>,
    /// In front of the pass, matched with one behind it.
    still_there: Vec<MirPlace>,
    /// Behind the pass, matched with none in front of it.
    new: Vec<MirPlace>,
}

/// What one pass did to one function, as far as it can be told.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    /// For each block behind the pass, the one in front of it that it continues.
    pub blocks: HashMap<usize, usize>,
    /// Instructions that are where they were, by their place behind the pass.
    pub stayed: BTreeMap<MirPlace, MirPlace>,
    /// Those among them that were put in another order within their block, by their place behind the pass.
    pub reordered: HashSet<MirPlace>,
    /// Instructions that were moved, copied or rewritten.
    pub pairs: Vec<MirPair>,
}

impl Matching {
    /// Matches the functions in front of and behind a pass.
    pub fn of(before: &MirFunction, after: &MirFunction) -> Self {
        let mut matching = Self { blocks: match_blocks(before, after), ..Self::default() };
        let mut rewritten = Vec::new();
        let mut blocks: Vec<(usize, usize)> = matching.blocks.iter().map(|(new, old)| (*new, *old)).collect();
        blocks.sort_unstable();
        for (new, old) in blocks {
            match_in_block(before, after, old, new, &mut matching, &mut rewritten);
        }
        matching.pairs = rewritten;
        matching.match_across(before, after);
        matching
    }

    /// The place behind the pass of an instruction that stayed or was moved or rewritten alone.
    pub fn heir(&self, source: MirPlace) -> Option<MirPlace> {
        let stayed = self.stayed.iter().find(|(_, old)| **old == source).map(|(new, _)| *new);
        stayed.or_else(|| self.pairs.iter().find(|p| p.sources == [source]).map(|p| p.destination))
    }

    /// What was not found in its own block is looked for in others, by its text alone.
    fn match_across(&mut self, before: &MirFunction, after: &MirFunction) {
        let taken: HashSet<MirPlace> =
            self.stayed.values().copied().chain(self.pairs.iter().flat_map(|p| p.sources.iter().copied())).collect();
        let given: HashSet<MirPlace> = self.stayed.keys().copied().chain(self.pairs.iter().map(|p| p.destination)).collect();
        let mut by_key: BTreeMap<&str, Bearers> = BTreeMap::new();
        for (place, inst) in real(before).filter(|(_, i)| travels(i)) {
            let entry = by_key.entry(&inst.key).or_default();
            if taken.contains(&place) { &mut entry.still_there } else { &mut entry.gone }.push(place);
        }
        for (place, inst) in real(after).filter(|(place, i)| travels(i) && !given.contains(place)) {
            if let Some(entry) = by_key.get_mut(inst.key.as_str()) {
                entry.new.push(place);
            }
        }
        for Bearers { gone, still_there, new } in by_key.into_values() {
            let found: Vec<MirPair> = match (gone.as_slice(), still_there.as_slice(), new.as_slice()) {
                ([_], [], [to]) => vec![MirPair { destination: *to, sources: gone.clone(), manipulation: Manipulation::Move }],
                ([_, _, ..], [], [to]) => vec![MirPair { destination: *to, sources: gone.clone(), manipulation: Manipulation::Move }],
                ([_], [], many) | ([], [_], many) => {
                    let sources: Vec<MirPlace> = gone.iter().chain(&still_there).copied().collect();
                    let copy = |to: &MirPlace| MirPair { destination: *to, sources: sources.clone(), manipulation: Manipulation::Clone };
                    many.iter().map(copy).collect()
                }
                _ => Vec::new(),
            };
            self.pairs.extend(found);
        }
        self.drop_lone_copies(after);
    }

    /// Text over machine registers is soon met twice by chance: of copies there, only those count that were made together
    /// with their neighbour.
    fn drop_lone_copies(&mut self, after: &MirFunction) {
        let copies: HashMap<MirPlace, MirPlace> =
            self.pairs.iter().filter(|p| p.manipulation == Manipulation::Clone).map(|p| (p.destination, p.sources[0])).collect();
        let near = |place: MirPlace, step: isize| Some(MirPlace { index: place.index.checked_add_signed(step)?, ..place });
        let beside = |to: MirPlace, from: MirPlace| {
            [-1, 1].into_iter().any(|step| near(to, step).zip(near(from, step)).is_some_and(|(to, from)| copies.get(&to) == Some(&from)))
        };
        let is_virtual = |place: MirPlace| place.of(after).defs.first().is_some_and(|d| d.starts_with('%'));
        self.pairs.retain(|p| p.manipulation != Manipulation::Clone || is_virtual(p.destination) || beside(p.destination, p.sources[0]));
    }
}

/// Instructions that can be told from others when they are met in another block: branches and copies cannot.
fn travels(inst: &MirInstruction) -> bool {
    let common = ["COPY", "PHI", "MOV32r0", "SUBREG_TO_REG", "INSERT_SUBREG", "NOOP", "LEAVE64"];
    let is_stack = inst.opcode.starts_with("PUSH") || inst.opcode.starts_with("POP") || inst.opcode.starts_with("ADJCALLSTACK");
    !(common.contains(&inst.opcode.as_str()) || is_stack || inst.text.contains("%bb."))
}

/// A copy from register to register, which says nothing of what it is for once the registers are others.
fn is_plain_copy(inst: &MirInstruction) -> bool {
    inst.opcode == "COPY" || (inst.opcode.starts_with("MOV") && inst.opcode.ends_with("rr"))
}

/// All instructions that are executed, with their places.
pub fn real(function: &MirFunction) -> impl Iterator<Item = (MirPlace, &MirInstruction)> {
    let places = function
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(block, b)| b.instructions.iter().enumerate().map(move |(index, inst)| (MirPlace { block, index }, inst)));
    places.filter(|(_, inst)| inst.is_real())
}

/// Blocks keep their numbers unless a pass numbers them anew, which their names in the IR show; then names decide, and
/// for blocks without one what they hold.
fn match_blocks(before: &MirFunction, after: &MirFunction) -> HashMap<usize, usize> {
    let by_number: HashMap<u32, usize> = before.blocks.iter().enumerate().map(|(i, b)| (b.number, i)).collect();
    let same_name = |new: &super::function::MirBlock| by_number.get(&new.number).is_none_or(|old| before.blocks[*old].name == new.name);
    if after.blocks.iter().all(same_name) {
        let numbered = after.blocks.iter().enumerate().filter_map(|(i, b)| Some((i, *by_number.get(&b.number)?)));
        return numbered.filter(|(new, old)| alike(before, after, *old, *new)).collect();
    }
    let unique = |function: &MirFunction| {
        let mut names: HashMap<String, Vec<usize>> = HashMap::new();
        function.blocks.iter().enumerate().for_each(|(i, b)| names.entry(b.name.clone()).or_default().push(i));
        names
    };
    let (old_names, new_names) = (unique(before), unique(after));
    let mut matched = HashMap::new();
    for (name, new) in &new_names {
        match (old_names.get(name).map(Vec::as_slice), new.as_slice(), name.is_empty()) {
            (Some([old]), [new], false) => drop(matched.insert(*new, *old)),
            (Some(old), new, _) => {
                let mut free: Vec<usize> = old.to_vec();
                for block in new {
                    let size = after.blocks[*block].instructions.iter().filter(|i| travels(i) && i.is_real()).count();
                    let best = free.iter().copied().map(|o| (shared(before, after, o, *block), o)).max();
                    if let Some((_, old)) = best.filter(|(count, _)| *count > 0 && *count * 2 > size) {
                        matched.insert(*block, old);
                        free.retain(|o| *o != old);
                    }
                }
            }
            _ => {}
        }
    }
    matched
}

/// Whether two blocks of one number can be one block: those without a name must hold something in common.
fn alike(before: &MirFunction, after: &MirFunction, old: usize, new: usize) -> bool {
    let holds_nothing = |f: &MirFunction, b: usize| !f.blocks[b].instructions.iter().any(|i| i.is_real() && travels(i));
    !after.blocks[new].name.is_empty() || holds_nothing(before, old) || holds_nothing(after, new) || shared(before, after, old, new) > 0
}

/// How many instructions that can be told from others two blocks have in common.
fn shared(before: &MirFunction, after: &MirFunction, old: usize, new: usize) -> usize {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    before.blocks[old].instructions.iter().filter(|i| i.is_real() && travels(i)).for_each(|i| *counts.entry(&i.shape).or_default() += 1);
    let takes = |inst: &&MirInstruction| match counts.get_mut(inst.shape.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    after.blocks[new].instructions.iter().filter(|i| i.is_real() && travels(i)).filter(takes).count()
}

fn match_in_block(
    before: &MirFunction,
    after: &MirFunction,
    old: usize,
    new: usize,
    matching: &mut Matching,
    rewritten: &mut Vec<MirPair>,
) {
    let list = |function: &MirFunction, block: usize| -> Vec<usize> {
        let instructions = &function.blocks[block].instructions;
        (0..instructions.len()).filter(|i| instructions[*i].is_real()).collect()
    };
    let (olds, news) = (list(before, old), list(after, new));
    let old_inst = |at: usize| &before.blocks[old].instructions[olds[at]];
    let new_inst = |at: usize| &after.blocks[new].instructions[news[at]];
    let mut pair: Vec<Option<usize>> = vec![None; news.len()];
    let mut used = vec![false; olds.len()];
    let common = longest_common(olds.len(), news.len(), |a, b| old_inst(a).key == new_inst(b).key);
    for (a, b) in &common {
        (pair[*b], used[*a]) = (Some(*a), true);
    }
    // What was only put in another order within the block.
    for b in 0..news.len() {
        let same = |a: &usize| !used[*a] && old_inst(*a).key == new_inst(b).key;
        if pair[b].is_none()
            && let Some(a) = (0..olds.len()).find(|a| same(a))
        {
            (pair[b], used[a]) = (Some(a), true);
            matching.reordered.insert(MirPlace { block: new, index: news[b] });
        }
    }
    for (b, a) in pair.iter().enumerate().filter_map(|(b, a)| Some((b, (*a)?))) {
        matching.stayed.insert(MirPlace { block: new, index: news[b] }, MirPlace { block: old, index: olds[a] });
    }
    // Between two instructions that stayed in order, what is left on both sides does the same work in other words.
    let mut anchors = vec![(0, 0)];
    anchors.extend(common.iter().map(|(a, b)| (a + 1, b + 1)));
    let ends: Vec<(usize, usize)> = common.iter().copied().chain([(olds.len(), news.len())]).collect();
    for ((from_old, from_new), (to_old, to_new)) in anchors.into_iter().zip(ends) {
        let left: Vec<usize> = (from_old..to_old).filter(|a| !used[*a]).collect();
        let right: Vec<usize> = (from_new..to_new).filter(|b| pair[*b].is_none()).collect();
        let same_work = |a: usize, b: usize| {
            let (old, new) = (old_inst(left[a]), new_inst(right[b]));
            // A copy into the register is the first half of an instruction that works on its result, not the work itself.
            let same_result = || {
                let register = old.defs.first().filter(|d| d.starts_with('%'));
                register.is_some() && new.defs.first() == register && new.opcode != "COPY"
            };
            (old.shape == new.shape && !is_plain_copy(old)) || same_result()
        };
        for (a, b) in longest_common(left.len(), right.len(), same_work) {
            used[left[a]] = true;
            rewritten.push(MirPair {
                destination: MirPlace { block: new, index: news[right[b]] },
                sources: vec![MirPlace { block: old, index: olds[left[a]] }],
                manipulation: Manipulation::Rewrite,
            });
        }
    }
}

/// The longest common subsequence of two lists, by a comparison of indices.
fn longest_common(left: usize, right: usize, equal: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    /// Blocks beyond this are compared from their ends only, for the table grows with the product.
    const TABLE: usize = 4_000_000;
    let mut head = 0;
    while head < left.min(right) && equal(head, head) {
        head += 1;
    }
    let mut tail = 0;
    while tail < left.min(right) - head && equal(left - 1 - tail, right - 1 - tail) {
        tail += 1;
    }
    let (rows, columns) = (left - head - tail, right - head - tail);
    let mut found: Vec<(usize, usize)> = (0..head).map(|i| (i, i)).collect();
    if rows * columns <= TABLE {
        let mut table = vec![0u32; (rows + 1) * (columns + 1)];
        let cell = |a: usize, b: usize| a * (columns + 1) + b;
        for a in (0..rows).rev() {
            for b in (0..columns).rev() {
                table[cell(a, b)] = if equal(head + a, head + b) {
                    table[cell(a + 1, b + 1)] + 1
                } else {
                    table[cell(a + 1, b)].max(table[cell(a, b + 1)])
                };
            }
        }
        let (mut a, mut b) = (0, 0);
        while a < rows && b < columns {
            if equal(head + a, head + b) {
                found.push((head + a, head + b));
                (a, b) = (a + 1, b + 1);
            } else if table[cell(a + 1, b)] >= table[cell(a, b + 1)] {
                a += 1;
            } else {
                b += 1;
            }
        }
    }
    found.extend((0..tail).rev().map(|i| (left - 1 - i, right - 1 - i)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_common_part_is_found_between_equal_ends() {
        let (a, b) = ("xabcdy", "xbzdwy");
        let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let common = longest_common(a.len(), b.len(), |i, j| a[i] == b[j]);
        assert_eq!(common.iter().map(|(i, _)| a[*i]).collect::<String>(), "xbdy");
        assert!(common.iter().all(|(i, j)| a[*i] == b[*j]));
        assert!(longest_common(0, 3, |_, _| true).is_empty());
    }
}
