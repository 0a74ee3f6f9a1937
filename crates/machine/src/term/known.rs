//! Terms under what is known: where an equation pins an unknown down, everything is rewritten with its value.

use super::{Term, TermNode, Terms, mask, signed};
use crate::algebra::Bin;
use crate::hash::Mixing;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The values that equations pin unknowns to.
pub type Pinned = BTreeMap<Term, Term>;

impl Terms {
    /// What equations among some one-bit terms say of single unknowns.
    pub fn pinned(&mut self, known: &BTreeSet<Term>) -> Pinned {
        let mut pinned = Pinned::new();
        for t in known {
            let TermNode::Bin(Bin::Eq, a, b) = self.nodes[t.0 as usize] else { continue };
            let (left, value) = match (self.value(a), self.value(b)) {
                (None, Some(v)) => (a, v),
                (Some(v), None) => (b, v),
                _ => continue,
            };
            if let Some((unknown, value)) = self.solved(left, value) {
                let value = self.constant(self.width(unknown), value);
                pinned.entry(unknown).or_insert(value);
            }
        }
        pinned
    }

    /// The unknown of a term that has a value, with its own.
    fn solved(&self, t: Term, value: u128) -> Option<(Term, u128)> {
        match self.nodes[t.0 as usize] {
            TermNode::Var(..) | TermNode::Call(..) => Some((t, value)),
            // A number that was widened and multiplied did not overflow.
            TermNode::Bin(Bin::Mul, x, k) if self.width(t) == 64 => {
                let TermNode::Sext(inner, 64) = self.nodes[x.0 as usize] else { return None };
                let (factor, value) = (signed(self.value(k)?, 64), signed(value, 64));
                let fits = self.width(inner) <= 32 && factor != 0 && factor.unsigned_abs() < 1 << 31;
                (fits && value % factor == 0).then_some(())?;
                self.solved(x, (value / factor) as u128 & mask(64))
            }
            TermNode::Sext(inner, width) => {
                let own = self.width(inner);
                let narrow = value & mask(own);
                (signed(narrow, own) == signed(value, width)).then(|| self.solved(inner, narrow)).flatten()
            }
            TermNode::Zext(inner, _) => {
                let own = self.width(inner);
                (value & mask(own) == value).then(|| self.solved(inner, value)).flatten()
            }
            TermNode::Bin(Bin::Add, x, k) => {
                let width = self.width(t);
                let rest = value.wrapping_sub(self.value(k)?) & mask(width);
                self.solved(x, rest)
            }
            _ => None,
        }
    }

    /// A term with unknowns replaced. `done` is kept from one term to the next of the same replacement.
    pub fn replace(&mut self, t: Term, pinned: &Pinned, done: &mut HashMap<Term, Term, Mixing>) -> Term {
        // Operands come before what is made of them.
        let mut needed = BTreeSet::new();
        let mut work = vec![t];
        while let Some(t) = work.pop() {
            if done.contains_key(&t) || !needed.insert(t) {
                continue;
            }
            self.nodes[t.0 as usize].push_operands(&mut work);
        }
        for t in needed {
            let new = match pinned.get(&t) {
                Some(value) => *value,
                None => self.rebuild(t, done),
            };
            done.insert(t, new);
        }
        done.get(&t).copied().unwrap_or(t)
    }

    fn rebuild(&mut self, t: Term, done: &HashMap<Term, Term, Mixing>) -> Term {
        let new = |t: &Term| done.get(t).copied().unwrap_or(*t);
        match self.nodes[t.0 as usize].clone() {
            TermNode::Const(..) | TermNode::Var(..) => t,
            TermNode::Bin(op, a, b) => {
                let (x, y) = (new(&a), new(&b));
                if (x, y) == (a, b) { t } else { self.bin(op, x, y) }
            }
            TermNode::Concat(a, b) => self.concat(new(&a), new(&b)),
            TermNode::Extract(a, low, width) => self.extract(new(&a), low, width),
            TermNode::Zext(a, width) => self.zext(new(&a), width),
            TermNode::Sext(a, width) => self.sext(new(&a), width),
            TermNode::Ite(c, a, b) => self.ite(new(&c), new(&a), new(&b)),
            TermNode::Extreme(kind, all) => {
                let all: Vec<Term> = all.iter().map(new).collect();
                self.extreme(kind, &all)
            }
            TermNode::Call(name, width, args) => {
                let args = args.iter().map(new).collect();
                self.intern(TermNode::Call(name, width, args), width)
            }
        }
    }
}
