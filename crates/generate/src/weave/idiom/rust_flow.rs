//! Control flow of Rust: closures, iterators, slices and their patterns, `?`, checked arithmetic, loops
//! that give a value.

use super::{ANY, Idiom, SMALL, idiom};
use crate::weave::model::{Block, ScalarType, ValueRange};
use crate::weave::native::put;
use crate::weave::scope::{Maker, Mutability};

pub const ALL: &[Idiom] = &[
    idiom("closure", 16, closure),
    idiom("boxed_fn", 20, boxed_closure),
    idiom("iterated", 70, iterators),
    idiom("windows", 60, windows),
    idiom("sliced", 40, slices),
    idiom("tried", 24, question_mark),
    idiom("checked", 10, checked),
    idiom("looped", 30, loop_value),
    idiom("optional", 14, options),
    idiom("chain", 24, inline_chain),
];

fn numbers(m: &mut Maker, count: i64) -> String {
    let values: Vec<String> = (0..count).map(|_| m.number(0, 99).to_string()).collect();
    values.join(", ")
}

/// A closure that sees the variables around it. Its arguments are computed before it borrows them.
fn closure(m: &mut Maker, out: &mut Block, depth: u32) {
    let (function, kept, p, a, b, result) = (m.fresh("f"), m.fresh("v"), m.fresh("p"), m.fresh("v"), m.fresh("v"), m.fresh("v"));
    let (start, first, second) = (m.word(1), m.word(1), m.word(1));
    put(out, &format!("let mut {kept}: u32 = {start};\nlet {a}: u32 = {first};\nlet {b}: u32 = {second};"), []);
    let by_reference = m.dice.chance(50);
    if by_reference {
        m.bring_word(&kept);
        let block = m.sealed(2, depth, 2, &[(&p, ScalarType::U32, ANY)]);
        put(
            out,
            &format!("let mut {function} = |mut {p}: u32| -> u32 {{\n@\n{kept} = {kept}.wrapping_add({p});\n{kept} >> 1\n}};"),
            [block],
        );
    } else {
        let step = m.number(1, 99);
        put(
            out,
            &format!("let mut {function} = move |{p}: u32| {{\n{kept} = {kept}.wrapping_mul({step}).wrapping_add({p});\n{kept}\n}};"),
            [],
        );
    }
    put(out, &format!("let mut {result}: u32 = {function}({a}).wrapping_add({function}({b}));"), []);
    m.bring_word(&result);
    if !by_reference {
        m.bring_word(&kept);
    }
}

/// One of two closures behind a box.
fn boxed_closure(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, p, result) = (m.fresh("choose"), m.fresh("p"), m.fresh("v"));
    let (k, limit) = (m.number(2, 60), m.number(-20, 20));
    m.item(
        &format!("fn {function}({p}: i32) -> Box<dyn Fn(u32) -> u32> {{\nif {p} > {limit} {{\nBox::new(move |x| x ^ {p} as u32)\n}} else {{\nBox::new(|x| {{\nlet t = x.wrapping_mul({k});\nt >> 3\n}})\n}}\n}}"),
        [],
    );
    let (pick, by) = (m.int(-99, 99, 1), m.word(1));
    put(out, &format!("let chosen = {function}({pick});\nlet mut {result}: u32 = chosen({by});"), []);
    m.bring_word(&result);
}

/// A chain of adapters over an array, one on each line.
fn iterators(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (array, result) = (m.fresh("arr"), m.fresh("v"));
    let count = m.number(4, 8);
    let values = numbers(m, count);
    put(out, &format!("let mut {array}: [u32; {count}] = [{values}];"), []);
    let by = m.word(1);
    put(out, &format!("for x in {array}.iter_mut() {{\n*x = x.wrapping_mul({by} | 1);\n}}"), []);
    let mut chain = String::from("\n.iter()\n.copied()");
    for _ in 0..=m.dice.below(3) {
        chain += &match m.dice.below(6) {
            0 => format!("\n.filter(|x| x % {} != 0)", m.number(2, 5)),
            1 => format!("\n.map(|x| x.rotate_left({}))", m.number(1, 30)),
            2 => "\n.rev()".to_owned(),
            3 => "\n.zip(1u32..)\n.map(|(x, i)| x ^ i)".to_owned(),
            4 => format!("\n.skip({})", m.number(1, 2)),
            _ => "\n.map(|x| {\nlet half = x >> 1;\nhalf.wrapping_add(3)\n})".to_owned(),
        };
        // What was filtered or has no known end cannot be reversed.
        if chain.contains("zip") {
            break;
        }
    }
    let end = match m.dice.below(3) {
        0 => "fold(1u32, |a, x| a.wrapping_mul(31).wrapping_add(x))".to_owned(),
        1 => "max()\n.unwrap_or(9)".to_owned(),
        _ => "take(3)\n.fold(0u32, |a, x| a ^ x)".to_owned(),
    };
    put(out, &format!("let mut {result}: u32 = {array}{chain}\n.{end};"), []);
    m.bring_word(&result);
}

