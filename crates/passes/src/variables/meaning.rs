//! What IR values and the expressions of descriptions compute, as arithmetic on bits.
//!
//! A value is followed through arithmetic down to leaves: arguments, loads, calls, phis. Two terms can be compared where
//! their leaves are the same on both sides of the pass. An expression runs on a stack of 64-bit words, and what the bits
//! above a narrower value are is not written anywhere: both readings are tried, and an expression is wrong only where it is
//! wrong under each of them.

use super::defs::{FRAGMENT, Side};
use crate::history::{History, InstId, ValueId};
use crate::observation::Referents;
use crate::opcode;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use trueline_llvm_hook::wire::{ConstantKind, InstructionRecord, POINTER, known};

/// The deepest chain of instructions that a term goes through.
const DEEPEST: u32 = 8;
/// The width of a word of the stack, and of a pointer.
const WORD: u32 = 64;

/// An operation on two numbers of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, signed.
    DivideSigned,
    /// Quotient, unsigned.
    DivideUnsigned,
    /// Remainder, signed.
    RemainderSigned,
    /// Remainder, unsigned.
    RemainderUnsigned,
    /// Left shift.
    ShiftLeft,
    /// Right shift of zeros.
    ShiftRight,
    /// Right shift of the sign.
    ShiftRightSigned,
    /// Conjunction of bits.
    And,
    /// Disjunction of bits.
    Or,
    /// Exclusive disjunction of bits.
    Xor,
}

/// A comparison; its result is one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less, unsigned.
    LessUnsigned,
    /// Less or equal, unsigned.
    AtMostUnsigned,
    /// Less, signed.
    LessSigned,
    /// Less or equal, signed.
    AtMostSigned,
}

/// How a number becomes one of another width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extension {
    /// With zeros.
    Zeros,
    /// With its sign.
    Sign,
}

/// A term: what a value computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A number.
    Number(u64),
    /// What is not looked into.
    Leaf(ValueId),
    /// An operation.
    Operate(Operator, Rc<Term>, Rc<Term>),
    /// A comparison.
    Compare(Relation, Rc<Term>, Rc<Term>),
    /// A comparison of floating-point numbers, by LLVM's number of the predicate. What is compared is not looked into.
    FloatCompare(u8, ValueId, ValueId),
    /// A wider number.
    Extend(Extension, Rc<Term>),
    /// The lower bits.
    Truncate(Rc<Term>),
    /// The second where the first holds, else the third.
    Select(Rc<Term>, Rc<Term>, Rc<Term>),
}

/// A term with its width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Its width in bits, 1 to 64.
    pub width: u32,
    /// What it is.
    pub meaning: Meaning,
    /// What makes it poison, bits of [`known`].
    pub poisoned_by: u8,
}

/// Numbers for leaves.
pub type Assignment = BTreeMap<ValueId, u64>;

fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

fn signed(value: u64, width: u32) -> i64 {
    ((value << (64 - width)) as i64) >> (64 - width)
}

impl Term {
    fn plain(width: u32, meaning: Meaning) -> Rc<Self> {
        Rc::new(Self { width, meaning, poisoned_by: 0 })
    }

    fn number(width: u32, value: u64) -> Rc<Self> {
        Self::plain(width, Meaning::Number(value & mask(width)))
    }

    fn operate(operator: Operator, a: &Rc<Self>, b: &Rc<Self>) -> Rc<Self> {
        Self::plain(a.width, Meaning::Operate(operator, Rc::clone(a), Rc::clone(b)))
    }

    fn compare(relation: Relation, a: &Rc<Self>, b: &Rc<Self>) -> Rc<Self> {
        Self::plain(1, Meaning::Compare(relation, Rc::clone(a), Rc::clone(b)))
    }

    /// The same number in so many bits.
    pub fn resize(self: &Rc<Self>, width: u32, extension: Extension) -> Rc<Self> {
        let meaning = match self.width.cmp(&width) {
            std::cmp::Ordering::Equal => return Rc::clone(self),
            std::cmp::Ordering::Less => Meaning::Extend(extension, Rc::clone(self)),
            std::cmp::Ordering::Greater => Meaning::Truncate(Rc::clone(self)),
        };
        Self::plain(width, meaning)
    }

