//! Types of C++: classes with constructors and destructors, references, templates, virtual functions,
//! operators, copies and moves.

use super::{ANY, Idiom, SMALL, idiom};
use crate::weave::model::{Block, ScalarType, ValueRange};
use crate::weave::native::put;
use crate::weave::scope::{Maker, Mutability};

pub const ALL: &[Idiom] = &[
    idiom("scoped", 12, scoped),
    idiom("reference", 12, reference),
    idiom("generic", 30, function_template),
    idiom("holder", 20, class_template),
    idiom("fold", 10, pack),
    idiom("virtual", 16, virtual_call),
    idiom("operator", 16, operators),
    idiom("copied", 24, copies),
    idiom("heap", 24, heap),
    idiom("bound", 10, bound),
];

/// An object whose destructor runs however its scope is left.
fn scoped(m: &mut Maker, out: &mut Block, depth: u32) {
    let (ty, object, value) = (m.fresh("guard"), m.fresh("o"), m.fresh("v"));
    let step = m.number(1, 9);
    m.item(
        &format!(
            "struct {ty} {{\nunsigned &to;\nunsigned by;\n{ty}(unsigned &t, unsigned b) : to(t), by(b) {{\nto += by;\n}}\n~{ty}() {{\nto ^= by >> {step};\n}}\n}};"
        ),
        [],
    );
    let start = m.word(1);
    put(out, &format!("unsigned {value} = {start};"), []);
    m.bring_word(&value);
    let by = m.word(1);
    let block = m.inner(2, depth, 1);
    put(out, &format!("{{\n{ty} {object}({value}, {by});\n@\n}}"), [block]);
}

/// References as parameters and as names of other objects.
fn reference(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, to, by, row) = (m.fresh("adjust"), m.fresh("p"), m.fresh("p"), m.fresh("p"));
    let params = [(&to, ScalarType::U32, ANY), (&by, ScalarType::I32, SMALL)];
    let body = m.body(&params, 1);
    let index = m.number(0, 3);
    m.item(
        &format!(
            "static void {function}(unsigned &{to}, int {by}, const short (&{row})[4]) {{\n@\n{to} += (unsigned){row}[{by} & {index}];\n}}"
        ),
        [body],
    );
    let (value, other, array) = (m.fresh("v"), m.fresh("r"), m.fresh("arr"));
    let (start, small) = (m.word(1), m.int(-99, 99, 1));
    put(out, &format!("unsigned {value} = {start};\nunsigned &{other} = {value};\nshort {array}[4] = {{1, -2, 3, -4}};"), []);
    put(out, &format!("{function}({other}, {small}, {array});"), []);
    m.bring_word(&value);
    m.bring(other, ScalarType::U32, ANY, Mutability::Free);
}

/// One function for several types and a number that is part of its name.
fn function_template(m: &mut Maker, out: &mut Block, _depth: u32) {
    let function = m.fresh("blend");
    let (k, test) = (m.number(2, 7), m.number(0, 99));
    m.item(
        &format!(
            "template <typename T, int N> static T {function}(T a, T b) {{\nT t = a;\nfor (int i = 0; i < N; i++) {{\nif (b > (T){test}) {{\nt = (T)(t * {k} + b);\n}} else {{\nt = (T)(t ^ b);\n}}\n}}\nreturn t;\n}}"
        ),
        [],
    );
    for _ in 0..=m.dice.below(2) {
        let (ty, scalar) =
            *m.dice.pick(&[("unsigned", ScalarType::U32), ("unsigned char", ScalarType::U8), ("unsigned short", ScalarType::U16)]);
        let result = m.fresh("v");
        let (a, b, times) = (m.word(1), m.word(1), m.number(1, 4));
        put(out, &format!("{ty} {result} = {function}<{ty}, {times}>(({ty}){a}, ({ty}){b});"), []);
        m.bring(result, scalar, scalar.range(), Mutability::Free);
    }
}

