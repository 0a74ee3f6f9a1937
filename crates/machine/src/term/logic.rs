//! One shape for what is true on a path: equations, conjunctions, choices and extremes. What looks alike need not be asked of the solver.

use super::{Term, TermNode, Terms, mask, signed};
use crate::algebra::Bin;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of a conjunction up to which comparisons are looked at in pairs.
const FEW: usize = 24;

/// Which of several numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extreme {
    /// The largest, signed or not.
    Largest(Sign),
    /// The smallest of the numbers.
    Smallest(Sign),
}

/// How bits are read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sign {
    /// As numbers in two's complement.
    Signed,
    /// As numbers without a sign.
    Unsigned,
}

impl Extreme {
    /// The order that it is the last of, and whether the other way round.
    pub(super) fn order(self) -> (Bin, bool) {
        match self {
            Self::Largest(Sign::Signed) => (Bin::Slt, false),
            Self::Largest(Sign::Unsigned) => (Bin::Ult, false),
            Self::Smallest(Sign::Signed) => (Bin::Slt, true),
            Self::Smallest(Sign::Unsigned) => (Bin::Ult, true),
        }
    }
}

impl Terms {
    /// `a = b` with the same terms on both sides taken away, in one shape.
    pub(super) fn equation(&mut self, a: Term, b: Term) -> Term {
        let width = self.width(a);
        let ((mut atoms, mut constant), (other, k)) = (self.linear(a), self.linear(b));
        for (atom, factor) in other {
            let slot = atoms.entry(atom).or_insert(0);
            *slot = slot.wrapping_sub(factor);
        }
        constant = constant.wrapping_sub(k) & mask(width) as u64;
        for factor in atoms.values_mut() {
            *factor &= mask(width) as u64;
        }
        atoms.retain(|_, factor| *factor != 0);
        if atoms.is_empty() {
            return self.constant(1, u128::from(constant == 0));
        }
        // The first atom stands on the left.
        let negative = |factor: u64| signed(u128::from(factor), width) < 0;
        let flip = atoms.values().next().is_some_and(|factor| negative(*factor));
        let opposite = |factor: u64| factor.wrapping_neg() & mask(width) as u64;
        let (mut left, mut right) = (BTreeMap::new(), BTreeMap::new());
        for (atom, factor) in atoms {
            if negative(factor) == flip {
                left.insert(atom, if flip { opposite(factor) } else { factor });
            } else {
                right.insert(atom, if flip { factor } else { opposite(factor) });
            }
        }
        let constant = if flip { constant } else { opposite(constant) };
        let (a, b) = (self.sum(width, &left, 0), self.sum(width, &right, constant));
        self.intern(TermNode::Bin(Bin::Eq, a, b), 1)
    }

    /// What is left of `a ^ b` when one of them is in the other.
    pub(super) fn cancel(&self, a: Term, b: Term) -> Option<Term> {
        [(a, b), (b, a)].into_iter().find_map(|(x, y)| match self.nodes[y.0 as usize] {
            TermNode::Bin(Bin::Xor, p, q) if p == x => Some(q),
            TermNode::Bin(Bin::Xor, p, q) if q == x => Some(p),
            _ => None,
        })
    }

    /// The one-bit terms that a conjunction is made of, in order.
    pub fn conjuncts(&self, t: Term) -> BTreeSet<Term> {
        let (mut found, mut work) = (BTreeSet::new(), vec![t]);
        while let Some(t) = work.pop() {
            match self.nodes[t.0 as usize] {
                TermNode::Bin(Bin::And, a, b) if self.width(t) == 1 => work.extend([a, b]),
                TermNode::Const(_, 1) => {}
                _ => {
                    found.insert(t);
                }
            }
        }
        found
    }

    /// All of some one-bit terms, in one shape: what is there twice once, nothing with its opposite, and of "not less" and "not equal" what
    /// they come to.
    pub fn conjunction(&mut self, parts: &[Term]) -> Term {
        let mut all: BTreeSet<Term> = parts.iter().flat_map(|t| self.conjuncts(*t)).collect();
        for t in all.clone() {
            let Some(inner) = self.negated(t) else { continue };
            if all.contains(&inner) {
                return self.constant(1, 0);
            }
            if all.len() > FEW {
                continue;
            }
            match self.nodes[inner.0 as usize] {
                TermNode::Bin(Bin::Eq, ..) => self.sharpen(&mut all, t, inner),
                TermNode::Bin(Bin::And, ..) => {
                    // "Not both" with one of them is "not the other".
                    let (met, open): (Vec<Term>, Vec<Term>) = self.conjuncts(inner).into_iter().partition(|part| all.contains(part));
                    if !met.is_empty() {
                        let open = self.conjunction(&open);
                        let left = self.not(open);
                        all.remove(&t);
                        let parts: Vec<Term> = all.into_iter().chain([left]).collect();
                        return self.conjunction(&parts);
                    }
                }
                _ => {}
            }
        }
        if all.iter().any(|t| self.value(*t) == Some(0)) {
            return self.constant(1, 0);
        }
        let mut total: Option<Term> = None;
        for t in all {
            total = Some(total.map_or(t, |sum| self.intern(TermNode::Bin(Bin::And, sum, t), 1)));
        }
        total.unwrap_or_else(|| self.constant(1, 1))
    }

