//! Strings and characters in the emulator's memory, and the tables of the C locale.

use crate::algebra::AccessFault;
use crate::cpu::Cpu;

/// Longest string that is read.
const LONGEST: u64 = 1 << 20;

/// Offsets of what library functions return pointers to, in the block of tables.
pub const LOCALE: u64 = 0x100;
pub const CLASSES: u64 = 0x200;
pub const LOWER: u64 = 0x208;
pub const UPPER: u64 = 0x210;

/// The bytes of a string, without the zero that ends it.
pub struct GuestText {
    /// The bytes that come before the end.
    pub bytes: Vec<u8>,
}

impl GuestText {
    /// The string at an address.
    pub fn read(cpu: &Cpu, at: u64) -> Result<Self, AccessFault> {
        Self::within(cpu, at, LONGEST)
    }

    /// The string at an address, at most so many bytes of it.
    pub fn within(cpu: &Cpu, at: u64, most: u64) -> Result<Self, AccessFault> {
        let mut bytes = Vec::new();
        for n in 0..most.min(LONGEST) {
            let address = at.wrapping_add(n);
            match cpu.memory.byte(address).ok_or(AccessFault { address })? {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(Self { bytes })
    }

    /// How many bytes come before the end.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The bytes with the zero behind them.
    pub fn whole(&self) -> Vec<u8> {
        self.bytes.iter().copied().chain([0]).collect()
    }

    /// The same in small letters.
    pub fn folded(&self) -> Vec<u8> {
        self.whole().to_ascii_lowercase()
    }

    /// Where a byte comes first; the zero at the end counts.
    pub fn first(&self, byte: u8) -> Option<u64> {
        self.whole().iter().position(|b| *b == byte).map(|n| n as u64)
    }

    /// Where a byte comes last.
    pub fn last(&self, byte: u8) -> Option<u64> {
        self.whole().iter().rposition(|b| *b == byte).map(|n| n as u64)
    }

    /// How many bytes at the start are in a set, or are not.
    pub fn span(&self, set: &Self, inside: bool) -> u64 {
        self.bytes.iter().take_while(|b| set.bytes.contains(b) == inside).count() as u64
    }

    /// Where another string begins in it.
    pub fn find(&self, other: &Self) -> Option<u64> {
        if other.bytes.is_empty() {
            return Some(0);
        }
        self.bytes.windows(other.bytes.len()).position(|w| w == other.bytes).map(|n| n as u64)
    }
}

/// Less than zero, zero or more, as `memcmp` answers.
pub fn compare(a: &[u8], b: &[u8]) -> u64 {
    let differ = a.iter().zip(b).find(|(x, y)| x != y);
    differ.map_or(0, |(x, y)| (i64::from(*x) - i64::from(*y)) as u64)
}

/// The bits that glibc's `<ctype.h>` tests, of one character.
fn class(c: u8) -> u16 {
    let bits: [(bool, u16); 12] = [
        (c.is_ascii_uppercase(), 0x100),
        (c.is_ascii_lowercase(), 0x200),
        (c.is_ascii_alphabetic(), 0x400),
        (c.is_ascii_digit(), 0x800),
        (c.is_ascii_hexdigit(), 0x1000),
        (matches!(c, b' ' | 9..=13), 0x2000),
        ((32..127).contains(&c), 0x4000),
        (c.is_ascii_graphic(), 0x8000),
        (matches!(c, b' ' | 9), 0x1),
        (c.is_ascii_control(), 0x2),
        (c.is_ascii_punctuation(), 0x4),
        (c.is_ascii_alphanumeric(), 0x8),
    ];
    bits.iter().filter(|(holds, _)| *holds).map(|(_, bit)| *bit).sum()
}

/// The block of tables as it lies at `base`: `errno`, a `struct lconv`, and the three of `<ctype.h>` behind a pointer each. Indices go
/// from -128 to 255.
pub fn tables(base: u64) -> Vec<u8> {
    let (classes, lower, upper, point) = (0x400u64, 0x800u64, 0x1000u64, 0x1800u64);
    let mut block = vec![0u8; 0x1900];
    let mut put = |at: u64, bytes: &[u8]| block[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    for (slot, table, width) in [(CLASSES, classes, 2), (LOWER, lower, 4), (UPPER, upper, 4)] {
        put(slot, &(base + table + 128 * width).to_le_bytes());
    }
    for n in 0..10u64 {
        put(LOCALE + 8 * n, &(base + point + if n == 0 { 0 } else { 8 }).to_le_bytes());
    }
    put(point, b".\0");
    for n in 0..384u64 {
        let c = (n as i64 - 128) as u8;
        put(classes + 2 * n, &class(c).to_le_bytes());
        put(lower + 4 * n, &u32::from(c.to_ascii_lowercase()).to_le_bytes());
        put(upper + 4 * n, &u32::from(c.to_ascii_uppercase()).to_le_bytes());
    }
    block
}

/// What a test or a mapping of `<ctype.h>` answers.
pub fn ctype(name: &str, c: u64) -> Option<u64> {
    let byte = u8::try_from(c as u32).unwrap_or(0);
    Some(u64::from(match name {
        "toupper" => return Some(u64::from(byte.to_ascii_uppercase())),
        "tolower" => return Some(u64::from(byte.to_ascii_lowercase())),
        "isalpha" => byte.is_ascii_alphabetic(),
        "isdigit" => byte.is_ascii_digit(),
        "isalnum" => byte.is_ascii_alphanumeric(),
        "isspace" => matches!(byte, b' ' | 9..=13),
        "isupper" => byte.is_ascii_uppercase(),
        "islower" => byte.is_ascii_lowercase(),
        "isprint" => (32..127).contains(&byte),
        "ispunct" => byte.is_ascii_punctuation(),
        "isxdigit" => byte.is_ascii_hexdigit(),
        "iscntrl" => byte.is_ascii_control(),
        "isgraph" => byte.is_ascii_graphic(),
        _ => return None,
    }))
}
