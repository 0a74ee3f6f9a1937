//! A relation: how the value of a source variable follows from the machine's state at one PC.

use serde::{Deserialize, Serialize};
use std::fmt;
use trueline_machine::algebra::GPR_NAMES;
use trueline_machine::emulate::POISON;

/// A part of the machine's state that a debugger can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A 64-bit register, as a signed number.
    Register(u8),
    /// The low half of a register, as a signed number.
    Half(u8),
    /// An 8-byte word of the frame, by its offset from the canonical frame address.
    Word(i32),
    /// A 4-byte word of the frame, as a signed number.
    HalfWord(i32),
    /// What was added to link-time addresses when the image was loaded.
    Bias,
    /// The canonical frame address.
    Cfa,
}

/// An exact affine form: `(Σ factor·source + constant) / divisor`, the division without remainder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Affine {
    /// Factors by source, sources in order, no zero factors.
    pub terms: Vec<(Source, i64)>,
    /// The constant.
    pub constant: i64,
    /// The positive divisor.
    pub divisor: i64,
}

/// Where or how a variable is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// An integer or pointer computed from the state.
    Affine(Affine),
    /// The low lane of a vector register: a floating-point number, or the integer of the first source iteration.
    Vector(u8),
    /// Fixed bits (a floating-point constant, say).
    Bits(u64),
}

/// The readable state at one instant.
#[derive(Clone, Debug)]
pub struct MachineState {
    /// The general registers, by their encoding.
    pub gpr: [u64; 16],
    /// The vector registers, by number.
    pub xmm: [u128; 16],
    /// What the loader added to link-time addresses.
    pub bias: u64,
    /// Canonical frame address.
    pub cfa: u64,
    /// Words of the frame from `cfa - 8` downwards.
    pub frame: Vec<u64>,
    /// Registers that hold what a callee happened to leave there, by bit: the general ones, above them the vector registers. They
    /// can be read, and are no part of a relation.
    pub leftover: u32,
}

impl MachineState {
    /// True when a register, by its bit, holds what means something.
    fn means(&self, bit: u8) -> bool {
        self.leftover & 1 << bit == 0
    }

    /// The value of a source, signed.
    pub fn value(&self, source: Source) -> Option<i128> {
        if let Source::Register(n) | Source::Half(n) = source {
            self.means(n).then_some(())?;
        }
        Some(match source {
            Source::Register(n) => i128::from(self.gpr[n as usize] as i64),
            Source::Half(n) => i128::from(self.gpr[n as usize] as i32),
            Source::Word(offset) => i128::from(self.word(offset)? as i64),
            Source::HalfWord(offset) => {
                let half = (self.word(offset & !7)? >> (8 * (offset & 4))) as u32;
                i128::from(Some(half).filter(|h| *h != POISON as u32)? as i32)
            }
            Source::Bias => i128::from(self.bias),
            Source::Cfa => i128::from(self.cfa),
        })
    }

    /// A word of the frame, unless nothing was ever stored there: what is left lying about is no relation.
    fn word(&self, offset: i32) -> Option<u64> {
        self.frame.get(usize::try_from(-offset / 8 - 1).ok()?).copied().filter(|w| *w != POISON as u64)
    }
}

impl Affine {
    /// A constant.
    pub fn constant(value: i64) -> Self {
        Self { terms: Vec::new(), constant: value, divisor: 1 }
    }

    /// The value in a state; `None` when the division has a remainder or something is out of reach.
    pub fn evaluate(&self, state: &MachineState) -> Option<i128> {
        let mut sum = i128::from(self.constant);
        for (source, factor) in &self.terms {
            sum = sum.checked_add(state.value(*source)?.checked_mul(i128::from(*factor))?)?;
        }
        let divisor = i128::from(self.divisor);
        (sum % divisor == 0).then_some(sum / divisor)
    }

    /// The register it depends on alone, if any.
    pub fn mentions(&self, register: u8) -> bool {
        self.terms.iter().any(|(s, _)| matches!(s, Source::Register(n) | Source::Half(n) if *n == register))
    }

