//! Whether an address of a function's frame is ever in a register or in memory, read off its instructions.

use crate::flow::Graph;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeSet;
use trueline_machine::symbolic::Exposure;

/// What the optimized build does with its frame's address.
pub struct Own {
    /// Whether it is anywhere but in the stack and frame pointers.
    pub exposure: Exposure,
    /// Whether `rbp` is a frame pointer.
    pub frame_pointer: bool,
}

/// The optimized build: `rbp` counts as a frame pointer when it is set from the stack pointer.
pub fn of_optimized(graph: &Graph) -> Own {
    let all = || graph.instructions.values();
    let sets = |i: &Instruction| i.op0_kind() == OpKind::Register && i.op0_register() == Register::RBP && mentions(i, Register::RSP);
    let frame_pointer = all().any(|i| matches!(i.mnemonic(), Mnemonic::Mov | Mnemonic::Lea) && sets(i));
    let leaks = |i: &Instruction| leaks(i, Register::RSP) || (frame_pointer && leaks(i, Register::RBP));
    let exposure = if all().any(leaks) { Exposure::Exposed } else { Exposure::Private };
    Own { exposure, frame_pointer }
}

/// What the reference build does: offsets from the canonical frame address whose address is taken; `None` when that cannot
/// be told.
pub fn of_reference(graph: &Graph) -> Option<BTreeSet<i64>> {
    let mut taken = BTreeSet::new();
    for i in graph.instructions.values() {
        if leaks(i, Register::RSP) {
            return None;
        }
        if leaks(i, Register::RBP) {
            if i.mnemonic() != Mnemonic::Lea {
                return None;
            }
            taken.insert(i.memory_displacement64() as i64 - 16);
        }
    }
    Some(taken)
}

fn mentions(i: &Instruction, register: Register) -> bool {
    let operand = (1..i.op_count()).any(|n| i.op_kind(n) == OpKind::Register && i.op_register(n).full_register() == register);
    operand || (i.mnemonic() == Mnemonic::Lea && (i.memory_base() == register || i.memory_index() == register))
}

/// True when an instruction may put an address that a register holds somewhere else.
fn leaks(i: &Instruction, register: Register) -> bool {
    let target = if i.op0_kind() == OpKind::Register { i.op0_register().full_register() } else { Register::None };
    let to_frame = matches!(target, Register::RSP | Register::RBP);
    match i.mnemonic() {
        // A saved register: whoever pops it gives it back.
        Mnemonic::Push | Mnemonic::Pop | Mnemonic::Leave | Mnemonic::Ret | Mnemonic::Call => false,
        Mnemonic::Cmp | Mnemonic::Test => false,
        // A pointer into the frame that moves is no frame pointer.
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec if register == Register::RBP && target == Register::RBP => true,
        Mnemonic::Lea if register == Register::RBP && target == Register::RBP && mentions(i, Register::RBP) => true,
        Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Or if to_frame => false,
        _ => mentions(i, register) || (i.op_count() == 1 && target == register),
    }
}
