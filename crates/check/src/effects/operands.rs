//! Variables that an effect is fed from, unchanged: arguments of calls, and what is stored to a global variable.
//!
//! At -O0 a variable lives in its slot of the frame and is loaded from there for each use. Following registers through the
//! straight code before an effect tells which of them hold a variable just as it is. In the optimized build the same value
//! is then in the register that the convention of calls says, or in what is stored, so that the variable could be shown
//! at that instruction. Deliberately absent: expressions of variables, values in vector registers.

use super::ReferenceEffects;
use super::run::{ARGUMENTS, Deed};
use super::sites::Act;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use trueline_dwarf::op::Op;
use trueline_dwarf::{BlockKind, Location, Module, TypeKind};
use trueline_machine::lift::gpr_slice;
use trueline_model::{LineEffect, LineKey, Recovery, VarKey};
use trueline_oracle::LostNote;

/// The DWARF number of rbp.
const RBP: u16 = 6;

/// A variable that is handed on as it is, and how wide it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fed {
    variable: VarKey,
    size: u64,
    /// Which argument it is; none for what is stored.
    argument: Option<usize>,
}

/// Looks for variables that are lost where they are handed on.
pub(super) struct LostSearch<'s> {
    reference: &'s ReferenceEffects,
    optimized: &'s ReferenceEffects,
    feeds: HashMap<u64, Vec<Fed>>,
    found: BTreeMap<(LineKey, VarKey), LostNote>,
    /// Where a value was another one than at -O0: there the place is not the variable's.
    refuted: BTreeSet<(LineKey, VarKey)>,
}

impl<'s> LostSearch<'s> {
    pub(super) fn new(reference: &'s ReferenceEffects, optimized: &'s ReferenceEffects) -> Self {
        Self { reference, optimized, feeds: HashMap::new(), found: BTreeMap::new(), refuted: BTreeSet::new() }
    }

    /// Looks at one effect in both runs.
    pub(super) fn compare(&mut self, at_o0: &Deed, here: &Deed, line: &LineKey, function: &Arc<str>, effect: &LineEffect) {
        let (Some(from), Some(pc)) = (at_o0.pc, here.pc) else { return };
        let debug = &self.reference.build.debug;
        let act = self.reference.build.acts.get(&from);
        let feeds = self.feeds.entry(from).or_insert_with(|| act.map_or_else(Vec::new, |act| feeds(debug, from, act)));
        for fed in feeds.clone() {
            let key = (line.clone(), fed.variable.clone());
            let mask = if fed.size >= 8 { u64::MAX } else { (1 << (8 * fed.size)) - 1 };
            let (place, is_same) = match fed.argument {
                Some(n) => (spell(ARGUMENTS[n], fed.size), (at_o0.arguments[n] ^ here.arguments[n]) & mask == 0),
                None => match self.optimized.build.acts.get(&pc).and_then(stored) {
                    Some(place) => (place, true),
                    None => continue,
                },
            };
            if !is_same {
                self.refuted.insert(key);
                continue;
            }
            let functions = self.optimized.build.functions_at(pc);
            if functions.first() != Some(function) || is_available(&self.optimized.build.debug, pc, &fed.variable) != Some(false) {
                continue;
            }
            let evidence = match effect {
                LineEffect::Call { callee } => Recovery::Argument { callee: Arc::clone(callee), place: place.into() },
                LineEffect::Store { object } => Recovery::Stored { object: Arc::clone(object), place: place.into() },
            };
            let note = LostNote { line: line.clone(), variable: fed.variable, pc, frames: functions, evidence };
            self.found.entry(key).or_insert(note);
        }
    }

    /// What is lost.
    pub(super) fn found(self) -> Vec<LostNote> {
        let Self { found, refuted, .. } = self;
        found.into_iter().filter(|(key, _)| !refuted.contains(key)).map(|(_, note)| note).collect()
    }
}

/// A register as wide as a value.
fn spell(register: Register, size: u64) -> String {
    let narrow = match size {
        1 | 2 => register.full_register32(),
        4 => register.full_register32(),
        _ => register,
    };
    format!("{narrow:?}").to_lowercase()
}

/// What a plain store stores: a register or a constant.
fn stored(act: &Act) -> Option<String> {
    let Act::Store(instruction) = act else { return None };
    if instruction.mnemonic() != Mnemonic::Mov || instruction.op0_kind() != OpKind::Memory {
        return None;
    }
    match instruction.op1_kind() {
        OpKind::Register if gpr_slice(instruction.op1_register()).is_some() => {
            Some(format!("{:?}", instruction.op1_register()).to_lowercase())
        }
        OpKind::Register => None,
        _ => Some(format!("the constant {}", instruction.immediate(1) as i64)),
    }
}

/// The variables that an effect at -O0 hands on as they are.
fn feeds(debug: &Module, pc: u64, act: &Act) -> Vec<Fed> {
    let slots = slots_before(debug, pc);
    let of = |register: Register, argument: Option<usize>| {
        let slot = slots.get(&register.full_register())?;
        let (variable, size) = variable_in(debug, pc, *slot)?;
        Some(Fed { variable, size, argument })
    };
    match act {
        Act::Call(_) => ARGUMENTS.iter().enumerate().filter_map(|(n, register)| of(*register, Some(n))).collect(),
        Act::Store(i) if i.mnemonic() == Mnemonic::Mov && i.op1_kind() == OpKind::Register => {
            let fed = of(i.op1_register(), None);
            fed.into_iter().filter(|f| f.size == i.memory_size().size() as u64).collect()
        }
        Act::Store(_) | Act::Enter(_) => Vec::new(),
    }
}

