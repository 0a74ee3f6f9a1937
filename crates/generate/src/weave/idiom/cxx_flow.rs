//! Control flow of C++: lambdas, exceptions, loops over ranges, `constexpr`, scoped enumerations.

use super::{ANY, Idiom, SMALL, idiom};
use crate::weave::model::{Block, ScalarType};
use crate::weave::native::put;
use crate::weave::scope::{Maker, Mutability};

pub const ALL: &[Idiom] = &[
    idiom("lambda", 16, lambda),
    idiom("callback", 40, callback),
    idiom("thrown", 26, thrown),
    idiom("rethrown", 36, rethrown),
    idiom("ranged", 40, ranged),
    idiom("constexpr", 30, constant_expression),
    idiom("choice", 12, choice),
    idiom("defaults", 8, defaults),
];

/// A function written where it is used, which sees the variables around it.
fn lambda(m: &mut Maker, out: &mut Block, depth: u32) {
    let (function, kept, p, result) = (m.fresh("fn"), m.fresh("v"), m.fresh("p"), m.fresh("v"));
    let start = m.word(1);
    put(out, &format!("unsigned {kept} = {start};"), []);
    match m.dice.below(3) {
        // By reference: the lambda writes to what is outside.
        0 => {
            m.bring_word(&kept);
            let block = m.sealed(2, depth, 2, &[(&p, ScalarType::U32, ANY)]);
            put(out, &format!("auto {function} = [&](unsigned {p}) {{\n@\n{kept} += {p};\nreturn {kept} >> 1;\n}};"), [block]);
        }
        // By value, and with a state of its own.
        1 => {
            let step = m.number(1, 99);
            put(
                out,
                &format!("auto {function} = [{kept}](unsigned {p}) mutable {{\n{kept} = {kept} * {step}u + {p};\nreturn {kept};\n}};"),
                [],
            );
        }
        _ => {
            let limit = m.number(1, 500);
            put(
                out,
                &format!(
                    "auto {function} = [=](auto {p}) -> unsigned {{\nif ((unsigned){p} > {limit}u) {{\nreturn {kept} - {p};\n}}\nreturn {kept} ^ {p};\n}};"
                ),
                [],
            );
        }
    }
    let (a, b) = (m.word(1), m.word(1));
    put(out, &format!("unsigned {result} = {function}({a});\n{result} += {function}({b});"), []);
    m.bring_word(&result);
    if m.dice.chance(50) {
        m.bring_word(&kept);
    }
}

/// A lambda handed to a template, which calls it in a loop.
fn callback(m: &mut Maker, out: &mut Block, depth: u32) {
    let (function, i, result) = (m.fresh("repeat"), m.fresh("i"), m.fresh("v"));
    m.item(
        &format!("template <typename F> static unsigned {function}(int n, F f) {{\nunsigned acc = 0;\nfor (int i = 0; i < n; i++) {{\nacc = acc * 3u + f(i);\n}}\nreturn acc;\n}}"),
        [],
    );
    let trips = m.number(2, 6);
    let block = m.sealed(1, depth, trips as u64, &[(&i, ScalarType::I32, SMALL)]);
    let value = m.word(1);
    put(out, &format!("unsigned {result} = {function}({trips}, [&](int {i}) {{\n@\nreturn {value} + (unsigned){i};\n}});"), [block]);
    m.bring_word(&result);
}

/// An exception of a class, thrown in one function and caught in another.
fn thrown(m: &mut Maker, out: &mut Block, depth: u32) {
    let (ty, function, p, result) = (m.fresh("oops"), m.fresh("risky"), m.fresh("p"), m.fresh("v"));
    m.item(&format!("struct {ty} {{\nunsigned code;\n}};"), []);
    let body = m.body(&[(&p, ScalarType::I32, SMALL)], 1);
    let (low, high) = (m.number(-60, 0), m.number(1, 60));
    let attribute = *m.dice.pick(&["", "__attribute__((noinline)) "]);
    m.item(
        &format!(
            "static {attribute}unsigned {function}(int {p}) {{\nif ({p} > {high}) {{\nthrow {ty}{{(unsigned){p}}};\n}}\nif ({p} < {low}) {{\nthrow {p};\n}}\n@\nreturn 5u;\n}}"
        ),
        [body],
    );
    let value = m.int(-99, 99, 1);
    put(out, &format!("unsigned {result} = 1u;"), []);
    m.bring_word(&result);
    let blocks = [m.inner(1, depth, 1), m.inner(1, depth, 1)];
    let (caught, number) = (m.fresh("c"), m.fresh("c"));
    put(
        out,
        &format!(
            "try {{\n{result} = {function}({value});\n@\n}} catch (const {ty} &{caught}) {{\n{result} += {caught}.code;\n@\n}} catch (int {number}) {{\n{result} ^= (unsigned){number};\n}}"
        ),
        blocks,
    );
}

