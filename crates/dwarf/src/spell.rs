//! Expressions as text.

use crate::op::{Op, ValueType};

/// Bytes as one little-endian number.
pub fn spell_constant(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("0x");
    let used = bytes.iter().rposition(|&b| b != 0).map_or(1, |i| i + 1);
    for byte in bytes[..used.min(bytes.len())].iter().rev() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// An expression as text, in the words of the DWARF standard without their prefix.
pub fn spell(ops: &[Op]) -> String {
    ops.iter().map(spell_one).collect::<Vec<_>>().join(", ")
}

fn spell_one(op: &Op) -> String {
    let ty = |t: &ValueType| match t {
        ValueType::Generic => "generic".to_owned(),
        ValueType::Signed(n) => format!("signed {n}"),
        ValueType::Unsigned(n) => format!("unsigned {n}"),
        ValueType::Float(n) => format!("float {n}"),
    };
    match op {
        Op::Const(n) => format!("const {n:#x}"),
        Op::TypedConst(t, bits) => format!("const_type ({}) {bits:#x}", ty(t)),
        Op::Address(a) => format!("addr {a:#x}"),
        Op::Register(r) => format!("reg{r}"),
        Op::RegisterOffset(r, n) => format!("breg{r} {n:+}"),
        Op::TypedRegister(r, t) => format!("regval_type {r} ({})", ty(t)),
        Op::FrameOffset(n) => format!("fbreg {n:+}"),
        Op::Cfa => "call_frame_cfa".into(),
        Op::Deref(8) => "deref".into(),
        Op::Deref(n) => format!("deref_size {n}"),
        Op::TypedDeref(n, t) => format!("deref_type {n} ({})", ty(t)),
        Op::Drop => "drop".into(),
        Op::Pick(n) => format!("pick {n}"),
        Op::Swap => "swap".into(),
        Op::Rot => "rot".into(),
        Op::Unary(u) => format!("{u:?}").to_lowercase(),
        Op::Binary(b) => format!("{b:?}").to_lowercase(),
        Op::PlusConst(n) => format!("plus_uconst {n:#x}"),
        Op::Branch(to) => format!("bra to operation {to}"),
        Op::Skip(to) => format!("skip to operation {to}"),
        Op::Nop => "nop".into(),
        Op::Uninitialised => "GNU_uninit".into(),
        Op::StackValue => "stack_value".into(),
        Op::Implicit(bytes) => format!("implicit_value {}", spell_constant(bytes)),
        Op::ImplicitPointer(die, n) => format!("implicit_pointer {die:#x} {n:+}"),
        Op::Piece { bits, offset: 0 } if bits % 8 == 0 => format!("piece {}", bits / 8),
        Op::Piece { bits, offset } => format!("bit_piece {bits} at {offset}"),
        Op::EntryValue(inner) => format!("entry_value({})", spell(inner)),
        Op::ParameterRef(die) => format!("GNU_parameter_ref {die:#x}"),
        Op::Convert(t) => format!("convert ({})", ty(t)),
        Op::Reinterpret(t) => format!("reinterpret ({})", ty(t)),
        Op::Tls => "form_tls_address".into(),
        Op::Unsupported(what) => (*what).to_owned(),
    }
}
