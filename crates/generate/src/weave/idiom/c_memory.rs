//! Memory in C: structures and unions by value, arrays of variable length, compound literals, lists,
//! `restrict`, loops over arrays, string and memory functions. `SHARED` is C++ as well.

use super::{Idiom, idiom};
use crate::weave::model::{Block, Name, ScalarType, ValueRange, WovenType};
use crate::weave::native::{Tongue, put};
use crate::weave::scope::{Maker, Mutability, VarInScope};

pub const SHARED: &[Idiom] = &[
    idiom("record", 10, record),
    idiom("list", 26, list),
    idiom("vector", 72, vector),
    idiom("nest", 60, nest),
    idiom("bytes", 12, bytes),
    idiom("text", 40, text),
];

pub const ONLY_C: &[Idiom] = &[idiom("pun", 8, pun), idiom("vla", 40, variable_length), idiom("literal", 20, compound_literal)];

/// Numbers below a hundred, as many as wanted, for an initialiser.
fn numbers(m: &mut Maker, count: usize) -> String {
    let values: Vec<String> = (0..count).map(|_| m.number(0, 99).to_string()).collect();
    values.join(", ")
}

fn bring_array(m: &mut Maker, name: &Name, scalar: ScalarType, len: usize) {
    let range = scalar.range();
    m.scope.push(VarInScope { name: name.clone(), ty: WovenType::Array(scalar, len), range, mutability: Mutability::Free });
}

/// A structure of several kinds of members, by value into a function and out of it.
fn record(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (ty, function, name) = (m.fresh("rec"), m.fresh("make"), m.fresh("s"));
    // From two registers of different kinds to what only memory holds.
    let (members, third) = *m.dice.pick(&[
        ("int a;\ndouble b;", "b"),
        ("long a;\nunsigned char b;", "b"),
        ("int a;\nshort b[2];", "b[1]"),
        ("unsigned char a;\nfloat b;\nint c;", "c"),
        ("int a;\nstruct {\nshort lo;\nshort hi;\n} b;", "b.hi"),
        ("long a;\nlong b[3];", "b[2]"),
    ]);
    m.item(&format!("struct {ty} {{\n{members}\n}};"), []);
    let (low, scale) = (m.fresh("p"), m.fresh("p"));
    let small = ValueRange::new(-99, 99);
    let params = [(&low, ScalarType::I32, small), (&scale, ScalarType::I32, small)];
    let body = m.body(&params, 2);
    let attribute = *m.dice.pick(&["", "", "__attribute__((noinline)) ", "inline "]);
    let limit = m.number(-9, 9);
    m.item(
        &format!(
            "static {attribute}struct {ty} {function}(struct {ty} from, int {low}, int {scale}) {{\n@\nfrom.a = {low};\nif ({scale} > {limit}) {{\nfrom.{third} = {scale};\n}}\nreturn from;\n}}"
        ),
        [body],
    );
    let (first, second) = (m.int(0, 99, 1), m.int(0, 99, 1));
    put(out, &format!("struct {ty} {name};\n{name}.a = {first};\n{name}.{third} = {second};"), []);
    let (a, b) = (m.int(-99, 99, 1), m.int(-99, 99, 1));
    put(out, &format!("{name} = {function}({name}, {a}, {b});"), []);
    let (one, two) = (m.fresh("v"), m.fresh("v"));
    put(out, &format!("int {one} = (int){name}.a;\nint {two} = (int){name}.{third};"), []);
    // Conversions to a narrow unsigned member may turn -99 into 157.
    for v in [one, two] {
        m.keep_int(&v, ValueRange::new(-255, 255));
    }
}

