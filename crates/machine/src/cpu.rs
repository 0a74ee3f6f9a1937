//! The emulator's machine: numbers for values, pages for memory, and a running fingerprint of what was
//! stored into memory that both builds share.
//!
//! Memory pages are shared until written, so a run starts from a snapshot for the price of a map.

mod memory;

pub use memory::{Memory, PAGE};

use crate::algebra::{AccessFault, Bin, Flag, Float, Machine, Place, RSP};
use std::sync::Arc;

/// A stretch of memory that both builds have, under a number they agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first address of the range.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// The number both builds use.
    pub id: u32,
}

/// Shared memory by address, and the fingerprint of what changed in it since the start.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    regions: Arc<[Region]>,
    initial: Memory,
    /// The fingerprint: 0 while the shared memory is as it was at the start, equal in both builds
    /// exactly when their shared memories are (up to a 64-bit collision).
    pub state: u64,
    /// Bytes stored into shared memory so far, whether they changed it or not.
    pub stored: u64,
}

impl Tracker {
    /// Starts from a memory; `regions` need not be sorted.
    pub fn new(mut regions: Vec<Region>, initial: Memory) -> Self {
        regions.sort_by_key(|r| r.start);
        Self { regions: regions.into(), initial, state: 0, stored: 0 }
    }

    /// Starts again from a memory.
    pub fn restart(&mut self, memory: &Memory) {
        self.initial = memory.clone();
        (self.state, self.stored) = (0, 0);
    }

    /// Region and offset of an address.
    pub fn locate(&self, address: u64) -> Option<(u32, u64)> {
        let index = self.regions.partition_point(|r| r.start <= address).checked_sub(1)?;
        let region = &self.regions[index];
        (address < region.end).then(|| (region.id, address - region.start))
    }

    /// The address of a place in a region.
    pub fn address(&self, id: u32, offset: u64) -> Option<u64> {
        self.regions.iter().find(|r| r.id == id).map(|r| r.start + offset)
    }

    /// The value as both builds would write it: a pointer into a region becomes region and offset.
    pub fn canonical(&self, value: u64) -> u64 {
        match self.locate(value) {
            Some((id, offset)) => 0xfeed_0000_0000_0000 ^ (u64::from(id) << 32) ^ offset,
            None => value,
        }
    }

    fn weight(&self, memory: &Memory, address: u64, bytes: u32) -> u64 {
        let mut sum = 0u64;
        let Some((id, offset)) = self.locate(address) else { return 0 };
        let (now, before) = (memory.read(address, bytes).unwrap_or(0), self.initial.read(address, bytes).unwrap_or(0));
        if bytes == 8 && now != before && self.locate(now as u64).is_some() {
            return mix(u64::from(id) << 40 | offset, self.canonical(now as u64));
        }
        for n in 0..bytes {
            let (a, b) = ((now >> (8 * n)) as u8, (before >> (8 * n)) as u8);
            if a != b {
                sum ^= mix(u64::from(id) << 40 | (offset + u64::from(n)), u64::from(a) + 1);
            }
        }
        sum
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(29);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// A bit vector of up to 128 bits; wider ones (a 128-bit product) keep their low bits only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The bits, the lowest first.
    pub bits: u128,
    /// How many bits there are.
    pub width: u32,
}

impl Word {
    fn signed(self) -> i128 {
        if self.width >= 128 { self.bits as i128 } else { ((self.bits << (128 - self.width)) as i128) >> (128 - self.width) }
    }
}

fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// A processor with registers, flags and memory.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// General registers by processor number.
    pub gpr: [u64; 16],
    /// The vector registers, sixteen bytes each.
    pub xmm: [u128; 16],
    /// Flags in the order of [`Flag::ALL`].
    pub flags: [bool; 5],
    /// The memory that it sees.
    pub memory: Memory,
    /// What to add to a link-time address.
    pub bias: u64,
    /// Base of thread-local storage.
    pub fs: u64,
    /// What the distances between new objects of a run depend on; the same in both builds.
    pub salt: u64,
    /// What was stored to memory that both builds have.
    pub tracker: Tracker,
}

impl Cpu {
    /// A machine with cleared registers.
    pub fn new(memory: Memory, bias: u64) -> Self {
        Self { gpr: [0; 16], xmm: [0; 16], flags: [false; 5], memory, bias, fs: 0, salt: 0, tracker: Tracker::default() }
    }