/// A class for several types, with one of them special.
fn class_template(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (ty, p) = (m.fresh("holder"), m.fresh("p"));
    let value = m.word_of(&[(&p, ScalarType::U32, ANY)], 2);
    let scale = m.number(3, 20);
    m.item(
        &format!(
            "template <typename T> struct {ty} {{\nT kept;\nstatic constexpr unsigned scale = {scale}u;\nexplicit {ty}(T from) : kept(from) {{}}\nunsigned take(unsigned {p}) const {{\nunsigned t = {value};\nreturn t * scale + (unsigned)kept;\n}}\n}};\ntemplate <> inline unsigned {ty}<short>::take(unsigned {p}) const {{\nreturn {p} - (unsigned)kept;\n}}"
        ),
        [],
    );
    for _ in 0..=m.dice.below(2) {
        let (object, result) = (m.fresh("o"), m.fresh("v"));
        let arg = *m.dice.pick(&["int", "short", "unsigned char", "long"]);
        let (from, by) = (m.int(-99, 99, 1), m.word(1));
        put(out, &format!("{ty}<{arg}> {object}(({arg}){from});\nunsigned {result} = {object}.take({by});"), []);
        m.bring_word(&result);
    }
}

/// As many arguments as one likes, folded.
fn pack(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (function, result) = (m.fresh("mix"), m.fresh("v"));
    m.item(
        &format!("template <typename... A> static unsigned {function}(A... all) {{\nunsigned acc = {}u;\n((acc = acc * 31u + (unsigned)all), ...);\nreturn acc;\n}}", 7),
        [],
    );
    let values: Vec<String> = (0..m.number(1, 4)).map(|_| m.value_text()).collect();
    put(out, &format!("unsigned {result} = {function}({});", values.join(", ")), []);
    m.bring_word(&result);
}

/// Two classes behind one interface; the compiler may find out which.
fn virtual_call(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (base, side, one, two) = (m.fresh("shape"), m.fresh("side"), m.fresh("one"), m.fresh("two"));
    let (p, q) = (m.fresh("p"), m.fresh("p"));
    let body = m.body(&[(&p, ScalarType::U32, ANY)], 1);
    let (first, second) = (m.word_of(&[(&p, ScalarType::U32, ANY)], 2), m.word_of(&[(&q, ScalarType::U32, ANY)], 2));
    m.item(&format!("struct {base} {{\nunsigned seed = 3u;\nvirtual unsigned area(unsigned) const = 0;\n}};"), []);
    m.item(&format!("struct {side} {{\nunsigned edge = 5u;\nvirtual unsigned size() const {{\nreturn edge;\n}}\n}};"), []);
    m.item(
        &format!("struct {one} final : {base} {{\nunsigned area(unsigned {p}) const override {{\n@\nreturn {first} + seed;\n}}\n}};"),
        [body],
    );
    // A second base: `this` is adjusted on the way.
    m.item(
        &format!("struct {two} : {side}, {base} {{\nunsigned area(unsigned {q}) const override {{\nreturn ({second}) ^ size();\n}}\n}};"),
        [],
    );
    let (a, b, pointer, result) = (m.fresh("o"), m.fresh("o"), m.fresh("q"), m.fresh("v"));
    put(out, &format!("{one} {a};\n{two} {b};"), []);
    let (value, test) = (m.word(1), m.test(1));
    put(out, &format!("{b}.edge = {value};"), []);
    put(out, &format!("const {base} *{pointer} = {test} ? (const {base} *)&{a} : &{b};"), []);
    let by = m.word(1);
    put(out, &format!("unsigned {result} = {pointer}->area({by});"), []);
    m.bring_word(&result);
    m.bring(format!("{a}.seed"), ScalarType::U32, ANY, Mutability::Free);
}

/// Arithmetic of a class of its own.
fn operators(m: &mut Maker, out: &mut Block, _depth: u32) {
    let ty = m.fresh("pair");
    let k = m.number(1, 30);
    m.item(
        &format!(
            "struct {ty} {{\nunsigned x, y;\n{ty} operator+(const {ty} &o) const {{\nreturn {{x + o.x, y - o.y}};\n}}\n{ty} &operator*=(unsigned k) {{\nx *= k;\ny ^= k;\nreturn *this;\n}}\nexplicit operator bool() const {{\nreturn x != y;\n}}\n}};"
        ),
        [],
    );
    let (a, b, c) = (m.fresh("o"), m.fresh("o"), m.fresh("o"));
    let (x, y, z) = (m.word(1), m.word(1), m.word(1));
    put(out, &format!("{ty} {a} = {{{x}, {y}}};\n{ty} {b} = {{{z}, {k}u}};\n{ty} {c} = {a} + {b};\n{c} *= {k}u;"), []);
    put(out, &format!("if ({c}) {{\n{a} = {c} + {a};\n}}"), []);
    for object in [a, c] {
        m.bring(format!("{object}.x"), ScalarType::U32, ANY, Mutability::Free);
        m.bring(format!("{object}.y"), ScalarType::U32, ANY, Mutability::Free);
    }
}

