//! Descriptions that followed a value to another one which is not equal to it: a pass that replaces a value by one that
//! gives the same results wherever the program looks redirects what describes variables as well, and a debugger looks
//! elsewhere. The same for an instruction that is changed in place.

use super::choices::PhiNumbers;
use super::context::Context;
use super::defs::{DefId, Side, VariableKey};
use super::floating;
use super::judge::{Attention, Counterexample, Deviation, Function, Judged, VariableErrorKind};
use super::meaning::{Assignment, Choices, Depth, Extension, Reader, Term, is_computed, numbers_to_try};
use super::reach::Holding;
use crate::history::{History, InstId, ValueId};
use std::collections::{BTreeMap, HashSet};

/// Instructions that are there on both sides and compute something else behind the pass.
pub struct ChangedInPlace(HashSet<InstId>);

impl ChangedInPlace {
    /// Finds them.
    pub fn of(history: &History<'_>) -> Self {
        let ids = (0..history.lives.len() as u32).map(InstId);
        Self(ids.filter(|id| is_changed(history, *id)).collect())
    }

    /// Whether a value is computed from one of them.
    pub fn concerns(&self, history: &History<'_>, value: ValueId) -> bool {
        const DEEPEST: u32 = 8;
        !self.0.is_empty() && self.is_below(history, value, DEEPEST)
    }

    fn is_below(&self, history: &History<'_>, value: ValueId, depth: u32) -> bool {
        let ValueId::Inst(id) = value else { return false };
        if self.0.contains(&id) {
            return true;
        }
        let Some(record) = history.record_before(id).filter(|r| depth > 0 && is_computed(r)) else { return false };
        record.operands.iter().any(|at| self.is_below(history, history.value_before(*at), depth - 1))
    }
}

fn is_changed(history: &History<'_>, id: InstId) -> bool {
    let (Some(before), Some(after)) = (history.record_before(id), history.record_after(id)) else { return false };
    let same = |(old, new): (&u64, &u64)| history.value_before(*old) == history.value_after(*new);
    (is_computed(before) || floating::is_operation(before.opcode))
        && (before.opcode != after.opcode || before.predicate != after.predicate || !before.operands.iter().zip(&after.operands).all(same))
}

impl Function<'_, '_> {
    /// Descriptions that stayed and now give another value, with numbers that lead an execution to them.
    pub(super) fn find_unequal(&self, key: VariableKey, new: &[DefId], judged: &mut Judged) {
        for id in new {
            let is = self.described.after.get(*id);
            let Some(origin) = is.origin.filter(|_| is.made.is_none() && !is.kills) else { continue };
            let was = self.described.before.get(origin);
            let stayed = self.history.block_before(was.place) == self.history.block_after(is.place);
            let told = |v: &super::judge::VariableVerdict| v.kind == VariableErrorKind::Wrong && v.after == [Some(*id)];
            if was.kills || !stayed || judged.verdicts.iter().any(told) {
                continue;
            }
            let terms = |extension, depth| {
                let reader = |side| Reader { choices: Choices::Followed, depth, ..self.reader(side) };
                let term = |side, values: &[ValueId], expression| reader(side).described(values, expression, extension);
                let numbers =
                    term(Side::Before, &was.values, was.record.expression).zip(term(Side::After, &is.values, is.record.expression));
                let (before, after, bits) = match numbers {
                    Some((before, after)) => {
                        let bits = self.bits_of(key).min(before.width).min(after.width);
                        (before, after, bits)
                    }
                    None => self.converted_otherwise(was, is).map(|(before, after)| (before, after, 64))?,
                };
                (before != after).then_some((before, after, bits))
            };
            let seen_to_differ = |extension| {
                let (before, after, bits) = terms(extension, Depth::Full)?;
                let by = if was.values == is.values { Deviation::InPlace } else { Deviation::Replacement };
                let found = self.find_numbers(&before, &after, bits, was.place.block.0, is.place.block.0);
                let ((numbers, value, described), by) = found
                    .or_else(|| PhiNumbers::of(self).tell_apart(&before, &after, bits))
                    .map(|numbers| (numbers, by))
                    .or_else(|| self.numbers_of_suspect(key, &before, &after, bits))?;
                Some(Counterexample { numbers, value, described: Some(described), bits, by })
            };
            let suspected = |extension| {
                let (before, after, bits) = terms(extension, Depth::ToCommon).filter(|_| self.is_suspect(key))?;
                let ((numbers, value, described), by) = self.numbers_of_suspect(key, &before, &after, bits)?;
                Some(Counterexample { numbers, value, described: Some(described), bits, by })
            };
            let refute = |extension| seen_to_differ(extension).or_else(|| suspected(extension));
            let read_both_ways = refute(Extension::Sign).and_then(|_| refute(Extension::Zeros));
            let Some(counterexample) = read_both_ways.or_else(|| self.has_other_constant(was, is)) else { continue };
            let stack = self.redescribed_at(was).unwrap_or_default();
            let sides: (Holding, Holding) = ([Some(origin)].into(), [Some(*id)].into());
            self.tell(judged, VariableErrorKind::Wrong, key, None, (&sides.0, &sides.1), stack, |v| {
                v.counterexample = Some(counterexample);
            });
        }
    }

    /// Whether more is known of a variable than that it is described.
    fn is_suspect(&self, key: VariableKey) -> bool {
        let name = self.referents.variables.get(&key.variable).map(|v| v.name.as_str());
        matches!(self.attention, Attention::Suspect(suspect) | Attention::Only(suspect, _) if name == Some(suspect))
    }