/// A list of nodes in an array, walked by pointers.
fn list(m: &mut Maker, out: &mut Block, depth: u32) {
    let (ty, nodes, head, sum) = (m.fresh("node"), m.fresh("nodes"), m.fresh("q"), m.fresh("v"));
    m.item(&format!("struct {ty} {{\nstruct {ty} *next;\nunsigned value;\n}};"), []);
    let count = m.number(3, 6);
    put(out, &format!("struct {ty} {nodes}[{count}];\nunsigned {sum} = 0;"), []);
    m.bring_word(&sum);
    let at = m.fresh("i");
    let value = m.word(1);
    put(
        out,
        &format!(
            "for (int {at} = 0; {at} < {count}; {at}++) {{\n{nodes}[{at}].value = {value} + {at};\n{nodes}[{at}].next = {at} + 1 < {count} ? &{nodes}[{at} + 1] : 0;\n}}"
        ),
        [],
    );
    let block = m.inner(1, depth, count as u64);
    let step = *m.dice.pick(&["->next", "->next", "->next"]);
    put(out, &format!("for (struct {ty} *{head} = {nodes}; {head}; {head} = {head}{step}) {{\n{sum} += {head}->value;\n@\n}}"), [block]);
}

/// A loop over two arrays that do not overlap: vectorised or unrolled.
fn vector(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (ty, scalar) = *m.dice.pick(&[
        ("int", Some(ScalarType::I32)),
        ("unsigned", Some(ScalarType::U32)),
        ("short", Some(ScalarType::I16)),
        ("unsigned char", Some(ScalarType::U8)),
        ("float", None),
        ("double", None),
    ]);
    let (function, to, from, result) = (m.fresh("loop"), m.fresh("x"), m.fresh("y"), m.fresh("v"));
    let restrict = if m.tongue == Some(Tongue::C) { "restrict" } else { "__restrict" };
    let integral = [
        "b[i] * 3 + a[i]",
        "a[i] > b[i] ? a[i] : b[i]",
        "(a[i] ^ b[i]) >> 1",
        "b[i] + i",
        "a[i] & 15 ? b[i] : a[i] + 1",
        "b[15 - i] - a[i]",
    ];
    let real = ["b[i] * 2 + a[i]", "a[i] > b[i] ? a[i] : b[i]", "b[i] + i", "b[15 - i] - a[i]"];
    let value = if scalar.is_some() { *m.dice.pick(&integral) } else { *m.dice.pick(&real) };
    // What a reader of the loop sees: one temporary, or none.
    let inner = match m.dice.below(3) {
        0 => format!("a[i] = {value};\nacc += (unsigned)(int)a[i];"),
        1 => format!("{ty} t = {value};\na[i] = t;\nacc += (unsigned)(int)t;"),
        _ => format!("int u = (int)b[i];\na[i] = {value};\nif (u > {}) {{\nacc += 1u;\n}}", m.number(10, 90)),
    };
    let attribute = *m.dice.pick(&["", "", "__attribute__((noinline)) "]);
    let head = *m.dice.pick(&["for (int i = 0; i < n; i++) {", "for (int i = n - 1; i >= 0; i--) {", "for (int i = 0; i < n; i += 2) {"]);
    m.item(
        &format!("static {attribute}unsigned {function}({ty} *{restrict} a, const {ty} *{restrict} b, int n) {{\nunsigned acc = 0;\n{head}\n{inner}\n}}\nreturn acc;\n}}"),
        [],
    );
    let (xs, ys) = (numbers(m, 16), numbers(m, 16));
    put(out, &format!("{ty} {to}[16] = {{{xs}}};\n{ty} {from}[16] = {{{ys}}};"), []);
    let count = if m.dice.chance(50) { "16".to_owned() } else { m.int(0, 15, 1) };
    put(out, &format!("unsigned {result} = {function}({to}, {from}, {count});"), []);
    m.bring_word(&result);
    if let Some(scalar) = scalar {
        bring_array(m, &to, scalar, 16);
        bring_array(m, &from, scalar, 16);
    }
}

