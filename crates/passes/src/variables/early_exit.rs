//! Loops that are left earlier than in the original, because nothing but variables depends on how often they run.
//!
//! The condition that leads back is constant behind the pass. In front of it the loop is run on numbers: where the original
//! goes on, values of the loop that are described behind it are those of an earlier iteration. Deliberately absent: loops whose
//! condition depends on memory, on calls or on branches within them.

use super::context::Context;
use super::defs::{DefId, Side, VariableKey};
use super::judge::{Counterexample, Deviation, Function, Judged, VariableErrorKind};
use super::meaning::{Assignment, Term, numbers_to_try};
use super::reach::{Holding, Reaching};
use crate::flow::BlockIndex;
use crate::history::{InstId, ValueId};
use crate::opcode;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use trueline_llvm_hook::wire::FunctionRecord;

/// More iterations are not run.
const MOST_ITERATIONS: u32 = 4096;

/// Whether some block that chose in front of a pass does not any more.
pub fn any_decided(before: &FunctionRecord, after: &FunctionRecord) -> bool {
    after.blocks.iter().any(|now| now.decided != 0 && before.blocks.iter().any(|was| was.at == now.at && was.decided == 0))
}

/// A loop of one block at whose end the pass decided to leave.
struct Left {
    /// The block in front of the pass and behind it.
    block: (u32, u32),
    condition: Rc<Term>,
    /// Whether the condition leads back where it holds.
    back_if: bool,
    /// Each phi with what it is at first and from then on.
    phis: Vec<(InstId, Rc<Term>, Rc<Term>)>,
}

impl Function<'_, '_> {
    /// Descriptions behind loops that are left earlier.
    pub(super) fn find_early_exits(&self, judged: &mut Judged) {
        let blocks = &self.record(Side::After).blocks;
        let decided = blocks.iter().enumerate().filter(|(_, b)| b.decided != 0);
        let left: Vec<Left> = decided.filter_map(|(index, b)| self.left(index as u32, b.at, b.decided)).collect();
        for loop_ in &left {
            let mut told = BTreeSet::new();
            for ((_, key), new) in self.described.after.by_key.iter().filter(|((f, _), _)| *f == self.after) {
                if told.insert((key.variable, key.inlined_at)) {
                    self.find_iteration(loop_, *key, new, judged);
                }
            }
        }
    }

    fn left(&self, after: u32, at: u64, taken: u64) -> Option<Left> {
        let blocks = &self.record(Side::Before).blocks;
        let before = blocks.iter().position(|b| b.at == at)?;
        let block = &blocks[before];
        let [first, second] = block.successors[..] else { return None };
        let back_if = first == at;
        // Either way leads back to the block itself, and the other is the one that is taken now.
        if block.decided != 0 || (first == at) == (second == at) || taken == at {
            return None;
        }
        let reader = self.reader(Side::Before);
        let condition = reader.term(reader.value(*block.instructions.last()?.operands.first()?))?;
        let inside: BTreeSet<u64> = block.instructions.iter().map(|i| i.at).collect();
        let mut phis = Vec::new();
        for phi in block.instructions.iter().filter(|i| i.opcode == opcode::PHI) {
            let [a, b] = phi.operands[..] else { return None };
            let (start, next) = if inside.contains(&a) { (b, a) } else { (a, b) };
            let terms = reader.term(reader.value(start)).zip(reader.term(reader.value(next)));
            // One that is no number has no part in the others' terms.
            if let (Some((start, next)), false) = (terms, inside.contains(&start)) {
                phis.push((*self.history.before_ids.get(&phi.at)?, start, next));
            }
        }
        Some(Left { block: (before as u32, after), condition, back_if, phis })
    }

    fn find_iteration(&self, left: &Left, key: VariableKey, new: &[DefId], judged: &mut Judged) {
        let after = Reaching::of(&self.new_flow, &self.described.after, new);
        let shown = |id: &Option<DefId>| {
            let is = self.described.after.get((*id)?);
            let [value @ ValueId::Inst(inst)] = is.values[..] else { return None };
            let origin = is.origin?;
            let was = self.described.before.get(origin);
            let inside = self.history.life(inst).before.is_some_and(|p| p.block.0 == left.block.0);
            let same = was.values == is.values && was.record.expression == is.record.expression && self.is_stable(value);
            (inside && same && is.place.block.0 == left.block.1).then_some((*id, origin, value))
        };
        let behind = |point: &&(crate::history::Place, crate::history::Place)| {
            point.1.block.0 != left.block.1
                && self.dominance.dominates(BlockIndex(left.block.1), point.1.block)
                && self.is_visible(key, **point)
        };
        for point in self.points().iter().filter(behind) {
            let holding = after.at(point.1);
            let Some((id, origin, value)) = holding.iter().next().filter(|_| holding.len() == 1).and_then(shown) else { continue };
            let Some(counterexample) = self.run_on(left, value, key) else { return };
            let sides: (Holding, Holding) = ([Some(origin)].into(), [id].into());
            let kind = VariableErrorKind::Stale;
            self.tell(judged, kind, key, Some(*point), (&sides.0, &sides.1), crate::observation::StackId(0), |v| {
                v.counterexample = Some(counterexample);
            });
            return;
        }
    }

    /// Numbers with which the original leaves the loop with another value than the first iteration's.
    fn run_on(&self, left: &Left, value: ValueId, key: VariableKey) -> Option<Counterexample> {
        let described = self.reader(Side::Before).term(value)?;
        let own: BTreeSet<ValueId> = left.phis.iter().map(|(phi, ..)| ValueId::Inst(*phi)).collect();
        let terms = || left.phis.iter().flat_map(|(_, start, next)| [start, next]).chain([&left.condition, &described]);
        let mut widths = BTreeMap::new();
        terms().for_each(|term| term.leaf_widths(&mut widths));
        widths.retain(|leaf, _| !own.contains(leaf));
        let context = Context::of(self, widths)?;
        let all: Vec<&Term> = terms().map(AsRef::as_ref).collect();
        let bits = self.bits_of(key).min(described.width);
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        numbers_to_try(&context.widths, &all).find_map(|numbers| {
            let (first, last) = run(left, &described, &numbers)?;
            let differs = (first ^ last) & mask != 0 && context.reaches(Side::Before, left.block.0, &numbers);
            differs.then_some(Counterexample { numbers, value: last, described: Some(first), bits, by: Deviation::EarlyExit })
        })
    }
}

/// What a value of the loop is in the first and in the last iteration of the original.
fn run(left: &Left, described: &Term, numbers: &Assignment) -> Option<(u64, u64)> {
    let mut state = numbers.clone();
    for (phi, start, _) in &left.phis {
        state.insert(ValueId::Inst(*phi), start.evaluate(numbers, true)?);
    }
    let first = described.evaluate(&state, true)?;
    for _ in 0..MOST_ITERATIONS {
        let holds = left.condition.evaluate(&state, true)? & 1 == 1;
        if holds != left.back_if {
            return Some((first, described.evaluate(&state, true)?));
        }
        let next = left.phis.iter().map(|(phi, _, next)| Some((ValueId::Inst(*phi), next.evaluate(&state, true)?)));
        let next: Vec<_> = next.collect::<Option<_>>()?;
        state.extend(next);
    }
    None
}
