//! Values that C has beyond the model's integers: bit-fields, `_Bool`, enumerations, 128 bits, atomics,
//! volatile locals, checked arithmetic. `SHARED` is C++ as well.

use super::real::reals;
use super::{Idiom, idiom};
use crate::weave::model::{Block, ScalarType, ValueRange};
use crate::weave::native::{Tongue, put};
use crate::weave::scope::{Maker, Mutability};

pub const SHARED: &[Idiom] = &[
    idiom("real", 30, reals),
    idiom("bits", 8, bit_fields),
    idiom("int128", 10, int128),
    idiom("truth", 6, truth),
    idiom("atomic", 8, atomic),
    idiom("volatile", 8, volatile_local),
    idiom("checked", 8, checked),
    idiom("saturate", 8, saturate),
];

pub const ONLY_C: &[Idiom] = &[idiom("enum", 12, enumeration)];

/// A structure of bit-fields of which statements may read and write each.
fn bit_fields(m: &mut Maker, out: &mut Block, _depth: u32) {
    let ty = m.fresh("bits");
    let name = m.fresh("b");
    let mut fields = String::new();
    let mut values = Vec::new();
    let mut brought = Vec::new();
    for _ in 0..2 + m.dice.below(3) {
        let field = m.fresh("m");
        let width = m.number(1, 13) as u32;
        if width > 1 && m.dice.chance(40) {
            fields += &format!("int {field} : {width};\n");
            let half = 1i64 << (width - 1);
            brought.push((format!("{name}.{field}"), ScalarType::I16, ValueRange::new(-half, half - 1)));
        } else {
            fields += &format!("unsigned {field} : {width};\n");
            brought.push((format!("{name}.{field}"), ScalarType::U16, ValueRange::new(0, (1 << width) - 1)));
        }
        if m.dice.chance(20) {
            fields += "unsigned : 0;\n";
        }
        values.push((field, brought[brought.len() - 1].2));
    }
    let padding = if m.dice.chance(30) { "__attribute__((packed)) " } else { "" };
    m.item(&format!("struct {padding}{ty} {{\n{fields}}};"), []);
    put(out, &format!("struct {ty} {name};"), []);
    for (field, range) in values {
        let value = m.int(range.lo, range.hi, 1);
        put(out, &format!("{name}.{field} = {value};"), []);
    }
    if m.dice.chance(40) {
        let copy = m.fresh("b");
        put(out, &format!("struct {ty} {copy} = {name};"), []);
        for (place, scalar, range) in &brought {
            let (_, field) = place.split_once('.').expect("a field of the structure");
            m.bring(format!("{copy}.{field}"), *scalar, *range, Mutability::Free);
        }
    }
    for (place, scalar, range) in brought {
        m.bring(place, scalar, range, Mutability::Free);
    }
}

/// Arithmetic in 128 bits, which no register holds alone.
fn int128(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (wide, result) = (m.fresh("w"), m.fresh("v"));
    let (high, low) = (m.word(1), m.word(1));
    put(out, &format!("unsigned __int128 {wide} = ((unsigned __int128){high} << 70) | {low};"), []);
    for _ in 0..2 + m.dice.below(3) {
        let other = m.word(1);
        let text = match m.dice.below(5) {
            0 => format!("{wide} *= ({other} | 1u);"),
            1 => format!("{wide} += (unsigned __int128){other} << {};", m.number(1, 90)),
            2 => format!("{wide} ^= {wide} >> {};", m.number(1, 99)),
            3 => format!("{wide} -= {other};"),
            _ => format!("if ({wide} > (unsigned __int128){other} << 40) {{\n{wide} = ~{wide};\n}}"),
        };
        put(out, &text, []);
    }
    let shift = *m.dice.pick(&[0, 33, 64, 90]);
    put(out, &format!("unsigned {result} = (unsigned)({wide} >> {shift});"), []);
    m.bring_word(&result);
}

/// `_Bool`: whatever is stored becomes 0 or 1.
fn truth(m: &mut Maker, out: &mut Block, depth: u32) {
    let name = m.fresh("t");
    let ty = if m.tongue == Some(Tongue::Cxx) { "bool" } else { "_Bool" };
    let (a, b) = (m.test(2), m.test(1));
    put(out, &format!("{ty} {name} = {a} {} {b};", m.dice.pick(&["&&", "||", "!=", "^"])), []);
    m.bring(name.clone(), ScalarType::U8, ValueRange::new(0, 1), Mutability::Free);
    let block = m.inner(1, depth, 1);
    put(out, &format!("if ({}{name}) {{\n@\n}}", if m.dice.chance(50) { "!" } else { "" }), [block]);
}

