//! Integer arithmetic as C defines it on the LP64 model of x86-64 Linux: promotion, the usual arithmetic
//! conversions, and every undefined case as `None`.
//!
//! Where the standard leaves a choice to the implementation, gcc and clang agree and so do we: conversion to
//! a signed type wraps, right shift of a negative number is arithmetic. A left shift is defined only when C99
//! says so (non-negative operand, representable result), which is what UBSan checks.

use trueline_ctree::{BinaryOp, IntKind, IntType, UnaryOp};

/// A number with its type. The number is always in the type's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntValue {
    /// The type of the number.
    pub ty: IntType,
    /// The number itself, within its type.
    pub n: i128,
}

impl IntValue {
    /// A number of a type, wrapped into its range.
    pub fn new(ty: IntType, n: i128) -> Self {
        Self { ty, n: wrap(ty, n) }
    }

    /// A value of type `int`.
    pub fn int(n: i128) -> Self {
        Self::new(IntType::INT, n)
    }

    /// True unless the number is zero.
    pub fn truth(self) -> bool {
        self.n != 0
    }
}

/// Smallest and largest number of a type.
pub(crate) fn range(ty: IntType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}

fn fits(ty: IntType, n: i128) -> bool {
    let (low, high) = range(ty);
    low <= n && n <= high
}

fn wrap(ty: IntType, n: i128) -> i128 {
    if ty.kind == IntKind::Bool {
        return i128::from(n != 0);
    }
    let bits = ty.bits();
    let low = n & ((1i128 << bits) - 1);
    if ty.signed && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low }
}

/// Converts as an assignment or a cast does.
pub fn convert(value: IntValue, ty: IntType) -> IntValue {
    IntValue::new(ty, value.n)
}

/// Converts a number to a bit-field of a width and back to its declared type.
pub(crate) fn convert_to_field(value: IntValue, ty: IntType, width: Option<u32>) -> IntValue {
    let value = convert(value, ty);
    match width {
        Some(width) if width < ty.bits() => {
            let low = value.n & ((1i128 << width) - 1);
            let negative = ty.signed && width > 0 && low >> (width - 1) & 1 == 1;
            IntValue { ty, n: if negative { low - (1i128 << width) } else { low } }
        }
        _ => value,
    }
}

/// The type that an operand of this type (and, for a bit-field, width) has in an expression.
pub fn promoted(ty: IntType, width: Option<u32>) -> IntType {
    let bits = width.unwrap_or(ty.bits());
    let small = ty.kind < IntKind::Int || (width.is_some() && bits <= 32);
    if !small {
        return ty;
    }
    if bits < 32 || (bits == 32 && ty.signed) { IntType::INT } else { IntType::UNSIGNED }
}

/// The common type of two promoted operands.
pub fn usual(a: IntType, b: IntType) -> IntType {
    if a.signed == b.signed {
        return if a.kind >= b.kind { a } else { b };
    }
    let (signed, unsigned) = if a.signed { (a, b) } else { (b, a) };
    if unsigned.kind >= signed.kind {
        unsigned
    } else if signed.bits() > unsigned.bits() {
        signed
    } else {
        IntType { kind: signed.kind, signed: false }
    }
}

/// Applies a unary operator; `None` when that is undefined (or no arithmetic operator).
pub fn unary(op: UnaryOp, operand: IntValue) -> Option<IntValue> {
    let ty = promoted(operand.ty, None);
    let n = operand.n;
    match op {
        UnaryOp::Plus => Some(IntValue { ty, n }),
        UnaryOp::Minus if ty.signed => fits(ty, -n).then_some(IntValue { ty, n: -n }),
        UnaryOp::Minus => Some(IntValue::new(ty, -n)),
        UnaryOp::BitNot => Some(IntValue::new(ty, !n)),
        UnaryOp::Not => Some(IntValue::int(i128::from(n == 0))),
        _ => None,
    }
}

