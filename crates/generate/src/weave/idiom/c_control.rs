//! Control flow in C: variadic functions, function pointers, `setjmp`, falling through, computed `goto`,
//! chains of inlined functions, functions without effects. `SHARED` is C++ as well.

use super::{ANY, Idiom, SMALL, idiom};
use crate::weave::model::{Block, ScalarType, ValueRange};
use crate::weave::native::put;
use crate::weave::scope::{Maker, Mutability};

pub const SHARED: &[Idiom] = &[
    idiom("variadic", 22, variadic),
    idiom("pointed", 12, function_pointer),
    idiom("chain", 24, inline_chain),
    idiom("fall", 14, fall_through),
    idiom("pure", 12, without_effects),
    idiom("static", 8, static_local),
    idiom("search", 40, search),
];

pub const ONLY_C: &[Idiom] = &[idiom("jump", 16, long_jump), idiom("threaded", 40, threaded)];

/// A function of any number of arguments.
fn variadic(m: &mut Maker, out: &mut Block, depth: u32) {
    let (function, result) = (m.fresh("sum"), m.fresh("v"));
    let block = m.body(&[], 1);
    m.item(
        &format!(
            "static unsigned {function}(int n, ...) {{\n__builtin_va_list rest;\n__builtin_va_start(rest, n);\nunsigned acc = 7u;\nfor (int i = 0; i < n; i++) {{\nunsigned next = __builtin_va_arg(rest, unsigned);\nacc = acc * 17u + next;\n}}\n__builtin_va_end(rest);\n@\nreturn acc;\n}}"
        ),
        [block],
    );
    let _ = depth;
    let count = m.number(1, 4);
    let values: Vec<String> = (0..count).map(|_| m.word(1)).collect();
    put(out, &format!("unsigned {result} = {function}({count}, {});", values.join(", ")), []);
    m.bring_word(&result);
}

/// Two functions of one type, called through a pointer or a table.
fn function_pointer(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (first, second, table, result) = (m.fresh("op"), m.fresh("op"), m.fresh("ops"), m.fresh("v"));
    for function in [&first, &second] {
        let (a, b) = (m.fresh("p"), m.fresh("p"));
        let params = [(&a, ScalarType::U32, ANY), (&b, ScalarType::I32, SMALL)];
        let body = m.body(&params, 1);
        let value = m.word_of(&params, 2);
        m.item(&format!("static unsigned {function}(unsigned {a}, int {b}) {{\n@\nreturn {value};\n}}"), [body]);
    }
    let (a, b) = (m.word(1), m.int(-99, 99, 1));
    if m.dice.chance(50) {
        m.item(&format!("static unsigned (*const {table}[2])(unsigned, int) = {{{first}, {second}}};"), []);
        let index = m.int(0, 1, 1);
        put(out, &format!("unsigned {result} = {table}[{index}]({a}, {b});"), []);
    } else {
        let test = m.test(1);
        put(out, &format!("unsigned (*{table})(unsigned, int) = {test} ? {first} : {second};"), []);
        put(out, &format!("unsigned {result} = {table}({a}, {b});"), []);
    }
    m.bring_word(&result);
}

/// Functions that are inlined into one another, each with parameters and locals of its own.
fn inline_chain(m: &mut Maker, out: &mut Block, _depth: u32) {
    let depth = m.number(2, 4);
    let mut inner: Option<std::rc::Rc<str>> = None;
    for level in 0..depth {
        let (function, p, q, local) = (m.fresh("deep"), m.fresh("p"), m.fresh("p"), m.fresh("v"));
        let params = [(&p, ScalarType::U32, ANY), (&q, ScalarType::I32, SMALL)];
        let body = m.body(&params, 1);
        let value = m.word_of(&params, 2);
        let attribute = *m.dice.pick(&["inline __attribute__((always_inline)) ", "inline __attribute__((always_inline)) ", "", "inline "]);
        let text = match &inner {
            None => format!("return {local} ^ {p};"),
            Some(next) => {
                let argument = if level % 2 == 0 { q.to_string() } else { format!("{q} / 2") };
                format!("{local} += {next}({local}, {argument});\nreturn {local} + {p};")
            }
        };
        let cond = m.number(-50, 50);
        m.item(
            &format!("static {attribute}unsigned {function}(unsigned {p}, int {q}) {{\nunsigned {local} = {value};\nif ({q} > {cond}) {{\n@\n}}\n{text}\n}}"),
            [body],
        );
        inner = Some(function);
    }
    let Some(function) = inner else { return };
    let result = m.fresh("v");
    let (a, b) = (m.word(1), m.int(-99, 99, 1));
    put(out, &format!("unsigned {result} = {function}({a}, {b});"), []);
    m.bring_word(&result);
}

/// A switch whose cases fall into one another.
fn fall_through(m: &mut Maker, out: &mut Block, depth: u32) {
    let sum = m.fresh("v");
    let start = m.word(1);
    put(out, &format!("unsigned {sum} = {start};"), []);
    m.bring_word(&sum);
    let value = m.int(0, 7, 2);
    let mut text = format!("switch ({value}) {{\n");
    let cases = m.number(3, 5);
    for label in 0..cases {
        let operand = m.word(1);
        text += &format!("case {}:\n{sum} {} {operand};\n", label * 2 % 7, m.dice.pick(&["+=", "^=", "-=", "|="]));
        if m.dice.chance(35) {
            text += "break;\n";
        }
    }
    let block = m.inner(1, depth, 1);
    put(out, &format!("{text}default: {{\n@\n}}\n}}"), [block]);
}