    /// The same number in more bits, poison where these flags of the instruction say so.
    pub(super) fn extended(self: &Rc<Self>, width: u32, extension: Extension, flags: u8) -> Rc<Self> {
        self.resize(width, extension).poisoned(flags & known::FIRST)
    }

    /// The same, poison where these flags of the instruction say so.
    fn poisoned(self: Rc<Self>, flags: u8) -> Rc<Self> {
        Rc::new(Self { poisoned_by: flags & (known::FIRST | known::SIGNED), ..Rc::unwrap_or_clone(self) })
    }

    /// Adds its leaves to a set.
    pub fn leaves(&self, found: &mut BTreeSet<ValueId>) {
        match &self.meaning {
            Meaning::Number(_) => {}
            Meaning::Leaf(value) => drop(found.insert(*value)),
            Meaning::Operate(_, a, b) | Meaning::Compare(_, a, b) => {
                a.leaves(found);
                b.leaves(found);
            }
            Meaning::FloatCompare(_, a, b) => found.extend([*a, *b]),
            Meaning::Extend(_, a) | Meaning::Truncate(a) => a.leaves(found),
            Meaning::Select(c, a, b) => [c, a, b].into_iter().for_each(|t| t.leaves(found)),
        }
    }

    /// The same with a leaf that is something else.
    pub fn with(self: &Rc<Self>, leaf: ValueId, other: &Rc<Self>) -> Rc<Self> {
        let inner = |term: &Rc<Self>| term.with(leaf, other);
        let meaning = match &self.meaning {
            Meaning::Leaf(value) if *value == leaf => return Rc::clone(other),
            Meaning::Number(_) | Meaning::Leaf(_) | Meaning::FloatCompare(..) => return Rc::clone(self),
            Meaning::Operate(operator, a, b) => Meaning::Operate(*operator, inner(a), inner(b)),
            Meaning::Compare(relation, a, b) => Meaning::Compare(*relation, inner(a), inner(b)),
            Meaning::Extend(extension, a) => Meaning::Extend(*extension, inner(a)),
            Meaning::Truncate(a) => Meaning::Truncate(inner(a)),
            Meaning::Select(c, a, b) => Meaning::Select(inner(c), inner(a), inner(b)),
        };
        Rc::new(Self { width: self.width, meaning, poisoned_by: self.poisoned_by })
    }

    /// Adds the numbers in it to a set.
    fn numbers(&self, found: &mut BTreeSet<u64>) {
        match &self.meaning {
            Meaning::Number(number) => drop(found.insert(*number)),
            Meaning::Leaf(_) | Meaning::FloatCompare(..) => {}
            Meaning::Operate(_, a, b) | Meaning::Compare(_, a, b) => {
                a.numbers(found);
                b.numbers(found);
            }
            Meaning::Extend(_, a) | Meaning::Truncate(a) => a.numbers(found),
            Meaning::Select(c, a, b) => [c, a, b].into_iter().for_each(|t| t.numbers(found)),
        }
    }

    /// The widths of its leaves.
    pub fn leaf_widths(&self, found: &mut BTreeMap<ValueId, u32>) {
        match &self.meaning {
            Meaning::Number(_) => {}
            Meaning::Leaf(value) => drop(found.insert(*value, self.width)),
            Meaning::Operate(_, a, b) | Meaning::Compare(_, a, b) => {
                a.leaf_widths(found);
                b.leaf_widths(found);
            }
            // Two bits are enough: three numbers in order, and one that is none.
            Meaning::FloatCompare(_, a, b) => found.extend([(*a, 2), (*b, 2)]),
            Meaning::Extend(_, a) | Meaning::Truncate(a) => a.leaf_widths(found),
            Meaning::Select(c, a, b) => [c, a, b].into_iter().for_each(|t| t.leaf_widths(found)),
        }
    }

