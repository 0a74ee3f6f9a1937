//! The lifter against the processor: every instruction it supports, in every operand form that has
//! registers, one block of memory and immediates, on random states, executed natively and compared.

use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, FlowControl, Instruction, MemoryOperand, OpCodeOperandKind as K, Register, RflagsBits,
};
use trueline_machine::algebra::Flag;
use trueline_machine::cpu::{Cpu, Memory};
use trueline_machine::lift::{LiftError, execute};

const ROUNDS: u64 = 12;
/// Offsets in the state page: general registers, flags, vector registers, the memory block.
const GPR: usize = 0;
const FLAGS: usize = 128;
const XMM: usize = 256;
const BLOCK: usize = 1024;
const BLOCK_SIZE: usize = 64;

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }
}

/// Two pages: code first, state behind it.
struct Stage {
    base: *mut u8,
}

impl Stage {
    fn new() -> Self {
        // SAFETY: an anonymous private mapping of two pages; nothing else refers to it.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                8192,
                libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED);
        Self { base: base.cast() }
    }

    fn state(&self) -> *mut u8 {
        // SAFETY: the second page of the mapping.
        unsafe { self.base.add(4096) }
    }

    fn block_address(&self) -> u64 {
        self.state() as u64 + BLOCK as u64
    }

    /// Runs the instruction's bytes on the state page.
    fn run(&self, instruction: &[u8]) {
        let mut code: Vec<u8> = vec![0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57];
        let rip = |code: &mut Vec<u8>, bytes: &[u8], offset: usize| {
            code.extend(bytes);
            let end = code.len() + 4;
            code.extend(((4096 + offset) as i32 - end as i32).to_le_bytes());
        };
        rip(&mut code, &[0xff, 0x35], FLAGS);
        for n in 0..16usize {
            let rex: &[u8] = if n >= 8 { &[0xf3, 0x44, 0x0f, 0x6f] } else { &[0xf3, 0x0f, 0x6f] };
            let mut bytes = rex.to_vec();
            bytes.push(((n & 7) << 3 | 5) as u8);
            rip(&mut code, &bytes, XMM + 16 * n);
        }
        code.push(0x9d);
        for n in (0..16usize).filter(|n| *n != 4) {
            let bytes = [if n >= 8 { 0x4c } else { 0x48 }, 0x8b, ((n & 7) << 3 | 5) as u8];
            rip(&mut code, &bytes, GPR + 8 * n);
        }
        code.extend(instruction);
        for n in (0..16usize).filter(|n| *n != 4) {
            let bytes = [if n >= 8 { 0x4c } else { 0x48 }, 0x89, ((n & 7) << 3 | 5) as u8];
            rip(&mut code, &bytes, GPR + 8 * n);
        }
        code.push(0x9c);
        rip(&mut code, &[0x8f, 0x05], FLAGS);
        for n in 0..16usize {
            let rex: &[u8] = if n >= 8 { &[0xf3, 0x44, 0x0f, 0x7f] } else { &[0xf3, 0x0f, 0x7f] };
            let mut bytes = rex.to_vec();
            bytes.push(((n & 7) << 3 | 5) as u8);
            rip(&mut code, &bytes, XMM + 16 * n);
        }
        code.extend([0xfc, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3]);
        assert!(code.len() < 4096);
        // SAFETY: the code page is ours and large enough; the code saves what the calling convention asks
        // for, touches the state page and the instruction's own operands (registers or the block) only.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), self.base, code.len());
            let function: extern "C" fn() = std::mem::transmute(self.base);
            function();
        }
    }
}