/// Loops over parts of an array.
fn windows(m: &mut Maker, out: &mut Block, depth: u32) {
    let (array, sum) = (m.fresh("arr"), m.fresh("v"));
    let values = numbers(m, 8);
    put(out, &format!("let mut {array}: [u32; 8] = [{values}];\nlet mut {sum}: u32 = 0;"), []);
    m.bring_word(&sum);
    let block = m.inner(1, depth, 7);
    let text = match m.dice.below(4) {
        0 => format!("for pair in {array}.windows(2) {{\nif pair[0] < pair[1] {{\n{sum} = {sum}.wrapping_add(pair[1]);\n}}\n@\n}}"),
        1 => format!("for part in {array}.chunks_mut(3) {{\npart[0] ^= 7;\n{sum} = {sum}.wrapping_add(part[0]);\n@\n}}"),
        2 => format!("for (i, x) in {array}.iter().enumerate().step_by(2) {{\n{sum} = {sum}.wrapping_mul(3) ^ (x + i as u32);\n@\n}}"),
        _ => format!("for x in {array}.iter().rev().filter(|x| **x > 9) {{\n{sum} = {sum}.wrapping_mul(7) ^ x;\n@\n}}"),
    };
    put(out, &text, [block]);
}

/// A function over slices by patterns, which calls itself on what is left.
fn slices(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, array, result) = (m.fresh("walk"), m.fresh("arr"), m.fresh("v"));
    let k = m.number(2, 50);
    m.item(
        &format!("fn {function}(of: &[u32]) -> u32 {{\nmatch of {{\n[] => {k},\n[one] => one.wrapping_add(1),\n[first, middle @ .., last] => {{\nlet inner = {function}(middle);\ninner.wrapping_mul(3) ^ first ^ last.rotate_left(4)\n}}\n}}\n}}"),
        [],
    );
    let values = numbers(m, 6);
    let (at, value) = (m.int(0, 5, 1), m.word(1));
    put(
        out,
        &format!(
            "let mut {array}: [u32; 6] = [{values}];\nlet (left, right) = {array}.split_at_mut(3);\nleft[0] = {value};\nright[2] = left[0] >> 1;"
        ),
        [],
    );
    put(out, &format!("let mut {result}: u32 = {function}(&{array}[..({at}) as usize]) ^ {function}(&{array});"), []);
    m.bring_word(&result);
}

/// Errors that are passed on by `?`.
fn question_mark(m: &mut Maker, out: &mut Block, depth: u32) {
    let (inner, outer, p, result) = (m.fresh("parse"), m.fresh("both"), m.fresh("p"), m.fresh("v"));
    let body = m.body(&[(&p, ScalarType::I32, SMALL)], 1);
    let (low, high) = (m.number(-60, 0), m.number(1, 60));
    m.item(
        &format!("unsafe fn {inner}(mut {p}: i32) -> Result<u32, i16> {{\nif {p} > {high} {{\nreturn Err({p} as i16);\n}}\nlet given = {p};\n@\nif given < {low} {{\nErr(-1)\n}} else {{\nOk(given as u32)\n}}\n}}"),
        [body],
    );
    m.item(
        &format!("unsafe fn {outer}({p}: i32) -> Result<u32, i16> {{\nlet a = {inner}({p})?;\nlet b = {inner}({p} / 2)?;\nOk(a.wrapping_mul(7) ^ b)\n}}"),
        [],
    );
    let value = m.int(-99, 99, 1);
    put(
        out,
        &format!("let mut {result}: u32 = match {outer}({value}) {{\nOk(n) => n,\nErr(e) if e < 0 => 77,\nErr(e) => e as u32,\n}};"),
        [],
    );
    m.bring_word(&result);
    let block = m.inner(1, depth, 1);
    let other = m.int(-99, 99, 1);
    if m.dice.chance(50) {
        put(out, &format!("if let Ok(n) = {inner}({other}) {{\n{result} = {result}.wrapping_sub(n);\n@\n}}"), [block]);
    } else {
        put(out, &format!("if {result} > 9 {{\n@\n}}"), [block]);
    }
}