    /// Its number under an assignment. `None` where it is undefined, or, when `guarded`, where flags such as `nsw` make it
    /// poison.
    pub fn evaluate(&self, numbers: &Assignment, guarded: bool) -> Option<u64> {
        let bits = mask(self.width);
        Some(match &self.meaning {
            Meaning::Number(value) => *value,
            Meaning::Leaf(value) => numbers.get(value)? & bits,
            Meaning::Select(c, a, b) => {
                let chosen = if c.evaluate(numbers, guarded)? & 1 == 1 { a } else { b };
                chosen.evaluate(numbers, guarded)?
            }
            Meaning::Extend(Extension::Zeros, a) => {
                let number = a.evaluate(numbers, guarded)?;
                let negative = signed(number, a.width) < 0;
                (!(guarded && self.poisoned_by & known::FIRST != 0 && negative)).then_some(number)?
            }
            Meaning::Extend(Extension::Sign, a) => signed(a.evaluate(numbers, guarded)?, a.width) as u64 & bits,
            Meaning::Truncate(a) => {
                let number = a.evaluate(numbers, guarded)?;
                let fits_unsigned = self.poisoned_by & known::FIRST == 0 || number & bits == number;
                let fits_signed = self.poisoned_by & known::SIGNED == 0 || signed(number & bits, self.width) == signed(number, a.width);
                (!guarded || fits_unsigned && fits_signed).then_some(number & bits)?
            }
            Meaning::Operate(operator, a, b) => {
                let (a, b) = (a.evaluate(numbers, guarded)?, b.evaluate(numbers, guarded)?);
                operate(*operator, a, b, self.width, if guarded { self.poisoned_by } else { 0 })?
            }
            Meaning::FloatCompare(predicate, a, b) => {
                // LLVM's predicates are the set of outcomes for which they hold: equal, greater, less, unordered.
                const NOT_A_NUMBER: u64 = 3;
                let (a, b) = (numbers.get(a)? & 3, numbers.get(b)? & 3);
                let outcome = match a.cmp(&b) {
                    _ if a == NOT_A_NUMBER || b == NOT_A_NUMBER => 8,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 2,
                    std::cmp::Ordering::Less => 4,
                };
                // Fast-math flags, which are not read, may say that there is no such number.
                (!(guarded && outcome == 8)).then_some(u64::from(predicate & outcome != 0))?
            }
            Meaning::Compare(relation, a, b) => {
                let width = a.width;
                let (a, b) = (a.evaluate(numbers, guarded)?, b.evaluate(numbers, guarded)?);
                let (sa, sb) = (signed(a, width), signed(b, width));
                if guarded && self.poisoned_by & known::FIRST != 0 && (sa < 0) != (sb < 0) {
                    return None;
                }
                u64::from(match relation {
                    Relation::Equal => a == b,
                    Relation::NotEqual => a != b,
                    Relation::LessUnsigned => a < b,
                    Relation::AtMostUnsigned => a <= b,
                    Relation::LessSigned => sa < sb,
                    Relation::AtMostSigned => sa <= sb,
                })
            }
        })
    }
}

fn operate(operator: Operator, a: u64, b: u64, width: u32, poisoned_by: u8) -> Option<u64> {
    let (first, signed_overflow) = (poisoned_by & known::FIRST != 0, poisoned_by & known::SIGNED != 0);
    let bits = mask(width);
    let (sa, sb) = (i128::from(signed(a, width)), i128::from(signed(b, width)));
    let (ua, ub) = (u128::from(a), u128::from(b));
    let fits = |s: i128, u: u128| {
        let (least, most) = (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1);
        (!signed_overflow || (least..=most).contains(&s)) && (!first || u <= u128::from(bits))
    };
    let result = match operator {
        Operator::Add => fits(sa + sb, ua + ub).then(|| a.wrapping_add(b)),
        Operator::Sub => fits(sa - sb, ua.wrapping_sub(ub)).then(|| a.wrapping_sub(b)),
        Operator::Mul => fits(sa.checked_mul(sb)?, ua.checked_mul(ub)?).then(|| a.wrapping_mul(b)),
        // The one quotient that does not fit is undefined.
        Operator::DivideSigned if b != 0 => (sa / sb < 1i128 << (width - 1)).then(|| (sa / sb) as u64),
        Operator::RemainderSigned if b != 0 => (sa / sb < 1i128 << (width - 1)).then(|| (sa % sb) as u64),
        Operator::DivideUnsigned => a.checked_div(b),
        Operator::RemainderUnsigned => a.checked_rem(b),
        Operator::DivideSigned | Operator::RemainderSigned => None,
        Operator::ShiftLeft if b < u64::from(width) => {
            let wide = ua << b;
            fits(sa << b, wide).then_some(wide as u64)
        }
        Operator::ShiftRight if b < u64::from(width) => Some(a >> b),
        Operator::ShiftRightSigned if b < u64::from(width) => Some((sa >> b) as u64),
        Operator::ShiftLeft | Operator::ShiftRight | Operator::ShiftRightSigned => None,
        Operator::And => Some(a & b),
        Operator::Or => Some(a | b),
        Operator::Xor => Some(a ^ b),
    }?;
    // An exact division leaves nothing, and one that does is poison.
    let exact = !first
        || match operator {
            Operator::DivideUnsigned => a.is_multiple_of(b),
            Operator::DivideSigned => sa % sb == 0,
            Operator::ShiftRight | Operator::ShiftRightSigned => a & mask(b as u32) == 0 || b == 0,
            // A disjoint `or` is a sum.
            Operator::Or => a & b == 0,
            _ => true,
        };
    exact.then_some(result & bits)
}

