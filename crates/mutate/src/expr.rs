//! Expressions we synthesize: how they are written, and which values they can have (the paper's
//! speculative execution, 4.3.2).

use crate::env::Slot;
use crate::value::{Value, binary, convert, convert_to_field, promoted, range, unary};
use std::collections::BTreeSet;
use std::fmt;
use trueline_ctree::{BinaryOp, IntKind, IntType, UnaryOp};

/// An integer expression that is never undefined for the values seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A literal of some type.
    Const(Value),
    /// An integer in scope.
    Var(Slot),
    /// A unary operator applied.
    Unary(UnaryOp, Box<Expr>),
    /// A binary operator applied.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A cast to another integer type.
    Cast(IntType, Box<Expr>),
}

/// The values an expression can have, all of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// The type of all the numbers.
    pub ty: IntType,
    /// The numbers that it can be.
    pub numbers: BTreeSet<i128>,
}

/// Sets larger than this are given up: an expression over them tells us nothing that a smaller one would not.
const MAX_SET: usize = 64;

impl ValueSet {
    fn of(values: impl Iterator<Item = Option<Value>>) -> Option<Self> {
        let mut numbers = BTreeSet::new();
        let mut ty = None;
        for value in values {
            let value = value?;
            ty = Some(value.ty);
            numbers.insert(value.n);
            if numbers.len() > MAX_SET {
                return None;
            }
        }
        Some(Self { ty: ty?, numbers })
    }

    /// The values, one by one.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.numbers.iter().map(|&n| Value { ty: self.ty, n })
    }

    /// The single truth value, when all agree.
    pub fn truth(&self) -> Option<bool> {
        let mut truths = self.numbers.iter().map(|&n| n != 0);
        let first = truths.next()?;
        truths.all(|t| t == first).then_some(first)
    }

    /// What an assignment of it to an integer stores.
    pub fn stored_in(&self, ty: IntType, width: Option<u32>) -> BTreeSet<i128> {
        self.values().map(|v| convert_to_field(v, ty, width).n).collect()
    }
}

/// Applies a unary operator to a set; `None` when some value makes it undefined.
pub(crate) fn unary_set(op: UnaryOp, set: &ValueSet) -> Option<ValueSet> {
    ValueSet::of(set.values().map(|v| unary(op, v)))
}

/// Applies a binary operator to the product of two sets; `None` when some pair makes it undefined.
pub(crate) fn binary_set(op: BinaryOp, left: &ValueSet, right: &ValueSet) -> Option<ValueSet> {
    ValueSet::of(left.values().flat_map(|a| right.values().map(move |b| binary(op, a, b))))
}

impl Expr {
    /// Every value it can have; `None` when some of them is undefined, or when there are too many.
    pub fn values(&self) -> Option<ValueSet> {
        match self {
            Self::Const(value) => Some(ValueSet { ty: value.ty, numbers: BTreeSet::from([value.n]) }),
            Self::Var(slot) => Some(ValueSet { ty: promoted(slot.ty, slot.width), numbers: slot.values.clone() }),
            Self::Unary(op, operand) => unary_set(*op, &operand.values()?),
            Self::Binary(op, left, right) => binary_set(*op, &left.values()?, &right.values()?),
            Self::Cast(ty, operand) => ValueSet::of(operand.values()?.values().map(|v| Some(convert(v, *ty)))),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Const(value) => write_literal(f, *value),
            Self::Var(slot) => f.write_str(&slot.path),
            Self::Unary(op, operand) => write!(f, "({op}{operand})"),
            Self::Binary(op, left, right) => write!(f, "({left} {op} {right})"),
            Self::Cast(ty, operand) => write!(f, "(({}){operand})", ty.name()),
        }
    }
}

/// A literal of exactly this type and value. The smallest number of a signed type has no literal.
fn write_literal(f: &mut fmt::Formatter<'_>, value: Value) -> fmt::Result {
    let ty = value.ty;
    let suffix = match (ty.kind, ty.signed) {
        (IntKind::Long, true) => "L",
        (IntKind::Long, false) => "UL",
        (IntKind::LongLong, true) => "LL",
        (IntKind::LongLong, false) => "ULL",
        (IntKind::Int, false) => "U",
        (IntKind::Int, true) => "",
        _ => return write!(f, "(({}){})", ty.name(), value.n),
    };
    if value.n >= 0 {
        write!(f, "{}{suffix}", value.n)
    } else if value.n == range(ty).0 {
        write!(f, "(-{}{suffix} - 1)", -(value.n + 1))
    } else {
        write!(f, "(-{}{suffix})", -value.n)
    }
}
