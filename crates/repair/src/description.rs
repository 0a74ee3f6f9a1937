//! A location description, step by step: what is written into the file and what is proved are this same list.

use crate::relation::{Affine, Relation, Source};
use gimli::write::{Address, Expression};
use trueline_machine::algebra::{Bin, GPR_DWARF, Machine, Place};
use trueline_machine::image::Image;
use trueline_machine::symbolic::Symbolic;
use trueline_machine::term::Term;

/// The start of the object that a link-time address lies in, or of one near it.
pub fn near(image: &Image, address: u64) -> u64 {
    let first = || image.sections.iter().find(|s| s.loaded && s.address > 0).map_or(0, |s| s.address);
    image.symbol_near(address).map_or_else(first, |s| s.address)
}

/// One operation on DWARF's stack of 64-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackStep {
    /// Pushes a general register.
    Register(u8),
    /// Pushes the canonical frame address.
    Cfa,
    /// Pushes a link-time address as the loader has moved it.
    Address(u64),
    /// Pushes a number.
    Constant(i64),
    /// Adds a number.
    Add(u64),
    /// Replaces an address by the bytes there, zero-extended.
    Load(u8),
    /// Signed quotient, truncated: the second of the stack by the top.
    Divide,
    /// Product modulo 2^64.
    Multiply,
    /// Sum modulo 2^64.
    Plus,
    /// Replaces the top by its opposite.
    Negate,
    /// Shifts the second entry to the left by the top.
    ShiftLeft,
    /// Right shift with the sign.
    ShiftRight,
}

/// Where or what a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueDescription {
    /// In a general register.
    Register(u8),
    /// In a vector register.
    Vector(u8),
    /// In memory, at the address that the steps leave.
    Memory(Vec<StackStep>),
    /// The value that the steps leave.
    Value(Vec<StackStep>),
    /// A value of these bits, whatever the state.
    Bits(u64),
}

/// The description of a relation for a variable of `size` bytes. `near` names the start of the object that a link-time
/// address lies in.
pub fn describe(relation: &Relation, size: u64, near: &dyn Fn(u64) -> u64) -> ValueDescription {
    match relation {
        Relation::Vector(n) => ValueDescription::Vector(*n),
        Relation::Bits(bits) => ValueDescription::Bits(*bits),
        Relation::Affine(a) => describe_affine(a, size, near),
    }
}

fn describe_affine(a: &Affine, size: u64, near: &dyn Fn(u64) -> u64) -> ValueDescription {
    let exact = a.divisor == 1;
    // A register or a frame word that simply holds the variable is a location, not only a value.
    if exact && a.constant == 0 && a.terms.len() == 1 && a.terms[0].1 == 1 {
        match a.terms[0].0 {
            Source::Register(n) | Source::Half(n) => return ValueDescription::Register(n),
            Source::Word(offset) | Source::HalfWord(offset) => {
                return ValueDescription::Memory(vec![StackStep::Cfa, StackStep::Constant(i64::from(offset)), StackStep::Plus]);
            }
            _ => {}
        }
    }
    let mut constant = a.constant;
    let mut steps = Vec::new();
    let narrow = [StackStep::Constant(32), StackStep::ShiftLeft, StackStep::Constant(32), StackStep::ShiftRight];
    for (n, (source, factor)) in a.terms.iter().enumerate() {
        match source {
            Source::Register(n) => steps.push(StackStep::Register(*n)),
            Source::Half(n) => {
                steps.push(StackStep::Register(*n));
                if !exact || size > 4 {
                    steps.extend(narrow);
                }
            }
            Source::Word(offset) => {
                steps.extend([StackStep::Cfa, StackStep::Constant(i64::from(*offset)), StackStep::Plus, StackStep::Load(8)]);
            }
            Source::HalfWord(offset) => {
                steps.extend([StackStep::Cfa, StackStep::Constant(i64::from(*offset)), StackStep::Plus, StackStep::Load(4)]);
                steps.extend(narrow);
            }
            Source::Cfa => steps.push(StackStep::Cfa),
            Source::Bias => {
                // bias·f + c = (bias + A)·f + (c - A·f) for the object A that makes the rest small.
                let target = if *factor != 0 { (constant / factor) as u64 } else { 0 };
                let address = near(target);
                constant = constant.wrapping_sub((address as i64).wrapping_mul(*factor));
                steps.push(StackStep::Address(address));
            }
        }
        if *factor == -1 {
            steps.push(StackStep::Negate);
        } else if *factor != 1 {
            steps.extend([StackStep::Constant(*factor), StackStep::Multiply]);
        }
        if n > 0 {
            steps.push(StackStep::Plus);
        }
    }
    if a.terms.is_empty() {
        steps.push(StackStep::Constant(constant));
    } else if constant > 0 {
        steps.push(StackStep::Add(constant as u64));
    } else if constant < 0 {
        steps.extend([StackStep::Constant(constant), StackStep::Plus]);
    }
    if !exact {
        steps.extend([StackStep::Constant(a.divisor), StackStep::Divide]);
    }
    ValueDescription::Value(steps)
}

