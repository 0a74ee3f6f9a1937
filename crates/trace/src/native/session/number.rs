//! C's arithmetic on what expressions come to, with gdb's reading where the two differ.

use super::expression::{Binary, Unary};
use super::typed::Kind;
use std::rc::Rc;

/// A scalar.
#[derive(Clone, Debug)]
pub(super) enum Number {
    /// A value within the range of its type.
    Integer {
        value: i128,
        size: u8,
        is_signed: bool,
    },
    Real(f64, u8),
    /// The real and the imaginary part, and the size of each.
    Complex(f64, f64, u8),
    Address(u64, Rc<Kind>),
}

/// Operands that an operator does not take.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch(pub &'static str);

impl Number {
    /// An integer cut to its type.
    pub fn integer(value: i128, size: u8, is_signed: bool) -> Self {
        let bits = u32::from(size).clamp(1, 16) * 8;
        let raw = if bits == 128 { value as u128 } else { value as u128 & ((1 << bits) - 1) };
        let value = if is_signed { (raw << (128 - bits)) as i128 >> (128 - bits) } else { raw as i128 };
        Self::Integer { value, size, is_signed }
    }

    fn truth(is: bool) -> Self {
        Self::integer(i128::from(is), 4, true)
    }

    /// Whether it counts as true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Integer { value, .. } => *value != 0,
            Self::Real(value, _) => *value != 0.0,
            Self::Complex(re, im, _) => *re != 0.0 || *im != 0.0,
            Self::Address(address, _) => *address != 0,
        }
    }

    /// The whole number that it is as an index.
    pub fn index(&self) -> Option<i128> {
        match self {
            Self::Integer { value, .. } => Some(*value),
            Self::Real(..) | Self::Complex(..) | Self::Address(..) => None,
        }
    }

    /// What a cast to an integer type makes of it.
    pub fn to_integer(&self, size: u8, is_signed: bool) -> Self {
        let value = match self {
            Self::Integer { value, .. } => *value,
            Self::Real(value, _) | Self::Complex(value, ..) => *value as i128,
            Self::Address(address, _) => i128::from(*address),
        };
        Self::integer(value, size, is_signed)
    }

    /// As a floating-point number.
    pub fn to_real(&self) -> Option<f64> {
        match self {
            Self::Integer { value, is_signed: true, .. } => Some(*value as f64),
            Self::Integer { value, .. } => Some(*value as u128 as f64),
            Self::Real(value, _) => Some(*value),
            Self::Complex(..) | Self::Address(..) => None,
        }
    }

    /// The text that every engine has for it.
    pub fn text(&self) -> String {
        match self {
            Self::Integer { value, is_signed: false, size: 16 } => (*value as u128).to_string(),
            Self::Integer { value, .. } => value.to_string(),
            Self::Real(value, 4) => format!("{:?}", *value as f32),
            Self::Complex(re, im, size) => format!("{} + {}i", Self::Real(*re, *size).text(), Self::Real(*im, *size).text()),
            Self::Real(value, _) => format!("{value:?}"),
            Self::Address(address, _) => format!("{address:#x}"),
        }
    }

    /// Integers that are narrower than an `int` become one.
    fn promoted(self) -> Self {
        match self {
            Self::Integer { value, size: 0..4, .. } => Self::integer(value, 4, true),
            other => other,
        }
    }
}

/// An operator with one operand.
pub(super) fn unary(operator: Unary, operand: Number) -> Result<Number, Mismatch> {
    let operand = operand.promoted();
    match (operator, operand) {
        (Unary::Not, operand) => Ok(Number::truth(!operand.is_true())),
        (Unary::Plus, operand @ (Number::Integer { .. } | Number::Real(..))) => Ok(operand),
        (Unary::Negative, Number::Integer { value, size, is_signed }) => Ok(Number::integer(value.wrapping_neg(), size, is_signed)),
        (Unary::Negative, Number::Real(value, size)) => Ok(Number::Real(-value, size)),
        (Unary::Plus, operand @ Number::Complex(..)) => Ok(operand),
        (Unary::Negative, Number::Complex(re, im, size)) => Ok(Number::Complex(-re, -im, size)),
        // gdb takes it for the conjugate, as GNU C does.
        (Unary::Complement, Number::Complex(re, im, size)) => Ok(Number::Complex(re, -im, size)),
        (Unary::Complement, Number::Integer { value, size, is_signed }) => Ok(Number::integer(!value, size, is_signed)),
        _ => Err(Mismatch("the operand is none that the operator takes")),
    }
}