    /// Writes memory and keeps the fingerprint.
    pub fn write(&mut self, address: u64, value: u128, bytes: u32) -> Result<(), AccessFault> {
        let shared = self.tracker.locate(address).is_some();
        if !shared {
            return self.memory.write(address, value, bytes);
        }
        let before = self.tracker.weight(&self.memory, address, bytes);
        self.memory.write(address, value, bytes)?;
        self.tracker.state ^= before ^ self.tracker.weight(&self.memory, address, bytes);
        self.tracker.stored += u64::from(bytes);
        Ok(())
    }

    /// Pushes a word on the stack.
    pub fn push(&mut self, value: u64) -> Result<(), AccessFault> {
        let top = self.gpr[RSP as usize].wrapping_sub(8);
        self.write(top, u128::from(value), 8)?;
        self.gpr[RSP as usize] = top;
        Ok(())
    }

    /// Pops a word off the stack.
    pub fn pop(&mut self) -> Result<u64, AccessFault> {
        let top = self.gpr[RSP as usize];
        let value = self.memory.read(top, 8)? as u64;
        self.gpr[RSP as usize] = top.wrapping_add(8);
        Ok(value)
    }
}

impl Machine for Cpu {
    type V = Word;

    fn constant(&mut self, width: u32, value: u128) -> Word {
        Word { bits: value & mask(width), width }
    }

    fn undefined(&mut self, width: u32) -> Word {
        Word { bits: 0, width }
    }

    fn width(&self, value: &Word) -> u32 {
        value.width
    }

    fn bin(&mut self, op: Bin, a: &Word, b: &Word) -> Word {
        let width = a.width;
        let (x, y) = (a.bits, b.bits);
        let shift = |f: fn(u128, u32) -> u128| if y >= u128::from(width) { 0 } else { f(x, y as u32) };
        let bits = match op {
            Bin::Add => x.wrapping_add(y),
            Bin::Sub => x.wrapping_sub(y),
            Bin::Mul => x.wrapping_mul(y),
            Bin::Udiv => x.checked_div(y).unwrap_or(u128::MAX),
            Bin::Urem => x.checked_rem(y).unwrap_or(x),
            Bin::Sdiv => a.signed().checked_div(b.signed()).unwrap_or(-1) as u128,
            Bin::Srem => a.signed().checked_rem(b.signed()).unwrap_or(0) as u128,
            Bin::And => x & y,
            Bin::Or => x | y,
            Bin::Xor => x ^ y,
            Bin::Shl => shift(|x, n| x << n),
            Bin::Lshr => shift(|x, n| x >> n),
            Bin::Ashr => (a.signed() >> y.min(u128::from(width.min(127)))) as u128,
            Bin::Eq => return Word { bits: u128::from(x == y), width: 1 },
            Bin::Ult => return Word { bits: u128::from(x < y), width: 1 },
            Bin::Slt => return Word { bits: u128::from(a.signed() < b.signed()), width: 1 },
        };
        Word { bits: bits & mask(width), width }
    }

    fn extract(&mut self, value: &Word, low: u32, width: u32) -> Word {
        Word { bits: (value.bits >> low.min(127)) & mask(width), width }
    }

    fn concat(&mut self, high: &Word, low: &Word) -> Word {
        if high.width == 0 {
            return *low;
        }
        Word { bits: high.bits << low.width | low.bits, width: high.width + low.width }
    }

    fn zext(&mut self, value: &Word, width: u32) -> Word {
        Word { bits: value.bits, width }
    }

    fn sext(&mut self, value: &Word, width: u32) -> Word {
        Word { bits: value.signed() as u128 & mask(width), width }
    }

    fn ite(&mut self, condition: &Word, a: &Word, b: &Word) -> Word {
        if condition.bits != 0 { *a } else { *b }
    }

