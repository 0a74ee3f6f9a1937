//! Out-of-line slots: where instructions displaced by breakpoints live, and how they are moved there.

use super::{AddressHash, Breakpoint, Inferior};
use iced_x86::{BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, InstructionBlock};
use std::collections::HashMap;

/// Room for the longest instruction, its re-encoding as a near branch, and a jump back.
pub(super) const SLOT_SIZE: u64 = 32;
/// Half a million slots: SQLite has some three hundred thousand addresses to stop at.
const AREA_SIZE: u64 = 1 << 24;

/// How a breakpoint is passed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Displaced {
    /// The moved instruction is here.
    Slot(u64),
    /// The instruction cannot be moved.
    SingleStep,
}

/// Memory in the program that holds slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotArea {
    start: u64,
    used: u64,
    size: u64,
}

impl SlotArea {
    /// No room at all: every breakpoint is passed by single-stepping.
    pub(super) fn none() -> Self {
        Self { start: 0, used: 0, size: 0 }
    }

    /// The next free slot.
    pub(super) fn next(&self) -> Option<u64> {
        (self.used + SLOT_SIZE <= self.size).then_some(self.start + self.used)
    }

    /// Marks the next slot as used.
    pub(super) fn take(&mut self) {
        self.used += SLOT_SIZE;
    }

    /// The address whose instruction runs at `pc`: itself unless it is inside a slot.
    pub(super) fn origin(&self, pc: u64, breakpoints: &HashMap<u64, Breakpoint, AddressHash>) -> u64 {
        if !(self.start..self.start + self.used).contains(&pc) {
            return pc;
        }
        let slot = pc - (pc - self.start) % SLOT_SIZE;
        breakpoints.iter().find(|(_, b)| matches!(b.displaced, Displaced::Slot(s) if s == slot)).map_or(pc, |(&a, _)| a)
    }
}

/// Maps executable memory near the image by making the stopped program call `mmap`. Without room within
/// reach of a 32-bit displacement there are no slots, which costs speed and nothing else.
pub(super) fn reserve(inferior: &mut Inferior, low: u64, high: u64) -> SlotArea {
    reserve_one_of(inferior, [below(low, 0), below(low, 1 << 24), above(high, 1 << 28), above(high, 1 << 29)])
}

/// The same near a library. What is mapped later comes to lie right below the libraries, and has to come to lie where it
/// would without us: the area keeps away from there.
pub(super) fn reserve_far(inferior: &mut Inferior, low: u64, high: u64) -> SlotArea {
    let candidates = [below(low, 1 << 30), below(low, (1 << 30) + (1 << 25)), below(low, (1 << 30) + (1 << 26)), above(high, 1 << 29)];
    reserve_one_of(inferior, candidates)
}

fn below(low: u64, distance: u64) -> Option<u64> {
    low.checked_sub(AREA_SIZE + distance).map(|a| a & !0xfff).filter(|&a| a >= 0x1_0000)
}

fn above(high: u64, distance: u64) -> Option<u64> {
    high.checked_add(distance).map(|a| (a + 0xfff) & !0xfff)
}

fn reserve_one_of(inferior: &mut Inferior, candidates: [Option<u64>; 4]) -> SlotArea {
    for candidate in candidates.into_iter().flatten() {
        if map_at(inferior, candidate) == Some(candidate) {
            return SlotArea { start: candidate, used: 0, size: AREA_SIZE };
        }
    }
    SlotArea::none()
}

fn map_at(inferior: &mut Inferior, address: u64) -> Option<u64> {
    const MAP_FIXED_NOREPLACE: i32 = 0x10_0000;
    let saved = *inferior.regs();
    let here = saved.rip;
    let mut code = [0u8; 2];
    inferior.read(here, &mut code).ok()?;
    inferior.write(here, &[0x0f, 0x05]).ok()?;
    let mut call = saved;
    call.rax = libc::SYS_mmap as u64;
    call.rdi = address;
    call.rsi = AREA_SIZE;
    call.rdx = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as u64;
    call.r10 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | MAP_FIXED_NOREPLACE) as u64;
    call.r8 = u64::MAX;
    call.r9 = 0;
    // Not inside a system call that the kernel might want to restart.
    call.orig_rax = u64::MAX;
    inferior.set_regs(call).ok()?;
    let stepped = inferior.step().ok()?;
    let result = inferior.regs().rax;
    inferior.write(here, &code).ok()?;
    inferior.set_regs(saved).ok()?;
    (stepped == super::Event::Stepped && result < u64::MAX - 4095).then_some(result)
}