/// A function that only computes, declared so; equal calls are merged, unused ones dropped.
fn without_effects(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, a, b) = (m.fresh("calc"), m.fresh("p"), m.fresh("p"));
    let attribute = *m.dice.pick(&["const, noinline", "pure, noinline", "const", "pure"]);
    let (k, s) = (m.number(3, 99), m.number(1, 15));
    m.item(
        &format!(
            "static __attribute__(({attribute})) unsigned {function}(unsigned {a}, int {b}) {{\nunsigned t = {a} * {k}u;\nif ({b} > 0) {{\nt ^= t >> {s};\n}} else {{\nt += (unsigned){b};\n}}\nreturn t;\n}}"
        ),
        [],
    );
    let (x, y) = (m.word(1), m.int(-99, 99, 1));
    let (one, two) = (m.fresh("v"), m.fresh("v"));
    put(out, &format!("unsigned {one} = {function}({x}, {y});"), []);
    m.bring_word(&one);
    let test = m.test(1);
    put(out, &format!("unsigned {two} = {test}\n  ? {function}({one}, {})\n  : {one};", m.number(-9, 9)), []);
    m.bring_word(&two);
}

/// A variable of one function that outlives its calls.
fn static_local(m: &mut Maker, out: &mut Block, depth: u32) {
    let (count, table) = (m.fresh("v"), m.fresh("tab"));
    put(out, &format!("static unsigned {count} = {}u;", m.dice.between(0, 99)), []);
    m.bring_word(&count);
    put(out, &format!("static const short {table}[4] = {{3, -7, 99, {}}};", m.dice.between(-99, 99)), []);
    put(out, &format!("{count} += (unsigned){table}[{count} & 3u];"), []);
    let block = m.inner(1, depth, 1);
    put(out, &format!("if ({count} & {}u) {{\n@\n}}", m.dice.pick(&[1, 2, 4])), [block]);
}

/// A loop with two exits over a constant table: rotated, unrolled, its exits merged.
fn search(m: &mut Maker, out: &mut Block, depth: u32) {
    let (table, at, found, key) = (m.fresh("tab"), m.fresh("i"), m.fresh("v"), m.fresh("v"));
    let values: Vec<String> = (0..8).map(|_| m.number(0, 15).to_string()).collect();
    m.item(&format!("static const int {table}[8] = {{{}}};", values.join(", ")), []);
    let wanted = m.int(0, 15, 1);
    put(out, &format!("int {found} = -1;\nint {key} = {wanted};"), []);
    m.bring(key.clone(), ScalarType::I32, ValueRange::new(0, 15), Mutability::Fixed);
    let block = m.inner(1, depth, 8);
    put(
        out,
        &format!("for (int {at} = 0; {at} < 8; {at}++) {{\nif ({table}[{at}] == {key}) {{\n{found} = {at};\nbreak;\n}}\n@\n}}"),
        [block],
    );
    m.keep_int(&found, ValueRange::new(-1, 7));
}

/// Control that comes back by `longjmp`. What changes between is not in a register.
fn long_jump(m: &mut Maker, out: &mut Block, _depth: u32) {
    m.needs("#include <setjmp.h>");
    let (buffer, thrower, guard, result) = (m.fresh("env"), m.fresh("leap"), m.fresh("guard"), m.fresh("v"));
    let limit = m.number(0, 60);
    m.item(&format!("static jmp_buf {buffer};"), []);
    m.item(
        &format!("static __attribute__((noinline)) unsigned {thrower}(int n) {{\nif (n > {limit}) {{\nlongjmp({buffer}, 1 + (n & 1));\n}}\nreturn (unsigned)n * 3u;\n}}"),
        [],
    );
    let (p, after) = (m.fresh("p"), m.body(&[], 1));
    m.item(
        &format!(
            "static __attribute__((noinline)) unsigned {guard}(int {p}) {{\nvolatile unsigned got = 1u;\nswitch (setjmp({buffer})) {{\ncase 0:\ngot = 2u;\ngot += {thrower}({p});\nbreak;\ncase 1:\ngot += 40u;\nbreak;\ndefault:\ngot ^= 99u;\n}}\n@\nreturn got;\n}}"
        ),
        [after],
    );
    let value = m.int(-99, 99, 1);
    put(out, &format!("unsigned {result} = {guard}({value});"), []);
    m.bring_word(&result);
}

/// A small interpreter by computed `goto`.
fn threaded(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, code, result) = (m.fresh("vm"), m.fresh("code"), m.fresh("v"));
    let ops: Vec<String> = (0..m.number(3, 7)).map(|_| m.number(0, 2).to_string()).collect();
    m.item(&format!("static const unsigned char {code}[] = {{{}, 3}};", ops.join(", ")), []);
    let (add, shift) = (m.number(1, 99), m.number(1, 9));
    m.item(
        &format!(
            "static __attribute__((noinline)) unsigned {function}(const unsigned char *pc, unsigned acc) {{\nstatic void *const ops[] = {{ &&add, &&shift, &&flip, &&stop }};\ngoto *ops[*pc++];\nadd:\nacc += {add}u;\ngoto *ops[*pc++];\nshift:\nacc ^= acc << {shift};\ngoto *ops[*pc++];\nflip:\nacc = ~acc;\ngoto *ops[*pc++];\nstop:\nreturn acc;\n}}"
        ),
        [],
    );
    let value = m.word(1);
    put(out, &format!("unsigned {result} = {function}({code}, {value});"), []);
    m.bring_word(&result);
}
