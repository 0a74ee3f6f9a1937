//! Bit-vector terms with sharing and just enough simplification that equal things look equal.

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
pub use shape::{Reader, Shape};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
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

impl Node {
    /// Adds what it is made of to the terms that a walk has still to visit.
    fn push_operands(&self, work: &mut Vec<Term>) {
        match self {
            Node::Const(..) | Node::Var(..) => {}
            Node::Bin(_, a, b) | Node::Concat(a, b) => work.extend([*a, *b]),
            Node::Extract(a, ..) | Node::Zext(a, _) | Node::Sext(a, _) => work.push(*a),
            Node::Ite(a, b, c) => work.extend([*a, *b, *c]),
            Node::Call(_, _, args) | Node::Extreme(_, args) => work.extend(args.iter().copied()),
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
    nodes: Vec<Node>,
    widths: Vec<u32>,
    /// Whether a term is made of an address of a frame, by number.
    framed: Vec<bool>,
    known: HashMap<Node, Term, Mixing>,
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
    fn intern(&mut self, node: Node, width: u32) -> Term {
        if let Some(t) = self.known.get(&node) {
            return *t;
        }
        let term = Term(self.nodes.len() as u32);
        let framed = match &node {
            Node::Var(_, name) => self.names[name.0 as usize].starts_with(FRAME),
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
            Node::Const(_, v) => Some(v),
            _ => None,
        }
    }

    /// A constant.
    pub fn constant(&mut self, width: u32, value: u128) -> Term {
        self.intern(Node::Const(width, value & mask(width)), width)
    }

    /// A named unknown.
    pub fn var(&mut self, width: u32, name: &str) -> Term {
        let name = self.named(name);
        self.intern(Node::Var(width, name), width)
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
        matches!(self.nodes[t.0 as usize], Node::Var(_, name) if self.names[name.0 as usize].starts_with(BASE))
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
            if seen.insert(t) && !matches!(self.nodes[t.0 as usize], Node::Call(..)) {
                self.nodes[t.0 as usize].push_operands(&mut work);
            }
        }
        false
    }

    /// The address of a term that is nothing but a load from memory as it was at the start.
    pub fn loaded_from(&self, t: Term) -> Option<Term> {
        match &self.nodes[t.0 as usize] {
            Node::Call(name, width, args) if self.names[name.0 as usize] == format!("memory{}", width / 8) => args.first().copied(),
            _ => None,
        }
    }

    /// The argument of a call of an uninterpreted function.
    pub fn called_with(&self, t: Term, function: &str) -> Option<Term> {
        match &self.nodes[t.0 as usize] {
            Node::Call(name, _, args) if self.names[name.0 as usize] == function => args.first().copied(),
            _ => None,
        }
    }

    /// A sign-extended number as it was before.
    pub fn unextended(&self, t: Term) -> Term {
        match self.nodes[t.0 as usize] {
            Node::Sext(inner, _) => inner,
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
        matches!(self.nodes[t.0 as usize], Node::Sext(..) | Node::Zext(..))
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
                Node::Sext(inner, _) => {
                    let half = 1i128 << (self.width(inner) - 1).min(62);
                    self.ranges.get(&inner).map_or((-half, half - 1), |(a, b)| (i128::from(*a), i128::from(*b)))
                }
                Node::Zext(inner, _) if self.width(inner) < 63 => (0, (1i128 << self.width(inner)) - 1),
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
        self.intern(Node::Call(name, width, args.into()), width)
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

    /// A 64-bit sum as factors by atom and a constant.
    pub fn linear(&self, t: Term) -> (BTreeMap<Term, u64>, u64) {
        let mut atoms = BTreeMap::new();
        let mut constant = 0u64;
        let mut work = vec![(t, 1u64)];
        while let Some((t, k)) = work.pop() {
            match &self.nodes[t.0 as usize] {
                Node::Const(_, v) => constant = constant.wrapping_add((*v as u64).wrapping_mul(k)),
                Node::Bin(Bin::Add, a, b) => work.extend([(*a, k), (*b, k)]),
                Node::Bin(Bin::Sub, a, b) => work.extend([(*a, k), (*b, k.wrapping_neg())]),
                Node::Bin(Bin::Mul, a, b) => match (self.value(*a), self.value(*b)) {
                    (Some(v), _) => work.push((*b, k.wrapping_mul(v as u64))),
                    (_, Some(v)) => work.push((*a, k.wrapping_mul(v as u64))),
                    _ => *atoms.entry(t).or_insert(0u64) = atoms.get(&t).copied().unwrap_or(0).wrapping_add(k),
                },
                Node::Bin(Bin::Shl, a, b) if self.value(*b).is_some_and(|s| s < 64) => {
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
    fn sum(&mut self, width: u32, atoms: &BTreeMap<Term, u64>, constant: u64) -> Term {
        let mut total: Option<Term> = None;
        for (atom, factor) in atoms {
            let part = if *factor == 1 {
                *atom
            } else {
                let k = self.constant(width, u128::from(*factor));
                self.intern(Node::Bin(Bin::Mul, *atom, k), width)
            };
            total = Some(match total {
                None => part,
                Some(t) => self.intern(Node::Bin(Bin::Add, t, part), width),
            });
        }
        let constant = u128::from(constant) & mask(width);
        match total {
            None => self.constant(width, constant),
            Some(t) if constant == 0 => t,
            Some(t) => {
                let k = self.constant(width, constant);
                self.intern(Node::Bin(Bin::Add, t, k), width)
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
                    let raw = self.intern(Node::Bin(op, a, b), width);
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
        self.intern(Node::Bin(op, a, b), result)
    }

    /// Negation of one bit.
    pub fn not(&mut self, a: Term) -> Term {
        let one = self.constant(1, 1);
        if let Node::Bin(Bin::Xor, x, y) = self.nodes[a.0 as usize] {
            if x == one {
                return y;
            }
            if y == one {
                return x;
            }
        }
        self.bin(Bin::Xor, a, one)
    }

    /// Conjunction.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.bin(Bin::And, a, b)
    }

    /// Some bits.
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
            Node::Const(_, v) => return self.constant(width, v >> low),
            Node::Extract(inner, at, _) => return self.extract(inner, at + low, width),
            Node::Concat(high, rest) => {
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
            Node::Zext(inner, _) | Node::Sext(inner, _) => {
                let split = self.width(inner);
                if low + width <= split {
                    return self.extract(inner, low, width);
                }
                let zeroes = matches!(self.nodes[t.0 as usize], Node::Zext(..));
                if low >= split && zeroes {
                    return self.constant(width, 0);
                }
                if low < split {
                    let rest = self.extract(inner, low, split - low);
                    return if zeroes { self.zext(rest, width) } else { self.sext(rest, width) };
                }
            }
            Node::Ite(c, a, b) => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.ite(c, a, b);
            }
            // A shift by a known number only moves bits; what comes in is zero.
            Node::Bin(op @ (Bin::Lshr | Bin::Shl), a, by) if self.value(by).is_some() => {
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
            Node::Bin(op @ (Bin::Add | Bin::Sub | Bin::Mul), a, b) if low == 0 => {
                let (a, b) = (self.extract(a, 0, width), self.extract(b, 0, width));
                return self.bin(op, a, b);
            }
            Node::Bin(op @ (Bin::And | Bin::Or | Bin::Xor), a, b) => {
                let (a, b) = (self.extract(a, low, width), self.extract(b, low, width));
                return self.bin(op, a, b);
            }
            _ => {}
        }
        self.intern(Node::Extract(t, low, width), width)
    }

    /// `high` above `low`.
    pub fn concat(&mut self, high: Term, low: Term) -> Term {
        let width = self.width(high) + self.width(low);
        if let (Some(h), Some(l)) = (self.value(high), self.value(low)) {
            return self.constant(width, h << self.width(low) | l);
        }
        if let (Node::Extract(a, at, w), Node::Extract(b, from, v)) = (&self.nodes[high.0 as usize], &self.nodes[low.0 as usize])
            && a == b
            && *at == from + v
        {
            let (a, from, total) = (*a, *from, w + v);
            return self.extract(a, from, total);
        }
        self.intern(Node::Concat(high, low), width)
    }

    /// Zero extension.
    pub fn zext(&mut self, t: Term, width: u32) -> Term {
        if self.width(t) == width {
            return t;
        }
        match (self.value(t), &self.nodes[t.0 as usize]) {
            (Some(v), _) => self.constant(width, v),
            (None, Node::Zext(inner, _)) => {
                let inner = *inner;
                self.intern(Node::Zext(inner, width), width)
            }
            _ => self.intern(Node::Zext(t, width), width),
        }
    }

    /// Takes it for granted that a 32-bit term lies in a range. Only for terms of questions that assume the same.
    pub fn assume_range(&mut self, t: Term, low: i64, high: i64) {
        let range = self.ranges.entry(t).or_insert((i64::from(i32::MIN), i64::from(i32::MAX)));
        *range = (range.0.max(low), range.1.min(high));
    }

    /// The range of a 32-bit term, if something is known of it: a byte that was widened is never negative.
    fn bounds(&self, t: Term) -> Option<(i64, i64)> {
        match self.nodes[t.0 as usize] {
            Node::Zext(inner, _) => Some((0, (1i64 << self.width(inner)) - 1)),
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
                Node::Zext(inner, _) => self.intern(Node::Zext(inner, 64), 64),
                _ => self.intern(Node::Sext(atom, 64), 64),
            };
            wide.insert(atom, i64::from(factor as i32) as u64);
        }
        Some(self.sum(64, &wide, constant as u64))
    }

    /// Sign extension.
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
            (None, Node::Zext(inner, _)) => {
                let inner = *inner;
                self.intern(Node::Zext(inner, width), width)
            }
            _ => self.intern(Node::Sext(t, width), width),
        }
    }

    /// Choice.
    pub fn ite(&mut self, c: Term, a: Term, b: Term) -> Term {
        match self.value(c) {
            Some(0) => b,
            Some(_) => a,
            None if a == b => a,
            None => self.choose(c, a, b),
        }
    }
}

fn fold(op: Bin, x: u128, y: u128, width: u32) -> u128 {
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