/// Two loops over a matrix: interchanged, unrolled, flattened.
fn nest(m: &mut Maker, out: &mut Block, depth: u32) {
    let (matrix, sum, i, j) = (m.fresh("mat"), m.fresh("v"), m.fresh("i"), m.fresh("j"));
    let (rows, columns) = (m.number(2, 4), m.number(3, 6));
    put(out, &format!("unsigned {matrix}[{rows}][{columns}];\nunsigned {sum} = {}u;", m.dice.between(0, 9)), []);
    m.bring_word(&sum);
    let value = m.word(1);
    let (outer, inner) = if m.dice.chance(50) { ((&i, rows), (&j, columns)) } else { ((&j, columns), (&i, rows)) };
    let head = |(at, limit): (&Name, i64)| format!("for (int {at} = 0; {at} < {limit}; {at}++) {{");
    put(out, &format!("{}\n{}\n{matrix}[{i}][{j}] = {value} * {i} + {j};\n}}\n}}", head(outer), head(inner)), []);
    let block = m.inner(1, depth, rows as u64);
    put(
        out,
        &format!("{}\n@\n{}\n{sum} += {matrix}[{i}][{j}] ^ {matrix}[{}][{j}];\n}}\n}}", head((&i, rows)), head((&j, columns)), rows - 1),
        [block],
    );
}

/// Copies, fills and compares of memory that compilers write out themselves.
fn bytes(m: &mut Maker, out: &mut Block, _depth: u32) {
    let linkage = m.tongue.map_or("", Tongue::c_linkage);
    m.needs(&format!("{linkage}void *memcpy(void *, const void *, unsigned long);"));
    m.needs(&format!("{linkage}void *memset(void *, int, unsigned long);"));
    m.needs(&format!("{linkage}int memcmp(const void *, const void *, unsigned long);"));
    let (from, to, order) = (m.fresh("arr"), m.fresh("arr"), m.fresh("v"));
    let values = numbers(m, 8);
    put(out, &format!("unsigned char {from}[8] = {{{values}}};\nunsigned char {to}[8];"), []);
    let fill = m.int(0, 255, 1);
    put(out, &format!("memset({to}, {fill}, sizeof {to});"), []);
    let count = if m.dice.chance(50) { m.number(1, 8).to_string() } else { m.int(0, 7, 1) };
    put(out, &format!("memcpy({to}, {from}, {count});"), []);
    let value = m.int(0, 255, 1);
    put(out, &format!("{from}[{}] = {value};", m.dice.below(8)), []);
    put(out, &format!("int {order} = memcmp({to}, {from}, {});", m.number(2, 8)), []);
    // Only its sign is defined.
    put(out, &format!("{order} = ({order} > 0) - ({order} < 0);"), []);
    m.keep_int(&order, ValueRange::new(-1, 1));
    bring_array(m, &from, ScalarType::U8, 8);
    bring_array(m, &to, ScalarType::U8, 8);
    if m.dice.chance(50) {
        let whole = m.fresh("v");
        put(out, &format!("unsigned {whole};\nmemcpy(&{whole}, {to} + {}, sizeof {whole});", m.dice.below(4)), []);
        m.bring_word(&whole);
    }
}

/// Strings: lengths, searches and a loop over characters.
fn text(m: &mut Maker, out: &mut Block, depth: u32) {
    let linkage = m.tongue.map_or("", Tongue::c_linkage);
    m.needs(&format!("{linkage}unsigned long strlen(const char *);"));
    let (buffer, length, at, hash) = (m.fresh("str"), m.fresh("v"), m.fresh("q"), m.fresh("v"));
    let word = *m.dice.pick(&["weave", "a", "loom shuttle", "", "warp, weft"]);
    put(out, &format!("char {buffer}[16] = \"{word}\";"), []);
    let value = m.int(0, 25, 1);
    put(out, &format!("{buffer}[{}] = (char)('a' + {value});", m.number(0, 12)), []);
    put(out, &format!("int {length} = (int)strlen({buffer});"), []);
    m.keep_int(&length, ValueRange::new(0, 15));
    put(out, &format!("unsigned {hash} = 5381u;"), []);
    m.bring_word(&hash);
    let block = m.inner(1, depth, 13);
    put(
        out,
        &format!("for (const char *{at} = {buffer}; *{at}; {at}++) {{\n{hash} = {hash} * 33u + (unsigned char)*{at};\n@\n}}"),
        [block],
    );
}