/// What becomes of a `select`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choices {
    /// It is a leaf: salvaging has no operator for it.
    Opaque,
    /// It is one of its operands, by its condition.
    Followed,
}

/// Reads terms of one side of a pass.
#[derive(Clone, Copy)]
pub struct Reader<'a, 'h> {
    /// The lives.
    pub history: &'a History<'h>,
    /// Constants and expressions.
    pub referents: &'a Referents,
    /// The side.
    pub side: Side,
    /// The function on that side.
    pub function: usize,
    /// What becomes of a `select`.
    pub choices: Choices,
    /// Whether what is computed alike on both sides is followed.
    pub depth: Depth,
}

/// How far terms go down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// To what is no arithmetic.
    Full,
    /// To what both sides compute alike: the same instructions of the same operands, all the way down.
    ToCommon,
}

impl<'h> Reader<'_, 'h> {
    fn record(&self, id: InstId) -> Option<&'h InstructionRecord> {
        match self.side {
            Side::Before => self.history.record_before(id),
            Side::After => self.history.record_after(id),
        }
    }

    pub(super) fn value(&self, at: u64) -> ValueId {
        match self.side {
            Side::Before => self.history.value_before(at),
            Side::After => self.history.value_after(at),
        }
    }

    /// The term of a value; `None` for what is no number of at most 64 bits.
    pub fn term(&self, value: ValueId) -> Option<Rc<Term>> {
        self.term_to(value, DEEPEST)
    }

    /// Whether the pass replaced an instruction that values are computed by.
    pub fn passes_replaced(&self, values: &[ValueId]) -> bool {
        let mut work = values.to_vec();
        let mut seen = BTreeSet::new();
        while let Some(value) = work.pop() {
            let ValueId::Inst(id) = value else { continue };
            if !seen.insert(value) {
                continue;
            }
            if !self.history.life(id).taken_over_by.is_empty() {
                return true;
            }
            if let Some(record) = self.record(id).filter(|r| is_computed(r)) {
                work.extend(record.operands.iter().map(|at| self.value(*at)));
            }
        }
        false
    }

    /// Whether an instruction and all arithmetic that it is computed by are the same on both sides.
    fn is_common(&self, id: InstId) -> bool {
        const MOST: usize = 200;
        let (mut work, mut seen) = (vec![id], BTreeSet::new());
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            let (Some(before), Some(after)) = (self.history.record_before(id), self.history.record_after(id)) else { return false };
            if seen.len() > MOST || !self.history.life(id).taken_over_by.is_empty() {
                return false;
            }
            if !is_computed(before) {
                continue;
            }
            let same = |(old, new): (&u64, &u64)| self.history.value_before(*old) == self.history.value_after(*new);
            let is_alike = (before.opcode, before.predicate, before.known) == (after.opcode, after.predicate, after.known)
                && before.operands.len() == after.operands.len()
                && before.operands.iter().zip(&after.operands).all(same);
            if !is_alike {
                return false;
            }
            work.extend(before.operands.iter().filter_map(|at| match self.history.value_before(*at) {
                ValueId::Inst(id) => Some(id),
                ValueId::Given(_) => None,
            }));
        }
        true
    }

    fn term_to(&self, value: ValueId, depth: u32) -> Option<Rc<Term>> {
        let leaf = |code: u32| Some(Term::plain(width_of(code)?, Meaning::Leaf(value)));
        match value {
            ValueId::Given(at) => match self.referents.constants.get(&at) {
                Some(constant) => match constant.kind {
                    ConstantKind::Integer(number) => Some(Term::number(width_of(constant.type_code)?, number)),
                    ConstantKind::Null => Some(Term::number(WORD, 0)),
                    ConstantKind::Undefined => None,
                },
                None => leaf(self.argument_code(at)?),
            },
            ValueId::Inst(id) => {
                let record = self.record(id)?;
                if self.depth == Depth::ToCommon && is_computed(record) && self.is_common(id) {
                    return leaf(record.type_code);
                }
                let is_followed = is_computed(record) || record.opcode == opcode::SELECT && self.choices == Choices::Followed;
                match (is_followed, depth) {
                    // A leaf must not depend on another: what is too deep to follow is not followed at all.
                    (true, 0) => None,
                    (true, _) => self.computed(record, depth),
                    (false, _) => leaf(record.type_code),
                }
            }
        }
    }

    /// The code of an argument's type; globals are not told apart from what is unknown.
    fn argument_code(&self, at: u64) -> Option<u32> {
        let functions = match self.side {
            Side::Before => &self.history.run.before,
            Side::After => &self.history.run.after,
        };
        functions[self.function].arguments.iter().find(|a| a.at == at).map(|a| a.type_code)
    }

    /// What an instruction of arithmetic computes.
    fn computed(&self, record: &InstructionRecord, depth: u32) -> Option<Rc<Term>> {
        let width = width_of(record.type_code)?;
        let operand = |index: usize| self.term_to(self.value(*record.operands.get(index)?), depth - 1);
        if let Some(operator) = operator_of(record.opcode) {
            return Some(Term::operate(operator, &operand(0)?, &operand(1)?).poisoned(record.known));
        }
        match record.opcode {
            opcode::TRUNC | opcode::ZEXT => Some(operand(0)?.resize(width, Extension::Zeros).poisoned(record.known)),
            opcode::SEXT => Some(operand(0)?.resize(width, Extension::Sign)),
            // Pointers and numbers of the same width; a bitcast of pointers.
            opcode::PTRTOINT..=opcode::BITCAST => operand(0).filter(|term| term.width == width),
            opcode::ICMP => {
                let (relation, swapped) = relation_of(record.predicate)?;
                let (a, b) = (operand(0)?, operand(1)?);
                let term = if swapped { Term::compare(relation, &b, &a) } else { Term::compare(relation, &a, &b) };
                Some(term.poisoned(record.known))
            }
            opcode::SELECT => {
                let condition = operand(0).filter(|c| c.width == 1)?;
                Some(Term::plain(width, Meaning::Select(condition, operand(1)?, operand(2)?)))
            }
            opcode::FCMP => {
                let value = |index: usize| Some(self.value(*record.operands.get(index)?));
                Some(Term::plain(1, Meaning::FloatCompare(record.predicate, value(0)?, value(1)?)))
            }
            opcode::GETELEMENTPTR => {
                let (scales, offset) = record.scales.as_ref()?;
                let mut sum = operand(0)?;
                for (position, scale) in scales.iter().enumerate().filter(|(_, scale)| **scale != 0) {
                    let index = operand(position + 1)?.resize(WORD, Extension::Sign);
                    sum = Term::operate(Operator::Add, &sum, &Term::operate(Operator::Mul, &index, &Term::number(WORD, *scale)));
                }
                Some(if *offset == 0 { sum } else { Term::operate(Operator::Add, &sum, &Term::number(WORD, *offset)) })
            }
            _ => None,
        }
    }

    /// What a description says, of which `extension` says how values become words; the result is as wide as the value where
    /// the expression is empty and a word otherwise. `None` for expressions of memory and others that are not followed.
    pub fn described(&self, values: &[ValueId], expression: u64, extension: Extension) -> Option<Rc<Term>> {
        let elements = self.referents.expressions.get(&expression)?;
        let terms: Vec<Rc<Term>> = values.iter().map(|v| self.term(*v)).collect::<Option<_>>()?;
        run_expression(&terms, elements, extension)
    }
}