/// An operand-filled instruction for a code; `memory` chooses the memory form where there is one.
fn build(code: Code, memory: bool, dice: &mut Dice) -> Option<Instruction> {
    let info = code.op_code();
    let mut i = Instruction::default();
    i.set_code(code);
    let mut has_memory = false;
    for n in 0..info.op_count() {
        // rsi (6) points to the block; rsp is the stack of the test itself.
        let mut pick = |size: u32| {
            let n = [0u32, 1, 2, 3, 7, 8, 9, 13][(dice.next() % 8) as usize];
            let base = match size {
                8 => Register::R8L,
                16 => Register::AX,
                32 => Register::EAX,
                _ => Register::RAX,
            };
            if size == 8 {
                return [Register::AL, Register::CL, Register::DL, Register::BL, Register::R8L][(n % 5) as usize];
            }
            base + n
        };
        let (register, can_be_memory) = match info.op_kind(n) {
            K::r8_reg | K::r8_opcode => (pick(8), false),
            K::r8_or_mem => (pick(8), true),
            K::r16_reg | K::r16_rm | K::r16_opcode | K::r16_reg_mem => (pick(16), false),
            K::r16_or_mem => (pick(16), true),
            K::r32_reg | K::r32_rm | K::r32_opcode | K::r32_reg_mem => (pick(32), false),
            K::r32_or_mem => (pick(32), true),
            K::r64_reg | K::r64_rm | K::r64_opcode | K::r64_reg_mem => (pick(64), false),
            K::r64_or_mem => (pick(64), true),
            K::xmm_reg | K::xmm_rm => (Register::XMM0 + (dice.next() % 16) as u32, false),
            K::xmm_or_mem => (Register::XMM0 + (dice.next() % 16) as u32, true),
            K::r32_or_mem_mpx | K::r64_or_mem_mpx => return None,
            K::al => (Register::AL, false),
            K::ax => (Register::AX, false),
            K::eax => (Register::EAX, false),
            K::rax => (Register::RAX, false),
            K::cl => (Register::CL, false),
            K::mem => {
                if has_memory {
                    return None;
                }
                has_memory = true;
                set_memory(&mut i, n);
                continue;
            }
            K::imm8 | K::imm8sex16 | K::imm8sex32 | K::imm8sex64 | K::imm16 | K::imm32 | K::imm32sex64 | K::imm64 => {
                let kind = match info.op_kind(n) {
                    K::imm8 => iced_x86::OpKind::Immediate8,
                    K::imm8sex16 => iced_x86::OpKind::Immediate8to16,
                    K::imm8sex32 => iced_x86::OpKind::Immediate8to32,
                    K::imm8sex64 => iced_x86::OpKind::Immediate8to64,
                    K::imm16 => iced_x86::OpKind::Immediate16,
                    K::imm32 => iced_x86::OpKind::Immediate32,
                    K::imm32sex64 => iced_x86::OpKind::Immediate32to64,
                    _ => iced_x86::OpKind::Immediate64,
                };
                i.set_op_kind(n, kind);
                match kind {
                    iced_x86::OpKind::Immediate8 => i.set_immediate8(dice.next() as u8),
                    iced_x86::OpKind::Immediate16 => i.set_immediate16(dice.next() as u16),
                    iced_x86::OpKind::Immediate32 => i.set_immediate32(dice.next() as u32),
                    iced_x86::OpKind::Immediate64 => i.set_immediate64(dice.next()),
                    iced_x86::OpKind::Immediate32to64 => i.set_immediate32to64(i64::from(dice.next() as i32)),
                    iced_x86::OpKind::Immediate8to16 => i.set_immediate8to16(i16::from(dice.next() as i8)),
                    iced_x86::OpKind::Immediate8to32 => i.set_immediate8to32(i32::from(dice.next() as i8)),
                    _ => i.set_immediate8to64(i64::from(dice.next() as i8)),
                }
                continue;
            }
            K::imm8_const_1 => {
                i.set_op_kind(n, iced_x86::OpKind::Immediate8);
                i.set_immediate8(1);
                continue;
            }
            _ => return None,
        };
        if can_be_memory && memory && !has_memory {
            has_memory = true;
            set_memory(&mut i, n);
        } else {
            i.set_op_kind(n, iced_x86::OpKind::Register);
            i.set_op_register(n, register);
        }
    }
    (has_memory == memory).then_some(i)
}

fn set_memory(i: &mut Instruction, operand: u32) {
    let m = MemoryOperand::with_base_displ(Register::RSI, 16);
    i.set_op_kind(operand, iced_x86::OpKind::Memory);
    i.set_memory_base(m.base);
    i.set_memory_displacement64(16);
    i.set_memory_displ_size(1);
}

