//! Numbers that library functions answer: computed from text, exact or made up for the mathematical ones, made up for the rest.

use super::text::{self, GuestText};
use crate::cpu::Cpu;

/// The answer of a function that turns text or characters into a number; `None` for any other.
pub fn whole(cpu: &mut Cpu, name: &str, a: [u64; 6]) -> Option<u64> {
    if let Some(answer) = text::ctype(name, a[0]) {
        return Some(answer);
    }
    match name {
        "abs" => Some(u64::from((a[0] as i32).unsigned_abs())),
        "labs" | "llabs" => Some((a[0] as i64).unsigned_abs()),
        "atoi" | "atol" | "atoll" => Some(parse(&GuestText::read(cpu, a[0]).ok()?.bytes, 10).0 as u64),
        "strtol" | "strtoul" | "strtoll" | "strtoull" | "__isoc23_strtol" | "__isoc23_strtoul" => {
            let (value, used) = parse(&GuestText::read(cpu, a[0]).ok()?.bytes, a[2] as u32);
            if a[1] != 0 {
                cpu.write(a[1], u128::from(a[0].wrapping_add(used as u64)), 8).ok()?;
            }
            Some(value as u64)
        }
        _ => None,
    }
}

/// The number at the start of a text, and how many bytes it takes.
fn parse(bytes: &[u8], base: u32) -> (i64, usize) {
    let mut at = bytes.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let negative = bytes.get(at) == Some(&b'-');
    at += usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
    let hexadecimal = bytes.len() > at + 2 && bytes[at] == b'0' && matches!(bytes[at + 1], b'x' | b'X');
    let base = match base {
        0 | 16 if hexadecimal => {
            at += 2;
            16
        }
        0 if bytes.get(at) == Some(&b'0') => 8,
        2..=36 => base,
        _ => 10,
    };
    let mut value = 0i64;
    let start = at;
    while let Some(digit) = bytes.get(at).and_then(|b| char::from(*b).to_digit(base)) {
        value = value.wrapping_mul(i64::from(base)).wrapping_add(i64::from(digit));
        at += 1;
    }
    (if negative { value.wrapping_neg() } else { value }, if at == start { 0 } else { at })
}

/// Answers in the registers of both kinds of number: mathematical functions by their arguments, anything else by its name and how often
/// it was called.
pub fn answer(cpu: &mut Cpu, name: &str, count: u64) {
    let (a, b) = (cpu.xmm[0] as u64, cpu.xmm[1] as u64);
    let (stem, single) = stem(name);
    let (x, y) = if single {
        (f64::from(f32::from_bits(a as u32)), f64::from(f32::from_bits(b as u32)))
    } else {
        (f64::from_bits(a), f64::from_bits(b))
    };
    let exact = match stem {
        "sqrt" => Some(x.sqrt()),
        "fabs" => Some(x.abs()),
        "floor" => Some(x.floor()),
        "ceil" => Some(x.ceil()),
        "trunc" => Some(x.trunc()),
        "fmin" => Some(x.min(y)),
        "fmax" => Some(x.max(y)),
        _ => None,
    };
    // The same arguments give the same answer; of anything else the same call does.
    let bits = if single { a & 0xffff_ffff } else { a };
    let second = if matches!(stem, "pow" | "atan2") { b & if single { 0xffff_ffff } else { u64::MAX } } else { 0 };
    let start = if PURE.contains(&stem) { bits.rotate_left(7) ^ second } else { count };
    let seed = name.bytes().fold(start, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
    cpu.gpr[0] = seed & 0xff;
    let value = exact.unwrap_or(1.0 + (seed % 1000) as f64 / 7.0);
    cpu.xmm[0] = if single { u128::from((value as f32).to_bits()) } else { u128::from(value.to_bits()) };
}

/// Functions of the mathematical library whose answers are made up from their arguments.
const PURE: [&str; 14] = ["sin", "cos", "tan", "exp", "exp2", "log", "log2", "log10", "pow", "atan", "atan2", "asin", "acos", "cbrt"];
/// Those that are computed.
const EXACT: [&str; 7] = ["sqrt", "fabs", "floor", "ceil", "trunc", "fmin", "fmax"];

/// The name of a mathematical function without the mark of single precision, and whether it had it.
fn stem(name: &str) -> (&str, bool) {
    match name.strip_suffix('f') {
        Some(stem) if name != "erf" => (stem, true),
        _ => (name, false),
    }
}

/// For a function that only computes an answer from floating-point arguments: how many, and their bits.
pub fn pure_arguments(name: &str) -> Option<(usize, u32)> {
    let (stem, single) = stem(name.split('@').next().unwrap_or(name));
    let known = PURE.contains(&stem) || EXACT.contains(&stem);
    known.then_some((if matches!(stem, "pow" | "atan2" | "fmin" | "fmax") { 2 } else { 1 }, if single { 32 } else { 64 }))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn text_is_read_as_the_c_library_reads_it() {
        assert_eq!(parse(b"  -12x", 10), (-12, 5));
        assert_eq!(parse(b"0x1fz", 0), (31, 4));
        assert_eq!(parse(b"017", 0), (15, 3));
        assert_eq!(parse(b"word", 10), (0, 0));
    }
}
