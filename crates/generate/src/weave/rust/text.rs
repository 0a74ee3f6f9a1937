//! Names, values and expressions as Rust writes them.

use crate::weave::c::cmp_text;
use crate::weave::model::{BinOp, Cond, Expr, ScalarType, UnOp, VarPlace, WovenWord};

pub(in crate::weave) fn scalar_name(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::I8 => "i8",
        ScalarType::U8 => "u8",
        ScalarType::I16 => "i16",
        ScalarType::U16 => "u16",
        ScalarType::I32 => "i32",
        ScalarType::U32 => "u32",
        ScalarType::I64 => "i64",
    }
}

pub(super) fn word_name(word: WovenWord) -> &'static str {
    match word {
        WovenWord::I32 => "i32",
        WovenWord::U32 => "u32",
        WovenWord::I64 => "i64",
    }
}

pub(super) fn same(scalar: ScalarType, word: WovenWord) -> bool {
    scalar_name(scalar) == word_name(word)
}

pub(super) fn place(p: &VarPlace) -> String {
    match p {
        VarPlace::Var(name) => name.to_string(),
        VarPlace::Deref(name) => format!("*{name}"),
        VarPlace::Field(name, field) => format!("{name}.{field}"),
        VarPlace::Index(name, index) => format!("{name}[({}) as usize]", expr(index)),
    }
}

pub(super) fn constant(value: i64, word: WovenWord) -> String {
    if value < 0 { format!("({value}{})", word_name(word)) } else { format!("{value}{}", word_name(word)) }
}

/// An expression as an operand: always in parentheses unless it is one token.
pub(in crate::weave) fn operand(e: &Expr) -> String {
    match e {
        Expr::Const(..) => expr(e),
        Expr::Load(VarPlace::Var(_) | VarPlace::Field(..), scalar, word) if same(*scalar, *word) => expr(e),
        _ => format!("({})", expr(e)),
    }
}

pub(in crate::weave) fn expr(e: &Expr) -> String {
    match e {
        Expr::Const(value, word) => constant(*value, *word),
        Expr::Load(p, scalar, word) if same(*scalar, *word) => place(p),
        Expr::Load(p, _, word) => format!("({}) as {}", place(p), word_name(*word)),
        Expr::Unary(UnOp::Neg, a, WovenWord::U32) => format!("{}.wrapping_neg()", operand(a)),
        Expr::Unary(op, a, _) => format!("{}{}", if *op == UnOp::Neg { "-" } else { "!" }, operand(a)),
        Expr::Binary(op, a, b, word) => binary(*op, &operand(a), &operand(b), *word),
        Expr::Select(c, a, b, _) => format!("if {} {{ {} }} else {{ {} }}", cond(c), expr(a), expr(b)),
        Expr::Test(c, word) => format!("({}) as {}", cond(c), word_name(*word)),
        Expr::Convert(a, word) => format!("({}) as {}", expr(a), word_name(*word)),
    }
}

pub(super) fn binary(op: BinOp, a: &str, b: &str, word: WovenWord) -> String {
    let (sign, wrapping) = match op {
        BinOp::Add => ("+", "wrapping_add"),
        BinOp::Sub => ("-", "wrapping_sub"),
        BinOp::Mul => ("*", "wrapping_mul"),
        BinOp::Div => ("/", ""),
        BinOp::Rem => ("%", ""),
        BinOp::And => ("&", ""),
        BinOp::Or => ("|", ""),
        BinOp::Xor => ("^", ""),
        BinOp::Shl => ("<<", ""),
        BinOp::Shr => (">>", ""),
    };
    if word == WovenWord::U32 && !wrapping.is_empty() { format!("{a}.{wrapping}({b})") } else { format!("{a} {sign} {b}") }
}

pub(in crate::weave) fn cond(c: &Cond) -> String {
    match c {
        Cond::Compare(op, a, b) => format!("{} {} {}", operand(a), cmp_text(*op), operand(b)),
        Cond::NonZero(a) => format!("{} != 0", operand(a)),
        Cond::Not(a) => format!("!({})", cond(a)),
        Cond::And(a, b) => format!("({}) && ({})", cond(a), cond(b)),
        Cond::Or(a, b) => format!("({}) || ({})", cond(a), cond(b)),
        Cond::Volatile(name) => format!("core::ptr::read_volatile(&raw const {name}) != 0"),
    }
}

pub(in crate::weave) fn stored(value: &Expr, scalar: ScalarType) -> String {
    if same(scalar, scalar.word()) { expr(value) } else { format!("({}) as {}", expr(value), scalar_name(scalar)) }
}
