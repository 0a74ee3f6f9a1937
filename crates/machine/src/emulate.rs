//! Runs one function of an image in the emulator, instruction by instruction.
//!
//! Calls inside the image are followed; calls that leave it are answered by a model of the C library ([`outside`]).

mod numbers;
pub mod outside;
mod text;

pub use numbers::pure_arguments;

use crate::algebra::RSP;
use crate::cpu::Cpu;
use crate::image::Image;
use crate::lift::{self, CodeFlow};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use outside::{CallEnding, Library};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Decoded code of an image.
pub struct DecodedCode<'a> {
    /// The image that the code is from.
    pub image: &'a Image,
    cache: RefCell<HashMap<u64, Instruction>>,
}

impl<'a> DecodedCode<'a> {
    /// Code of an image.
    pub fn new(image: &'a Image) -> Self {
        Self { image, cache: RefCell::default() }
    }

    /// The instruction at a link-time address.
    pub fn at(&self, pc: u64) -> Option<Instruction> {
        if let Some(instruction) = self.cache.borrow().get(&pc) {
            return Some(*instruction);
        }
        let bytes = self.image.code_at(pc)?;
        let instruction = Decoder::with_ip(64, &bytes[..bytes.len().min(16)], pc, DecoderOptions::NONE).decode();
        if instruction.is_invalid() {
            return None;
        }
        self.cache.borrow_mut().insert(pc, instruction);
        Some(instruction)
    }

