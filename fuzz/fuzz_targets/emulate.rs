//! The emulator and the lifter under `repair`, on a stranger's machine code.
#![no_main]
use iced_x86::{Decoder, DecoderOptions};
use libfuzzer_sys::fuzz_target;
use trueline_machine::cpu::{Cpu, Memory};
use trueline_machine::lift;

const CODE: u64 = 0x40_1000;
const STACK: u64 = 0x7fff_0000;

fuzz_target!(|data: &[u8]| {
    let mut memory = Memory::default();
    memory.map_zeroes(STACK - 0x2000, 0x3000);
    memory.map(CODE, data);
    let mut cpu = Cpu::new(memory, 0);
    cpu.gpr = std::array::from_fn(|n| STACK - 64 * n as u64);
    for instruction in Decoder::with_ip(64, data, CODE, DecoderOptions::NONE).iter().take(256) {
        if instruction.is_invalid() {
            continue;
        }
        let _ = lift::execute(&mut cpu, &instruction);
    }
});