/// Whether an instruction is arithmetic that is followed.
pub(super) fn is_computed(record: &InstructionRecord) -> bool {
    operator_of(record.opcode).is_some()
        || matches!(record.opcode, opcode::TRUNC | opcode::ZEXT | opcode::SEXT | opcode::ICMP | opcode::FCMP | opcode::GETELEMENTPTR)
        || (opcode::PTRTOINT..=opcode::BITCAST).contains(&record.opcode)
}

/// The width of a value by the code of its type, if it is a number of at most 64 bits.
fn width_of(code: u32) -> Option<u32> {
    match code {
        POINTER => Some(WORD),
        1..=64 => Some(code),
        _ => None,
    }
}

fn operator_of(number: u8) -> Option<Operator> {
    Some(match number {
        opcode::ADD => Operator::Add,
        opcode::SUB => Operator::Sub,
        opcode::MUL => Operator::Mul,
        opcode::UDIV => Operator::DivideUnsigned,
        opcode::SDIV => Operator::DivideSigned,
        opcode::UREM => Operator::RemainderUnsigned,
        opcode::SREM => Operator::RemainderSigned,
        opcode::SHL => Operator::ShiftLeft,
        opcode::LSHR => Operator::ShiftRight,
        opcode::ASHR => Operator::ShiftRightSigned,
        opcode::AND => Operator::And,
        opcode::OR => Operator::Or,
        opcode::XOR => Operator::Xor,
        _ => return None,
    })
}

