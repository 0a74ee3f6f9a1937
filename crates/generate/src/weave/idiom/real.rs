//! Floating point that is exact, in every language and at every level, -Ofast included: values are
//! multiples of a power of two and small enough for their type, so that no operation rounds and any order
//! of operations gives the same. There is no division, no infinity and no negative zero (factors are
//! positive).

use crate::weave::model::{Block, Name, ValueRange};
use crate::weave::native::{Tongue, put};
use crate::weave::scope::Maker;

/// What a variable can hold: multiples of 2^-`frac` up to `mag` in magnitude.
#[derive(Clone, Copy)]
struct Exact {
    mag: i64,
    frac: u32,
}

/// A floating-point type as its language writes it.
struct RealType {
    name: &'static str,
    /// What follows a constant.
    suffix: &'static str,
    /// Bits of the significand that may be used.
    bits: u32,
}

const C_TYPES: [RealType; 3] = [
    RealType { name: "float", suffix: "f", bits: 24 },
    RealType { name: "double", suffix: "", bits: 50 },
    RealType { name: "long double", suffix: "L", bits: 50 },
];

const RUST_TYPES: [RealType; 2] = [RealType { name: "f32", suffix: "f32", bits: 24 }, RealType { name: "f64", suffix: "f64", bits: 50 }];

impl Exact {
    fn fits(self, ty: &RealType) -> bool {
        self.mag < 1 << 40 && u64::BITS - (self.mag as u64).leading_zeros() + self.frac < ty.bits
    }
}

/// A chain of exact operations on one variable, some of them behind conditions or in a loop.
pub fn reals(m: &mut Maker, out: &mut Block, depth: u32) {
    let rust = m.tongue == Some(Tongue::Rust);
    let ty = if rust { &RUST_TYPES[m.dice.below(2)] } else { &C_TYPES[m.dice.weighted(&[35, 50, 15])] };
    let real = m.fresh("f");
    let start = m.int(-99, 99, 1);
    put(out, &declare(m, ty, &real, &format!("{} * {}", cast(m, ty, &start), constant(ty, "0.5"))), []);
    let mut now = Exact { mag: 50, frac: 1 };
    for _ in 0..2 + m.dice.below(4) {
        let next = step(m, out, ty, &real, now, depth);
        now = if next.fits(ty) && next.frac < 12 { next } else { cut(m, out, ty, &real) };
    }
    print(m, out, &real);
    let whole = m.fresh("v");
    // Two bits of the fraction show in the integer.
    let mag = now.mag * 4 + 4;
    let (scaled, mag) = if mag < 1 << 30 { (format!("{real} * {}", constant(ty, "4.0")), mag) } else { (real.to_string(), now.mag + 1) };
    let wide = mag >= 1 << 30;
    let text = match (rust, wide) {
        (false, false) => format!("int {whole} = (int)({scaled});"),
        (false, true) => format!("int {whole} = (int)((long)({scaled}) % 4096);"),
        (true, false) => format!("let mut {whole}: i32 = ({scaled}) as i32;"),
        (true, true) => format!("let mut {whole}: i32 = ((({scaled}) as i64) % 4096) as i32;"),
    };
    put(out, &text, []);
    let bound = if wide { 4095 } else { mag };
    m.keep_int(&whole, ValueRange::new(-bound, bound));
}

fn constant(ty: &RealType, digits: &str) -> String {
    format!("{digits}{}", ty.suffix)
}

fn cast(m: &Maker, ty: &RealType, value: &str) -> String {
    if m.tongue == Some(Tongue::Rust) { format!("({value} as {})", ty.name) } else { format!("({}){value}", ty.name) }
}

fn declare(m: &Maker, ty: &RealType, name: &str, value: &str) -> String {
    if m.tongue == Some(Tongue::Rust) {
        format!("let mut {name}: {} = {value};", ty.name)
    } else {
        format!("{} {name} = {value};", ty.name)
    }
}