    /// True when it is one part of the state as it is, or its distance from where the file or the frame lies.
    pub fn is_copy(&self) -> bool {
        let machine = self.terms.iter().filter(|(s, _)| !matches!(s, Source::Bias | Source::Cfa));
        self.divisor == 1 && machine.map(|(_, k)| *k).eq([1]) && (self.constant == 0 || self.terms.len() > 1)
    }

    /// True when it reads the frame.
    pub fn reads_frame(&self) -> bool {
        self.terms.iter().any(|(s, _)| matches!(s, Source::Word(_) | Source::HalfWord(_)))
    }
}

impl Relation {
    /// True when the value is the same whatever the registers and the frame hold: a number, or an address of the file.
    pub fn is_constant(&self) -> bool {
        match self {
            Self::Affine(a) => a.terms.iter().all(|(s, _)| *s == Source::Bias),
            Self::Vector(_) => false,
            Self::Bits(_) => true,
        }
    }

    /// True when a callee leaves everything that it reads as it was: registers that a function has to keep, the frame, numbers.
    pub fn outlives_calls(&self) -> bool {
        let kept = |s: &Source| !matches!(s, Source::Register(n) | Source::Half(n) if !KEPT.contains(n));
        match self {
            Self::Affine(a) => a.terms.iter().all(|(s, _)| kept(s)),
            Self::Vector(_) => false,
            Self::Bits(_) => true,
        }
    }

    /// The variable's `size` bytes in a state.
    pub fn evaluate(&self, state: &MachineState, size: u64) -> Option<u64> {
        let bits = match self {
            Self::Affine(a) => a.evaluate(state)? as u64,
            Self::Vector(n) => Some(state.xmm[*n as usize] as u64).filter(|_| state.means(16 + n))?,
            Self::Bits(b) => *b,
        };
        Some(truncate(bits, size))
    }
}

/// The general registers that a callee has to give back: `rbx`, `rbp`, `r12` to `r15`.
const KEPT: [u8; 6] = [3, 5, 12, 13, 14, 15];

/// The low `size` bytes.
pub fn truncate(bits: u64, size: u64) -> u64 {
    if size >= 8 { bits } else { bits & ((1 << (8 * size)) - 1) }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(n) => f.write_str(GPR_NAMES[*n as usize]),
            Self::Half(n) => write!(f, "{}.low", GPR_NAMES[*n as usize]),
            Self::Word(o) => write!(f, "[cfa{o:+}]"),
            Self::HalfWord(o) => write!(f, "[cfa{o:+}].low"),
            Self::Bias => f.write_str("base"),
            Self::Cfa => f.write_str("cfa"),
        }
    }
}

impl fmt::Display for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return write!(f, "{}", self.constant / self.divisor);
        }
        let wrap = self.divisor != 1 && (self.terms.len() > 1 || self.constant != 0);
        if wrap {
            f.write_str("(")?;
        }
        for (n, (source, factor)) in self.terms.iter().enumerate() {
            match (n, *factor) {
                (0, 1) => write!(f, "{source}")?,
                (0, -1) => write!(f, "-{source}")?,
                (0, k) => write!(f, "{k}*{source}")?,
                (_, 1) => write!(f, " + {source}")?,
                (_, -1) => write!(f, " - {source}")?,
                (_, k) if k < 0 => write!(f, " - {}*{source}", -k)?,
                (_, k) => write!(f, " + {k}*{source}")?,
            }
        }
        match self.constant {
            0 => {}
            c if c < 0 => write!(f, " - {:#x}", -(i128::from(c)))?,
            c => write!(f, " + {c:#x}")?,
        }
        if wrap {
            f.write_str(")")?;
        }
        if self.divisor != 1 {
            write!(f, "/{}", self.divisor)?;
        }
        Ok(())
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Affine(a) => a.fmt(f),
            Self::Vector(n) => write!(f, "xmm{n}"),
            Self::Bits(b) => write!(f, "bits {b:#x}"),
        }
    }
}
