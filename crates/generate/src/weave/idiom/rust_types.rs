//! Types of Rust: traits and generics, enums with data, drop glue, boxes, vectors and strings, 128 bits.

use super::real::reals;
use super::{ANY, Idiom, SMALL, idiom};
use crate::weave::model::{Block, ScalarType, ValueRange};
use crate::weave::native::put;
use crate::weave::scope::{Maker, Mutability};

pub const ALL: &[Idiom] = &[
    idiom("real", 30, reals),
    idiom("traited", 20, traits),
    idiom("array", 30, const_generic),
    idiom("message", 16, enum_with_data),
    idiom("dropped", 12, drop_glue),
    idiom("boxed", 50, boxed_list),
    idiom("vector", 60, vector),
    idiom("text", 50, string),
    idiom("wide", 10, wide_integer),
    idiom("tuple", 10, tuple),
];

/// A trait with two implementations, called by type, through a generic function and through a table.
fn traits(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (base, one, two, function) = (m.fresh("Area"), m.fresh("One"), m.fresh("Two"), m.fresh("by_type"));
    let (p, q) = (m.fresh("p"), m.fresh("p"));
    let body = m.body(&[(&p, ScalarType::U32, ANY)], 1);
    let (first, second) = (m.word_of(&[(&p, ScalarType::U32, ANY)], 2), m.word_of(&[(&q, ScalarType::U32, ANY)], 2));
    let scale = m.number(2, 30);
    m.item(
        &format!("trait {base} {{\nconst SCALE: u32;\nunsafe fn area(&self, p: u32) -> u32;\nunsafe fn twice(&self, p: u32) -> u32 {{\nlet once = self.area(p);\nself.area(once).wrapping_mul(Self::SCALE)\n}}\n}}"),
        [],
    );
    m.item(
        &format!("struct {one} {{\nside: u32,\n}}\nimpl {base} for {one} {{\nconst SCALE: u32 = {scale};\nunsafe fn area(&self, mut {p}: u32) -> u32 {{\n@\nlet t = {first};\nt ^ self.side\n}}\n}}"),
        [body],
    );
    m.item(
        &format!("struct {two}(u32, i16);\nimpl {base} for {two} {{\nconst SCALE: u32 = 3;\nunsafe fn area(&self, {q}: u32) -> u32 {{\nif self.1 > 0 {{\nreturn self.0;\n}}\n({second}).wrapping_add(self.0)\n}}\n}}"),
        [],
    );
    m.item(&format!("unsafe fn {function}<T: {base}>(of: &T, p: u32) -> u32 {{\nlet got = of.twice(p);\ngot >> 1\n}}"), []);
    let (a, b, x, y) = (m.fresh("o"), m.fresh("o"), m.fresh("v"), m.fresh("v"));
    let (side, left, right, by) = (m.word(1), m.word(1), m.int(-99, 99, 1), m.word(1));
    put(out, &format!("let mut {a} = {one} {{ side: {side} }};\nlet mut {b} = {two}({left}, ({right}) as i16);"), []);
    put(out, &format!("let mut {x}: u32 = {function}(&{a}, {by});\nlet mut {y}: u32 = {function}(&{b}, {x});"), []);
    m.bring_word(&x);
    m.bring_word(&y);
    m.bring(format!("{a}.side"), ScalarType::U32, ANY, Mutability::Free);
    m.bring(format!("{b}.1"), ScalarType::I16, ScalarType::I16.range(), Mutability::Free);
}

/// A function for arrays of any length.
fn const_generic(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, result) = (m.fresh("total"), m.fresh("v"));
    let k = m.number(2, 40);
    m.item(
        &format!("fn {function}<const N: usize>(of: [u32; N]) -> u32 {{\nlet mut acc = N as u32;\nlet mut i = 0;\nwhile i < N {{\nacc = acc.wrapping_mul({k}).wrapping_add(of[i]);\ni += 1;\n}}\nacc\n}}"),
        [],
    );
    let (a, b, c) = (m.word(1), m.word(1), m.word(1));
    put(out, &format!("let mut {result}: u32 = {function}([{a}, {b}]);\n{result} ^= {function}([{result}, {c}, 7, 9]);"), []);
    m.bring_word(&result);
}