/// A union read by another member than was written, which C defines.
fn pun(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (ty, name, function) = (m.fresh("pun"), m.fresh("u"), m.fresh("swap"));
    m.item(&format!("union {ty} {{\nunsigned word;\nunsigned short half[2];\nunsigned char byte[4];\n}};"), []);
    m.item(
        &format!("static union {ty} {function}(union {ty} from, unsigned by) {{\nunion {ty} to = from;\nto.half[0] = from.half[1];\nto.byte[3] = (unsigned char)by;\nreturn to;\n}}"),
        [],
    );
    let value = m.word(1);
    put(out, &format!("union {ty} {name} = {{ .word = {value} }};"), []);
    if m.dice.chance(60) {
        let by = m.word(1);
        put(out, &format!("{name} = {function}({name}, {by});"), []);
    }
    let (half, byte) = (m.dice.below(2), m.dice.below(4));
    m.bring(format!("{name}.half[{half}]"), ScalarType::U16, ScalarType::U16.range(), Mutability::Free);
    m.bring(format!("{name}.byte[{byte}]"), ScalarType::U8, ScalarType::U8.range(), Mutability::Free);
    m.bring(format!("{name}.word"), ScalarType::U32, ScalarType::U32.range(), Mutability::Free);
}

/// An array whose length is known when it is reached.
fn variable_length(m: &mut Maker, out: &mut Block, depth: u32) {
    let (count, array, at, sum) = (m.fresh("v"), m.fresh("vla"), m.fresh("i"), m.fresh("v"));
    let length = m.int(1, 8, 1);
    put(out, &format!("int {count} = {length};\nunsigned {array}[{count}];\nunsigned {sum} = 1u;"), []);
    m.bring(count.clone(), ScalarType::I32, ValueRange::new(1, 8), Mutability::Fixed);
    m.bring_word(&sum);
    let value = m.word(1);
    put(out, &format!("for (int {at} = 0; {at} < {count}; {at}++) {{\n{array}[{at}] = {value} + {at};\n}}"), []);
    let block = m.inner(1, depth, 8);
    put(out, &format!("for (int {at} = {count} - 1; {at} >= 0; {at}--) {{\n{sum} = {sum} * 3u + {array}[{at}];\n@\n}}"), [block]);
    m.bring(format!("{array}[0]"), ScalarType::U32, ScalarType::U32.range(), Mutability::Free);
}

/// Objects without a name, by value and by address.
fn compound_literal(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (ty, function, pointer, result) = (m.fresh("pt"), m.fresh("fold"), m.fresh("q"), m.fresh("v"));
    m.item(&format!("struct {ty} {{\nint x;\nunsigned char y;\n}};"), []);
    m.item(
        &format!("static unsigned {function}(const unsigned *v, int n, struct {ty} p) {{\nunsigned r = (unsigned)p.x;\nfor (int i = 0; i < n; i++) {{\nr = r * 5u + v[i];\n}}\nreturn r ^ p.y;\n}}"),
        [],
    );
    let (x, y) = (m.int(-999, 999, 1), m.int(0, 255, 1));
    put(out, &format!("struct {ty} *{pointer} = &(struct {ty}){{ .x = {x}, .y = {y} }};"), []);
    m.bring(format!("{pointer}->x"), ScalarType::I32, ValueRange::new(-999, 999), Mutability::Free);
    m.bring(format!("{pointer}->y"), ScalarType::U8, ScalarType::U8.range(), Mutability::Free);
    let (a, b, c) = (m.word(1), m.word(1), m.word(0));
    let other = m.int(-999, 999, 1);
    let by = if m.dice.chance(50) { format!("*{pointer}") } else { format!("(struct {ty}){{ {other}, 7 }}") };
    put(out, &format!("unsigned {result} = {function}((unsigned[]){{ {a}, {b}, {c} }}, 3, {by});"), []);
    m.bring_word(&result);
}
