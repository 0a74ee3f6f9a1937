//! The x86-64 lifter: one instruction at a time, onto any [`Machine`].
//!
//! Integers, moves and packed integers are exact; floating point goes through [`Machine::float`] lane by
//! lane. What is not here is refused by name, never approximated. Deliberately absent: AVX (the VEX
//! forms), x87, atomics, system calls.

mod float;
mod integer;
mod vector;

use crate::algebra::{AccessFault, Bin, Flag, Machine, Place};
use iced_x86::{ConditionCode, Instruction, MemorySize, Mnemonic, OpKind, Register};

/// What an instruction does to control flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeFlow<V> {
    /// On to the next instruction.
    Next,
    /// To a fixed address.
    Jump(u64),
    /// To a fixed address when the one-bit value is set, else on.
    Branch(V, u64),
    /// To a computed address.
    JumpTo(V),
    /// A call of a fixed address; the return address is not pushed.
    Call(u64),
    /// A call of a computed address; the return address is not pushed.
    CallTo(V),
    /// Return; the return address is not popped.
    Return,
    /// The end: `ud2` or `hlt`.
    Stop,
}

/// Why an instruction was not executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiftError {
    /// The lifter does not know it.
    #[error("the instruction `{0}` is not supported")]
    Unsupported(String),
    /// It touched memory that is not there.
    #[error(transparent)]
    Fault(#[from] AccessFault),
    /// A division by zero or with an overflowing quotient.
    #[error("a division fails")]
    Divide,
}

/// A general register as (number, low bit, width); `None` for anything else.
pub fn gpr_slice(register: Register) -> Option<(u8, u32, u32)> {
    if !register.is_gpr() {
        return None;
    }
    let number = register.full_register() as u32 - Register::RAX as u32;
    let low = if matches!(register, Register::AH | Register::BH | Register::CH | Register::DH) { 8 } else { 0 };
    Some((number as u8, low, register.size() as u32 * 8))
}

/// The number of a 128-bit vector register.
pub fn xmm_number(register: Register) -> Option<u8> {
    register.is_xmm().then(|| (register as u32 - Register::XMM0 as u32) as u8).filter(|n| *n < 16)
}

/// One instruction being executed on a machine.
pub(crate) struct Lifter<'a, M: Machine> {
    pub m: &'a mut M,
    pub i: &'a Instruction,
}

/// Executes one instruction. Control flow comes back; everything else happens to the machine.
pub fn execute<M: Machine>(machine: &mut M, instruction: &Instruction) -> Result<CodeFlow<M::V>, LiftError> {
    Lifter { m: machine, i: instruction }.run()
}

type Lifted<V> = Result<V, LiftError>;