/// An operator with two operands; `size_of` knows how far apart the targets of a pointer lie.
pub(super) fn binary(operator: Binary, a: Number, b: Number, size_of: &dyn Fn(&Kind) -> u64) -> Result<Number, Mismatch> {
    use Number as N;
    match operator {
        Binary::Both => return Ok(N::truth(a.is_true() && b.is_true())),
        Binary::Either => return Ok(N::truth(a.is_true() || b.is_true())),
        _ => {}
    }
    match (a.promoted(), b.promoted()) {
        (a @ N::Complex(..), b) | (a, b @ N::Complex(..)) => complex(operator, &a, &b),
        (N::Address(p, target), N::Integer { value, .. }) if matches!(operator, Binary::Add | Binary::Sub) => {
            let distance = value.wrapping_mul(i128::from(size_of(&target).max(1))) as u64;
            Ok(N::Address(if operator == Binary::Add { p.wrapping_add(distance) } else { p.wrapping_sub(distance) }, target))
        }
        (N::Integer { value, .. }, N::Address(p, target)) if operator == Binary::Add => {
            let distance = value.wrapping_mul(i128::from(size_of(&target).max(1))) as u64;
            Ok(N::Address(p.wrapping_add(distance), target))
        }
        (N::Address(p, target), N::Address(q, _)) if operator == Binary::Sub => {
            Ok(N::integer(i128::from(p.wrapping_sub(q) as i64) / i128::from(size_of(&target).max(1)), 8, true))
        }
        (a @ N::Address(..), b) | (a, b @ N::Address(..)) => {
            let whole = |n: &N| match n {
                N::Address(p, _) => Some(i128::from(*p)),
                N::Integer { value, .. } => Some(i128::from(*value as u64)),
                N::Real(..) | N::Complex(..) => None,
            };
            match (whole(&a), whole(&b)) {
                (Some(x), Some(y)) => compare(operator, &x, &y).ok_or(Mismatch("pointers are only added to, subtracted and compared")),
                _ => Err(Mismatch("a pointer and a floating-point number have nothing in common")),
            }
        }
        (a @ N::Real(..), b) | (a, b @ N::Real(..)) => real(operator, &a, &b),
        (N::Integer { value: x, size: m, is_signed: s }, N::Integer { value: y, size: n, is_signed: t }) => {
            let (size, is_signed) = match m.cmp(&n) {
                std::cmp::Ordering::Greater => (m, s),
                std::cmp::Ordering::Less => (n, t),
                std::cmp::Ordering::Equal => (m, s && t),
            };
            integer(operator, (x, y), size, is_signed)
        }
    }
}

fn integer(operator: Binary, (x, y): (i128, i128), size: u8, is_signed: bool) -> Result<Number, Mismatch> {
    let of_type = |value: i128| match Number::integer(value, size, is_signed) {
        Number::Integer { value, .. } => value,
        Number::Real(..) | Number::Complex(..) | Number::Address(..) => value,
    };
    let is_shift = matches!(operator, Binary::Shl | Binary::Shr);
    // What is shifted keeps its value; all else is brought to the common type first.
    let (x, y) = if is_shift { (of_type(x), y) } else { (of_type(x), of_type(y)) };
    let amount = u32::try_from(y).ok().filter(|&n| n < u32::from(size) * 8);
    let value = match operator {
        Binary::Mul => x.wrapping_mul(y),
        Binary::Div | Binary::Rem if y == 0 => return Err(Mismatch("division by zero")),
        Binary::Div => x.wrapping_div(y),
        Binary::Rem => x.wrapping_rem(y),
        Binary::Add => x.wrapping_add(y),
        Binary::Sub => x.wrapping_sub(y),
        Binary::Shl => amount.map_or(0, |n| x.wrapping_shl(n)),
        Binary::Shr => amount.map_or(if x < 0 { -1 } else { 0 }, |n| x >> n),
        Binary::And => x & y,
        Binary::Xor => x ^ y,
        Binary::Or => x | y,
        comparison => return compare(comparison, &x, &y).ok_or(Mismatch("no such operator")),
    };
    Ok(Number::integer(value, size, is_signed))
}

fn real(operator: Binary, a: &Number, b: &Number) -> Result<Number, Mismatch> {
    let mismatch = Mismatch("the operator takes whole numbers only");
    let (Some(x), Some(y)) = (a.to_real(), b.to_real()) else { return Err(mismatch) };
    let size = |n: &Number| if let Number::Real(_, size) = n { *size } else { 0 };
    let value = match operator {
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Add => x + y,
        Binary::Sub => x - y,
        comparison => return compare(comparison, &x, &y).ok_or(mismatch),
    };
    let size = size(a).max(size(b));
    Ok(Number::Real(if size == 4 { f64::from(value as f32) } else { value }, size))
}