    fn float(&mut self, op: Float, width: u32, args: &[Word]) -> Word {
        let wide = args[0].width == 64;
        let bits = match op {
            Float::FromInt => match width {
                32 => u128::from((args[0].signed() as f32).to_bits()),
                _ => u128::from((args[0].signed() as f64).to_bits()),
            },
            Float::ToIntTruncate | Float::ToIntRound => {
                let value = if wide { f64::from_bits(args[0].bits as u64) } else { f64::from(f32::from_bits(args[0].bits as u32)) };
                let value = if op == Float::ToIntRound { value.round_ties_even() } else { value.trunc() };
                let limit = 2f64.powi(width as i32 - 1);
                if value >= -limit && value < limit { value as i128 as u128 } else { 1 << (width - 1) }
            }
            Float::Convert if wide => u128::from((f64::from_bits(args[0].bits as u64) as f32).to_bits()),
            Float::Convert => u128::from(f64::from(f32::from_bits(args[0].bits as u32)).to_bits()),
            _ if wide => float64(op, args),
            _ => float32(op, args),
        };
        Word { bits: bits & mask(width), width }
    }

    fn get(&mut self, place: Place) -> Word {
        match place {
            Place::Gpr(n) => Word { bits: u128::from(self.gpr[n as usize]), width: 64 },
            Place::Xmm(n) => Word { bits: self.xmm[n as usize], width: 128 },
            Place::Flag(f) => Word { bits: u128::from(self.flags[flag_index(f)]), width: 1 },
        }
    }

    fn set(&mut self, place: Place, value: Word) {
        match place {
            Place::Gpr(n) => self.gpr[n as usize] = value.bits as u64,
            Place::Xmm(n) => self.xmm[n as usize] = value.bits,
            Place::Flag(f) => self.flags[flag_index(f)] = value.bits != 0,
        }
    }

    fn load(&mut self, address: &Word, bytes: u32) -> Result<Word, AccessFault> {
        Ok(Word { bits: self.memory.read(address.bits as u64, bytes)?, width: bytes * 8 })
    }

    fn store(&mut self, address: &Word, value: &Word) -> Result<(), AccessFault> {
        self.write(address.bits as u64, value.bits, value.width / 8)
    }

    fn link_address(&mut self, address: u64) -> Word {
        Word { bits: u128::from(address.wrapping_add(self.bias)), width: 64 }
    }

    fn thread_base(&mut self) -> Word {
        Word { bits: u128::from(self.fs), width: 64 }
    }
}

fn flag_index(flag: Flag) -> usize {
    Flag::ALL.iter().position(|f| *f == flag).unwrap_or(0)
}

macro_rules! float_lane {
    ($name:ident, $float:ty, $bits:ty, $quiet:expr) => {
        fn $name(op: Float, args: &[Word]) -> u128 {
            let a = <$float>::from_bits(args[0].bits as $bits);
            let b = args.get(1).map_or(a, |b| <$float>::from_bits(b.bits as $bits));
            // The processor quietens the first operand that is no number, and makes the negative
            // default one when an operation on numbers has no answer.
            let settle = |value: $float| {
                let bits = if a.is_nan() {
                    a.to_bits() | $quiet
                } else if b.is_nan() && op != Float::Sqrt && op != Float::Round {
                    b.to_bits() | $quiet
                } else if value.is_nan() {
                    <$float>::NAN.to_bits() | (1 as $bits).reverse_bits() | $quiet
                } else {
                    value.to_bits()
                };
                u128::from(bits)
            };
            match op {
                Float::Add => settle(a + b),
                Float::Sub => settle(a - b),
                Float::Mul => settle(a * b),
                Float::Div => settle(a / b),
                Float::Sqrt => settle(a.sqrt()),
                Float::Min => u128::from(if a < b { a.to_bits() } else { b.to_bits() }),
                Float::Max => u128::from(if a > b { a.to_bits() } else { b.to_bits() }),
                Float::Lt => u128::from(a < b),
                Float::Eq => u128::from(a == b),
                Float::Unordered => u128::from(a.is_nan() || b.is_nan()),
                Float::Round => settle(match args.get(1).map_or(0, |m| m.bits & 7) {
                    1 => a.floor(),
                    2 => a.ceil(),
                    3 => a.trunc(),
                    _ => a.round_ties_even(),
                }),
                Float::FromInt | Float::ToIntTruncate | Float::ToIntRound | Float::Convert => 0,
            }
        }
    };
}

float_lane!(float32, f32, u32, 0x0040_0000);
float_lane!(float64, f64, u64, 0x0008_0000_0000_0000);