/// Arithmetic that says whether it overflowed, and arithmetic that the compiler checks.
fn checked(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (name, a, b) = (m.fresh("v"), m.int(-99_999, 99_999, 1), m.int(-99_999, 99_999, 1));
    let operation = *m.dice.pick(&["checked_add", "checked_mul", "checked_sub"]);
    put(out, &format!("let mut {name}: i32 = match ({a}).{operation}({b}) {{\nSome(n) => n,\nNone => i32::MAX,\n}};"), []);
    let (flag, low) = (m.fresh("v"), m.fresh("v"));
    let (word, other) = (m.word(1), m.word(1));
    let wrapped = *m.dice.pick(&["overflowing_add", "overflowing_mul", "overflowing_sub"]);
    put(out, &format!("let (mut {low}, {flag}) = ({word}).{wrapped}({other});\nif {flag} {{\n{low} = {low}.saturating_sub(99);\n}}"), []);
    m.bring_word(&low);
    put(out, &format!("{name} = {name} / 8 + 12345;"), []);
    m.keep_int(&name, ValueRange::new(i64::from(i32::MIN) / 8 + 12345, i64::from(i32::MAX) / 8 + 12345));
}

/// A loop that ends with a value, and another that leaves both.
fn loop_value(m: &mut Maker, out: &mut Block, depth: u32) {
    let (count, result, word) = (m.fresh("n"), m.fresh("v"), m.word(1));
    let trips = m.number(3, 7);
    put(out, &format!("let mut {count}: u32 = 0;"), []);
    m.bring(count.clone(), ScalarType::U32, ValueRange::new(0, trips), Mutability::Fixed);
    let block = m.inner(1, depth, trips as u64);
    put(
        out,
        &format!("let mut {result}: u32 = loop {{\n{count} += 1;\nif {count} == {trips} {{\nbreak ({word}) ^ {count};\n}}\n@\n}};"),
        [block],
    );
    m.bring_word(&result);
    if m.dice.chance(50) {
        let label = m.fresh("outer");
        let (rows, limit) = (m.number(2, 3), m.number(1, 5));
        put(
            out,
            &format!(
                "'{label}: for i in 0..{rows}u32 {{\nfor j in 0..4u32 {{\nif i * j > {limit} {{\nbreak '{label};\n}}\n{result} = {result}.wrapping_add(i ^ j);\n}}\n}}"
            ),
            [],
        );
    }
}

/// Values that may be absent, by combinators and by `let … else`.
fn options(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, p, result) = (m.fresh("maybe"), m.fresh("p"), m.fresh("v"));
    let (limit, k) = (m.number(-50, 50), m.number(1, 9));
    m.item(
        &format!("fn {function}({p}: i32) -> Option<u32> {{\nlet Some(left) = {p}.checked_sub({limit}) else {{\nreturn None;\n}};\nif left > 0 {{\nSome(left as u32)\n}} else {{\nNone\n}}\n}}"),
        [],
    );
    let value = m.int(-99, 99, 1);
    put(out, &format!("let mut {result}: u32 = {function}({value})\n.map(|x| x << {k})\n.filter(|x| x % 3 != 0)\n.unwrap_or({k});"), []);
    m.bring_word(&result);
}

/// Functions that are inlined into one another, each with parameters and locals of its own.
fn inline_chain(m: &mut Maker, out: &mut Block, _depth: u32) {
    let mut inner: Option<std::rc::Rc<str>> = None;
    for _ in 0..m.number(2, 4) {
        let (function, p, q, local) = (m.fresh("deep"), m.fresh("p"), m.fresh("p"), m.fresh("v"));
        let params = [(&p, ScalarType::U32, ANY), (&q, ScalarType::I32, SMALL)];
        let body = m.body(&params, 1);
        let value = m.word_of(&params, 2);
        let attribute = *m.dice.pick(&["#[inline(always)]", "#[inline(always)]", "#[inline]", ""]);
        let text = match &inner {
            None => format!("{local} ^ {p}"),
            Some(next) => format!("let deeper = {next}({local}, {q} / 2);\ndeeper.wrapping_add({p})"),
        };
        let limit = m.number(-50, 50);
        m.item(
            &format!("{attribute}\nunsafe fn {function}(mut {p}: u32, mut {q}: i32) -> u32 {{\nlet mut {local}: u32 = {value};\nif {q} > {limit} {{\n@\n}}\n{text}\n}}"),
            [body],
        );
        inner = Some(function);
    }
    let Some(function) = inner else { return };
    let result = m.fresh("v");
    let (a, b) = (m.word(1), m.int(-99, 99, 1));
    put(out, &format!("let mut {result}: u32 = {function}({a}, {b});"), []);
    m.bring_word(&result);
}
