//! Bit-vector terms with sharing and just enough simplification that equal things look equal.

mod arithmetic;
mod width;

use crate::algebra::{Bin, Float};
use crate::hash::Mixing;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A term by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(u32);

/// A name by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Name(u32);

mod known;
mod logic;
mod shape;
mod smt;

pub use known::Pinned;
pub use logic::{Extreme, Sign};
pub use shape::{Reader, TermShape};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum TermNode {
    Const(u32, u128),
    Var(u32, Name),
    Bin(Bin, Term, Term),
    Extract(Term, u32, u32),
    Concat(Term, Term),
    Zext(Term, u32),
    Sext(Term, u32),
    Ite(Term, Term, Term),
    /// The extreme of several terms, sorted.
    Extreme(Extreme, Box<[Term]>),
    Call(Name, u32, Box<[Term]>),
}

impl TermNode {
    /// Adds what it is made of to the terms that a walk has still to visit.
    fn push_operands(&self, work: &mut Vec<Term>) {
        match self {
            TermNode::Const(..) | TermNode::Var(..) => {}
            TermNode::Bin(_, a, b) | TermNode::Concat(a, b) => work.extend([*a, *b]),
            TermNode::Extract(a, ..) | TermNode::Zext(a, _) | TermNode::Sext(a, _) => work.push(*a),
            TermNode::Ite(a, b, c) => work.extend([*a, *b, *c]),
            TermNode::Call(_, _, args) | TermNode::Extreme(_, args) => work.extend(args.iter().copied()),
        }
    }
}

/// How the unknowns that are frame addresses begin.
const FRAME: &str = "cfa_";
/// How the unknowns begin that say where a part of an object ends up.
pub const BASE: &str = "base_";

/// All terms of one proof.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    nodes: Vec<TermNode>,
    widths: Vec<u32>,
    /// Whether a term is made of an address of a frame, by number.
    framed: Vec<bool>,
    known: HashMap<TermNode, Term, Mixing>,
    names: Vec<String>,
    numbers: HashMap<String, Name, Mixing>,
    /// Bits that were taken out of terms before: what is shared must not be walked once per path to it.
    taken: HashMap<(Term, u32, u32), Term, Mixing>,
    /// What every question takes for granted of 32-bit terms, as signed numbers.
    ranges: BTreeMap<Term, (i64, i64)>,
    /// Whether the operands of a float operation came sorted, the first time.
    orders: BTreeMap<Term, bool>,
    /// Those that came in both orders.
    swapped: BTreeSet<Term>,
    fresh: u32,
}

fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

fn signed(bits: u128, width: u32) -> i128 {
    if width >= 128 { bits as i128 } else { ((bits << (128 - width)) as i128) >> (128 - width) }
}

impl Terms {
    fn intern(&mut self, node: TermNode, width: u32) -> Term {
        if let Some(t) = self.known.get(&node) {
            return *t;
        }
        let term = Term(self.nodes.len() as u32);
        let framed = match &node {
            TermNode::Var(_, name) => self.names[name.0 as usize].starts_with(FRAME),
            _ => {
                let mut operands = Vec::new();
                node.push_operands(&mut operands);
                operands.iter().any(|t| self.framed[t.0 as usize])
            }
        };
        self.framed.push(framed);
        self.nodes.push(node.clone());
        self.widths.push(width);
        self.known.insert(node, term);
        term
    }