/// An enum whose variants carry data, made by one match and taken apart by another.
fn enum_with_data(m: &mut Maker, out: &mut Block, depth: u32) {
    let (ty, name, sum) = (m.fresh("Msg"), m.fresh("e"), m.fresh("v"));
    m.item(&format!("#[derive(Clone, Copy)]\nenum {ty} {{\nQuit,\nMove {{ x: i32, y: i16 }},\nWrite(u32),\nPair(u8, u32),\n}}"), []);
    let (pick, x, y, w, b) = (m.int(0, 3, 1), m.int(-99, 99, 1), m.int(-99, 99, 1), m.word(1), m.int(0, 255, 1));
    put(
        out,
        &format!(
            "let mut {name} = match {pick} {{\n0 => {ty}::Quit,\n1 => {ty}::Move {{ x: {x}, y: ({y}) as i16 }},\n2 => {ty}::Write({w}),\n_ => {ty}::Pair(({b}) as u8, 5),\n}};"
        ),
        [],
    );
    let start = m.word(1);
    put(out, &format!("let mut {sum}: u32 = {start};"), []);
    m.bring_word(&sum);
    let (n, at) = (m.fresh("n"), m.fresh("n"));
    let first = m.scoped(|m| {
        m.bring(n.clone(), ScalarType::U32, ANY, Mutability::Fixed);
        m.inner(1, depth, 1)
    });
    let second = m.scoped(|m| {
        m.bring(at.clone(), ScalarType::I32, SMALL, Mutability::Fixed);
        m.inner(1, depth, 1)
    });
    let limit = m.number(0, 90);
    put(
        out,
        &format!(
            "match {name} {{\n{ty}::Write({n}) if {n} > {limit} => {{\n@\n{sum} = {sum}.wrapping_sub({n});\n}}\n{ty}::Write(n) => {sum} ^= n,\n{ty}::Move {{ x: {at}, y }} => {{\n@\n{sum} = {sum}.wrapping_add({at} as u32 ^ y as u32);\n}}\n{ty}::Pair(low @ 0..=9, n) => {sum} = low as u32 + n,\n{ty}::Pair(..) | {ty}::Quit => {{}}\n}}"
        ),
        [first, second],
    );
    if m.dice.chance(50) {
        put(out, &format!("if let {ty}::Pair(a, b) = {name} {{\n{sum} = {sum}.wrapping_mul(a as u32).wrapping_add(b);\n}}"), []);
    }
}

/// A value that does something when its scope ends.
fn drop_glue(m: &mut Maker, out: &mut Block, depth: u32) {
    let Some(checksum) = m.module.checksum.clone() else { return };
    let (ty, object, value) = (m.fresh("Guard"), m.fresh("o"), m.word(1));
    m.item(
        &format!("struct {ty}(u32);\nimpl Drop for {ty} {{\nfn drop(&mut self) {{\nunsafe {{\n{checksum} = {checksum}.wrapping_mul(31).wrapping_add(self.0);\n}}\n}}\n}}"),
        [],
    );
    let block = m.scoped(|m| {
        m.bring(format!("{object}.0"), ScalarType::U32, ANY, Mutability::Free);
        m.inner(2, depth, 1)
    });
    let moved = if m.dice.chance(50) { format!("let moved = {object};\ndrop(moved);") } else { format!("{object}.0 ^= 5;") };
    put(out, &format!("{{\nlet mut {object} = {ty}({value});\nlet second = {ty}(3);\n@\n{moved}\n}}"), [block]);
}

/// A list of boxes, built in a loop, walked by recursion, dropped by the compiler.
fn boxed_list(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (ty, function, list, result) = (m.fresh("List"), m.fresh("sum"), m.fresh("o"), m.fresh("v"));
    let k = m.number(2, 20);
    m.item(&format!("enum {ty} {{\nNil,\nCons(u32, Box<{ty}>),\n}}"), []);
    m.item(
        &format!("fn {function}(of: &{ty}) -> u32 {{\nmatch of {{\n{ty}::Nil => {k},\n{ty}::Cons(n, rest) => {{\nlet tail = {function}(rest);\ntail.wrapping_mul(3) ^ *n\n}}\n}}\n}}"),
        [],
    );
    let (count, value) = (m.number(2, 5), m.word(1));
    put(
        out,
        &format!(
            "let mut {list} = {ty}::Nil;\nfor i in 0..{count}u32 {{\n{list} = {ty}::Cons(({value}).wrapping_add(i), Box::new({list}));\n}}\nlet mut {result}: u32 = {function}(&{list});"
        ),
        [],
    );
    m.bring_word(&result);
}

