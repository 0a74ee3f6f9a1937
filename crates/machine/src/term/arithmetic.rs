//! Arithmetic on terms: sums are kept as linear combinations, the rest is rewritten where that is exact.

use super::{Term, TermNode, Terms, mask, signed};
use crate::algebra::Bin;
use std::collections::BTreeMap;

pub(super) fn fold(op: Bin, x: u128, y: u128, width: u32) -> u128 {
    let (a, b) = (signed(x, width), signed(y, width));
    let bits = match op {
        Bin::Add => x.wrapping_add(y),
        Bin::Sub => x.wrapping_sub(y),
        Bin::Mul => x.wrapping_mul(y),
        Bin::Udiv => x.checked_div(y).unwrap_or(u128::MAX),
        Bin::Urem => x.checked_rem(y).unwrap_or(x),
        Bin::Sdiv => a.checked_div(b).map_or(if a < 0 { 1 } else { u128::MAX }, |v| v as u128),
        Bin::Srem => a.checked_rem(b).map_or(x, |v| v as u128),
        Bin::And => x & y,
        Bin::Or => x | y,
        Bin::Xor => x ^ y,
        Bin::Shl => {
            if y >= u128::from(width) {
                0
            } else {
                x << y
            }
        }
        Bin::Lshr => {
            if y >= u128::from(width) {
                0
            } else {
                x >> y
            }
        }
        Bin::Ashr => (a >> y.min(u128::from(width.min(127)))) as u128,
        Bin::Eq => u128::from(x == y),
        Bin::Ult => u128::from(x < y),
        Bin::Slt => u128::from(a < b),
    };
    bits & mask(width)
}

impl Terms {
    /// A 64-bit sum as factors by atom and a constant.
    pub fn linear(&self, t: Term) -> (BTreeMap<Term, u64>, u64) {
        let mut atoms = BTreeMap::new();
        let mut constant = 0u64;
        let mut work = vec![(t, 1u64)];
        while let Some((t, k)) = work.pop() {
            match &self.nodes[t.0 as usize] {
                TermNode::Const(_, v) => constant = constant.wrapping_add((*v as u64).wrapping_mul(k)),
                TermNode::Bin(Bin::Add, a, b) => work.extend([(*a, k), (*b, k)]),
                TermNode::Bin(Bin::Sub, a, b) => work.extend([(*a, k), (*b, k.wrapping_neg())]),
                TermNode::Bin(Bin::Mul, a, b) => match (self.value(*a), self.value(*b)) {
                    (Some(v), _) => work.push((*b, k.wrapping_mul(v as u64))),
                    (_, Some(v)) => work.push((*a, k.wrapping_mul(v as u64))),
                    _ => *atoms.entry(t).or_insert(0u64) = atoms.get(&t).copied().unwrap_or(0).wrapping_add(k),
                },
                TermNode::Bin(Bin::Shl, a, b) if self.value(*b).is_some_and(|s| s < 64) => {
                    work.push((*a, k.wrapping_shl(self.value(*b).unwrap_or(0) as u32)));
                }
                _ => {
                    let slot = atoms.entry(t).or_insert(0u64);
                    *slot = slot.wrapping_add(k);
                }
            }
        }
        atoms.retain(|_, k| *k != 0);
        (atoms, constant)
    }

    /// The sum of a linear form of a width, in one canonical shape.
    pub(super) fn sum(&mut self, width: u32, atoms: &BTreeMap<Term, u64>, constant: u64) -> Term {
        let mut total: Option<Term> = None;
        for (atom, factor) in atoms {
            let part = if *factor == 1 {
                *atom
            } else {
                let k = self.constant(width, u128::from(*factor));
                self.intern(TermNode::Bin(Bin::Mul, *atom, k), width)
            };
            total = Some(match total {
                None => part,
                Some(t) => self.intern(TermNode::Bin(Bin::Add, t, part), width),
            });
        }
        let constant = u128::from(constant) & mask(width);
        match total {
            None => self.constant(width, constant),
            Some(t) if constant == 0 => t,
            Some(t) => {
                let k = self.constant(width, constant);
                self.intern(TermNode::Bin(Bin::Add, t, k), width)
            }
        }
    }

    /// A binary operation.
    pub fn bin(&mut self, op: Bin, a: Term, b: Term) -> Term {
        let width = self.width(a);
        let result = if matches!(op, Bin::Eq | Bin::Ult | Bin::Slt) { 1 } else { width };
        if let (Some(x), Some(y)) = (self.value(a), self.value(b)) {
            let bits = fold(op, x, y, width);
            return self.constant(result, bits);
        }
        match op {
            Bin::Add | Bin::Sub | Bin::Mul | Bin::Shl if width <= 64 => {
                let linear = match op {
                    Bin::Mul => self.value(a).is_some() || self.value(b).is_some(),
                    Bin::Shl => self.value(b).is_some_and(|s| s < u128::from(width)),
                    _ => true,
                };
                if linear {
                    let raw = self.intern(TermNode::Bin(op, a, b), width);
                    let (mut atoms, constant) = self.linear(raw);
                    for k in atoms.values_mut() {
                        *k &= mask(width) as u64;
                    }
                    atoms.retain(|_, k| *k != 0);
                    return self.sum(width, &atoms, constant);
                }
            }
            Bin::And if width == 1 => return self.conjunction(&[a, b]),
            Bin::Or if width == 1 => return self.either(a, b),
            Bin::And | Bin::Or | Bin::Xor => {
                if op == Bin::Xor
                    && let Some(rest) = self.cancel(a, b)
                {
                    return rest;
                }
                if a == b {
                    return if op == Bin::Xor { self.constant(width, 0) } else { a };
                }
                for (x, y) in [(a, b), (b, a)] {
                    match (op, self.value(x)) {
                        (Bin::And, Some(0)) => return x,
                        (Bin::And, Some(v)) if v == mask(width) => return y,
                        (Bin::Or | Bin::Xor, Some(0)) => return y,
                        (Bin::Or, Some(v)) if v == mask(width) => return x,
                        _ => {}
                    }
                }
            }
            Bin::Eq => {
                if a == b {
                    return self.constant(1, 1);
                }
                if (2..=64).contains(&width) {
                    return self.equation(a, b);
                }
            }
            Bin::Ult | Bin::Slt if a == b => return self.constant(1, 0),
            Bin::Lshr | Bin::Ashr if self.value(b) == Some(0) => return a,
            // What was shifted up and comes down again with its sign is a narrower number.
            Bin::Ashr if width == 64 => {
                if let Some(by) = self.value(b).filter(|by| *by < 63).map(|by| by as u32)
                    && self.is_multiple(a, 1 << by.min(31))
                    && let Some(low) = self.divided(a, 1i64 << by)
                {
                    let low = self.extract(low, 0, 64 - by);
                    return self.sext(low, 64);
                }
            }
            // A quotient without remainder of a sum that does not overflow.
            Bin::Sdiv if width == 64 => {
                if let Some(by) = self.value(b).map(|v| v as u64 as i64).filter(|by| *by != 0)
                    && self.interval(a).is_some()
                    && let Some(quotient) = self.divided(a, by)
                {
                    return quotient;
                }
            }
            _ => {}
        }
        self.intern(TermNode::Bin(op, a, b), result)
    }
}
