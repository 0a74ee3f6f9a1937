//! Terms of other widths: parts, joined parts, extensions.

use super::{Term, TermNode, Terms, signed};
use crate::algebra::Bin;
use std::collections::BTreeMap;

impl Terms {
    /// Some bits of a term, from the lowest wanted one on.
    pub fn extract(&mut self, t: Term, low: u32, width: u32) -> Term {
        let full = self.width(t);
        if low == 0 && width == full {
            return t;
        }
        if let Some(known) = self.taken.get(&(t, low, width)) {
            return *known;
        }
        let bits = self.take_bits(t, low, width);
        self.taken.insert((t, low, width), bits);
        bits
    }

    fn take_bits(&mut self, t: Term, low: u32, width: u32) -> Term {
        match self.nodes[t.0 as usize].clone() {
            TermNode::Const(_, v) => return self.constant(width, v >> low),
            TermNode::Extract(inner, at, _) => return self.extract(inner, at + low, width),
            TermNode::Concat(high, rest) => {
                let split = self.width(rest);
                if low >= split {
                    return self.extract(high, low - split, width);
                }
                if low + width <= split {
                    return self.extract(rest, low, width);
                }
                let (above, below) = (self.extract(high, 0, low + width - split), self.extract(rest, low, split - low));
                return self.concat(above, below);
            }
            TermNode::Zext(inner, _) | TermNode::Sext(inner, _) => {
                let split = self.width(inner);
                if low + width <= split {
                    return self.extract(inner, low, width);
                }
                let zeroes = matches!(self.nodes[t.0 as usize], TermNode::Zext(..));
                if low >= split && zeroes {
                    return self.constant(width, 0);
                }
                if low < split {
                    let rest = self.extract(inner, low, split - low);
                    return if zeroes { self.zext(rest, width) } else { self.sext(rest, width) };
                }
            }
            TermNode::Ite(c, a, b) => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.ite(c, a, b);
            }
            // A shift by a known number only moves bits; what comes in is zero.
            TermNode::Bin(op @ (Bin::Lshr | Bin::Shl), a, by) if self.value(by).is_some() => {
                let (full, by) = (i64::from(self.width(a)), self.value(by).map_or(0, |v| v.min(1 << 20) as i64));
                let from = if op == Bin::Lshr { i64::from(low) + by } else { i64::from(low) - by };
                if from >= 0 && from + i64::from(width) <= full {
                    return self.extract(a, from as u32, width);
                }
                if from >= full || from + i64::from(width) <= 0 {
                    return self.constant(width, 0);
                }
            }
            // Low bits of a sum depend on low bits only.
            TermNode::Bin(op @ (Bin::Add | Bin::Sub | Bin::Mul), a, b) if low == 0 => {
                let (a, b) = (self.extract(a, 0, width), self.extract(b, 0, width));
                return self.bin(op, a, b);
            }
            TermNode::Bin(op @ (Bin::And | Bin::Or | Bin::Xor), a, b) => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.bin(op, a, b);
            }
            _ => {}
        }
        self.intern(TermNode::Extract(t, low, width), width)
    }

    /// `high` above `low`.
    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        let width = self.width(high) + self.width(low);
        if let (Some(h), Some(l)) = (self.value(high), self.value(low)) {
            return self.constant(width, h << self.width(low) | l);
        }
        if let (TermNode::Extract(a, at, w), TermNode::Extract(b, from, v)) = (&self.nodes[high.0 as usize], &self.nodes[low.0 as usize])
            && a == b
            && *at == from + v
        {
            let (a, from, total) = (*a, *from, w + v);
            return self.extract(a, from, total);
        }
        self.intern(TermNode::Concat(high, low), width)
    }

    /// The term in more bits, filled with zeros.
    pub fn zext(&mut self, t: Term, width: u32) -> Term {
        if self.width(t) == width {
            return t;
        }
        match (self.value(t), &self.nodes[t.0 as usize]) {
            (Some(v), _) => self.constant(width, v),
            (None, TermNode::Zext(inner, _)) => {
                let inner = *inner;
                self.intern(TermNode::Zext(inner, width), width)
            }
            _ => self.intern(TermNode::Zext(t, width), width),
        }
    }

    /// The range of a 32-bit term, if something is known of it: a byte that was widened is never negative.
    fn bounds(&self, t: Term) -> Option<(i64, i64)> {
        match self.nodes[t.0 as usize] {
            TermNode::Zext(inner, _) => Some((0, (1i64 << self.width(inner)) - 1)),
            _ => self.ranges.get(&t).copied(),
        }
    }

    /// A 32-bit sum that cannot overflow, extended part by part.
    fn extend_sum(&mut self, t: Term) -> Option<Term> {
        let (atoms, constant) = self.linear(t);
        let constant = i64::from(constant as i32);
        let (mut low, mut high) = (constant, constant);
        for (atom, factor) in &atoms {
            let (a, b) = self.bounds(*atom)?;
            let factor = i64::from(*factor as i32);
            let (x, y) = (a.checked_mul(factor)?, b.checked_mul(factor)?);
            (low, high) = (low.checked_add(x.min(y))?, high.checked_add(x.max(y))?);
        }
        if low < i64::from(i32::MIN) || high > i64::from(i32::MAX) {
            return None;
        }
        let mut wide = BTreeMap::new();
        for (atom, factor) in atoms {
            let atom = match self.nodes[atom.0 as usize] {
                TermNode::Zext(inner, _) => self.intern(TermNode::Zext(inner, 64), 64),
                _ => self.intern(TermNode::Sext(atom, 64), 64),
            };
            wide.insert(atom, i64::from(factor as i32) as u64);
        }
        Some(self.sum(64, &wide, constant as u64))
    }

    /// The term in more bits, filled with its sign.
    pub fn sext(&mut self, t: Term, width: u32) -> Term {
        let own = self.width(t);
        if own == width {
            return t;
        }
        if own == 32
            && width == 64
            && let Some(sum) = self.extend_sum(t)
        {
            return sum;
        }
        match (self.value(t), &self.nodes[t.0 as usize]) {
            (Some(v), _) => self.constant(width, signed(v, own) as u128),
            // What was widened with zeroes has no sign.
            (None, TermNode::Zext(inner, _)) => {
                let inner = *inner;
                self.intern(TermNode::Zext(inner, width), width)
            }
            _ => self.intern(TermNode::Sext(t, width), width),
        }
    }
}