/// A vector that grows and is emptied again.
fn vector(m: &mut Maker, out: &mut Block, depth: u32) {
    let (vector, sum, item) = (m.fresh("vec"), m.fresh("v"), m.fresh("n"));
    let (count, value) = (m.number(2, 6), m.word(1));
    put(
        out,
        &format!(
            "let mut {vector}: Vec<u32> = Vec::new();\nfor i in 0..{count}u32 {{\n{vector}.push(({value}) ^ i);\n}}\nlet mut {sum}: u32 = 0;"
        ),
        [],
    );
    m.bring_word(&sum);
    let block = m.scoped(|m| {
        m.bring(item.clone(), ScalarType::U32, ANY, Mutability::Fixed);
        m.inner(1, depth, count as u64)
    });
    if m.dice.chance(50) {
        put(
            out,
            &format!("while let Some({item}) = {vector}.pop() {{\n{sum} = {sum}.wrapping_mul(5).wrapping_add({item});\n@\n}}"),
            [block],
        );
    } else {
        put(out, &format!("for &{item} in &{vector} {{\n{sum} = {sum}.rotate_left(3) ^ {item};\n@\n}}"), [block]);
        m.bring(format!("{vector}[0]"), ScalarType::U32, ANY, Mutability::Free);
    }
}

/// A string that is built and read byte by byte.
fn string(m: &mut Maker, out: &mut Block, depth: u32) {
    let (text, hash, byte) = (m.fresh("str"), m.fresh("v"), m.fresh("n"));
    let word = *m.dice.pick(&["weave", "a", "warp", ""]);
    let (value, test) = (m.int(0, 25, 1), m.test(1));
    put(
        out,
        &format!(
            "let mut {text} = String::from(\"{word}\");\n{text}.push((b'a' + ({value}) as u8) as char);\nif {test} {{\n{text}.push_str(\"ft\");\n}}"
        ),
        [],
    );
    put(out, &format!("let mut {hash}: u32 = 5381;"), []);
    m.bring_word(&hash);
    let block = m.scoped(|m| {
        m.bring(byte.clone(), ScalarType::U8, ScalarType::U8.range(), Mutability::Fixed);
        m.inner(1, depth, 8)
    });
    put(out, &format!("for {byte} in {text}.bytes() {{\n{hash} = {hash}.wrapping_mul(33).wrapping_add({byte} as u32);\n@\n}}"), [block]);
}

/// Arithmetic in 128 bits.
fn wide_integer(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (wide, result) = (m.fresh("w"), m.fresh("v"));
    let (high, low) = (m.word(1), m.word(1));
    put(out, &format!("let mut {wide}: u128 = (({high} as u128) << 70) | ({low} as u128);"), []);
    for _ in 0..2 + m.dice.below(2) {
        let other = m.word(1);
        let text = match m.dice.below(4) {
            0 => format!("{wide} = {wide}.wrapping_mul({other} as u128 | 1);"),
            1 => format!("{wide} = {wide}.wrapping_add(({other} as u128) << {});", m.number(1, 90)),
            2 => format!("{wide} ^= {wide} >> {};", m.number(1, 99)),
            _ => format!("if {wide} > ({other} as u128) << 40 {{\n{wide} = !{wide};\n}}"),
        };
        put(out, &text, []);
    }
    put(out, &format!("let mut {result}: u32 = ({wide} >> {}) as u32;", m.dice.pick(&[0, 33, 64, 90])), []);
    m.bring_word(&result);
}

/// Several values at once, into a function and out of it.
fn tuple(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, p) = (m.fresh("split"), m.fresh("p"));
    let body = m.body(&[(&p, ScalarType::U32, ANY)], 1);
    m.item(
        &format!("unsafe fn {function}(mut {p}: u32, of: (i32, u8)) -> (u32, i32) {{\n@\nlet (a, b) = of;\n({p} ^ b as u32, a / 2)\n}}"),
        [body],
    );
    let (a, b, word, small, byte) = (m.fresh("v"), m.fresh("v"), m.word(1), m.int(-99, 99, 1), m.int(0, 255, 1));
    put(out, &format!("let (mut {a}, mut {b}) = {function}({word}, ({small}, ({byte}) as u8));"), []);
    m.bring_word(&a);
    m.keep_int(&b, ValueRange::new(-50, 50));
}