/// Divisions by their names; the packed ones of floating point do not trap.
fn is_division(code: Code) -> bool {
    format!("{code:?}").to_lowercase().contains("div_rm")
}

fn random_state(stage: &Stage, dice: &mut Dice, code: Code) -> Cpu {
    let mut memory = Memory::default();
    let mut block: Vec<u8> = (0..BLOCK_SIZE).map(|n| if n % 4 == 3 { 0x3f + (dice.next() % 3) as u8 } else { dice.next() as u8 }).collect();
    if is_division(code) {
        block[16] |= 1;
    }
    memory.map(stage.block_address(), &block);
    let mut cpu = Cpu::new(memory, 0);
    for n in 0..16 {
        let shape = dice.next() % 4;
        cpu.gpr[n] = match shape {
            0 => dice.next(),
            1 => dice.next() & 0xff,
            2 => u64::from(dice.next() as u32),
            _ => dice.next() | 1 << 63,
        };
        // Numbers of ordinary size in every lane, and now and then plain bits.
        let lane = |d: &mut Dice| (1.0 + (d.next() % 1000) as f32 / 8.0) * if d.next().is_multiple_of(2) { 1.0 } else { -1.0 };
        cpu.xmm[n] = if dice.next().is_multiple_of(3) {
            u128::from(dice.next()) << 64 | u128::from(dice.next())
        } else {
            (0..4).fold(0u128, |x, k| x | u128::from(lane(dice).to_bits()) << (32 * k))
        };
    }
    cpu.gpr[6] = stage.block_address();
    for f in 0..5 {
        cpu.flags[f] = dice.next().is_multiple_of(2);
    }
    if is_division(code) {
        // A quotient that fits in every width: a small dividend, divisors whose lowest byte is not zero.
        cpu.gpr[0] = (cpu.gpr[0] & 0x3f) | 1;
        cpu.gpr[2] = 0;
        for n in [1, 3, 7, 8, 9, 13] {
            cpu.gpr[n] = (cpu.gpr[n] & 0xffff) | 1;
        }
    }
    cpu
}

/// Nan bits are the processor's own business: what differs only there is equal.
fn same_vector(a: u128, b: u128) -> bool {
    a == b
        || (0..4).all(|n| {
            let (x, y) = ((a >> (32 * n)) as u32, (b >> (32 * n)) as u32);
            x == y || (f32::from_bits(x).is_nan() && f32::from_bits(y).is_nan())
        })
        || (0..2).all(|n| {
            let (x, y) = ((a >> (64 * n)) as u64, (b >> (64 * n)) as u64);
            x == y || (f64::from_bits(x).is_nan() && f64::from_bits(y).is_nan())
        })
}

