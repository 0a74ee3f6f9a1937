//! Runs one function of an image in the emulator, instruction by instruction.
//!
//! Calls inside the image are followed; calls that leave it are answered by a model: the memory functions
//! exactly, everything else by a value that depends on the name and on how often it was called, so that
//! both builds get the same answers.

use crate::algebra::RSP;
use crate::cpu::Cpu;
use crate::image::Image;
use crate::lift::{self, Flow};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Decoded code of an image.
pub struct Code<'a> {
    /// The image that the code is from.
    pub image: &'a Image,
    cache: RefCell<HashMap<u64, Instruction>>,
}

impl<'a> Code<'a> {
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
pub enum Stop {
    /// The function returned to its caller.
    Returned,
    /// The instruction limit was reached, or the observer had enough.
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
pub fn run(code: &Code<'_>, cpu: &mut Cpu, entry: u64, limit: u64, observe: &mut dyn FnMut(Instant<'_>) -> ControlFlow<()>) -> Stop {
    let mut pc = entry;
    let mut depth = 0usize;
    let mut calls: HashMap<String, u64> = HashMap::new();
    for _ in 0..limit {
        if observe(Instant { cpu, pc, depth }).is_break() {
            return Stop::Cut;
        }
        let Some(instruction) = code.at(pc) else { return Stop::Failed(format!("no code at {pc:#x}")) };
        let next = instruction.next_ip();
        if let Some(result) = string(cpu, &instruction) {
            match result {
                Ok(()) => {
                    pc = next;
                    continue;
                }
                Err(e) => return Stop::Failed(format!("{e} at {pc:#x}")),
            }
        }
        let flow = match lift::execute(cpu, &instruction) {
            Ok(flow) => flow,
            Err(e) => return Stop::Failed(format!("{e} at {pc:#x}")),
        };
        let (target, is_call) = match flow {
            Flow::Next => (next, false),
            Flow::Jump(to) => (to, false),
            Flow::Branch(condition, to) => (if condition.bits != 0 { to } else { next }, false),
            Flow::JumpTo(to) => ((to.bits as u64).wrapping_sub(cpu.bias), false),
            Flow::Call(to) => (to, true),
            Flow::CallTo(to) => ((to.bits as u64).wrapping_sub(cpu.bias), true),
            Flow::Stop => return Stop::Failed(format!("a trap at {pc:#x}")),
            Flow::Return => {
                if depth == 0 {
                    return Stop::Returned;
                }
                depth -= 1;
                match cpu.pop() {
                    Ok(SENTINEL) => return Stop::Returned,
                    Ok(to) => (to.wrapping_sub(cpu.bias), false),
                    Err(e) => return Stop::Failed(e.to_string()),
                }
            }
        };
        pc = target;
        let leaves = matches!(instruction.mnemonic(), Mnemonic::Call | Mnemonic::Jmp);
        if leaves && let Some(name) = code.outside(target) {
            let count = calls.entry(name.clone()).or_insert(0);
            *count += 1;
            if let Err(e) = answer(cpu, &name, *count) {
                return Stop::Failed(e);
            }
            if is_call {
                pc = next;
            } else if depth == 0 {
                return Stop::Returned;
            } else {
                // A tail call out of a callee returns to the callee's caller.
                depth -= 1;
                match cpu.pop() {
                    Ok(to) => pc = to.wrapping_sub(cpu.bias),
                    Err(e) => return Stop::Failed(e.to_string()),
                }
            }
        } else if is_call {
            if depth > 200 {
                return Stop::Failed("the recursion is too deep".to_owned());
            }
            if let Err(e) = cpu.push(next.wrapping_add(cpu.bias)) {
                return Stop::Failed(e.to_string());
            }
            depth += 1;
        }
    }
    Stop::Cut
}

/// Executes a string move or store, repeated or not; these loop, so the lifter does not know them. `None` for
/// every other instruction.
fn string(cpu: &mut Cpu, instruction: &Instruction) -> Option<Result<(), crate::algebra::Fault>> {
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

/// Answers a call of an outside function.
fn answer(cpu: &mut Cpu, name: &str, count: u64) -> Result<(), String> {
    let [rax, rcx, rdx, rsi, rdi] = [0usize, 1, 2, 6, 7];
    let (to, from, size) = (cpu.gpr[rdi], cpu.gpr[rsi], cpu.gpr[rdx]);
    let base = name.split('@').next().unwrap_or(name);
    match base {
        "memset" | "memcpy" | "memmove" | "__memcpy_chk" | "__memset_chk" => {
            if size > 1 << 26 {
                return Err(format!("{name} of {size} bytes"));
            }
            let bytes: Vec<u8> = if base.contains("memset") {
                vec![from as u8; size as usize]
            } else {
                (0..size).map(|n| cpu.memory.byte(from.wrapping_add(n)).ok_or("an unmapped source")).collect::<Result<_, _>>()?
            };
            for (n, byte) in bytes.into_iter().enumerate() {
                cpu.write(to.wrapping_add(n as u64), u128::from(byte), 1).map_err(|e| e.to_string())?;
            }
            cpu.gpr[rax] = to;
        }
        "setjmp" | "_setjmp" | "__sigsetjmp" | "longjmp" | "fork" | "pthread_create" | "vfork" => {
            return Err(format!("it calls {base}"));
        }
        "exit" | "abort" | "_exit" | "__assert_fail" | "__stack_chk_fail" => return Err(format!("it ends in {base}")),
        _ => {
            let (a, b) = (cpu.xmm[0] as u64, cpu.xmm[1] as u64);
            let (stem, single) = stem(base);
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
            let seed = base.bytes().fold(start, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
            cpu.gpr[rax] = seed & 0xff;
            let value = exact.unwrap_or(1.0 + (seed % 1000) as f64 / 7.0);
            cpu.xmm[0] = if single { u128::from((value as f32).to_bits()) } else { u128::from(value.to_bits()) };
        }
    }
    // What a call may clobber is clobbered, so that no relation survives on luck.
    for n in [rcx, rdx, rsi, rdi, 8, 9, 10, 11] {
        cpu.gpr[n] = 0xdead_beef_0000_0000 | (count << 8) | n as u64;
    }
    for n in 1..16 {
        cpu.xmm[n] = 0x7fc1_2345 | u128::from(count) << 32;
    }
    Ok(())
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

/// Prepares the stack of a machine for a run: the return address on top, everything below poisoned.
pub fn enter(cpu: &mut Cpu) -> Result<(), crate::algebra::Fault> {
    let top = cpu.gpr[RSP as usize];
    cpu.memory.map_zeroes(top.wrapping_sub(0x4_0000), 0x4_0000);
    for n in 1..=0x400u64 {
        cpu.memory.write(top.wrapping_sub(n * 8), POISON, 8)?;
    }
    Ok(())
}

/// What uninitialised stack words hold.
pub const POISON: u128 = 0xd7d7_d7d7_d7d7_d7d7;