    fn named(&mut self, name: &str) -> Name {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = Name(self.names.len() as u32);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The width of a term.
    pub fn width(&self, t: Term) -> u32 {
        self.widths[t.0 as usize]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The value of a constant.
    pub fn value(&self, t: Term) -> Option<u128> {
        match self.nodes[t.0 as usize] {
            TermNode::Const(_, v) => Some(v),
            _ => None,
        }
    }

    /// The term of a number of so many bits.
    pub fn constant(&mut self, width: u32, value: u128) -> Term {
        self.intern(TermNode::Const(width, value & mask(width)), width)
    }

    /// A named unknown.
    pub fn var(&mut self, width: u32, name: &str) -> Term {
        let name = self.named(name);
        self.intern(TermNode::Var(width, name), width)
    }

    /// An unknown that occurs nowhere else.
    pub fn fresh(&mut self, width: u32) -> Term {
        self.fresh += 1;
        let name = format!("u{}", self.fresh);
        self.var(width, &name)
    }

    /// A number that is given once.
    pub fn unique(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    /// True when a term is made of an address of a frame.
    pub fn is_framed(&self, t: Term) -> bool {
        self.framed[t.0 as usize]
    }

    /// True for the unknown that says where a part of an object ends up.
    pub fn is_base(&self, t: Term) -> bool {
        matches!(self.nodes[t.0 as usize], TermNode::Var(_, name) if self.names[name.0 as usize].starts_with(BASE))
    }

    /// The part of an object that an address is in, by its unknown: it is the one base in the sum, and everything else is an index. A sum of
    /// other 64-bit numbers may be the distance to another part.
    pub fn owner(&self, address: Term) -> Option<Term> {
        let (atoms, _) = self.linear(address);
        let mut bases = atoms.iter().filter(|(t, _)| self.is_base(**t));
        let (Some((base, 1)), None) = (bases.next(), bases.next()) else { return None };
        let index = |t: &Term, k: &u64| self.is_extended(*t) || k.is_multiple_of(2);
        atoms.iter().all(|(t, k)| t == base || (index(t, k) && !self.is_made_of_base(*t))).then_some(*base)
    }

    fn is_made_of_base(&self, t: Term) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![t];
        while let Some(t) = work.pop() {
            if self.is_base(t) {
                return true;
            }
            // What lies at an address is not made of it.
            if seen.insert(t) && !matches!(self.nodes[t.0 as usize], TermNode::Call(..)) {
                self.nodes[t.0 as usize].push_operands(&mut work);
            }
        }
        false
    }

    /// The address of a term that is nothing but a load from memory as it was at the start.
    pub fn loaded_from(&self, t: Term) -> Option<Term> {
        match &self.nodes[t.0 as usize] {
            TermNode::Call(name, width, args) if self.names[name.0 as usize] == format!("memory{}", width / 8) => args.first().copied(),
            _ => None,
        }
    }

    /// The argument of a call of an uninterpreted function.
    pub fn called_with(&self, t: Term, function: &str) -> Option<Term> {
        match &self.nodes[t.0 as usize] {
            TermNode::Call(name, _, args) if self.names[name.0 as usize] == function => args.first().copied(),
            _ => None,
        }
    }

    /// A sign-extended number as it was before.
    pub fn unextended(&self, t: Term) -> Term {
        match self.nodes[t.0 as usize] {
            TermNode::Sext(inner, _) => inner,
            _ => t,
        }
    }

    /// True when a term is made of another one.
    pub fn contains(&self, t: Term, part: Term) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![t];
        while let Some(t) = work.pop() {
            if t == part {
                return true;
            }
            if seen.insert(t) {
                self.nodes[t.0 as usize].push_operands(&mut work);
            }
        }
        false
    }

    /// True when a term is a narrower number, widened.
    pub fn is_extended(&self, t: Term) -> bool {
        matches!(self.nodes[t.0 as usize], TermNode::Sext(..) | TermNode::Zext(..))
    }

    /// True when a 64-bit sum is plainly a multiple of a power of two.
    pub fn is_multiple(&self, t: Term, of: u32) -> bool {
        let (atoms, constant) = self.linear(t);
        let of = u64::from(of);
        of.is_power_of_two() && constant.is_multiple_of(of) && atoms.values().all(|k| k.is_multiple_of(of))
    }

    /// Bounds of a 64-bit sum of widened numbers, where it cannot overflow.
    pub fn interval(&self, t: Term) -> Option<(i128, i128)> {
        let (atoms, constant) = self.linear(t);
        let constant = i128::from(constant as i64);
        let (mut low, mut high) = (constant, constant);
        for (atom, factor) in atoms {
            let factor = i128::from(factor as i64);
            let (a, b) = match self.nodes[atom.0 as usize] {
                TermNode::Sext(inner, _) => {
                    let half = 1i128 << (self.width(inner) - 1).min(62);
                    self.ranges.get(&inner).map_or((-half, half - 1), |(a, b)| (i128::from(*a), i128::from(*b)))
                }
                TermNode::Zext(inner, _) if self.width(inner) < 63 => (0, (1i128 << self.width(inner)) - 1),
                _ => return None,
            };
            let (x, y) = (a.checked_mul(factor)?, b.checked_mul(factor)?);
            (low, high) = (low.checked_add(x.min(y))?, high.checked_add(x.max(y))?);
        }
        (low >= i128::from(i64::MIN) && high <= i128::from(i64::MAX)).then_some((low, high))
    }

    /// A sum whose parts are all multiples of a number, divided by it.
    pub fn divided(&mut self, t: Term, by: i64) -> Option<Term> {
        let width = self.width(t);
        let (atoms, constant) = self.linear(t);
        let part = |k: u64| (k as i64).checked_rem(by).filter(|r| *r == 0).and_then(|_| (k as i64).checked_div(by)).map(|q| q as u64);
        let mut quotient = BTreeMap::new();
        for (atom, factor) in atoms {
            quotient.insert(atom, part(factor)? & mask(width) as u64);
        }
        let constant = part(constant)?;
        Some(self.sum(width, &quotient, constant))
    }

    /// An uninterpreted function.
    pub fn call(&mut self, name: &str, width: u32, args: Vec<Term>) -> Term {
        let name = self.named(name);
        self.intern(TermNode::Call(name, width, args.into()), width)
    }

    /// A floating-point operation, uninterpreted, by operand width.
    pub fn float(&mut self, op: Float, width: u32, args: &[Term]) -> Term {
        let name = format!("{}_{}_{}", op.name(), args.iter().map(|a| self.width(*a).to_string()).collect::<Vec<_>>().join("_"), width);
        let mut args = args.to_vec();
        // A number and itself is twice the number, bit by bit, whatever it is.
        if op == Float::Add && args.len() == 2 && args[0] == args[1] {
            let two = match width {
                32 => Some(u128::from(2f32.to_bits())),
                64 => Some(u128::from(2f64.to_bits())),
                _ => None,
            };
            if let Some(two) = two.filter(|_| self.width(args[0]) == width) {
                args[1] = self.constant(width, two);
                return self.float(Float::Mul, width, &args);
            }
        }
        let sorted = args.is_sorted();
        if matches!(op, Float::Add | Float::Mul | Float::Eq | Float::Unordered) {
            args.sort_unstable();
        }
        let result = self.call(&name, width, args);
        // A sum or a product of two NaNs is the first of them: who wants to know which has to ask [`Self::mixes_orders`].
        if matches!(op, Float::Add | Float::Mul) && *self.orders.entry(result).or_insert(sorted) != sorted {
            self.swapped.insert(result);
        }
        result
    }

    /// True when a term is made of a float operation whose operands came in either order: if both are NaNs, the results differ.
    pub fn mixes_orders(&self, t: Term) -> bool {
        if self.swapped.is_empty() {
            return false;
        }
        let mut seen = BTreeSet::new();
        let mut work = vec![t];
        while let Some(t) = work.pop() {
            if self.swapped.contains(&t) {
                return true;
            }
            if seen.insert(t) {
                self.nodes[t.0 as usize].push_operands(&mut work);
            }
        }
        false
    }

    /// Negation of one bit.
    pub fn not(&mut self, a: Term) -> Term {
        let one = self.constant(1, 1);
        if let TermNode::Bin(Bin::Xor, x, y) = self.nodes[a.0 as usize] {
            if x == one {
                return y;
            }
            if y == one {
                return x;
            }
        }
        self.bin(Bin::Xor, a, one)
    }

    /// The term that is true where both are, bit by bit.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.bin(Bin::And, a, b)
    }

    /// Takes it for granted that a 32-bit term lies in a range. Only for terms of questions that assume the same.
    pub fn assume_range(&mut self, t: Term, low: i64, high: i64) {
        let range = self.ranges.entry(t).or_insert((i64::from(i32::MIN), i64::from(i32::MAX)));
        *range = (range.0.max(low), range.1.min(high));
    }

    /// The first of two terms where a condition holds, and else the second.
    pub fn ite(&mut self, c: Term, a: Term, b: Term) -> Term {
        match self.value(c) {
            Some(0) => b,
            Some(_) => a,
            None if a == b => a,
            None => self.choose(c, a, b),
        }
    }
}
