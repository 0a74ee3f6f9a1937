//! Variables that are described by an address which nothing writes any more, as when copies between local arrays are made one
//! and the arrays in between are left as they were.
//!
//! Only slots of the stack whose uses are all seen count: one that is handed to a call or stored somewhere may be written
//! there. Deliberately absent: which of several writes is left.

use super::defs::{DefId, Side};
use super::judge::{Changed, Function, Judged, VariableErrorKind};
use super::reach::Holding;
use crate::history::{InstId, Place, ValueId};
use crate::opcode;
use std::collections::HashSet;
use trueline_llvm_hook::wire::{FunctionRecord, InstructionRecord};

/// What is done with the address of a slot.
struct Uses {
    /// The writes through it.
    writes: Vec<Place>,
    /// Whether it goes where writes are not seen.
    escapes: bool,
}

impl Uses {
    fn of(record: &FunctionRecord, function: usize, slot: u64) -> Self {
        let mut uses = Self { writes: Vec::new(), escapes: false };
        let mut addresses = HashSet::from([slot]);
        let mut known = 0;
        // Addresses within the slot are computed from it in whatever order blocks stand.
        while known != addresses.len() {
            known = addresses.len();
            let all = record.blocks.iter().flat_map(|b| &b.instructions);
            let derived = all.filter(|i| is_address(i) && i.operands.first().is_some_and(|o| addresses.contains(o)));
            addresses.extend(derived.map(|i| i.at).collect::<Vec<_>>());
        }
        for (block, b) in record.blocks.iter().enumerate() {
            for (index, inst) in b.instructions.iter().enumerate() {
                uses.add(inst, &addresses, Place { function, block: crate::flow::BlockIndex(block as u32), index });
            }
        }
        uses
    }

    fn add(&mut self, inst: &InstructionRecord, addresses: &HashSet<u64>, place: Place) {
        const COPIES: [&str; 3] = ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."];
        let named = |index: usize| inst.operands.get(index).is_some_and(|o| addresses.contains(o));
        if !inst.operands.iter().any(|o| addresses.contains(o)) || is_address(inst) {
            return;
        }
        match inst.opcode {
            opcode::LOAD | opcode::ICMP => {}
            opcode::STORE => {
                self.escapes |= named(0);
                self.writes.extend(named(1).then_some(place));
            }
            opcode::CALL if COPIES.iter().any(|name| inst.callee.starts_with(name)) => self.writes.extend(named(0).then_some(place)),
            opcode::CALL if inst.callee.starts_with("llvm.lifetime.") || inst.callee.starts_with("llvm.dbg.") => {}
            _ => self.escapes = true,
        }
    }
}

/// Whether an instruction computes an address from its first operand.
fn is_address(inst: &InstructionRecord) -> bool {
    matches!(inst.opcode, opcode::GETELEMENTPTR | opcode::BITCAST | opcode::ADDRSPACECAST)
}

impl Function<'_, '_> {
    /// A declared variable whose slot was written in front of the pass, and is described behind it but not written any more.
    pub(super) fn find_unwritten(&self, keys: &Changed, judged: &mut Judged) {
        for (key, (old, new)) in keys {
            let declared = |id: &&DefId| self.described.after.get(**id).declares() && !self.described.after.get(**id).kills;
            let alive: Vec<&DefId> = new.iter().filter(declared).collect();
            let ([id], Some(before)) = (alive.as_slice(), old.first()) else { continue };
            let [ValueId::Inst(slot)] = self.described.after.get(**id).values[..] else { continue };
            let Some(write) = self.last_writes(slot) else { continue };
            let shows = |(before, _): &&(Place, Place)| {
                let behind = before.block == write.block && before.index > write.index;
                behind || before.block != write.block && self.old_dominance().dominates(write.block, before.block)
            };
            let Some(point) = self.points().iter().filter(shows).find(|point| self.is_visible(*key, **point)).copied() else { continue };
            let sides: (Holding, Holding) = ([Some(*before)].into(), [Some(**id)].into());
            let stack = self.history.before_ids.get(&self.instruction_before(write).at).and_then(|id| self.history.life(*id).death);
            let kind = VariableErrorKind::Stale;
            self.tell(judged, kind, *key, Some(point), (&sides.0, &sides.1), stack.unwrap_or_default(), |_| {});
        }
    }

    /// The first write to a slot that had some in front of the pass and has none behind it.
    fn last_writes(&self, slot: InstId) -> Option<Place> {
        let at = |record: Option<&InstructionRecord>| record.filter(|r| r.opcode == opcode::ALLOCA).map(|r| r.at);
        let after = Uses::of(self.record(Side::After), self.after, at(self.history.record_after(slot))?);
        if after.escapes || !after.writes.is_empty() {
            return None;
        }
        let before = Uses::of(self.record(Side::Before), self.before, at(self.history.record_before(slot))?);
        before.writes.first().copied().filter(|_| !before.escapes)
    }

    fn instruction_before(&self, place: Place) -> &InstructionRecord {
        &self.record(Side::Before).blocks[place.block.0 as usize].instructions[place.index]
    }
}