    /// The outside function that a call target stands for.
    pub fn outside(&self, target: u64) -> Option<String> {
        if let Some(name) = self.image.outside.get(&target) {
            return Some(name.clone());
        }
        let section = self.image.section_at(target)?;
        if !section.name.starts_with(".plt") {
            return None;
        }
        let mut pc = target;
        for _ in 0..3 {
            let instruction = self.at(pc)?;
            if instruction.mnemonic() == Mnemonic::Jmp && instruction.is_ip_rel_memory_operand() {
                return Some(self.image.outside.get(&instruction.memory_displacement64()).cloned().unwrap_or_else(|| "?".to_owned()));
            }
            pc = instruction.next_ip();
        }
        Some("?".to_owned())
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmulatorStop {
    /// The function returned to its caller.
    Returned,
    /// The instruction limit was reached, the observer had enough, or the program ended in a call of `exit`.
    Cut,
    /// It could not go on.
    Failed(String),
}

/// What the observer sees before each instruction.
pub struct Instant<'a> {
    /// The machine at this instant.
    pub cpu: &'a Cpu,
    /// Link-time address of the next instruction.
    pub pc: u64,
    /// Calls deep: 0 in the function itself.
    pub depth: usize,
}

const SENTINEL: u64 = 0x7ead_0000_dead_0000;

/// Runs from `entry` until the function returns.
pub fn run(
    code: &DecodedCode<'_>,
    cpu: &mut Cpu,
    entry: u64,
    limit: u64,
    observe: &mut dyn FnMut(Instant<'_>) -> ControlFlow<()>,
) -> EmulatorStop {
    let mut pc = entry;
    let mut depth = 0usize;
    let mut library = Library::default();
    for _ in 0..limit {
        if observe(Instant { cpu, pc, depth }).is_break() {
            return EmulatorStop::Cut;
        }
        let Some(instruction) = code.at(pc) else { return EmulatorStop::Failed(format!("no code at {pc:#x}")) };
        let next = instruction.next_ip();
        if let Some(result) = string(cpu, &instruction) {
            match result {
                Ok(()) => {
                    pc = next;
                    continue;
                }
                Err(e) => return EmulatorStop::Failed(format!("{e} at {pc:#x}")),
            }
        }
        let flow = match lift::execute(cpu, &instruction) {
            Ok(flow) => flow,
            Err(e) => return EmulatorStop::Failed(format!("{e} at {pc:#x}")),
        };
        let (target, is_call) = match flow {
            CodeFlow::Next => (next, false),
            CodeFlow::Jump(to) => (to, false),
            CodeFlow::Branch(condition, to) => (if condition.bits != 0 { to } else { next }, false),
            CodeFlow::JumpTo(to) => ((to.bits as u64).wrapping_sub(cpu.bias), false),
            CodeFlow::Call(to) => (to, true),
            CodeFlow::CallTo(to) => ((to.bits as u64).wrapping_sub(cpu.bias), true),
            CodeFlow::Stop => return EmulatorStop::Failed(format!("a trap at {pc:#x}")),
            CodeFlow::Return => {
                if depth == 0 {
                    return EmulatorStop::Returned;
                }
                depth -= 1;
                match cpu.pop() {
                    Ok(SENTINEL) => return EmulatorStop::Returned,
                    Ok(to) => (to.wrapping_sub(cpu.bias), false),
                    Err(e) => return EmulatorStop::Failed(e.to_string()),
                }
            }
        };
        pc = target;
        let leaves = matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Jmp);
        let name = if leaves { code.outside(target).or_else(|| foreign(code, &instruction, target, cpu.bias)) } else { None };
        if let Some(name) = name {
            match library.answer(cpu, &name, depth) {
                Ok(CallEnding::Back) => {}
                Ok(CallEnding::Over) => return EmulatorStop::Cut,
                Err(e) => return EmulatorStop::Failed(e),
            }
            if is_call {
                pc = next;
            } else if depth == 0 {
                return EmulatorStop::Returned;
            } else {
                // A tail call out of a callee returns to the callee's caller.
                depth -= 1;
                match cpu.pop() {
                    Ok(to) => pc = to.wrapping_sub(cpu.bias),
                    Err(e) => return EmulatorStop::Failed(e.to_string()),
                }
            }
        } else if is_call {
            if depth > 200 {
                return EmulatorStop::Failed("the recursion is too deep".to_owned());
            }
            if let Err(e) = cpu.push(next.wrapping_add(cpu.bias)) {
                return EmulatorStop::Failed(e.to_string());
            }
            depth += 1;
        }
    }
    EmulatorStop::Cut
}

/// The name of a function in another file that is called through a pointer: that of the slot, or none in particular.
fn foreign(code: &DecodedCode<'_>, instruction: &Instruction, target: u64, bias: u64) -> Option<String> {
    let direct = matches!(instruction.op0_kind(), iced_x86::OpKind::NearBranch64);
    let slot = instruction.is_ip_rel_memory_operand().then(|| code.image.outside.get(&instruction.memory_displacement64())).flatten();
    let far = || (!direct && (LIBRARIES..STACK).contains(&target.wrapping_add(bias))).then(|| "?".to_owned());
    slot.filter(|_| code.at(target).is_none()).cloned().or_else(far)
}

/// Where the kernel puts shared libraries, up to the stack.
const LIBRARIES: u64 = 0x7000_0000_0000;
const STACK: u64 = 0x7fff_ffff_f000;

/// Executes a string move or store, repeated or not; these loop, so the lifter does not know them. `None` for
/// every other instruction.
fn string(cpu: &mut Cpu, instruction: &Instruction) -> Option<Result<(), crate::algebra::AccessFault>> {
    let (size, copies) = match instruction.mnemonic() {
        Mnemonic::Movsb => (1u32, true),
        Mnemonic::Movsw => (2, true),
        Mnemonic::Movsd if instruction.is_string_instruction() => (4, true),
        Mnemonic::Movsq => (8, true),
        Mnemonic::Stosb => (1, false),
        Mnemonic::Stosw => (2, false),
        Mnemonic::Stosd => (4, false),
        Mnemonic::Stosq => (8, false),
        _ => return None,
    };
    let [rax, rcx, rsi, rdi] = [0usize, 1, 6, 7];
    let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    let count = if repeated { cpu.gpr[rcx] } else { 1 };
    for _ in 0..count {
        let value = if copies { cpu.memory.read(cpu.gpr[rsi], size) } else { Ok(u128::from(cpu.gpr[rax])) };
        if let Err(fault) = value.and_then(|v| cpu.write(cpu.gpr[rdi], v, size)) {
            return Some(Err(fault));
        }
        cpu.gpr[rdi] = cpu.gpr[rdi].wrapping_add(u64::from(size));
        if copies {
            cpu.gpr[rsi] = cpu.gpr[rsi].wrapping_add(u64::from(size));
        }
    }
    if repeated {
        cpu.gpr[rcx] = 0;
    }
    Some(Ok(()))
}

/// Prepares the stack of a machine for a run: the return address on top, everything below poisoned.
pub fn enter(cpu: &mut Cpu) -> Result<(), crate::algebra::AccessFault> {
    let top = cpu.gpr[RSP as usize];
    cpu.memory.map_zeroes(top.wrapping_sub(0x4_0000), 0x4_0000);
    for n in 1..=0x400u64 {
        cpu.memory.write(top.wrapping_sub(n * 8), POISON, 8)?;
    }
    Ok(())
}

/// What uninitialised stack words hold.
pub const POISON: u128 = 0xd7d7_d7d7_d7d7_d7d7;