/// The bytes of a slot at `slot` that does what the instruction at `address` does and then goes on after
/// it; `None` when the instruction has to be executed in place.
pub(super) fn displace(bytes: &[u8], address: u64, slot: u64) -> Option<[u8; SLOT_SIZE as usize]> {
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let mut code = match instruction.flow_control() {
        _ if instruction.is_invalid() => return None,
        FlowControl::Call if instruction.code() == Code::Call_rel32_64 => {
            return fill(pushed_call(instruction.next_ip(), instruction.near_branch64(), slot)?);
        }
        // Loops and jrcxz reach no further than a byte; indirect calls push their own address.
        FlowControl::IndirectCall | FlowControl::Call | FlowControl::Interrupt | FlowControl::XbeginXabortXend => return None,
        _ if instruction.is_jcx_short() || instruction.is_loop() || instruction.is_loopcc() => return None,
        FlowControl::Exception => return None,
        _ => {
            let block = InstructionBlock::new(std::slice::from_ref(&instruction), slot);
            let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?;
            encoded.code_buffer
        }
    };
    if !matches!(instruction.flow_control(), FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return) {
        jump(&mut code, slot, instruction.next_ip())?;
    }
    fill(code)
}

/// A call as the program would see it had it not been moved: the return address pushed is the original
/// one, without touching the flags.
fn pushed_call(return_to: u64, target: u64, slot: u64) -> Option<Vec<u8>> {
    let mut code = vec![0x48, 0x8d, 0x64, 0x24, 0xf8]; // lea rsp, [rsp-8]
    code.extend([0xc7, 0x04, 0x24]); // mov dword [rsp], low
    code.extend((return_to as u32).to_le_bytes());
    code.extend([0xc7, 0x44, 0x24, 0x04]); // mov dword [rsp+4], high
    code.extend(((return_to >> 32) as u32).to_le_bytes());
    jump(&mut code, slot, target)?;
    Some(code)
}

fn jump(code: &mut Vec<u8>, slot: u64, target: u64) -> Option<()> {
    let after = slot + code.len() as u64 + 5;
    let distance = i32::try_from(target.wrapping_sub(after) as i64).ok()?;
    code.push(0xe9);
    code.extend(distance.to_le_bytes());
    Some(())
}

fn fill(code: Vec<u8>) -> Option<[u8; SLOT_SIZE as usize]> {
    let mut slot = [0xcc; SLOT_SIZE as usize];
    slot.get_mut(..code.len())?.copy_from_slice(&code);
    Some(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rip_relative_operands_still_name_the_same_address() {
        // mov eax, [rip+0x10] at 0x1000 reads 0x1016.
        let bytes = [0x8b, 0x05, 0x10, 0, 0, 0];
        let slot = displace(&bytes, 0x1000, 0x9000).unwrap();
        let mut decoder = Decoder::with_ip(64, &slot, 0x9000, DecoderOptions::NONE);
        let moved = decoder.decode();
        assert_eq!(moved.ip_rel_memory_address(), 0x1016);
        assert_eq!(decoder.decode().near_branch64(), 0x1006);
    }

    #[test]
    fn short_branches_keep_their_targets() {
        let slot = displace(&[0x74, 0x10], 0x1000, 0x90_0000).unwrap();
        let mut decoder = Decoder::with_ip(64, &slot, 0x90_0000, DecoderOptions::NONE);
        assert_eq!(decoder.decode().near_branch64(), 0x1012);
        assert_eq!(decoder.decode().near_branch64(), 0x1002);
    }

    #[test]
    fn calls_push_the_original_return_address() {
        let slot = displace(&[0xe8, 0, 1, 0, 0], 0x5555_0000_1000, 0x5554_fff0_0000).unwrap();
        let at = |i: usize| u32::from_le_bytes(slot[i..i + 4].try_into().unwrap());
        assert_eq!((at(8), at(16)), (0x0000_1005, 0x5555));
    }

    #[test]
    fn indirect_calls_are_executed_in_place() {
        assert!(displace(&[0xff, 0xd0], 0x1000, 0x9000).is_none());
    }
}