impl<M: Machine> Lifter<'_, M> {
    fn run(&mut self) -> Lifted<CodeFlow<M::V>> {
        if self.i.has_lock_prefix() {
            return Err(self.unsupported());
        }
        if let Some(flow) = self.control()? {
            return Ok(flow);
        }
        if self.integer()? || self.vector()? {
            return Ok(CodeFlow::Next);
        }
        Err(self.unsupported())
    }

    pub(crate) fn unsupported(&self) -> LiftError {
        LiftError::Unsupported(format!("{:?}", self.i.code()).to_lowercase())
    }

    fn control(&mut self) -> Lifted<Option<CodeFlow<M::V>>> {
        let near = self.i.near_branch_target();
        let direct = matches!(self.i.op0_kind(), OpKind::NearBranch64 | OpKind::NearBranch32 | OpKind::NearBranch16);
        Ok(Some(match self.i.mnemonic() {
            Mnemonic::Jmp if direct => CodeFlow::Jump(near),
            Mnemonic::Jmp => CodeFlow::JumpTo(self.operand(0)?),
            Mnemonic::Call if direct => CodeFlow::Call(near),
            Mnemonic::Call => CodeFlow::CallTo(self.operand(0)?),
            Mnemonic::Ret => CodeFlow::Return,
            Mnemonic::Ud2 | Mnemonic::Hlt | Mnemonic::Int3 => CodeFlow::Stop,
            _ if self.i.condition_code() != ConditionCode::None && self.i.is_jcc_short_or_near() => {
                let condition = self.condition(self.i.condition_code());
                CodeFlow::Branch(condition, near)
            }
            _ => return Ok(None),
        }))
    }

    // ---- small arithmetic helpers -------------------------------------------------------------

    pub(crate) fn k(&mut self, width: u32, value: u128) -> M::V {
        self.m.constant(width, value)
    }

    pub(crate) fn bin(&mut self, op: Bin, a: &M::V, b: &M::V) -> M::V {
        self.m.bin(op, a, b)
    }

    pub(crate) fn not(&mut self, a: &M::V) -> M::V {
        let width = self.m.width(a);
        let ones = self.k(width, u128::MAX);
        self.bin(Bin::Xor, a, &ones)
    }

    pub(crate) fn neg(&mut self, a: &M::V) -> M::V {
        let width = self.m.width(a);
        let zero = self.k(width, 0);
        self.bin(Bin::Sub, &zero, a)
    }

    pub(crate) fn is_zero(&mut self, a: &M::V) -> M::V {
        let width = self.m.width(a);
        let zero = self.k(width, 0);
        self.bin(Bin::Eq, a, &zero)
    }

    pub(crate) fn sign(&mut self, a: &M::V) -> M::V {
        let width = self.m.width(a);
        self.m.extract(a, width - 1, 1)
    }

    pub(crate) fn set_flag(&mut self, flag: Flag, value: M::V) {
        self.m.set(Place::Flag(flag), value);
    }

    pub(crate) fn flag(&mut self, flag: Flag) -> M::V {
        self.m.get(Place::Flag(flag))
    }

    /// Zero, sign and parity of a result.
    pub(crate) fn set_result_flags(&mut self, result: &M::V) {
        let zero = self.is_zero(result);
        self.set_flag(Flag::Zf, zero);
        // As a comparison, which is what conditions are made of.
        let nought = self.k(self.m.width(result), 0);
        let sign = self.bin(Bin::Slt, result, &nought);
        self.set_flag(Flag::Sf, sign);
        let mut fold = self.m.extract(result, 0, 8);
        for (shift, width) in [(4u32, 4u32), (2, 2), (1, 1)] {
            let high = self.m.extract(&fold, shift, width);
            let low = self.m.extract(&fold, 0, width);
            fold = self.bin(Bin::Xor, &high, &low);
        }
        let even = self.not(&fold);
        self.set_flag(Flag::Pf, even);
    }

    pub(crate) fn condition(&mut self, code: ConditionCode) -> M::V {
        use ConditionCode as C;
        let (flag, negate) = match code {
            C::o | C::no => (self.flag(Flag::Of), code == C::no),
            C::b | C::ae => (self.flag(Flag::Cf), code == C::ae),
            C::e | C::ne => (self.flag(Flag::Zf), code == C::ne),
            C::be | C::a => {
                let (c, z) = (self.flag(Flag::Cf), self.flag(Flag::Zf));
                (self.bin(Bin::Or, &c, &z), code == C::a)
            }
            C::s | C::ns => (self.flag(Flag::Sf), code == C::ns),
            C::p | C::np => (self.flag(Flag::Pf), code == C::np),
            C::l | C::ge => {
                let (s, o) = (self.flag(Flag::Sf), self.flag(Flag::Of));
                (self.bin(Bin::Xor, &s, &o), code == C::ge)
            }
            _ => {
                let (s, o, z) = (self.flag(Flag::Sf), self.flag(Flag::Of), self.flag(Flag::Zf));
                let less = self.bin(Bin::Xor, &s, &o);
                (self.bin(Bin::Or, &less, &z), code == C::g)
            }
        };
        if negate { self.not(&flag) } else { flag }
    }

    // ---- operands -----------------------------------------------------------------------------

    pub(crate) fn register(&mut self, register: Register) -> Lifted<M::V> {
        if let Some((number, low, width)) = gpr_slice(register) {
            let full = self.m.get(Place::Gpr(number));
            return Ok(self.m.extract(&full, low, width));
        }
        match xmm_number(register) {
            Some(number) => Ok(self.m.get(Place::Xmm(number))),
            None => Err(self.unsupported()),
        }
    }

    pub(crate) fn set_register(&mut self, register: Register, value: M::V) -> Lifted<()> {
        if let Some((number, low, width)) = gpr_slice(register) {
            let full = match width {
                64 => value,
                32 => self.m.zext(&value, 64),
                _ => {
                    let old = self.m.get(Place::Gpr(number));
                    let high = self.m.extract(&old, low + width, 64 - low - width);
                    let joined = self.m.concat(&high, &value);
                    if low == 0 {
                        joined
                    } else {
                        let bottom = self.m.extract(&old, 0, low);
                        self.m.concat(&joined, &bottom)
                    }
                }
            };
            self.m.set(Place::Gpr(number), full);
            return Ok(());
        }
        match xmm_number(register) {
            Some(number) => {
                self.m.set(Place::Xmm(number), value);
                Ok(())
            }
            None => Err(self.unsupported()),
        }
    }

    /// The effective address of the memory operand.
    pub(crate) fn address(&mut self) -> Lifted<M::V> {
        let i = self.i;
        let displacement = i.memory_displacement64();
        if i.is_ip_rel_memory_operand() {
            return Ok(self.m.link_address(displacement));
        }
        let mut sum = match i.memory_base() {
            Register::None if i.memory_index() == Register::None => self.m.link_address(displacement),
            Register::None => self.m.absolute(64, displacement),
            base => {
                let base = self.register(base)?;
                if self.m.width(&base) != 64 {
                    return Err(self.unsupported());
                }
                if displacement == 0 {
                    base
                } else {
                    let d = self.m.absolute(64, displacement);
                    self.bin(Bin::Add, &base, &d)
                }
            }
        };
        if i.memory_index() != Register::None {
            let index = self.register(i.memory_index())?;
            if self.m.width(&index) != 64 {
                return Err(self.unsupported());
            }
            let scale = self.k(64, u128::from(i.memory_index_scale()));
            let scaled = self.bin(Bin::Mul, &index, &scale);
            sum = self.bin(Bin::Add, &sum, &scaled);
        }
        match i.memory_segment() {
            Register::FS => {
                let base = self.m.thread_base();
                Ok(self.bin(Bin::Add, &base, &sum))
            }
            Register::GS => Err(self.unsupported()),
            _ => Ok(sum),
        }
    }

    pub(crate) fn memory_bits(&self) -> u32 {
        match self.i.memory_size() {
            MemorySize::Unknown => 0,
            size => size.size() as u32 * 8,
        }
    }

    /// The width of an operand in bits.
    pub(crate) fn operand_width(&self, index: u32) -> u32 {
        match self.i.op_kind(index) {
            OpKind::Register => self.i.op_register(index).size() as u32 * 8,
            OpKind::Memory => self.memory_bits(),
            OpKind::Immediate8 => 8,
            OpKind::Immediate16 | OpKind::Immediate8to16 => 16,
            OpKind::Immediate32 | OpKind::Immediate8to32 => 32,
            _ => 64,
        }
    }

    /// Reads an operand at its own width.
    pub(crate) fn operand(&mut self, index: u32) -> Lifted<M::V> {
        match self.i.op_kind(index) {
            OpKind::Register => self.register(self.i.op_register(index)),
            OpKind::Memory => {
                let bits = self.memory_bits();
                if bits == 0 {
                    return Err(self.unsupported());
                }
                let address = self.address()?;
                Ok(self.m.load(&address, bits / 8)?)
            }
            // An address in 32 bits is moved to a register; what is stored in 32 bits is a number.
            OpKind::Immediate32 if is_move_to_register(self.i) => Ok(self.m.absolute(32, self.i.immediate(index))),
            OpKind::Immediate32to64 | OpKind::Immediate64 => Ok(self.m.absolute(64, self.i.immediate(index))),
            OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64 => {
                let width = self.operand_width(index);
                Ok(self.k(width, u128::from(self.i.immediate(index))))
            }
            _ => Err(self.unsupported()),
        }
    }

    /// Reads `bits` low bits of an operand: from a register its low part, from memory exactly so many.
    pub(crate) fn low(&mut self, index: u32, bits: u32) -> Lifted<M::V> {
        if self.i.op_kind(index) == OpKind::Memory {
            let address = self.address()?;
            return Ok(self.m.load(&address, bits / 8)?);
        }
        let value = self.operand(index)?;
        Ok(if self.m.width(&value) == bits { value } else { self.m.extract(&value, 0, bits) })
    }

    pub(crate) fn write(&mut self, index: u32, value: M::V) -> Lifted<()> {
        match self.i.op_kind(index) {
            OpKind::Register => self.set_register(self.i.op_register(index), value),
            OpKind::Memory => {
                let address = self.address()?;
                Ok(self.m.store(&address, &value)?)
            }
            _ => Err(self.unsupported()),
        }
    }
}

/// True for a move to a register.
fn is_move_to_register(i: &Instruction) -> bool {
    i.mnemonic() == Mnemonic::Mov && i.op0_kind() == OpKind::Register
}