/// An object that only atomic operations touch.
fn atomic(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (name, old) = (m.fresh("a"), m.fresh("v"));
    let start = m.word(1);
    let spare = m.number(0, 99);
    m.item(&format!("static unsigned {name} = {spare}u;"), []);
    put(out, &format!("__atomic_store_n(&{name}, {start}, __ATOMIC_SEQ_CST);"), []);
    let value = m.word(1);
    let operation = *m.dice.pick(&["add", "sub", "xor", "or", "and"]);
    put(out, &format!("unsigned {old} = __atomic_fetch_{operation}(&{name}, {value}, __ATOMIC_RELAXED);"), []);
    m.bring_word(&old);
    if m.dice.chance(50) {
        let (expected, wanted) = (m.fresh("v"), m.word(1));
        let test = m.word(1);
        put(out, &format!("unsigned {expected} = {test};"), []);
        let order = "__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST";
        put(out, &format!("if (__atomic_compare_exchange_n(&{name}, &{expected}, {wanted}, 0, {order})) {{\n{old} += 1u;\n}}"), []);
        m.bring_word(&expected);
    }
    let last = m.fresh("v");
    put(out, &format!("unsigned {last} = __atomic_load_n(&{name}, __ATOMIC_ACQUIRE);"), []);
    m.bring_word(&last);
}

/// A local that lives in memory, between ones that need not.
fn volatile_local(m: &mut Maker, out: &mut Block, depth: u32) {
    let (name, copy) = (m.fresh("h"), m.fresh("v"));
    let start = m.int(-999, 999, 1);
    put(out, &format!("volatile int {name} = {start};"), []);
    let block = m.inner(1, depth, 1);
    put(out, &format!("if ({name} > {}) {{\n@\n}}", m.number(-99, 99)), [block]);
    put(out, &format!("int {copy} = {name};"), []);
    m.keep_int(&copy, ValueRange::new(-999, 999));
    let again = m.int(-999, 999, 1);
    put(out, &format!("{name} = {again};"), []);
}

/// Arithmetic that says whether it overflowed.
fn checked(m: &mut Maker, out: &mut Block, depth: u32) {
    let (name, left, right) = (m.fresh("v"), m.value_text(), m.value_text());
    let (ty, scalar) = *m.dice.pick(&[
        ("int", ScalarType::I32),
        ("short", ScalarType::I16),
        ("unsigned char", ScalarType::U8),
        ("unsigned", ScalarType::U32),
    ]);
    let operation = *m.dice.pick(&["add", "sub", "mul"]);
    let block = m.inner(1, depth, 1);
    let text = format!("{ty} {name};\nif (__builtin_{operation}_overflow({left}, {right}, &{name})) {{\n@\n}}");
    put(out, &text, [block]);
    m.bring(name, scalar, scalar.range(), Mutability::Free);
}

/// Limits by comparison, which become conditional moves or saturating instructions.
fn saturate(m: &mut Maker, out: &mut Block, _depth: u32) {
    let name = m.fresh("v");
    let (low, high) = (m.number(-300, -1), m.number(0, 300));
    let value = m.int(-9999, 9999, 2);
    put(out, &format!("int {name} = {value};"), []);
    if m.dice.chance(50) {
        put(out, &format!("{name} = {name} < {low}\n  ? {low}\n  : {name} > {high}\n  ? {high}\n  : {name};"), []);
    } else {
        put(out, &format!("if ({name} < {low}) {{\n{name} = {low};\n}} else if ({name} > {high}) {{\n{name} = {high};\n}}"), []);
    }
    m.keep_int(&name, ValueRange::new(low, high));
}

/// An enumeration and a switch over it whose cases fall through.
fn enumeration(m: &mut Maker, out: &mut Block, depth: u32) {
    let (ty, name, sum) = (m.fresh("kind"), m.fresh("e"), m.fresh("v"));
    let names: Vec<_> = (0..4).map(|_| m.fresh("K")).collect();
    // A negative constant makes the type an `int`, as the model's arithmetic takes it to be.
    m.item(&format!("enum {ty} {{\n{} = -1,\n{},\n{},\n{}\n}};", names[0], names[1], names[2], names[3]), []);
    let value = m.int(0, 3, 2);
    put(out, &format!("enum {ty} {name} = (enum {ty})({value} - 1);"), []);
    m.bring(name.clone(), ScalarType::I32, ValueRange::new(-1, 2), Mutability::Fixed);
    let start = m.word(1);
    put(out, &format!("unsigned {sum} = {start};"), []);
    m.bring_word(&sum);
    let blocks = [m.inner(1, depth, 1), m.inner(1, depth, 1)];
    let (a, b) = (m.word(1), m.word(1));
    put(
        out,
        &format!(
            "switch ({name}) {{\ncase {}:\n{sum} += {a};\ncase {}: {{\n@\n}}\nbreak;\ncase {}:\n{sum} ^= {b};\ndefault: {{\n@\n}}\n}}",
            names[0], names[1], names[2]
        ),
        blocks,
    );
}
