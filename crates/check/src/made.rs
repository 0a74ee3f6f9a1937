//! Where values come into being in the optimized code: the places at which a variable may begin to show another value, and
//! whether the instruction in front of such a place computes it.
//!
//! Compilers let a variable's location begin right behind the instruction that computes its value. What follows a copy from
//! one register to another was there before, and does not count. Deliberately absent: values that are computed in memory
//! whose address the location does not name.

use crate::line_code::{LineTable, changes_memory};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use std::collections::BTreeSet;
use trueline_dwarf::op::Op;
use trueline_dwarf::{Location, LocationEntry, Module, Var};
use trueline_model::VarKey;

/// Instructions behind a stop that are looked at one by one: a register may be written without a new location.
const BEHIND: usize = 24;
/// The number of xmm0 in DWARF.
const XMM0: u16 = 17;
/// The registers by their numbers in DWARF, as the x86-64 psABI has them.
const REGISTERS: [Register; 16] = [
    Register::RAX,
    Register::RDX,
    Register::RCX,
    Register::RBX,
    Register::RSI,
    Register::RDI,
    Register::RBP,
    Register::RSP,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

fn register(number: u16) -> Option<Register> {
    let vector = || (XMM0..XMM0 + 16).contains(&number).then(|| Register::XMM0 + u32::from(number - XMM0));
    REGISTERS.get(usize::from(number)).copied().or_else(vector)
}

/// Where a variable's value may come into being behind a stop: the addresses that begin one of its locations, and those of
/// the next instructions.
pub(crate) fn beginnings(module: &Module, variable: &VarKey, stop: u64) -> BTreeSet<u64> {
    let Some(function) = module.function_at(stop) else { return BTreeSet::new() };
    let ranges = &module.function(function).ranges;
    let is_here = |pc: &u64| ranges.iter().any(|(low, high)| low <= pc && pc < high);
    let lists = copies(module, variable).filter_map(|var| match &var.location {
        Location::List(list) => Some(list),
        _ => None,
    });
    let mut found: BTreeSet<u64> = lists.flat_map(|list| list.iter()).map(|entry| entry.low).collect();
    let end = ranges.iter().find(|(low, high)| *low <= stop && stop < *high).map_or(stop, |range| range.1);
    found.extend(decode(module, stop, end).take(BEHIND).map(|i| i.next_ip()));
    found.retain(is_here);
    found
}

/// Whether the instruction right before an address computes what the variable's location there names.
pub(crate) fn is_made_before(table: &LineTable<'_>, variable: &VarKey, pc: u64) -> bool {
    let module = table.module();
    let Some(before) = before(module, pc) else { return false };
    let is_copy = before.mnemonic() == Mnemonic::Mov && (0..2).all(|n| before.op_kind(n) == OpKind::Register);
    let blocks = module.chain_at(pc);
    let visible = blocks.iter().flat_map(|b| &module.block(*b).vars).map(|v| module.var(*v));
    let mut ours = visible.filter(|v| is_variable(v, variable));
    let Some(ops) = ours.find_map(|var| in_force(&var.location, pc)) else { return false };
    let named: Vec<Register> = ops.iter().filter_map(register_of).collect();
    let mut factory = InstructionInfoFactory::new();
    let is_in_memory = !ops.iter().any(|op| matches!(op, Op::Register(_) | Op::StackValue | Op::Implicit(_)));
    if is_in_memory && changes_memory(&before, &mut factory) {
        return true;
    }
    let writes = |access| matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
    let info = factory.info(&before);
    let mut written = info.used_registers().iter().filter(|r| writes(r.access())).map(|r| r.register().full_register());
    !is_copy && written.any(|w| named.iter().any(|n| n.full_register() == w))
}

fn copies<'m>(module: &'m Module, variable: &VarKey) -> impl Iterator<Item = &'m Var> {
    module.vars.iter().filter(move |var| is_variable(var, variable))
}

fn is_variable(var: &Var, key: &VarKey) -> bool {
    var.name == key.name && var.decl_line == key.decl_line
}

fn in_force(location: &Location, pc: u64) -> Option<&[Op]> {
    let holds = |e: &&LocationEntry| e.low <= pc && pc < e.high;
    match location {
        Location::List(list) => Some(list.iter().find(holds)?.ops.as_ref().ok()?),
        Location::Everywhere(ops) => Some(ops),
        Location::Constant(..) | Location::None | Location::Broken(_) => None,
    }
}

fn register_of(op: &Op) -> Option<Register> {
    match op {
        Op::Register(number) | Op::RegisterOffset(number, _) | Op::TypedRegister(number, _) => register(*number),
        _ => None,
    }
}

fn decode(module: &Module, low: u64, high: u64) -> impl Iterator<Item = Instruction> {
    let code = module.code_at(low).unwrap_or_default();
    let code = &code[..code.len().min(high.saturating_sub(low) as usize)];
    let all: Vec<Instruction> = Decoder::with_ip(64, code, low, DecoderOptions::NONE).iter().collect();
    all.into_iter().filter(|i| i.code() != Code::INVALID)
}

/// The instruction that ends where another begins. A row of the line table begins with an instruction, so that its code can
/// be read from there.
fn before(module: &Module, pc: u64) -> Option<Instruction> {
    let row = module.row_around(pc.checked_sub(1)?)?;
    decode(module, row.address, pc).find(|i| i.next_ip() == pc)
}