/// Applies a binary operator; `None` when that is undefined (or no arithmetic operator).
pub fn binary(op: BinaryOp, left: IntValue, right: IntValue) -> Option<IntValue> {
    let (left_type, right_type) = (promoted(left.ty, None), promoted(right.ty, None));
    if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
        return shift(op, IntValue { ty: left_type, n: left.n }, right.n);
    }
    if op.is_logical() {
        let truth = if op == BinaryOp::LogicalAnd { left.truth() && right.truth() } else { left.truth() || right.truth() };
        return Some(IntValue::int(i128::from(truth)));
    }
    let ty = usual(left_type, right_type);
    let (a, b) = (wrap(ty, left.n), wrap(ty, right.n));
    let truth = |t: bool| Some(IntValue::int(i128::from(t)));
    let exact = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        // Signed products fit; unsigned ones may not, but their low bits are right.
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Rem if b == 0 || (ty.signed && a == range(ty).0 && b == -1) => return None,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Lt => return truth(a < b),
        BinaryOp::Le => return truth(a <= b),
        BinaryOp::Gt => return truth(a > b),
        BinaryOp::Ge => return truth(a >= b),
        BinaryOp::Eq => return truth(a == b),
        BinaryOp::Ne => return truth(a != b),
        BinaryOp::Shl | BinaryOp::Shr | BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::Comma => return None,
    };
    if ty.signed && !fits(ty, exact) { None } else { Some(IntValue::new(ty, exact)) }
}

fn shift(op: BinaryOp, left: IntValue, by: i128) -> Option<IntValue> {
    if by < 0 || by >= i128::from(left.ty.bits()) {
        return None;
    }
    if op == BinaryOp::Shr {
        return Some(IntValue { ty: left.ty, n: left.n >> by });
    }
    let exact = left.n << by;
    if left.ty.signed && (left.n < 0 || !fits(left.ty, exact)) { None } else { Some(IntValue::new(left.ty, exact)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(name: &str) -> IntType {
        IntType::ALL.into_iter().find(|t| t.name() == name).unwrap()
    }

    #[test]
    fn the_papers_example_of_conversion_holds() {
        let b = IntValue::new(ty("short"), -1);
        assert_eq!(binary(BinaryOp::Add, IntValue::int(0), b), Some(IntValue::int(-1)));
        let a = IntValue::new(IntType::UNSIGNED, 0);
        assert_eq!(binary(BinaryOp::Add, a, b), Some(IntValue { ty: IntType::UNSIGNED, n: 4_294_967_295 }));
    }

    #[test]
    fn every_undefined_case_is_seen() {
        let int = IntValue::int;
        let (min, max) = range(IntType::INT);
        assert_eq!(unary(UnaryOp::Minus, int(min)), None);
        assert_eq!(binary(BinaryOp::Add, int(max), int(1)), None);
        assert_eq!(binary(BinaryOp::Sub, int(min), int(1)), None);
        assert_eq!(binary(BinaryOp::Mul, int(max), int(2)), None);
        for op in [BinaryOp::Div, BinaryOp::Rem] {
            assert_eq!(binary(op, int(1), int(0)), None);
            assert_eq!(binary(op, int(min), int(-1)), None);
        }
        for by in [-1, 32, 64] {
            assert_eq!(binary(BinaryOp::Shl, int(1), int(by)), None);
            assert_eq!(binary(BinaryOp::Shr, int(1), int(by)), None);
        }
        assert_eq!(binary(BinaryOp::Shl, int(-1), int(1)), None);
        assert_eq!(binary(BinaryOp::Shl, int(1), int(31)), None);
        assert_eq!(binary(BinaryOp::Shr, int(-8), int(1)), Some(int(-4)));
    }

    #[test]
    fn ranks_decide_when_widths_are_equal() {
        let (long, ulong) = (IntType::LONG, IntType::UNSIGNED_LONG);
        let longlong = ty("long long");
        assert_eq!(usual(ulong, longlong), ty("unsigned long long"));
        assert_eq!(usual(long, longlong), longlong);
        assert_eq!(usual(IntType::UNSIGNED, long), long);
        assert_eq!(usual(long, ulong), ulong);
    }

    #[test]
    fn bit_fields_promote_by_their_width() {
        assert_eq!(promoted(IntType::UNSIGNED, Some(31)), IntType::INT);
        assert_eq!(promoted(IntType::UNSIGNED, Some(32)), IntType::UNSIGNED);
        assert_eq!(convert_to_field(IntValue::int(5), IntType::INT, Some(3)).n, -3);
        assert_eq!(convert_to_field(IntValue::int(-1), IntType::UNSIGNED, Some(3)).n, 7);
    }
}