/// A slot of the frame: its distance from rbp and its size.
pub(super) type Slot = (i64, u64);

/// Which registers hold the contents of a slot, unchanged, just before an address.
fn slots_before(debug: &Module, pc: u64) -> HashMap<Register, Slot> {
    let mut held: HashMap<Register, Slot> = HashMap::new();
    let Some(function) = debug.function_at(pc).map(|f| debug.function(f)) else { return held };
    let Some(&(low, high)) = function.ranges.iter().find(|r| r.0 <= pc && pc < r.1) else { return held };
    let Some(code) = debug.code_at(low) else { return held };
    let code = &code[..code.len().min((high - low) as usize)];
    let instructions: Vec<Instruction> = Decoder::with_ip(64, code, low, DecoderOptions::NONE).into_iter().collect();
    let targets: HashSet<u64> = instructions.iter().map(Instruction::near_branch64).collect();
    let mut factory = InstructionInfoFactory::new();
    for instruction in instructions.iter().take_while(|i| i.ip() < pc) {
        if targets.contains(&instruction.ip()) {
            held.clear();
        }
        follow(instruction, &mut held, &mut factory);
    }
    if targets.contains(&pc) {
        held.clear();
    }
    held
}

fn follow(instruction: &Instruction, held: &mut HashMap<Register, Slot>, factory: &mut InstructionInfoFactory) {
    if instruction.flow_control() != FlowControl::Next {
        held.clear();
        return;
    }
    let moves = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd);
    let to = instruction.op0_register().full_register();
    let new = match (moves, instruction.op0_kind(), instruction.op1_kind()) {
        (true, OpKind::Register, OpKind::Memory)
            if instruction.memory_base() == Register::RBP && instruction.memory_index() == Register::None =>
        {
            Some((instruction.memory_displacement64() as i64, instruction.memory_size().size() as u64))
        }
        (true, OpKind::Register, OpKind::Register) => held
            .get(&instruction.op1_register().full_register())
            .copied()
            // A part of what is held is another value.
            .filter(|slot| instruction.op1_register().size() as u64 >= slot.1),
        _ => None,
    };
    let is_widening = matches!(instruction.mnemonic(), Mnemonic::Cdqe | Mnemonic::Cwde);
    if is_widening {
        return;
    }
    let writes = |access| matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
    let info = factory.info(instruction);
    for used in info.used_registers().iter().filter(|u| writes(u.access())) {
        held.remove(&used.register().full_register());
    }
    // Whatever is stored may be stored to a slot.
    for place in info.used_memory().iter().filter(|m| writes(m.access())) {
        let (start, size) = (place.displacement() as i64, place.memory_size().size().max(1) as i64);
        let is_slot = place.base() == Register::RBP && place.index() == Register::None;
        held.retain(|_, slot| is_slot && (slot.0 >= start + size || start >= slot.0 + slot.1 as i64));
    }
    if let (Some(slot), true) = (new, to != Register::None) {
        held.insert(to, slot);
    }
}

/// The scalar variable of the source that lives in a slot.
pub(super) fn variable_in(debug: &Module, pc: u64, slot: Slot) -> Option<(VarKey, u64)> {
    let function = debug.function(debug.function_at(pc)?);
    let from_rbp = |offset: i64| match &function.frame_base {
        Location::Everywhere(ops) if matches!(**ops, [Op::Cfa]) => Some(offset + 16),
        Location::Everywhere(ops) if matches!(**ops, [Op::Register(RBP)]) => Some(offset),
        _ => None,
    };
    let mut found = None;
    for block in debug.chain_at(pc).into_iter().map(|b| debug.block(b)) {
        // What lives in an inlined function's slot is not this function's.
        if matches!(block.kind, BlockKind::Inlined { .. }) {
            return None;
        }
        for &id in &block.vars {
            let var = debug.var(id);
            let at = match &var.location {
                Location::Everywhere(ops) => match &**ops {
                    [Op::FrameOffset(offset)] => from_rbp(*offset),
                    _ => None,
                },
                _ => None,
            };
            let ty = debug.ty(var.ty);
            let is_scalar = matches!(ty.kind, TypeKind::Signed | TypeKind::Unsigned | TypeKind::Pointer | TypeKind::Reference(_));
            if at == Some(slot.0) && ty.size == slot.1 && is_scalar && !var.is_artificial {
                let key = VarKey { function: Arc::clone(&function.name), name: Arc::clone(&var.name), decl_line: var.decl_line };
                // Two variables that share a slot cannot be told apart.
                if found.replace((key, ty.size)).is_some() {
                    return None;
                }
            }
        }
    }
    found
}

/// Whether a variable has a location at an address; `None` where no debugger would have it in scope.
pub(crate) fn is_available(debug: &Module, pc: u64, variable: &VarKey) -> Option<bool> {
    let entry = debug.function(debug.function_at(pc)?).entry();
    let mut known = None;
    for block in debug.chain_at(pc).into_iter().map(|b| debug.block(b)) {
        for &id in &block.vars {
            let var = debug.var(id);
            if var.name != variable.name || var.decl_line != variable.decl_line {
                continue;
            }
            let has = matches!(var.location, Location::Constant(..)) || var.location.at(pc, entry).is_some();
            known = Some(known.unwrap_or(false) || has);
        }
        if !matches!(block.kind, BlockKind::Lexical) {
            // The innermost function is the variable's, or it is not looked for here.
            break;
        }
    }
    known
}