/// A class that counts how it is copied and moved, into a function and out of it. Copies that the
/// compiler may leave out count nothing.
fn copies(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (ty, function) = (m.fresh("token"), m.fresh("pass"));
    m.item(
        &format!(
            "struct {ty} {{\nunsigned id;\nunsigned char tag[20];\n{ty}(unsigned i) : id(i), tag{{}} {{\ntag[i & 15u] = 1;\n}}\n{ty}(const {ty} &o) : id(o.id), tag{{}} {{\ntag[3] = o.tag[3];\n}}\n{ty} &operator=(const {ty} &o) {{\nid = o.id * 3u;\nreturn *this;\n}}\n~{ty}() {{\nid = 0;\n}}\n}};"
        ),
        [],
    );
    let (p, limit) = (m.fresh("p"), m.number(10, 90));
    m.item(&format!("static {ty} {function}({ty} {p}) {{\nif ({p}.id > {limit}u) {{\n{p}.id -= {limit}u;\n}}\nreturn {p};\n}}"), []);
    let (object, result) = (m.fresh("o"), m.fresh("v"));
    let (from, other) = (m.word(1), m.word(1));
    put(
        out,
        &format!(
            "{ty} {object}({from});\n{object} = {function}({object});\nunsigned {result} = {object}.id + {function}({ty}({other})).id;"
        ),
        [],
    );
    m.bring_word(&result);
    m.bring(format!("{object}.id"), ScalarType::U32, ANY, Mutability::Free);
}

/// Objects made by `new`, with a virtual destructor.
fn heap(m: &mut Maker, out: &mut Block, _depth: u32) {
    let (base, leaf, pointer, result) = (m.fresh("cell"), m.fresh("leaf"), m.fresh("q"), m.fresh("v"));
    m.item(
        &format!(
            "struct {base} {{\nunsigned *log;\nexplicit {base}(unsigned *l) : log(l) {{}}\nvirtual ~{base}() {{\n*log += 2u;\n}}\n}};"
        ),
        [],
    );
    m.item(
        &format!("struct {leaf} : {base} {{\nunsigned weight;\n{leaf}(unsigned *l, unsigned w) : {base}(l), weight(w) {{}}\n~{leaf}() override {{\n*log ^= weight;\n}}\n}};"),
        [],
    );
    let (start, weight, test) = (m.word(1), m.word(1), m.test(1));
    put(
        out,
        &format!(
            "unsigned {result} = {start};\n{base} *{pointer} = {test}\n  ? new {leaf}(&{result}, {weight})\n  : new {base}(&{result});\ndelete {pointer};"
        ),
        [],
    );
    m.bring_word(&result);
}

/// Several results at once, and a variable of an `if`.
fn bound(m: &mut Maker, out: &mut Block, depth: u32) {
    let (ty, function, p) = (m.fresh("both"), m.fresh("split"), m.fresh("p"));
    m.item(&format!("struct {ty} {{\nunsigned first;\nint second;\n}};\nstatic {ty} {function}(unsigned {p}) {{\nreturn {{{p} >> 7, (int)({p} & 127u)}};\n}}"), []);
    let (a, b, one, two) = (m.fresh("n"), m.fresh("n"), m.fresh("v"), m.fresh("v"));
    let value = m.word(2);
    put(out, &format!("auto [{a}, {b}] = {function}({value});\nunsigned {one} = {a} * 3u;\nint {two} = {b} - 9;"), []);
    m.bring_word(&one);
    m.keep_int(&two, ValueRange::new(-9, 118));
    let (init, from, limit) = (m.fresh("v"), m.word(1), m.number(1, 999));
    let block = m.inner(1, depth, 1);
    put(out, &format!("if (unsigned {init} = {from} % 1000u; {init} > {limit}u) {{\n{one} -= {init};\n@\n}}"), [block]);
}
