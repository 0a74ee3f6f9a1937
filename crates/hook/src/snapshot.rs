//! Reads a function through the C interface: blocks, edges, instructions, operands, locations.

use crate::capi::{Api, Ref};
use crate::wire::{BlockRecord, FunctionRecord, InstructionRecord};
use std::ffi::CStr;

const VOID_KIND: u32 = 0;
const CALL_OPCODES: [u32; 3] = [45, 5, 67];
/// Constant operands of an instruction are not worth the bytes beyond this many: switches and phis with
/// thousands of operands exist.
const MOST_OPERANDS: i32 = 4096;

fn text(at: *const std::ffi::c_char, length: usize) -> String {
    if at.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: LLVM gives a pointer to `length` bytes that live as long as the value.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(at.cast(), length) }).into_owned()
}

/// The name of a value, empty when it has none.
pub fn value_name(api: &Api, value: Ref) -> String {
    let mut length = 0usize;
    // SAFETY: `value` is a live value.
    let at = unsafe { (api.value_name)(value, &raw mut length) };
    text(at, length)
}

/// Takes a snapshot. `each_location` sees the location of every instruction that has one.
///
/// # Safety
/// `function` must be a live function of this process's libLLVM.
pub unsafe fn take(api: &Api, function: Ref, mut each_location: impl FnMut(Ref, Ref)) -> FunctionRecord {
    let mut record = FunctionRecord { at: function as u64, name: value_name(api, function), ..Default::default() };
    // SAFETY: we only walk the lists of a live function, and no other thread changes them.
    unsafe {
        record.has_subprogram = !(api.subprogram)(function).is_null();
        let mut param = (api.first_param)(function);
        while !param.is_null() {
            record.unnamed_arguments += u32::from(value_name(api, param).is_empty());
            param = (api.next_param)(param);
        }
        let mut block = (api.first_block)(function);
        while !block.is_null() {
            record.blocks.push(take_block(api, block, &mut each_location));
            block = (api.next_block)(block);
        }
    }
    record
}

/// # Safety
/// `block` must be a live block.
unsafe fn take_block(api: &Api, block: Ref, each_location: &mut impl FnMut(Ref, Ref)) -> BlockRecord {
    // SAFETY: as above.
    unsafe {
        let name = (api.block_name)(block);
        let name = if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() };
        let mut record = BlockRecord { at: block as u64, name, ..Default::default() };
        let terminator = (api.terminator)(block);
        if !terminator.is_null() {
            record.successors = (0..(api.successor_count)(terminator)).map(|i| (api.successor)(terminator, i) as u64).collect();
            if !(api.is_branch)(terminator).is_null() && (api.is_conditional)(terminator) != 0 {
                let condition = (api.condition)(terminator);
                if !(api.is_constant_int)(condition).is_null() {
                    record.decided = record.successors[usize::from((api.constant_value)(condition) == 0)];
                }
            }
        }
        let mut inst = (api.first_instruction)(block);
        while !inst.is_null() {
            let opcode = (api.opcode)(inst);
            let location = (api.location)(inst);
            if !location.is_null() {
                each_location(inst, location);
            }
            let count = (api.operand_count)(inst).clamp(0, MOST_OPERANDS) as u32;
            let mut callee = String::new();
            if CALL_OPCODES.contains(&opcode) {
                let called = (api.called)(inst);
                if !called.is_null() && !(api.is_function)(called).is_null() {
                    callee = value_name(api, called);
                }
            }
            record.instructions.push(InstructionRecord {
                at: inst as u64,
                opcode: opcode as u8,
                is_void: (api.type_kind)((api.type_of)(inst)) == VOID_KIND,
                location: location as u64,
                name: value_name(api, inst),
                callee,
                operands: (0..count).map(|i| (api.operand)(inst, i) as u64).collect(),
            });
            inst = (api.next_instruction)(inst);
        }
        record
    }
}