/// A predicate of LLVM's C interface: the relation, and whether its operands change places.
fn relation_of(predicate: u8) -> Option<(Relation, bool)> {
    Some(match predicate {
        32 => (Relation::Equal, false),
        33 => (Relation::NotEqual, false),
        34 => (Relation::LessUnsigned, true),
        35 => (Relation::AtMostUnsigned, true),
        36 => (Relation::LessUnsigned, false),
        37 => (Relation::AtMostUnsigned, false),
        38 => (Relation::LessSigned, true),
        39 => (Relation::AtMostSigned, true),
        40 => (Relation::LessSigned, false),
        41 => (Relation::AtMostSigned, false),
        _ => return None,
    })
}

/// Runs an expression on its stack.
pub fn run_expression(values: &[Rc<Term>], elements: &[u64], extension: Extension) -> Option<Rc<Term>> {
    const STACK_VALUE: u64 = 0x9f;
    const ARGUMENT: u64 = 0x1005;
    const CONVERT: u64 = 0x1001;
    let body = match elements {
        [body @ .., FRAGMENT, _, _] => body,
        body => body,
    };
    if body.is_empty() {
        return match values {
            [one] => Some(Rc::clone(one)),
            _ => None,
        };
    }
    // Without a mark that the result is the value it is an address, and memory is not followed.
    let only_argument = body == [ARGUMENT, 0];
    if !only_argument && body.last() != Some(&STACK_VALUE) {
        return None;
    }
    let word = |term: &Rc<Term>| term.resize(WORD, extension);
    let mut stack: Vec<Rc<Term>> = Vec::new();
    if !body.contains(&ARGUMENT) {
        stack.push(word(values.first()?));
    }
    let mut rest = body.iter().copied();
    while let Some(op) = rest.next() {
        let binary = match op {
            0x22 => Some(Operator::Add),
            0x1c => Some(Operator::Sub),
            0x1e => Some(Operator::Mul),
            0x1b => Some(Operator::DivideSigned),
            // Signed or not is read both ways, with the values.
            0x1d => Some(if extension == Extension::Sign { Operator::RemainderSigned } else { Operator::RemainderUnsigned }),
            0x1a => Some(Operator::And),
            0x21 => Some(Operator::Or),
            0x27 => Some(Operator::Xor),
            0x24 => Some(Operator::ShiftLeft),
            0x25 => Some(Operator::ShiftRight),
            0x26 => Some(Operator::ShiftRightSigned),
            _ => None,
        };
        let (signed_less, signed_most) = match extension {
            Extension::Sign => (Relation::LessSigned, Relation::AtMostSigned),
            Extension::Zeros => (Relation::LessUnsigned, Relation::AtMostUnsigned),
        };
        let relation = match op {
            0x29 => Some((Relation::Equal, false)),
            0x2e => Some((Relation::NotEqual, false)),
            0x2d => Some((signed_less, false)),
            0x2c => Some((signed_most, false)),
            0x2b => Some((signed_less, true)),
            0x2a => Some((signed_most, true)),
            _ => None,
        };
        if let Some(operator) = binary {
            let (b, a) = (stack.pop()?, stack.pop()?);
            stack.push(Term::operate(operator, &a, &b));
            continue;
        }
        if let Some((relation, swapped)) = relation {
            let (b, a) = (stack.pop()?, stack.pop()?);
            let term = if swapped { Term::compare(relation, &b, &a) } else { Term::compare(relation, &a, &b) };
            stack.push(term.resize(WORD, Extension::Zeros));
            continue;
        }
        match op {
            STACK_VALUE => {}
            ARGUMENT => stack.push(word(values.get(usize::try_from(rest.next()?).ok()?)?)),
            0x23 => {
                let (a, number) = (stack.pop()?, rest.next()?);
                stack.push(Term::operate(Operator::Add, &a, &Term::number(WORD, number)));
            }
            0x10 | 0x11 => stack.push(Term::number(WORD, rest.next()?)),
            0x30..=0x4f => stack.push(Term::number(WORD, op - 0x30)),
            0x12 => stack.push(Rc::clone(stack.last()?)),
            0x16 => {
                let last = stack.len().checked_sub(2)?;
                stack.swap(last, last + 1);
            }
            0x1f => {
                let a = stack.pop()?;
                stack.push(Term::operate(Operator::Sub, &Term::number(WORD, 0), &a));
            }
            0x20 => {
                let a = stack.pop()?;
                stack.push(Term::operate(Operator::Xor, &a, &Term::number(WORD, u64::MAX)));
            }
            CONVERT => {
                let (bits, encoding) = (u32::try_from(rest.next()?).ok()?, rest.next()?);
                let extension = match encoding {
                    5 => Extension::Sign,
                    7 => Extension::Zeros,
                    _ => return None,
                };
                if !(1..=64).contains(&bits) {
                    return None;
                }
                let a = stack.pop()?;
                stack.push(a.resize(bits, extension).resize(WORD, extension));
            }
            _ => return None,
        }
    }
    stack.pop()
}

