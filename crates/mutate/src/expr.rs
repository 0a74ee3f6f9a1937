//! Expressions we synthesize: how they are written, and which values they can have (the paper's
//! speculative execution, 4.3.2).

use crate::env::EnvSlot;
use crate::numbers::{KnownNumbers, MOST_LISTED, Progression};
use crate::value::{IntValue, binary, convert, convert_to_field, promoted, range, unary, usual};
use std::collections::BTreeSet;
use std::fmt;
use trueline_ctree::{BinaryOp, IntKind, IntType, UnaryOp};

/// An integer expression that is never undefined for the values seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SafeExpr {
    /// A literal of some type.
    Const(IntValue),
    /// An integer in scope.
    Var(EnvSlot),
    /// A unary operator applied.
    Unary(UnaryOp, Box<SafeExpr>),
    /// A binary operator applied.
    Binary(BinaryOp, Box<SafeExpr>, Box<SafeExpr>),
    /// A cast to another integer type.
    Cast(IntType, Box<SafeExpr>),
}

/// The values an expression can have, all of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    /// The type of all the numbers.
    pub ty: IntType,
    /// The numbers that it can be.
    pub numbers: KnownNumbers,
}

impl ValueSet {
    /// The values of a computation on every listed operand; a progression when they are many.
    fn of(values: impl Iterator<Item = Option<IntValue>>) -> Option<Self> {
        let mut numbers = BTreeSet::new();
        let mut ty = None;
        for value in values {
            let value = value?;
            ty = Some(value.ty);
            numbers.insert(value.n);
        }
        let listed = KnownNumbers::Listed(numbers);
        let many = listed.listed().is_some_and(|all| all.len() > MOST_LISTED);
        Some(Self { ty: ty?, numbers: if many { KnownNumbers::spaced(listed.hull()) } else { listed } })
    }

    /// The values of a progression, where all of them are values of the type.
    fn within(ty: IntType, all: Progression) -> Option<Self> {
        let (least, most) = range(ty);
        (least <= all.low && all.high <= most).then(|| Self { ty, numbers: KnownNumbers::spaced(all) })
    }

    fn truth_value(known: Option<bool>) -> Self {
        Self { ty: IntType::INT, numbers: KnownNumbers::answer(known) }
    }

    /// The values, one by one, where they are listed.
    fn listed(&self) -> Option<impl Iterator<Item = IntValue> + Clone + '_> {
        let ty = self.ty;
        Some(self.numbers.listed()?.iter().map(move |&n| IntValue { ty, n }))
    }

    /// The single truth value, when all agree.
    pub fn truth(&self) -> Option<bool> {
        self.numbers.truth()
    }

    /// What an assignment of it to an integer stores.
    pub fn stored_in(&self, ty: IntType, width: Option<u32>) -> KnownNumbers {
        if let Some(values) = self.listed() {
            return values.map(|v| convert_to_field(v, ty, width).n).collect();
        }
        if ty.kind == IntKind::Bool {
            return KnownNumbers::answer(self.truth());
        }
        let (mut least, mut most) = range(ty);
        if let Some(width) = width.filter(|width| *width < ty.bits()) {
            (least, most) = if ty.signed { (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1) } else { (0, (1i128 << width) - 1) };
        }
        KnownNumbers::spaced(self.numbers.hull().wrapped(least, most))
    }
}

/// Applies a unary operator to a set; `None` when some value makes it undefined.
pub(crate) fn unary_set(op: UnaryOp, set: &ValueSet) -> Option<ValueSet> {
    if let Some(values) = set.listed() {
        return ValueSet::of(values.map(|v| unary(op, v)));
    }
    let ty = promoted(set.ty, None);
    let all = set.numbers.hull();
    match op {
        UnaryOp::Plus => ValueSet::within(ty, all),
        // Negation of unsigned numbers wraps, which no interval tells well.
        UnaryOp::Minus if ty.signed => ValueSet::within(ty, all.negated()?),
        UnaryOp::BitNot => ValueSet::within(ty, all.complemented((!ty.signed).then_some(range(ty).1))?),
        UnaryOp::Not => Some(ValueSet::truth_value(set.truth().map(|truth| !truth))),
        _ => None,
    }
}

