//! Reads a function through the C interface: blocks, edges, instructions, operands, locations. This is where watching a
//! large function spends its time, and a pass changes few blocks: each is first read as bare words, and only one whose
//! words have another fingerprint than last time is written, the others are told by their address.

use crate::capi::{Api, Ref};
use crate::fast::{FastMap, Fingerprint};
use crate::variables::{Description, Variables};
use crate::wire::{Encoder, flag};

const VOID_KIND: u32 = 0;
const GEP: u32 = 29;
const ICMP: u32 = 42;
const FCMP: u32 = 43;
const CALL_OPCODES: [u32; 3] = [45, 5, 67];
/// Opcodes that never have a result: terminators, `store`, `fence`.
const NO_RESULT: [u32; 11] = [1, 2, 3, 4, 7, 28, 55, 58, 61, 62, 65];
/// Operands of an instruction are not worth the bytes beyond this many: switches and phis with thousands of
/// operands exist.
const MOST_OPERANDS: i32 = 4096;

/// The name of a value, empty when it has none.
fn name_of(api: &Api, value: Ref) -> &[u8] {
    let mut length = 0usize;
    // SAFETY: `value` is a live value, whose name LLVM gives as a pointer to `length` bytes that live as long as it.
    unsafe {
        let at = (api.value_name)(value, &raw mut length);
        if at.is_null() { &[] } else { std::slice::from_raw_parts(at.cast(), length) }
    }
}

/// The name of a value as text.
pub fn value_name(api: &Api, value: Ref) -> String {
    String::from_utf8_lossy(name_of(api, value)).into_owned()
}

/// Reads locations and remembers the blocks that were written.
#[derive(Default)]
pub struct Writer {
    /// Distance of the location from the start of an instruction, learnt from the first one that has one: asking LLVM
    /// for it registers and forgets a reference to the location.
    pub location_offset: Option<u64>,
    /// What each block was when it was last written, by address.
    written: FastMap<u64, Fingerprint>,
    /// Reads descriptions of variables, when these are watched.
    pub variables: Option<Variables>,
    /// Room for the records of one instruction.
    records: Vec<u64>,
}

impl Writer {
    /// Writes a function's record. `each_location` sees the locations of what is written.
    ///
    /// # Safety
    /// `function` must be a live function of this process's libLLVM.
    pub unsafe fn write(&mut self, api: &Api, function: Ref, out: &mut Encoder, mut each_location: impl FnMut(Ref)) {
        out.address(function as u64);
        out.text(name_of(api, function));
        // SAFETY: we only walk the lists of a live function, and no other thread changes them.
        unsafe {
            out.u64((api.subprogram)(function) as u64);
            if let Some(variables) = &mut self.variables {
                variables.turn_to(function);
            }
            out.u32((api.parameter_count)(function));
            let (mut param, mut index) = ((api.first_param)(function), 0);
            while !param.is_null() {
                out.reference(param as u64);
                out.text(name_of(api, param));
                out.u32(self.variables.as_mut().map_or(0, |v| v.type_of(param)));
                index += 1;
                out.u8(u8::from(self.variables.as_ref().is_some_and(|v| v.is_ranged_argument(function, index))));
                param = (api.next_param)(param);
            }
            let (place, mut count) = (out.count(), 0);
            let mut block = (api.first_block)(function);
            while !block.is_null() {
                self.write_block(api, block, out, &mut each_location);
                count += 1;
                block = (api.next_block)(block);
            }
            out.counted(place, count);
        }
    }

    /// # Safety
    /// `block` must be a live block.
    unsafe fn write_block(&mut self, api: &Api, block: Ref, out: &mut Encoder, each_location: &mut impl FnMut(Ref)) {
        let at = block as u64;
        // SAFETY: as above.
        let now = unsafe { self.fingerprint(api, block) };
        if self.written.insert(at, now) == Some(now) {
            return out.repeat_block(at);
        }
        out.block(at);
        // SAFETY: as above.
        unsafe {
            // A block is a value, at the same address.
            out.text(name_of(api, block));
            let terminator = (api.terminator)(block);
            let mut decided = 0;
            if terminator.is_null() {
                out.u32(0);
            } else {
                let count = (api.successor_count)(terminator);
                out.u32(count);
                (0..count).for_each(|i| out.reference((api.successor)(terminator, i) as u64));
                if !(api.is_branch)(terminator).is_null() && (api.is_conditional)(terminator) != 0 {
                    let condition = (api.condition)(terminator);
                    if !(api.is_constant_int)(condition).is_null() {
                        decided = (api.successor)(terminator, u32::from((api.constant_value)(condition) == 0)) as u64;
                    }
                }
            }
            out.optional(decided);
            let (place, mut count) = (out.count(), 0);
            let mut inst = (api.first_instruction)(block);
            while !inst.is_null() {
                let location = self.location_of(api, inst);
                if !location.is_null() {
                    each_location(location);
                }
                self.write_instruction(api, inst, location, out, each_location);
                count += 1;
                inst = (api.next_instruction)(inst);
            }
            out.counted(place, count);
        }
        out.end_block(at);
    }