/// An assignment under which the terms differ in their lower `bits`, and where the first is defined.
pub fn differ(original: &Term, described: &Term, bits: u32) -> Option<Assignment> {
    let mut widths = BTreeMap::new();
    original.leaf_widths(&mut widths);
    described.leaf_widths(&mut widths);
    let bits = mask(bits.min(original.width).min(described.width));
    let differs = |numbers: &Assignment| {
        let before = original.evaluate(numbers, true)?;
        // A word that has no value, as of a division by zero, is not the value either.
        (described.evaluate(numbers, false).is_none_or(|after| (before ^ after) & bits != 0)).then_some(())
    };
    numbers_to_try(&widths, &[original, described]).find(|numbers| differs(numbers).is_some())
}

/// Numbers to try: small ones, both ends of each width, those around the numbers of the terms, and a fixed stream of others.
pub(super) fn numbers_to_try<'w>(widths: &'w BTreeMap<ValueId, u32>, terms: &[&Term]) -> impl Iterator<Item = Assignment> + 'w {
    const ROUNDS: u64 = 256;
    let mut corners = vec![0, 1, 2, 3, 5, 7, 16, 100, u64::MAX, u64::MAX - 1];
    let mut given = BTreeSet::new();
    terms.iter().for_each(|term| term.numbers(&mut given));
    for number in given.into_iter().take(8) {
        let around = [number, number.wrapping_add(1), number.wrapping_sub(1), number.wrapping_mul(2), number.wrapping_neg()];
        corners.extend(around);
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..ROUNDS).map(move |round| {
        let pick = |index: usize, width: u32, state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let turn = (round / 4 * 2 + round % 4) as usize;
            let corner = corners[(turn + index * (1 + turn / corners.len())) % corners.len()];
            let number = match round % 4 {
                0 | 1 => corner,
                2 => *state >> 33,
                // Both sides of where the sign changes.
                _ if width >= 2 && round % 8 == 3 => (1u64 << (width - 1)) - 1,
                _ if width >= 2 => (1u64 << (width - 1)) + (*state >> 60),
                _ => *state >> 20,
            };
            number & mask(width)
        };
        widths.iter().enumerate().map(|(index, (leaf, width))| (*leaf, pick(index, *width, &mut state))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(number: u64, width: u32) -> Rc<Term> {
        Term::plain(width, Meaning::Leaf(ValueId::Given(number)))
    }

    #[test]
    fn an_expression_that_adds_what_was_added_is_the_value() {
        let x = leaf(1, 32);
        let value = Term::operate(Operator::Add, &x, &Term::number(32, 7));
        for extension in [Extension::Zeros, Extension::Sign] {
            let same = run_expression(std::slice::from_ref(&x), &[0x23, 7, 0x9f], extension).unwrap();
            assert_eq!(differ(&value, &same, 32), None);
            let other = run_expression(std::slice::from_ref(&x), &[0x23, 8, 0x9f], extension).unwrap();
            assert!(differ(&value, &other, 32).is_some());
        }
    }

    #[test]
    fn a_right_shift_is_right_under_one_reading_and_wrong_under_the_other() {
        let x = leaf(1, 32);
        let value = Term::operate(Operator::ShiftRightSigned, &x, &Term::number(32, 4));
        let read = |extension| run_expression(std::slice::from_ref(&x), &[0x10, 4, 0x26, 0x9f], extension).unwrap();
        assert_eq!(differ(&value, &read(Extension::Sign), 32), None);
        assert!(differ(&value, &read(Extension::Zeros), 32).is_some());
    }

    #[test]
    fn an_expression_of_several_values_names_them() {
        let (x, y) = (leaf(1, 64), leaf(2, 64));
        let value = Term::operate(Operator::Mul, &x, &y);
        let same = run_expression(&[x.clone(), y.clone()], &[0x1005, 0, 0x1005, 1, 0x1e, 0x9f], Extension::Zeros).unwrap();
        assert_eq!(differ(&value, &same, 64), None);
        let other = run_expression(&[x, y], &[0x1005, 0, 0x1005, 1, 0x22, 0x9f], Extension::Zeros).unwrap();
        assert!(differ(&value, &other, 64).is_some());
    }

    #[test]
    fn memory_is_not_followed() {
        assert_eq!(run_expression(&[leaf(1, 64)], &[0x06], Extension::Zeros), None);
        assert_eq!(run_expression(&[leaf(1, 64)], &[0x23, 8], Extension::Zeros), None);
    }

    #[test]
    fn what_is_poison_refutes_nothing() {
        // x + 1 in eight bits, described in a word: they only differ where the sum wraps.
        let x = leaf(1, 8);
        let sum = |flags| Term::operate(Operator::Add, &x, &Term::number(8, 1)).poisoned(flags).resize(32, Extension::Sign);
        let described = run_expression(std::slice::from_ref(&x), &[0x23, 1, 0x9f], Extension::Sign).unwrap();
        assert_eq!(differ(&sum(known::SIGNED), &described, 32), None);
        assert!(differ(&sum(0), &described, 32).is_some());
    }

    #[test]
    fn a_comparison_and_its_inverse_differ_where_both_operands_are_numbers() {
        let compare = |predicate| Term::plain(1, Meaning::FloatCompare(predicate, ValueId::Given(1), ValueId::Given(2)));
        let (one, ueq) = (compare(6), compare(9));
        assert!(differ(&one, &ueq, 32).is_some());
        // `ord` and `true` only differ for what fast-math flags may exclude.
        assert_eq!(differ(&compare(7), &compare(15), 32), None);
    }
}
