//! Expressions that no debugger can evaluate, since they join a converted number with a plain one.
//!
//! An entry of DWARF's stack has a type since version 5: the generic one, or the base type that `DW_OP_convert` gave it. An
//! operation on two entries wants one type for both (DWARF 5, 2.5.1). LLVM's salvaging writes conversions for `zext`, `sext` and
//! `trunc` and plain constants for everything else, and what a pass has made of an expression is printed as it is.
//! Deliberately absent: what the expression computes (`meaning` says that), and operations that are not known here.

use super::defs::{DefId, VariableKey};
use super::judge::{Function, Judged, VariableErrorKind};
use super::reach::Holding;
use std::collections::BTreeSet;

/// The type of an entry of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryType {
    /// The type of addresses and of plain constants.
    Generic,
    /// A base type, by its bits and encoding.
    Base(u64, u64),
}

impl EntryType {
    /// What a conversion gives. Debuggers hold the generic type for a signed number of an address's size.
    fn converted(bits: u64, encoding: u64) -> Self {
        const SIGNED: u64 = 5;
        if (bits, encoding) == (64, SIGNED) { Self::Generic } else { Self::Base(bits, encoding) }
    }
}

/// The operation at which entries of two types meet; `None` where none do, and where an operation is not known.
pub fn clash(elements: &[u64]) -> Option<u64> {
    const ARGUMENT: u64 = 0x1005;
    const CONVERT: u64 = 0x1001;
    const STACK_VALUE: u64 = 0x9f;
    let mut stack: Vec<EntryType> = Vec::new();
    if !elements.contains(&ARGUMENT) {
        stack.push(EntryType::Generic);
    }
    let mut rest = elements.iter().copied();
    while let Some(op) = rest.next() {
        match op {
            // and, div, minus, mod, mul, or, plus, shl, shr, shra, xor; eq, ge, gt, le, lt, ne
            0x1a..=0x1e | 0x21 | 0x22 | 0x24..=0x27 | 0x29..=0x2e => {
                let (b, a) = (stack.pop()?, stack.pop()?);
                if a != b {
                    return Some(op);
                }
                stack.push(if op >= 0x29 { EntryType::Generic } else { a });
            }
            ARGUMENT | 0x10 | 0x11 => {
                rest.next()?;
                stack.push(EntryType::Generic);
            }
            0x30..=0x4f => stack.push(EntryType::Generic),
            CONVERT => {
                stack.pop()?;
                stack.push(EntryType::converted(rest.next()?, rest.next()?));
            }
            0x12 => stack.push(*stack.last()?),
            0x16 => {
                let last = stack.len().checked_sub(2)?;
                stack.swap(last, last + 1);
            }
            // abs, neg, not
            0x19 | 0x1f | 0x20 => {}
            // plus_uconst
            0x23 => drop(rest.next()?),
            // The result is the value.
            STACK_VALUE => {}
            _ => return None,
        }
    }
    None
}

impl Function<'_, '_> {
    /// Whether no debugger can evaluate the expression at an address.
    fn is_unreadable(&self, expression: u64) -> bool {
        self.referents.expressions.get(&expression).is_some_and(|e| clash(e).is_some())
    }

    /// Descriptions whose expressions the pass made such that none can evaluate them.
    pub(super) fn find_unreadable(&self, key: VariableKey, new: &[DefId], judged: &mut Judged) {
        let mut told = BTreeSet::new();
        for id in new {
            let is = self.described.after.get(*id);
            let Some(origin) = is.origin.filter(|_| !is.kills && self.new_flow.is_reachable(is.place.block)) else { continue };
            let was = self.described.before.get(origin);
            let made_so = is.record.expression != was.record.expression
                && self.is_unreadable(is.record.expression)
                && !self.is_unreadable(was.record.expression);
            if !made_so || !told.insert(is.record.expression) {
                continue;
            }
            let stack = self.salvaged_at(was).or(is.made).or_else(|| self.redescribed_at(was)).unwrap_or_default();
            let clash = self.referents.expressions.get(&is.record.expression).and_then(|e| clash(e));
            let sides: (Holding, Holding) = ([Some(origin)].into(), [Some(*id)].into());
            self.tell(judged, VariableErrorKind::Wrong, key, None, (&sides.0, &sides.1), stack, |v| v.clash = clash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_converted_number_and_a_plain_one_do_not_meet() {
        // convert 32 unsigned, convert 16 unsigned, constu 63, and
        assert_eq!(clash(&[0x1001, 32, 7, 0x1001, 16, 7, 0x10, 63, 0x1a, 0x9f]), Some(0x1a));
        assert_eq!(clash(&[0x1005, 0, 0x1005, 1, 0x1001, 16, 7, 0x1c]), Some(0x1c), "one of two values is converted");
    }

    #[test]
    fn numbers_of_one_type_may_meet() {
        assert_eq!(clash(&[0x10, 63, 0x1a]), None);
        assert_eq!(clash(&[0x1001, 32, 7, 0x1001, 16, 7]), None, "a conversion at the end is the value");
        assert_eq!(clash(&[0x1005, 0, 0x1001, 16, 7, 0x1005, 1, 0x1001, 16, 7, 0x22]), None, "both are converted alike");
        assert_eq!(clash(&[0x1001, 32, 5, 0x1001, 64, 5, 0x10, 3, 0x24]), None, "a signed word is what debuggers compute with");
        assert_eq!(clash(&[0x06, 0x1001, 8, 7, 0x10, 1, 0x22]), None, "memory is not followed");
    }
}