    /// Numbers that tell two terms apart, wherever an execution goes with them: for a variable that is known to be shown wrongly
    /// behind this pass, or by a later one. Leaves that are there on both sides are taken for the same value, and so is what
    /// took one's place.
    fn numbers_of_suspect(&self, key: VariableKey, before: &Term, after: &Term, bits: u32) -> Option<((Assignment, u64, u64), Deviation)> {
        if !self.is_suspect(key) {
            return None;
        }
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        if let Attention::Only(_, shown) = self.attention {
            return self.numbers_of_one_shown_later(before, after, mask, shown).map(|numbers| (numbers, Deviation::ShownLater));
        }
        let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
        before.leaf_widths(&mut old);
        after.leaf_widths(&mut new);
        let lives = |leaf: &ValueId| match leaf {
            ValueId::Given(_) => true,
            ValueId::Inst(id) => self.history.record_before(*id).is_some() && self.history.record_after(*id).is_some(),
        };
        // What is new must stand for something that is not there any more, or nothing is known of it.
        let mut stands_for: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        for leaf in old.keys().filter(|leaf| !lives(leaf)) {
            let heirs = self.heirs(*leaf);
            let mut named = heirs.iter().filter(|heir| new.contains_key(heir));
            let (Some(heir), None) = (named.next(), named.next()) else { return None };
            stands_for.insert(*leaf, *heir);
        }
        if !new.keys().all(|leaf| lives(leaf) || stands_for.values().any(|heir| heir == leaf)) {
            return None;
        }
        let mut widths = new;
        widths.extend(old.into_iter().filter(|(leaf, _)| !stands_for.contains_key(leaf)));
        let told_apart = numbers_to_try(&widths, &[before, after]).find_map(|mut numbers| {
            let copies: Vec<_> = stands_for.iter().filter_map(|(leaf, heir)| Some((*leaf, *numbers.get(heir)?))).collect();
            numbers.extend(copies);
            let (value, described) = (before.evaluate(&numbers, true)?, after.evaluate(&numbers, false)?);
            ((value ^ described) & mask != 0).then_some((numbers, value, described))
        });
        told_apart.map(|numbers| (numbers, Deviation::Suspected))
    }

    /// The same for a variable that a later pass shows wrongly. Passes in front of that one replace much that is equal by what
    /// they know of it, ranges and conditions, so that some numbers tell nothing. It must differ for each of the small ones,
    /// of which ranges seldom say anything, or begin to be the very number that is shown.
    fn numbers_of_one_shown_later(&self, before: &Term, after: &Term, mask: u64, shown: Option<u64>) -> Option<(Assignment, u64, u64)> {
        const SMALL: u64 = 3;
        let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
        before.leaf_widths(&mut old);
        after.leaf_widths(&mut new);
        if new.is_empty() {
            let described = after.evaluate(&Assignment::new(), false).filter(|d| shown.is_some_and(|shown| (shown ^ d) & mask == 0))?;
            // A number that was there before is not what this pass made of it.
            (!old.is_empty()).then_some(())?;
            let numbers =
                |first: u64| old.keys().enumerate().map(|(i, leaf)| (*leaf, (first + i as u64) % SMALL + 1)).collect::<Assignment>();
            return (0..SMALL).map(numbers).find_map(|numbers| {
                let value = before.evaluate(&numbers, true)?;
                ((value ^ described) & mask != 0).then_some((numbers, value, described))
            });
        }
        let lives = |leaf: &ValueId| match leaf {
            ValueId::Given(_) => true,
            ValueId::Inst(id) => {
                self.history.record_before(*id).is_some()
                    && self.history.record_after(*id).is_some()
                    && self.history.life(*id).taken_over_by.is_empty()
            }
        };
        // Narrow values have no small numbers to speak of.
        if old != new || !old.iter().all(|(leaf, width)| lives(leaf) && *width > 2) {
            return None;
        }
        let mut found = None;
        for first in 0..SMALL {
            let numbers: Assignment = old.keys().enumerate().map(|(i, leaf)| (*leaf, (first + i as u64) % SMALL + 1)).collect();
            let (value, described) = (before.evaluate(&numbers, true)?, after.evaluate(&numbers, false)?);
            if (value ^ described) & mask == 0 {
                return None;
            }
            found.get_or_insert((numbers, value, described));
        }
        found
    }

    /// Numbers that tell two terms apart in their lower bits and under which both sides reach the description.
    fn find_numbers(&self, before: &Term, after: &Term, bits: u32, old_block: u32, new_block: u32) -> Option<(Assignment, u64, u64)> {
        let mut widths = BTreeMap::new();
        before.leaf_widths(&mut widths);
        after.leaf_widths(&mut widths);
        if !widths.keys().all(|leaf| self.is_untouched(*leaf)) {
            return None;
        }
        let context = Context::of(self, widths)?;
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        numbers_to_try(&context.widths, &[before, after]).find_map(|numbers| {
            let (value, described) = (before.evaluate(&numbers, true)?, after.evaluate(&numbers, false)?);
            let differs = (value ^ described) & mask != 0;
            let reached = || context.reaches(Side::Before, old_block, &numbers) && context.reaches(Side::After, new_block, &numbers);
            (differs && reached()).then_some((numbers, value, described))
        })
    }
}