#[test]
fn every_supported_instruction_does_what_the_processor_does() {
    let stage = Stage::new();
    let mut dice = Dice(20_24);
    let mut tested = 0;
    let mut wrong = Vec::new();
    for code in Code::values() {
        let info = code.op_code();
        let name = format!("{code:?}");
        if !info.is_instruction()
            || !info.mode64()
            || info.encoding() != iced_x86::EncodingKind::Legacy
            || info.op_count() == 0 && !name.starts_with('C')
        {
            continue;
        }
        let skipped =
            ["Push", "Pop", "Leave", "Nop", "Reservednop", "Xchg_", "Enter", "Prefetch", "Cmpxchg", "Call", "Jmp", "Ret", "Clts", "Cli"];
        if skipped.iter().any(|s| name.starts_with(s) && !name.starts_with("Popcnt")) {
            continue;
        }
        for memory in [false, true] {
            for round in 0..ROUNDS {
                let Some(mut instruction) = build(code, memory, &mut dice) else { break };
                let mut encoder = Encoder::new(64);
                if encoder.encode(&instruction, stage.block_address()).is_err() {
                    break;
                }
                let bytes = encoder.take_buffer();
                instruction = Decoder::with_ip(64, &bytes, stage.block_address(), DecoderOptions::NONE).decode();
                if instruction.code() != code || instruction.flow_control() != FlowControl::Next {
                    break;
                }
                // The upper half of the dividend is zero and cannot be the divisor too.
                if is_division(code) && instruction.op0_register().full_register() == Register::RDX {
                    continue;
                }
                let start = random_state(&stage, &mut dice, code);
                let mut cpu = start.clone();
                match execute(&mut cpu, &instruction) {
                    Ok(_) => {}
                    Err(LiftError::Unsupported(_)) => break,
                    Err(e) => panic!("{name}: {e}"),
                }
                if round == 0 {
                    tested += 1;
                }
                if let Err(message) = compare(&stage, &start, &cpu, &instruction, &bytes) {
                    wrong.push(format!("{name}{}: {message}", if memory { " (memory)" } else { "" }));
                    break;
                }
            }
        }
    }
    assert!(tested > 500, "only {tested} forms were tested");
    assert!(wrong.is_empty(), "{} of {tested} forms differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn compare(stage: &Stage, start: &Cpu, lifted: &Cpu, instruction: &Instruction, bytes: &[u8]) -> Result<(), String> {
    let state = stage.state();
    let flag_bits = [(Flag::Cf, 0), (Flag::Pf, 2), (Flag::Zf, 6), (Flag::Sf, 7), (Flag::Of, 11)];
    let packed = flag_bits.iter().enumerate().fold(0x202u64, |x, (n, (_, bit))| x | u64::from(start.flags[n]) << bit);
    // SAFETY: all offsets lie in the state page, which is ours; unaligned writes and reads are used.
    unsafe {
        for n in 0..16 {
            state.add(GPR + 8 * n).cast::<u64>().write_unaligned(start.gpr[n]);
            state.add(XMM + 16 * n).cast::<u128>().write_unaligned(start.xmm[n]);
        }
        state.add(FLAGS).cast::<u64>().write_unaligned(packed);
        for n in 0..BLOCK_SIZE {
            state.add(BLOCK + n).write(start.memory.byte(stage.block_address() + n as u64).unwrap_or(0));
        }
    }
    stage.run(bytes);
    let undefined = instruction.rflags_undefined();
    let mut text = Vec::new();
    // SAFETY: as above.
    unsafe {
        for n in (0..16).filter(|n| *n != 4) {
            let native = state.add(GPR + 8 * n).cast::<u64>().read_unaligned();
            if native != lifted.gpr[n] {
                text.push(format!("gpr{n} {native:#x} lifted {:#x}", lifted.gpr[n]));
            }
        }
        for n in 0..16 {
            let native = state.add(XMM + 16 * n).cast::<u128>().read_unaligned();
            if !same_vector(native, lifted.xmm[n]) {
                text.push(format!("xmm{n} {native:#x} lifted {:#x}", lifted.xmm[n]));
            }
        }
        let native = state.add(FLAGS).cast::<u64>().read_unaligned();
        let masks = [RflagsBits::CF, RflagsBits::PF, RflagsBits::ZF, RflagsBits::SF, RflagsBits::OF];
        for (n, (flag, bit)) in flag_bits.iter().enumerate() {
            // Overflow after a shift by more than one is undefined, which iced cannot know.
            let shifts = matches!(flag, Flag::Of | Flag::Cf)
                && format!("{:?}", instruction.mnemonic()).starts_with(['S', 'R'])
                && instruction.op_count() > 1;
            if undefined & masks[n] == 0 && !shifts && (native >> bit & 1 == 1) != lifted.flags[n] {
                text.push(format!("{flag:?} {}", native >> bit & 1));
            }
        }
        for n in 0..BLOCK_SIZE {
            let native = state.add(BLOCK + n).read();
            let own = lifted.memory.byte(stage.block_address() + n as u64).unwrap_or(0);
            if native != own {
                text.push(format!("memory[{n}] {native:#x} lifted {own:#x}"));
                break;
            }
        }
    }
    if text.is_empty() { Ok(()) } else { Err(format!("{} at {instruction:?}", text.join(", "))) }
}