    /// Reads all that a record of the block says, directly or by what it is computed from: successors and a decided
    /// condition are operands of the terminator, the callee is one of the call. Names do not count: nothing is judged by
    /// them, and asking for each was a tenth of reading a function that stayed as it was.
    ///
    /// # Safety
    /// `block` must be a live block.
    unsafe fn fingerprint(&mut self, api: &Api, block: Ref) -> Fingerprint {
        let mut print = Fingerprint::default();
        // SAFETY: as above.
        unsafe {
            let mut inst = (api.first_instruction)(block);
            while !inst.is_null() {
                let next = (api.next_instruction)(inst);
                fetch_ahead(next);
                let operands = Operands::of(api, inst);
                let opcode = (api.opcode)(inst);
                print.word(inst as u64);
                print.word(u64::from(opcode) << 32 | u64::from(operands.count));
                print.word((api.type_of)(inst) as u64);
                if let Some(variables) = &self.variables {
                    print.word(variables.subclass(inst));
                }
                print.word(self.location_of(api, inst) as u64);
                let mut first = 0;
                operands.clone().for_each(|operand| {
                    first = if first == 0 { operand } else { first };
                    print.word(operand);
                });
                self.print_descriptions(inst, opcode, first, operands, &mut print);
                inst = next;
            }
        }
        print
    }

    /// Takes in what an instruction, or the records in front of it, say of variables.
    ///
    /// # Safety
    /// `inst` must be a live instruction.
    unsafe fn print_descriptions(&mut self, inst: Ref, opcode: u32, first: u64, operands: Operands, print: &mut Fingerprint) {
        let (Some(variables), location_offset) = (&mut self.variables, self.location_offset) else { return };
        // SAFETY: as the caller promises; the first word of an operand is its type.
        unsafe {
            if opcode == CALL_OPCODES[0] && first != 0 && variables.is_metadata(first) {
                let list: Vec<u64> = operands.collect();
                variables.learn_from_call(inst, &list);
                variables.print_call(inst, &list, |word| print.word(word));
            }
            if let Some(offset) = location_offset {
                let mut records = std::mem::take(&mut self.records);
                variables.for_each_record(inst, offset, |record| records.push(record));
                for record in records.drain(..) {
                    variables.learn_from_record(record);
                    variables.print_record(record, |word| print.word(word));
                }
                self.records = records;
            }
        }
    }

    /// # Safety
    /// `inst` must be a live instruction.
    unsafe fn write_instruction(&mut self, api: &Api, inst: Ref, location: Ref, out: &mut Encoder, each_location: &mut impl FnMut(Ref)) {
        // SAFETY: as above.
        unsafe {
            let opcode = (api.opcode)(inst);
            let is_call = CALL_OPCODES.contains(&opcode);
            let is_void = NO_RESULT.contains(&opcode) || is_call && (api.type_kind)((api.type_of)(inst)) == VOID_KIND;
            let name = if is_void { &[] } else { name_of(api, inst) };
            let called = if is_call { (api.called)(inst) } else { std::ptr::null_mut() };
            let is_direct = !called.is_null() && !(api.is_function)(called).is_null();
            let callee = if is_direct { name_of(api, called) } else { &[] };
            let operands = Operands::of(api, inst);
            let mut flags = if is_void { flag::VOID } else { 0 };
            let mut detail = self.variables.as_mut().map(|v| Detail::of(v, inst, opcode, &operands, callee, location));
            if let (Some(detail), Some(variables), Some(offset)) = (&mut detail, &self.variables, self.location_offset) {
                variables.for_each_record(inst, offset, |record| detail.records.push(record));
            }
            flags |= detail.as_ref().map_or(0, Detail::flags);
            out.instruction(inst as u64, opcode as u8, flags, location as u64, name, callee);
            out.u32(operands.count);
            operands.for_each(|operand| out.reference(operand));
            if let (Some(detail), Some(variables)) = (detail, &mut self.variables) {
                detail.write(variables, inst, out, each_location);
            }
        }
    }

    /// # Safety
    /// `inst` must be a live instruction.
    unsafe fn location_of(&mut self, api: &Api, inst: Ref) -> Ref {
        // SAFETY: the word at this distance is the location in every instruction.
        unsafe {
            if let Some(offset) = self.location_offset {
                return *((inst as u64 + offset) as *const Ref);
            }
            let location = (api.location)(inst);
            if !location.is_null() {
                self.location_offset = learn_offset(inst, location);
            }
            location
        }
    }
}