/// Applies a binary operator to the product of two sets; `None` when some pair makes it undefined, or when nothing would be known.
pub(crate) fn binary_set(op: BinaryOp, left: &ValueSet, right: &ValueSet) -> Option<ValueSet> {
    match (left.listed(), right.listed()) {
        (Some(a), Some(b)) => ValueSet::of(a.flat_map(|a| b.clone().map(move |b| binary(op, a, b)))),
        _ => spaced_binary(op, left, right),
    }
}

/// The same where one side is a progression. Sums and products that wrap are left out, as those that overflow are.
fn spaced_binary(op: BinaryOp, left: &ValueSet, right: &ValueSet) -> Option<ValueSet> {
    let (left_type, right_type) = (promoted(left.ty, None), promoted(right.ty, None));
    if op.is_logical() {
        let decided = op == BinaryOp::LogicalOr;
        let known = match (left.truth(), right.truth()) {
            (Some(a), _) | (_, Some(a)) if a == decided => Some(decided),
            (Some(_), Some(_)) => Some(!decided),
            _ => None,
        };
        return Some(ValueSet::truth_value(known));
    }
    if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
        let by = right.numbers.hull().single().filter(|by| (0..i128::from(left_type.bits())).contains(by))?;
        let all = left.numbers.hull();
        return match op {
            BinaryOp::Shr => ValueSet::within(left_type, all.shifted_right(by as u32)),
            _ if all.low < 0 => None,
            _ => ValueSet::within(left_type, all.times(Progression::new(1 << by, 1 << by, 0))?),
        };
    }
    let ty = usual(left_type, right_type);
    // Converted first, as the operands are.
    let converted = |set: &ValueSet| match set.listed() {
        Some(values) => values.map(|v| convert(v, ty).n).collect::<KnownNumbers>().hull(),
        None => set.numbers.hull().wrapped(range(ty).0, range(ty).1),
    };
    let (a, b) = (converted(left), converted(right));
    let truth = |known| Some(ValueSet::truth_value(known));
    let made = match op {
        BinaryOp::Add => a.plus(b)?,
        BinaryOp::Sub => a.plus(b.negated()?)?,
        BinaryOp::Mul => a.times(b)?,
        BinaryOp::Div | BinaryOp::Rem => {
            let by = b.single().filter(|by| *by != 0 && !(ty.signed && *by == -1 && a.low == range(ty).0))?;
            if op == BinaryOp::Div { a.divided_by(by)? } else { a.modulo(by)? }
        }
        BinaryOp::And => a.masked(b)?,
        BinaryOp::Or | BinaryOp::Xor => a.joined(b)?,
        BinaryOp::Lt => return truth(a.is_less(b)),
        BinaryOp::Ge => return truth(a.is_less(b).map(|less| !less)),
        BinaryOp::Gt => return truth(b.is_less(a)),
        BinaryOp::Le => return truth(b.is_less(a).map(|less| !less)),
        BinaryOp::Eq => return truth(a.is_equal(b)),
        BinaryOp::Ne => return truth(a.is_equal(b).map(|equal| !equal)),
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::Comma => return None,
    };
    ValueSet::within(ty, made)
}

/// Converts every value of a set as a cast does.
fn cast_set(set: &ValueSet, ty: IntType) -> Option<ValueSet> {
    match set.listed() {
        Some(values) => ValueSet::of(values.map(|v| Some(convert(v, ty)))),
        None => Some(ValueSet { ty, numbers: set.stored_in(ty, None) }),
    }
}

impl SafeExpr {
    /// Every value it can have; `None` when some of them is undefined.
    pub fn values(&self) -> Option<ValueSet> {
        match self {
            Self::Const(value) => Some(ValueSet { ty: value.ty, numbers: KnownNumbers::one(value.n) }),
            Self::Var(slot) => Some(ValueSet { ty: promoted(slot.ty, slot.width), numbers: slot.values.clone() }),
            Self::Unary(op, operand) => unary_set(*op, &operand.values()?),
            Self::Binary(op, left, right) => binary_set(*op, &left.values()?, &right.values()?),
            Self::Cast(ty, operand) => cast_set(&operand.values()?, *ty),
        }
    }
}

impl fmt::Display for SafeExpr {
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
fn write_literal(f: &mut fmt::Formatter<'_>, value: IntValue) -> fmt::Result {
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
