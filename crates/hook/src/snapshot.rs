//! Reads a function through the C interface: blocks, edges, instructions, operands, locations. The record is
//! written as it is read, since this is where watching a large function spends its time.

use crate::capi::{Api, Ref};
use crate::wire::Encoder;

const VOID_KIND: u32 = 0;
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

/// Writes a function's record. `each_location` sees every instruction that has a location, with it.
///
/// # Safety
/// `function` must be a live function of this process's libLLVM.
pub unsafe fn write(api: &Api, function: Ref, out: &mut Encoder, mut each_location: impl FnMut(Ref, Ref)) {
    out.address(function as u64);
    out.text(name_of(api, function));
    // SAFETY: we only walk the lists of a live function, and no other thread changes them.
    unsafe {
        out.u8(u8::from(!(api.subprogram)(function).is_null()));
        let mut unnamed = 0;
        let mut param = (api.first_param)(function);
        while !param.is_null() {
            unnamed += u32::from(name_of(api, param).is_empty());
            param = (api.next_param)(param);
        }
        out.u32(unnamed);
        let blocks = out.count();
        let mut block = (api.first_block)(function);
        while !block.is_null() {
            write_block(api, block, out, &mut each_location);
            out.increment(blocks);
            block = (api.next_block)(block);
        }
    }
}

/// # Safety
/// `block` must be a live block.
unsafe fn write_block(api: &Api, block: Ref, out: &mut Encoder, each_location: &mut impl FnMut(Ref, Ref)) {
    out.address(block as u64);
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
        let instructions = out.count();
        let mut inst = (api.first_instruction)(block);
        while !inst.is_null() {
            write_instruction(api, inst, out, each_location);
            out.increment(instructions);
            inst = (api.next_instruction)(inst);
        }
    }
}

/// # Safety
/// `inst` must be a live instruction.
unsafe fn write_instruction(api: &Api, inst: Ref, out: &mut Encoder, each_location: &mut impl FnMut(Ref, Ref)) {
    // SAFETY: as above.
    unsafe {
        let opcode = (api.opcode)(inst);
        let is_call = CALL_OPCODES.contains(&opcode);
        let location = (api.location)(inst);
        if !location.is_null() {
            each_location(inst, location);
        }
        let is_void = NO_RESULT.contains(&opcode) || is_call && (api.type_kind)((api.type_of)(inst)) == VOID_KIND;
        let name = if is_void { &[] } else { name_of(api, inst) };
        let called = if is_call { (api.called)(inst) } else { std::ptr::null_mut() };
        let is_direct = !called.is_null() && !(api.is_function)(called).is_null();
        let callee = if is_direct { name_of(api, called) } else { &[] };
        out.instruction(inst as u64, opcode as u8, is_void, location as u64, name, callee);
        let operands = (api.operand_count)(inst).clamp(0, MOST_OPERANDS) as u32;
        out.u32(operands);
        (0..operands).for_each(|i| out.reference((api.operand)(inst, i) as u64));
    }
}
