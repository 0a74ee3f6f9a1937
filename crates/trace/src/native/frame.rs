//! Registers and one step of unwinding.

use super::cfi::{CfaRule, RegisterRule};
use super::eval::{Fault, Machine};
use super::module::FunctionId;
use super::tailcall;
use std::cell::OnceCell;
use trueline_machine::inferior::Regs;
use trueline_model::Policy;

/// Return address column, which is also the program counter of an unwound frame.
pub(crate) const RIP: usize = 16;
/// The stack pointer's DWARF number.
pub(crate) const RSP: usize = 7;

/// General registers by DWARF number, the program counter at 16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    pub values: [u64; 17],
    /// Bit per register: its value is known.
    pub known: u32,
}

impl Registers {
    pub fn new(r: &Regs) -> Self {
        let values = [r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip];
        Self { values, known: 0x1_ffff }
    }

    pub fn get(&self, register: u16) -> Option<u64> {
        (register < 17 && self.known >> register & 1 == 1).then(|| self.values[usize::from(register)])
    }
}

/// An activation of a function with debug information.
pub(crate) struct Frame {
    pub registers: Registers,
    /// The link-time address of its program counter.
    pub pc: u64,
    /// The address to look things up by: inside the call for frames that wait for one.
    pub lookup: u64,
    pub function: FunctionId,
    pub cfa: OnceCell<Option<u64>>,
    pub caller: OnceCell<Option<Box<Frame>>>,
    /// The function that was called and left by a jump to this one, as it was at the jump.
    pub jumper: OnceCell<Option<Box<Frame>>>,
}

impl Frame {
    pub fn innermost(registers: Registers, pc: u64, function: FunctionId) -> Self {
        Self { registers, pc, lookup: pc, function, cfa: OnceCell::new(), caller: OnceCell::new(), jumper: OnceCell::new() }
    }
}

impl Machine<'_> {
    /// The canonical frame address.
    pub fn cfa(&self, frame: &Frame) -> Option<u64> {
        *frame.cfa.get_or_init(|| {
            let row = self.module.cfi.at(frame.lookup)?;
            match &row.cfa {
                CfaRule::RegisterOffset(register, offset) => Some(frame.registers.get(*register)?.wrapping_add_signed(*offset)),
                CfaRule::Expression(ops) => self.address(frame, ops, None, 0).ok(),
            }
        })
    }

    /// The frame that called this one, when it has debug information too.
    pub fn caller<'f>(&self, frame: &'f Frame) -> Option<&'f Frame> {
        frame.caller.get_or_init(|| self.unwind(frame).map(Box::new)).as_deref()
    }

    /// The frame that left by a tail call to this one, where the debug information allows one way from the call that was made.
    pub fn jumper<'f>(&self, frame: &'f Frame) -> Option<&'f Frame> {
        let find = || {
            let caller = self.caller(frame)?;
            let (function, after) = *tailcall::chain(self.module, Policy::Gdb, caller.pc, frame.function).first()?;
            let cfa = self.cfa(frame)?;
            // At the jump all is as the caller has it, but for the return address on the stack.
            let mut registers = caller.registers;
            registers.values[RSP] = cfa.wrapping_sub(8);
            let jumper = Frame { lookup: after.wrapping_sub(1), ..Frame::innermost(registers, after, function) };
            jumper.cfa.set(Some(cfa)).ok()?;
            Some(Box::new(jumper))
        };
        frame.jumper.get_or_init(find).as_deref()
    }

    fn unwind(&self, frame: &Frame) -> Option<Frame> {
        let cfa = self.cfa(frame)?;
        let row = self.module.cfi.at(frame.lookup)?;
        // Registers without a rule are taken as unchanged, as debuggers do on this machine.
        let mut registers = frame.registers;
        registers.values[RSP] = cfa;
        registers.known |= 1 << RSP;
        for (register, rule) in &row.registers {
            let Some(slot) = registers.values.get_mut(usize::from(*register)) else { continue };
            let memory = |address: u64| self.read_u64(address);
            let value = match rule {
                RegisterRule::Undefined => None,
                RegisterRule::SameValue => frame.registers.get(*register),
                RegisterRule::Offset(offset) => memory(cfa.wrapping_add_signed(*offset)),
                RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
                RegisterRule::Register(other) => frame.registers.get(*other),
                RegisterRule::Expression(ops) => self.address(frame, ops, Some(cfa), 0).ok().and_then(memory),
                RegisterRule::ValExpression(ops) => self.address(frame, ops, Some(cfa), 0).ok(),
            };
            *slot = value.unwrap_or(0);
            registers.known = registers.known & !(1 << register) | u32::from(value.is_some()) << register;
        }
        let pc = registers.get(RIP as u16)?.wrapping_sub(self.bias);
        let lookup = pc.wrapping_sub(1);
        let function = self.module.function_at(lookup)?;
        Some(Frame { registers, pc, lookup, function, cfa: OnceCell::new(), caller: OnceCell::new(), jumper: OnceCell::new() })
    }

    /// The link-time address that a frame returns to, whatever code is there.
    pub fn return_address(&self, frame: &Frame) -> Option<u64> {
        let cfa = self.cfa(frame)?;
        self.read_u64(cfa.wrapping_sub(8)).map(|pc| pc.wrapping_sub(self.bias))
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0u8; 8];
        self.memory.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// The frame base of a frame's function.
    pub fn frame_base(&self, frame: &Frame, depth: u32) -> Result<u64, Fault> {
        let function = self.module.function(frame.function);
        match function.frame_base.at(frame.lookup, function.entry()) {
            Some(Ok(ops)) => self.address(frame, ops, None, depth + 1),
            Some(Err(reason)) => Err(Fault::IllFormed(reason.to_string())),
            None => Err(Fault::IllFormed("the function has no frame base here".into())),
        }
    }
}