impl ValueDescription {
    /// The description as the writer wants it. `place` turns a link-time address into what it wants.
    pub fn expression(&self, size: u64, place: &dyn Fn(u64) -> Address) -> Expression {
        let mut e = Expression::new();
        match self {
            Self::Register(n) => e.op_reg(gimli::Register(GPR_DWARF[*n as usize])),
            Self::Vector(n) => e.op_reg(gimli::Register(17 + u16::from(*n))),
            Self::Bits(bits) => e.op_implicit_value(bits.to_le_bytes()[..size as usize].into()),
            Self::Memory(steps) | Self::Value(steps) => {
                for step in steps {
                    step.write(place, &mut e);
                }
                if matches!(self, Self::Value(_)) {
                    e.op(gimli::DW_OP_stack_value);
                }
            }
        }
        e
    }

    /// The `size` bytes that a debugger shows in a state of the machine.
    pub fn shown(&self, m: &mut Symbolic, size: u64) -> Option<Term> {
        let bits = size as u32 * 8;
        match self {
            Self::Register(n) => {
                let x = m.get(Place::Gpr(*n));
                Some(m.terms.extract(x, 0, bits))
            }
            Self::Vector(n) => {
                let x = m.get(Place::Xmm(*n));
                Some(m.terms.extract(x, 0, bits))
            }
            Self::Bits(b) => Some(m.terms.constant(bits, u128::from(*b))),
            Self::Memory(steps) => {
                let address = run(m, steps)?;
                let offset = m.frame_offset(address)?;
                Some(m.frame_value(offset, size as u32))
            }
            Self::Value(steps) => {
                let value = run(m, steps)?;
                Some(m.terms.extract(value, 0, bits))
            }
        }
    }
}

impl StackStep {
    fn write(self, place: &dyn Fn(u64) -> Address, e: &mut Expression) {
        match self {
            Self::Register(n) => e.op_breg(gimli::Register(GPR_DWARF[n as usize]), 0),
            Self::Cfa => e.op(gimli::DW_OP_call_frame_cfa),
            Self::Address(address) => e.op_addr(place(address)),
            Self::Constant(k) => e.op_consts(k),
            Self::Add(k) => e.op_plus_uconst(k),
            Self::Load(8) => e.op_deref(),
            Self::Load(size) => e.op_deref_size(size),
            Self::Divide => e.op(gimli::DW_OP_div),
            Self::Multiply => e.op(gimli::DW_OP_mul),
            Self::Plus => e.op(gimli::DW_OP_plus),
            Self::Negate => e.op(gimli::DW_OP_neg),
            Self::ShiftLeft => e.op(gimli::DW_OP_shl),
            Self::ShiftRight => e.op(gimli::DW_OP_shra),
        }
    }
}

/// Runs steps on DWARF's stack; `None` when they read what is not in the frame.
fn run(m: &mut Symbolic, steps: &[StackStep]) -> Option<Term> {
    let mut stack: Vec<Term> = Vec::new();
    for step in steps {
        let binary = |op: Bin, m: &mut Symbolic, stack: &mut Vec<Term>| {
            let (b, a) = (stack.pop()?, stack.pop()?);
            Some(m.terms.bin(op, a, b))
        };
        let value = match step {
            StackStep::Register(n) => m.get(Place::Gpr(*n)),
            StackStep::Cfa => m.cfa(),
            StackStep::Address(address) => m.link_address(*address),
            StackStep::Constant(k) => m.terms.constant(64, u128::from(*k as u64)),
            StackStep::Add(k) => {
                let (x, k) = (stack.pop()?, m.terms.constant(64, u128::from(*k)));
                m.terms.bin(Bin::Add, x, k)
            }
            StackStep::Load(size) => {
                let address = stack.pop()?;
                let offset = m.frame_offset(address)?;
                let value = m.frame_value(offset, u32::from(*size));
                m.terms.zext(value, 64)
            }
            StackStep::Divide => binary(Bin::Sdiv, m, &mut stack)?,
            StackStep::Multiply => binary(Bin::Mul, m, &mut stack)?,
            StackStep::Plus => binary(Bin::Add, m, &mut stack)?,
            StackStep::Negate => {
                let (x, zero) = (stack.pop()?, m.terms.constant(64, 0));
                m.terms.bin(Bin::Sub, zero, x)
            }
            StackStep::ShiftLeft => binary(Bin::Shl, m, &mut stack)?,
            StackStep::ShiftRight => binary(Bin::Ashr, m, &mut stack)?,
        };
        stack.push(value);
    }
    let last = stack.pop()?;
    stack.is_empty().then_some(last)
}