/// An exception that passes a function with something to clean up, which looks at it and throws it on.
fn rethrown(m: &mut Maker, out: &mut Block, depth: u32) {
    let (guard, inner, outer, p) = (m.fresh("undo"), m.fresh("inner"), m.fresh("outer"), m.fresh("p"));
    let limit = m.number(0, 60);
    m.item(&format!("struct {guard} {{\nunsigned &to;\n~{guard}() {{\nto += 3u;\n}}\n}};"), []);
    m.item(
        &format!("static __attribute__((noinline)) void {inner}(int {p}, unsigned &log) {{\n{guard} g{{log}};\nif ({p} > {limit}) {{\nthrow (unsigned){p};\n}}\nlog *= 5u;\n}}"),
        [],
    );
    m.item(
        &format!("static unsigned {outer}(int {p}, unsigned &log) {{\n{guard} g{{log}};\ntry {{\n{inner}({p}, log);\n}} catch (...) {{\nlog ^= 64u;\nthrow;\n}}\nreturn log;\n}}"),
        [],
    );
    let (log, result, caught, value) = (m.fresh("v"), m.fresh("v"), m.fresh("c"), m.int(-99, 99, 1));
    put(out, &format!("unsigned {log} = 1u;\nunsigned {result} = 0u;"), []);
    m.bring_word(&log);
    m.bring_word(&result);
    let block = m.inner(1, depth, 1);
    put(
        out,
        &format!("try {{\n{result} = {outer}({value}, {log});\n}} catch (unsigned {caught}) {{\n{result} = {caught} * 2u;\n@\n}}"),
        [block],
    );
}

/// Loops over arrays without a counter, by value and by reference.
fn ranged(m: &mut Maker, out: &mut Block, depth: u32) {
    let (array, item, sum) = (m.fresh("arr"), m.fresh("e"), m.fresh("v"));
    let values: Vec<String> = (0..m.number(3, 7)).map(|_| m.number(0, 99).to_string()).collect();
    put(out, &format!("unsigned {array}[] = {{{}}};\nunsigned {sum} = 0u;", values.join("u, ") + "u"), []);
    m.bring_word(&sum);
    let by = m.word(1);
    put(out, &format!("for (auto &{item} : {array}) {{\n{item} = {item} * {by} + 1u;\n}}"), []);
    let block = m.scoped(|m| {
        m.bring_word(&item);
        m.inner(1, depth, 7)
    });
    put(out, &format!("for (unsigned {item} : {array}) {{\n{sum} = ({sum} << 1) ^ {item};\n@\n}}"), [block]);
}

/// One function that runs while compiling and while running.
fn constant_expression(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, table, p, result) = (m.fresh("steps"), m.fresh("K"), m.fresh("p"), m.fresh("v"));
    let (even, odd) = (m.number(1, 3), m.number(1, 99));
    m.item(
        &format!(
            "constexpr unsigned {function}(unsigned {p}) {{\nunsigned r = {p};\nfor (int i = 0; i < 6; i++) {{\nif (r % 2u) {{\nr = r * 3u + {odd}u;\n}} else {{\nr >>= {even};\n}}\n}}\nreturn r;\n}}"
        ),
        [],
    );
    let known = m.number(1, 99);
    m.item(&format!("constexpr unsigned {table} = {function}({known}u);"), []);
    let value = m.word(1);
    put(out, &format!("unsigned {result} = {function}({value}) + {table};"), []);
    if m.dice.chance(50) {
        put(out, &format!("if constexpr ({table} % 2u) {{\n{result} += 7u;\n}} else {{\n{result} ^= 7u;\n}}"), []);
    }
    m.bring_word(&result);
}

/// A scoped enumeration and a switch over all of it.
fn choice(m: &mut Maker, out: &mut Block, depth: u32) {
    let (ty, name, sum) = (m.fresh("mode"), m.fresh("e"), m.fresh("v"));
    m.item(&format!("enum class {ty} : unsigned char {{\noff,\nslow,\nfast,\nbroken\n}};"), []);
    let (value, start, by) = (m.int(0, 3, 1), m.word(1), m.word(1));
    put(out, &format!("{ty} {name} = static_cast<{ty}>({value});\nunsigned {sum} = {start};"), []);
    m.bring_word(&sum);
    let block = m.inner(1, depth, 1);
    put(
        out,
        &format!(
            "switch ({name}) {{\ncase {ty}::off:\n{sum} = 0u;\nbreak;\ncase {ty}::slow:\n{sum} += {by};\n[[fallthrough]];\ncase {ty}::fast: {{\n@\n}}\nbreak;\ncase {ty}::broken:\n{sum} = ~{sum};\n}}"
        ),
        [block],
    );
}

/// A function of a namespace with a default, and a variable that the namespace keeps.
fn defaults(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (space, function, p) = (m.fresh("space"), m.fresh("bump"), m.fresh("p"));
    let (step, start) = (m.number(1, 99), m.number(0, 99));
    m.item(
        &format!("namespace {space} {{\nstatic unsigned kept = {start}u;\nstatic unsigned {function}(unsigned {p}, unsigned by = {step}u) {{\nkept += {p} * by;\nreturn kept;\n}}\n}}"),
        [],
    );
    let result = m.fresh("v");
    let (a, b) = (m.word(1), m.word(1));
    put(out, &format!("unsigned {result} = {space}::{function}({a});\n{result} -= {space}::{function}({b}, {result});"), []);
    m.bring_word(&result);
    m.bring(format!("{space}::kept"), ScalarType::U32, ANY, Mutability::Free);
}
