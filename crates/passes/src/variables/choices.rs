//! Values that are one of a few numbers, by the way that leads to them: phis of constants.
//!
//! Where a description gave one of some numbers and gives one of others now, no execution shows the value, whichever way it
//! comes. Deliberately absent: which way leads to which number.

use super::defs::Side;
use super::judge::Function;
use super::meaning::{Assignment, Term};
use crate::history::ValueId;
use crate::opcode;
use std::collections::{BTreeMap, BTreeSet};

/// What phis of a function can be.
pub struct PhiNumbers<'f, 'a, 'h> {
    function: &'f Function<'a, 'h>,
}

impl<'f, 'a, 'h> PhiNumbers<'f, 'a, 'h> {
    /// Of this function.
    pub fn of(function: &'f Function<'a, 'h>) -> Self {
        Self { function }
    }

    /// Numbers of the phis and of both terms, where the terms have no number in common in their lower bits.
    pub fn tell_apart(&self, before: &Term, after: &Term, bits: u32) -> Option<(Assignment, u64, u64)> {
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let (old, new) = (self.results(Side::Before, before, true)?, self.results(Side::After, after, false)?);
        let known: BTreeSet<u64> = old.iter().map(|(_, number)| number & mask).collect();
        if new.iter().any(|(_, number)| known.contains(&(number & mask))) {
            return None;
        }
        let ((mut numbers, value), (others, described)) = (old.into_iter().next()?, new.into_iter().next()?);
        numbers.extend(others);
        Some((numbers, value, described))
    }

    /// Every number that a term of one such phi, or of none, can give. `None` where it is of anything else.
    fn results(&self, side: Side, term: &Term, guarded: bool) -> Option<Vec<(Assignment, u64)>> {
        let mut leaves = BTreeMap::new();
        term.leaf_widths(&mut leaves);
        let mut leaves = leaves.into_keys();
        let assignments: Vec<Assignment> = match (leaves.next(), leaves.next()) {
            (None, _) => vec![Assignment::new()],
            (Some(leaf), None) => self.incoming(side, leaf)?.into_iter().map(|number| Assignment::from([(leaf, number)])).collect(),
            _ => return None,
        };
        assignments.into_iter().map(|numbers| term.evaluate(&numbers, guarded).map(|result| (numbers, result))).collect()
    }

    /// The numbers that a phi can be, where all are constants.
    fn incoming(&self, side: Side, leaf: ValueId) -> Option<Vec<u64>> {
        let ValueId::Inst(id) = leaf else { return None };
        let history = self.function.history;
        let record = if side == Side::Before { history.record_before(id) } else { history.record_after(id) };
        let record = record.filter(|r| r.opcode == opcode::PHI && !r.operands.is_empty())?;
        record.operands.iter().map(|at| self.function.number(*at)).collect()
    }
}