    /// Takes "not equal" out where a comparison of the same two says more, or says more with it.
    fn sharpen(&mut self, all: &mut BTreeSet<Term>, unequal: Term, equal: Term) {
        for t in all.clone() {
            let Some((op, a, b)) = self.compared(t) else { continue };
            if self.bin(Bin::Eq, a, b) != equal {
                continue;
            }
            all.remove(&unequal);
            if self.negated(t).is_some() {
                all.remove(&t);
                let more = self.bin(op, b, a);
                all.insert(more);
            }
            return;
        }
    }

    /// The operands of a comparison, or of its opposite.
    fn compared(&self, t: Term) -> Option<(Bin, Term, Term)> {
        match self.nodes[self.negated(t).unwrap_or(t).0 as usize] {
            TermNode::Bin(op @ (Bin::Slt | Bin::Ult), a, b) => Some((op, a, b)),
            _ => None,
        }
    }

    /// What a one-bit term is the opposite of, if it is written so.
    pub(super) fn negated(&self, t: Term) -> Option<Term> {
        match self.nodes[t.0 as usize] {
            TermNode::Bin(Bin::Xor, a, b) if self.width(t) == 1 && self.value(b) == Some(1) => Some(a),
            TermNode::Bin(Bin::Xor, a, b) if self.width(t) == 1 && self.value(a) == Some(1) => Some(b),
            _ => None,
        }
    }

    /// One of two one-bit terms: what both have in common is taken out, and the rest is the opposite of a conjunction, so that a choice and
    /// its opposite meet.
    pub fn either(&mut self, a: Term, b: Term) -> Term {
        let (p, q) = (self.conjuncts(a), self.conjuncts(b));
        let common: Vec<Term> = p.intersection(&q).copied().collect();
        let mut opposites = Vec::new();
        for side in [&p, &q] {
            let own: Vec<Term> = side.iter().copied().filter(|t| !common.contains(t)).collect();
            let own = self.conjunction(&own);
            opposites.push(self.not(own));
        }
        let neither = self.conjunction(&opposites);
        let one = self.not(neither);
        let all: Vec<Term> = common.into_iter().chain([one]).collect();
        self.conjunction(&all)
    }

    /// The extreme of several terms of one width.
    pub fn extreme(&mut self, kind: Extreme, parts: &[Term]) -> Term {
        let mut all: BTreeSet<Term> = BTreeSet::new();
        let mut known: Option<Term> = None;
        let mut work = parts.to_vec();
        while let Some(t) = work.pop() {
            match (&self.nodes[t.0 as usize], known) {
                (TermNode::Extreme(own, inner), _) if *own == kind => work.extend(inner.iter()),
                (TermNode::Const(..), None) => known = Some(t),
                (TermNode::Const(..), Some(k)) => {
                    let (op, swap) = kind.order();
                    let less = self.bin(op, k, t);
                    known = Some(if (self.value(less) == Some(1)) == swap { k } else { t });
                }
                _ => {
                    all.insert(t);
                }
            }
        }
        all.extend(known);
        let all: Vec<Term> = all.into_iter().collect();
        match all.as_slice() {
            [one] => *one,
            _ => {
                let width = self.width(parts[0]);
                self.intern(TermNode::Extreme(kind, all.into()), width)
            }
        }
    }

    /// A choice on a question that is open.
    pub(super) fn choose(&mut self, c: Term, a: Term, b: Term) -> Term {
        if let Some(opposite) = self.negated(c) {
            return self.ite(opposite, b, a);
        }
        // The same question again has the same answer.
        if let TermNode::Ite(again, yes, _) = self.nodes[a.0 as usize]
            && again == c
        {
            return self.ite(c, yes, b);
        }
        if let TermNode::Ite(again, _, no) = self.nodes[b.0 as usize]
            && again == c
        {
            return self.ite(c, a, no);
        }
        if let TermNode::Bin(op @ (Bin::Slt | Bin::Ult), x, y) = self.nodes[c.0 as usize] {
            let sign = if op == Bin::Slt { Sign::Signed } else { Sign::Unsigned };
            if (x, y) == (b, a) {
                return self.extreme(Extreme::Largest(sign), &[a, b]);
            }
            if (x, y) == (a, b) {
                return self.extreme(Extreme::Smallest(sign), &[a, b]);
            }
        }
        let width = self.width(a);
        self.intern(TermNode::Ite(c, a, b), width)
    }
}
