//! Floating-point values that a pass computes otherwise and that stay described as they were: a conversion that takes its
//! number for one without a sign, and an operation with another constant.
//!
//! Only the same number of the same operand is compared, so that no rounding need be known. Deliberately absent: what
//! floating-point operations compute, and fast-math flags. Both are only looked at where the operand is one of which the pass
//! can know nothing.

use super::defs::{Def, Side};
use super::judge::{Counterexample, Deviation, Function};
use super::meaning::{Assignment, Extension, Term};
use crate::history::ValueId;
use crate::opcode;
use std::rc::Rc;
use trueline_llvm_hook::wire::InstructionRecord;

/// A word: conversions of narrower numbers are told apart in it.
const WORD: u32 = 64;

/// Whether an instruction is an operation on two floating-point numbers.
pub fn is_operation(number: u8) -> bool {
    matches!(number, opcode::FADD | opcode::FSUB | opcode::FMUL | opcode::FDIV)
}

impl<'h> Function<'_, 'h> {
    /// The one instruction that a description without an expression names, on its side.
    fn plainly_named(&self, side: Side, def: &Def<'_>) -> Option<&'h InstructionRecord> {
        let is_plain = self.referents.expressions.get(&def.record.expression).is_some_and(Vec::is_empty);
        let [ValueId::Inst(id)] = def.values.as_slice() else { return None };
        let record = if side == Side::Before { self.history.record_before(*id) } else { self.history.record_after(*id) };
        record.filter(|_| is_plain)
    }

    /// The integers that a conversion to floating point starts from on both sides, where it reads their sign on one side only.
    /// Of a negative number they differ by all that its width can count, which no rounding makes equal.
    pub(super) fn converted_otherwise(&self, was: &Def<'_>, is: &Def<'_>) -> Option<(Rc<Term>, Rc<Term>)> {
        let integer = |side, def| {
            let record = self.plainly_named(side, def)?;
            let extension = match record.opcode {
                opcode::UITOFP => Extension::Zeros,
                opcode::SITOFP => Extension::Sign,
                _ => return None,
            };
            let reader = self.reader(side);
            let operand = reader.term(reader.value(*record.operands.first()?)).filter(|term| term.width < WORD)?;
            Some((Rc::clone(&operand), operand.extended(WORD, extension, record.known), extension))
        };
        let (old, new) = (integer(Side::Before, was)?, integer(Side::After, is)?);
        (old.0 == new.0 && old.2 != new.2).then_some((old.1, new.1))
    }

    /// Whether an operation on the same free number has another constant than before. With one for a factor, zero for a
    /// summand, the result is the constant itself. A constant in which something is undefined is not compared.
    pub(super) fn has_other_constant(&self, was: &Def<'_>, is: &Def<'_>) -> Option<Counterexample> {
        let (old, new) = (self.plainly_named(Side::Before, was)?, self.plainly_named(Side::After, is)?);
        // Wider variables may be vectors, of whose lanes some may be undefined.
        let is_scalar = matches!(self.referents.variables.get(&was.key.variable)?.bits, 32 | 64);
        if !is_scalar || was.values != is.values || old.opcode != new.opcode || !is_operation(old.opcode) {
            return None;
        }
        let operands = |side, record: &InstructionRecord| -> Option<[ValueId; 2]> {
            let reader = self.reader(side);
            record.operands.iter().map(|at| reader.value(*at)).collect::<Vec<_>>().try_into().ok()
        };
        let (old, new) = (operands(Side::Before, old)?, operands(Side::After, new)?);
        let is_argument = |at: u64| self.history.run.before[self.before].arguments.iter().any(|a| a.at == at);
        let is_constant = |value| matches!(value, ValueId::Given(at) if !is_argument(at) && !self.referents.is_undefined(at));
        let differs = |at: usize| {
            let same = old[1 - at] == new[1 - at] && self.is_untouched(old[1 - at]) && self.is_free(old[1 - at]);
            same && old[at] != new[at] && is_constant(old[at]) && is_constant(new[at])
        };
        let nothing = Counterexample { numbers: Assignment::new(), value: 0, described: None, bits: 0, by: Deviation::OtherConstant };
        (differs(0) || differs(1)).then_some(nothing)
    }
}