fn step(m: &mut Maker, out: &mut Block, ty: &RealType, real: &Name, now: Exact, depth: u32) -> Exact {
    let rust = m.tongue == Some(Tongue::Rust);
    match m.dice.below(7) {
        0 => {
            let (factor, by, frac) = *m.dice.pick(&[("0.5", 1, 1), ("0.25", 1, 2), ("1.5", 2, 1), ("3.0", 3, 0), ("2.0", 2, 0)]);
            put(out, &format!("{real} = {real} * {};", constant(ty, factor)), []);
            Exact { mag: now.mag * by, frac: now.frac + frac }
        }
        1 => {
            let other = m.int(-99, 99, 1);
            let sign = *m.dice.pick(&["+", "-"]);
            put(out, &format!("{real} {sign}= {} * {};", cast(m, ty, &other), constant(ty, "0.25")), []);
            Exact { mag: now.mag + 25, frac: now.frac.max(2) }
        }
        2 => {
            let limit = m.number(-20, 20);
            put(
                out,
                &format!("if ({real} > {}) {{\n{real} = {} - {real};\n}}", constant(ty, &format!("{limit}.5")), constant(ty, "7.0")),
                [],
            );
            Exact { mag: now.mag + 7, frac: now.frac }
        }
        3 => {
            let trips = m.number(3, 8);
            m.charge(2 * trips as u64);
            let at = m.fresh("i");
            let head =
                if rust { format!("for {at} in 0..{trips}i32 {{") } else { format!("for (int {at} = 0; {at} < {trips}; {at}++) {{") };
            put(out, &format!("{head}\n{real} += {} * {};\n}}", cast(m, ty, &at), constant(ty, "0.5")), []);
            Exact { mag: now.mag + trips * trips, frac: now.frac.max(1) }
        }
        4 => {
            let test = m.test(1);
            let (yes, no) = (constant(ty, "1.5"), constant(ty, "0.25"));
            let text = if rust {
                format!("{real} = if {test} {{\n{real} + {yes}\n}} else {{\n{real} - {no}\n}};")
            } else {
                format!("{real} = {test}\n  ? {real} + {yes}\n  : {real} - {no};")
            };
            put(out, &text, []);
            Exact { mag: now.mag + 2, frac: now.frac.max(2) }
        }
        5 => {
            let old = m.fresh("f");
            put(out, &declare(m, ty, &old, real), []);
            let text = format!("{real} = {old} + {};", constant(ty, "2.0"));
            put(out, &text, []);
            put(out, &format!("{real} += {old};"), []);
            Exact { mag: now.mag * 2 + 2, frac: now.frac }
        }
        _ => {
            let zero = constant(ty, "0.0");
            let block = m.inner(1, depth, 1);
            put(out, &format!("if ({real} <= {zero}) {{\n@\n}}"), [block]);
            now
        }
    }
}

/// Cuts a value to a small whole number, which every type holds.
fn cut(m: &mut Maker, out: &mut Block, ty: &RealType, real: &Name) -> Exact {
    let text = if m.tongue == Some(Tongue::Rust) {
        format!("{real} = (({real} as i64) & 63) as {};", ty.name)
    } else {
        format!("{real} = ({})((long){real} & 63);", ty.name)
    };
    put(out, &text, []);
    Exact { mag: 63, frac: 0 }
}

/// Main prints the number as it is here.
fn print(m: &mut Maker, out: &mut Block, real: &Name) {
    if m.module.reals.len() >= 2 {
        return;
    }
    let global = m.fresh("real");
    let (item, store) = if m.tongue == Some(Tongue::Rust) {
        (format!("static mut {global}: f64 = 0.0;"), format!("{global} = {real} as f64;"))
    } else {
        (format!("static double {global};"), format!("{global} = (double){real};"))
    };
    m.needs(&item);
    put(out, &store, []);
    m.module.reals.push(global);
}
