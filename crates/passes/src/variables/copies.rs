//! Descriptions of a phi that a pass copied, with the block, to one of the ways that lead to it, and that name the number of
//! another way.
//!
//! What the phi is on that way is read from the copies beside the description: the pass gave the number to an instruction that
//! used the phi. Deliberately absent: loops, of which several rounds may have been joined to one block.

use super::defs::{DefId, Side, VariableKey};
use super::judge::{Counterexample, Deviation, Function, Judged, VariableErrorKind};
use super::meaning::Assignment;
use super::reach::Holding;
use crate::flow::BlockIndex;
use crate::history::{Birth, ValueId};
use crate::opcode;
use std::collections::BTreeSet;

impl Function<'_, '_> {
    /// Finds them among the descriptions of a variable.
    pub(super) fn find_other_ways(&self, key: VariableKey, new: &[DefId], judged: &mut Judged) {
        for id in new {
            let is = self.described.after.get(*id);
            let (Some(origin), Some(stack)) = (is.origin, is.made) else { continue };
            let was = self.described.before.get(origin);
            let ([ValueId::Inst(phi)], [ValueId::Given(named)]) = (was.values.as_slice(), is.values.as_slice()) else { continue };
            let is_phi = self.history.record_before(*phi).is_some_and(|r| r.opcode == opcode::PHI);
            let in_its_block = self.history.life(*phi).before.is_some_and(|p| p.function == self.before && p.block == was.place.block);
            if !is_phi || !in_its_block || is.kills || was.record.expression != is.record.expression || self.is_in_loop(was.place.block) {
                continue;
            }
            let copies_here = new.iter().filter(|other| {
                let other = self.described.after.get(**other);
                other.origin == Some(origin) && other.place.block == is.place.block
            });
            let (Some(described), 1) = (self.number(*named), copies_here.count()) else { continue };
            let Some(value) = self.number_on_this_way(ValueId::Inst(*phi), was.place.block, is.place.block) else { continue };
            let bits = self.bits_of(key);
            let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
            if (value ^ described) & mask == 0 || !self.new_flow.is_reachable(is.place.block) {
                continue;
            }
            let numbers = Assignment::from([(ValueId::Inst(*phi), value)]);
            let counterexample = Counterexample { numbers, value, described: Some(described), bits, by: Deviation::OtherWay };
            let sides: (Holding, Holding) = ([Some(origin)].into(), [Some(*id)].into());
            self.tell(judged, VariableErrorKind::Wrong, key, None, (&sides.0, &sides.1), stack, |v| {
                v.counterexample = Some(counterexample);
            });
        }
    }

    /// The number that the copies, in one block, of what uses a phi in its own block have in its place: where they agree.
    fn number_on_this_way(&self, phi: ValueId, from: BlockIndex, to: BlockIndex) -> Option<u64> {
        let mut copied = BTreeSet::new();
        let mut numbers = BTreeSet::new();
        for inst in &self.history.run.after[self.after].blocks[to.0 as usize].instructions {
            let Some(id) = self.history.after_ids.get(&inst.at) else { continue };
            let Birth::Cloned(original, _) = self.history.life(*id).birth else { continue };
            let Some(old) = self.history.record_before(original) else { continue };
            let was_there = self.history.life(original).before.is_some_and(|p| p.function == self.before && p.block == from);
            if !was_there || old.opcode != inst.opcode || old.operands.len() != inst.operands.len() {
                continue;
            }
            // Two copies of one instruction are of two rounds, or ways.
            if !copied.insert(original) {
                return None;
            }
            let uses = old.operands.iter().zip(&inst.operands).filter(|(at, _)| self.reader(Side::Before).value(**at) == phi);
            for (_, at) in uses {
                numbers.insert(self.number(*at)?);
            }
        }
        let mut numbers = numbers.into_iter();
        numbers.next().filter(|_| numbers.next().is_none())
    }

    /// Whether a block of the original comes again.
    fn is_in_loop(&self, block: BlockIndex) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = self.old_flow.successors(block).to_vec();
        while let Some(next) = work.pop() {
            if next == block.0 {
                return true;
            }
            if seen.insert(next) {
                work.extend(self.old_flow.successors(BlockIndex(next)));
            }
        }
        false
    }
}