/// Equality is for two complex numbers only, as in gdb; nothing else compares them.
fn complex(operator: Binary, a: &Number, b: &Number) -> Result<Number, Mismatch> {
    let parts = |n: &Number| match n {
        Number::Complex(re, im, size) => Some((*re, *im, *size)),
        Number::Real(re, size) => Some((*re, 0.0, *size)),
        n => n.to_real().map(|re| (re, 0.0, 0)),
    };
    let mismatch = Mismatch("complex numbers have nothing in common with the other operand");
    let (Some((a_re, a_im, a_size)), Some((b_re, b_im, b_size))) = (parts(a), parts(b)) else { return Err(mismatch) };
    let are_both = matches!((a, b), (Number::Complex(..), Number::Complex(..)));
    let (re, im) = match operator {
        Binary::Add => (a_re + b_re, a_im + b_im),
        Binary::Sub => (a_re - b_re, a_im - b_im),
        Binary::Mul => (a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re),
        Binary::Div => {
            let scale = b_re * b_re + b_im * b_im;
            ((a_re * b_re + a_im * b_im) / scale, (a_im * b_re - a_re * b_im) / scale)
        }
        Binary::Eq | Binary::Ne if are_both => {
            let is_same = a_re == b_re && a_im == b_im;
            return Ok(Number::truth(is_same == (operator == Binary::Eq)));
        }
        _ => return Err(mismatch),
    };
    Ok(Number::Complex(re, im, a_size.max(b_size)))
}

fn compare<T: PartialOrd>(operator: Binary, x: &T, y: &T) -> Option<Number> {
    let is = match operator {
        Binary::Lt => x < y,
        Binary::Gt => x > y,
        Binary::Le => x <= y,
        Binary::Ge => x >= y,
        Binary::Eq => x == y,
        Binary::Ne => x != y,
        _ => return None,
    };
    Some(Number::truth(is))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i128) -> Number {
        Number::integer(value, 4, true)
    }

    fn both(operator: Binary, a: Number, b: Number) -> String {
        binary(operator, a, b, &|_| 4).map_or_else(|e| e.0.to_owned(), |n| n.text())
    }

    #[test]
    fn integers_wrap_in_the_type_that_both_have_in_common() {
        assert_eq!(both(Binary::Add, int(i128::from(i32::MAX)), int(1)), "-2147483648");
        assert_eq!(both(Binary::Sub, int(0), Number::integer(1, 4, false)), "4294967295");
        assert_eq!(both(Binary::Shl, Number::integer(0x17, 8, false), int(50)), (0x17u64 << 50).to_string());
        assert_eq!(both(Binary::Div, int(-7), int(2)), "-3");
        assert_eq!(both(Binary::Lt, int(-1), Number::integer(1, 8, false)), "0");
    }

    #[test]
    fn narrow_integers_become_ints_before_anything_is_done_with_them() {
        let byte = Number::integer(200, 1, false);
        assert_eq!(both(Binary::Add, byte.clone(), byte.clone()), "400");
        assert_eq!(unary(Unary::Complement, byte).unwrap().text(), "-201");
    }

    #[test]
    fn pointers_move_by_the_size_of_their_targets() {
        let pointer = || Number::Address(0x1000, Rc::new(Kind::Void));
        assert_eq!(both(Binary::Add, pointer(), int(3)), "0x100c");
        assert_eq!(both(Binary::Sub, Number::Address(0x1010, Rc::new(Kind::Void)), pointer()), "4");
        assert_eq!(both(Binary::Eq, pointer(), int(0x1000)), "1");
        assert!(binary(Binary::Mul, pointer(), int(2), &|_| 4).is_err());
    }

    #[test]
    fn complex_numbers_are_added_multiplied_and_equal_to_their_like_only() {
        let z = || Number::Complex(1.5, 2.0, 8);
        assert_eq!(both(Binary::Mul, z(), int(2)), "3.0 + 4.0i");
        assert_eq!(both(Binary::Add, int(1), Number::Complex(0.0, 2.0, 4)), "1.0 + 2.0i");
        assert_eq!(both(Binary::Mul, z(), z()), "-1.75 + 6.0i");
        assert_eq!(both(Binary::Div, z(), z()), "1.0 + 0.0i");
        assert_eq!(both(Binary::Eq, z(), z()), "1");
        assert!(binary(Binary::Eq, z(), int(1), &|_| 4).is_err());
        assert!(binary(Binary::Lt, z(), z(), &|_| 4).is_err());
    }

    #[test]
    fn division_by_zero_is_no_number() {
        assert_eq!(both(Binary::Rem, int(1), int(0)), "division by zero");
    }
}