/// Finds the word of an instruction that holds its location.
///
/// # Safety
/// `inst` must be a live instruction.
unsafe fn learn_offset(inst: Ref, location: Ref) -> Option<u64> {
    const WORDS: u64 = 9; // an Instruction is 72 bytes in LLVM 13 to 19, 80 since
    // SAFETY: within the instruction's own allocation.
    (0..WORDS).map(|i| i * 8).find(|offset| unsafe { *((inst as u64 + offset) as *const Ref) } == location)
}

/// What is written of an instruction when variables are watched.
#[derive(Default)]
struct Detail {
    type_code: u32,
    predicate: u8,
    known: u8,
    scales: Option<(Vec<u64>, u64)>,
    describes: Option<Description>,
    records: Vec<u64>,
}

impl Detail {
    /// # Safety
    /// `inst` must be a live instruction with this opcode and these operands.
    unsafe fn of(variables: &mut Variables, inst: Ref, opcode: u32, operands: &Operands, callee: &[u8], location: Ref) -> Self {
        let mut detail = Self::default();
        // SAFETY: as the caller promises.
        unsafe {
            detail.type_code = variables.type_of(inst);
            operands.clone().for_each(|operand| variables.mention(operand));
            detail.known = variables.known(inst, opcode);
            if opcode == ICMP || opcode == FCMP {
                detail.predicate = variables.predicate(inst, opcode == FCMP) as u8;
            } else if opcode == GEP {
                let list: Vec<u64> = operands.clone().collect();
                detail.scales = variables.scales(inst, &list);
            } else if callee.starts_with(b"llvm.dbg.") {
                let list: Vec<u64> = operands.clone().collect();
                detail.describes = variables.describe_call(inst, &list, location as u64);
            }
        }
        detail
    }

    fn flags(&self) -> u8 {
        let pairs = [
            (self.type_code != 0, flag::TYPED),
            (self.predicate != 0 || self.known != 0, flag::PREDICATE),
            (self.scales.is_some(), flag::SCALES),
            (self.describes.is_some(), flag::DESCRIBES),
            (!self.records.is_empty(), flag::RECORDS),
        ];
        pairs.into_iter().filter(|(given, _)| *given).fold(0, |flags, (_, bit)| flags | bit)
    }

    /// # Safety
    /// What it holds must be live.
    unsafe fn write(self, variables: &mut Variables, inst: Ref, out: &mut Encoder, each_location: &mut impl FnMut(Ref)) {
        if self.type_code != 0 {
            out.u32(self.type_code);
        }
        if self.predicate != 0 || self.known != 0 {
            out.u8(self.predicate);
            out.u8(self.known);
        }
        if let Some((scales, offset)) = &self.scales {
            out.numbers(scales);
            out.u64(*offset);
        }
        // SAFETY: as the caller promises.
        unsafe {
            if let Some(description) = &self.describes {
                variables.write(inst as u64, description, out);
            }
            if !self.records.is_empty() {
                out.u32(self.records.len() as u32);
                for record in &self.records {
                    let location = variables.write_record(*record, out);
                    if location != 0 {
                        each_location(location as Ref);
                    }
                }
            }
        }
    }
}

/// Asks the memory for an instruction and the operands in front of it: waiting for them was a third of reading a function.
fn fetch_ahead(inst: Ref) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let at = inst.cast::<i8>().cast_const();
    // SAFETY: a hint, which may name any address.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(at);
        _mm_prefetch::<_MM_HINT_T0>(at.wrapping_sub(64));
    }
}

/// The operands of an instruction: an array of uses, each of which begins with the value, so that LLVM is asked for the
/// places of the first two and not for each value.
#[derive(Clone)]
struct Operands {
    at: *const u64,
    /// Words from one use to the next.
    stride: isize,
    /// How many are left.
    count: u32,
}

impl Operands {
    /// # Safety
    /// `inst` must be a live instruction, which must not change while the operands are read.
    unsafe fn of(api: &Api, inst: Ref) -> Self {
        // SAFETY: a live instruction, asked for operands that it has; they are one allocation.
        unsafe {
            let count = (api.operand_count)(inst).clamp(0, MOST_OPERANDS) as u32;
            let place = |index| (api.operand_use)(inst, index).cast_const().cast::<u64>();
            let at = if count == 0 { std::ptr::null() } else { place(0) };
            let stride = if count < 2 { 0 } else { place(1).offset_from(at) };
            Self { at, stride, count }
        }
    }
}

impl Iterator for Operands {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.count = self.count.checked_sub(1)?;
        // SAFETY: one of the uses.
        let value = unsafe { *self.at };
        self.at = self.at.wrapping_offset(self.stride);
        Some(value)
    }
}
