//! Spreads relations from the points where they were found over the rest of the function.
//!
//! Forward and backward data flow with intersection at joins, and reversibility: across `add`, `sub`,
//! `inc`, `dec` and `lea` of a register onto itself a relation is rewritten instead of killed. This pass
//! looks at the machine only; whether the source has changed the variable meanwhile is asked afterwards, of
//! every relation at every PC.

use crate::flow::Graph;
use crate::relation::{Affine, Relation, Source};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::lift::gpr_slice;

/// Which way relations are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Along the way the code runs.
    Forward,
    /// Against the way the code runs.
    Backward,
}

/// Whether reversible instructions rewrite or kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversibility {
    /// Reversible updates rewrite the relation.
    Used,
    /// Every update ends the relation.
    Ignored,
}

/// A set of relations per PC.
pub type Facts = BTreeMap<u64, BTreeSet<Relation>>;

/// What an instruction does to relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationEffect {
    /// It writes these general registers and vector registers, and maybe the frame.
    Writes {
        /// The general registers, by their numbers.
        gpr: u16,
        /// The vector registers, sixteen bytes each.
        xmm: u16,
        /// Memory that may be the frame.
        frame: bool,
    },
    /// `register += factor·other + constant`, and nothing else is written.
    Shift {
        /// The register that is updated.
        register: u8,
        /// Another register and its factor.
        other: Option<(u8, i64)>,
        /// The constant that is added.
        constant: i64,
    },
}

/// The effect of an instruction.
pub fn effect(instruction: &Instruction) -> RelationEffect {
    if let Some(shift) = shift(instruction) {
        return shift;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let (mut gpr, mut xmm) = (0u16, 0u16);
    for used in info.used_registers() {
        if !writes(used.access()) {
            continue;
        }
        if let Some((n, ..)) = gpr_slice(used.register()) {
            gpr |= 1 << n;
        } else if used.register().is_xmm() || used.register().is_ymm() {
            let n = used.register().number();
            if n < 16 {
                xmm |= 1 << n;
            }
        }
    }
    let mut frame = info.used_memory().iter().any(|m| writes(m.access()));
    if matches!(instruction.mnemonic(), Mnemonic::Call) {
        // Caller-saved registers of the System V convention.
        gpr |= 0b0000_1111_1100_0111;
        xmm = u16::MAX;
        frame = true;
    }
    RelationEffect::Writes { gpr, xmm, frame }
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn shift(i: &Instruction) -> Option<RelationEffect> {
    let register = (i.op0_kind() == OpKind::Register).then(|| gpr_slice(i.op0_register())).flatten()?;
    let (n, _, width) = register;
    if width < 32 || n == trueline_machine::algebra::RSP {
        return None;
    }
    let immediate = |index: u32| match i.op_kind(index) {
        OpKind::Immediate8 | OpKind::Immediate8to32 | OpKind::Immediate8to64 | OpKind::Immediate32 | OpKind::Immediate32to64 => {
            let value = i.immediate(index) as i64;
            Some(if width == 32 { i64::from(value as i32) } else { value })
        }
        _ => None,
    };
    let plain = |register: Register| gpr_slice(register).filter(|(m, low, w)| *m != n && *low == 0 && *w == width).map(|(m, ..)| m);
    let sign = if i.mnemonic() == Mnemonic::Sub { -1 } else { 1 };
    match i.mnemonic() {
        Mnemonic::Inc => Some(RelationEffect::Shift { register: n, other: None, constant: 1 }),
        Mnemonic::Dec => Some(RelationEffect::Shift { register: n, other: None, constant: -1 }),
        Mnemonic::Add | Mnemonic::Sub => {
            if let Some(k) = immediate(1) {
                return Some(RelationEffect::Shift { register: n, other: None, constant: sign * k });
            }
            let other = (i.op1_kind() == OpKind::Register).then(|| plain(i.op1_register())).flatten()?;
            Some(RelationEffect::Shift { register: n, other: Some((other, sign)), constant: 0 })
        }
        Mnemonic::Lea => {
            let base = gpr_slice(i.memory_base())?.0;
            let index = i.memory_index();
            if base == n && index == Register::None {
                return Some(RelationEffect::Shift { register: n, other: None, constant: i.memory_displacement64() as i64 });
            }
            let other = gpr_slice(index).map(|x| x.0).filter(|m| *m != n)?;
            (base == n).then_some(RelationEffect::Shift {
                register: n,
                other: Some((other, i64::from(i.memory_index_scale()))),
                constant: i.memory_displacement64() as i64,
            })
        }
        _ => None,
    }
}

/// Carries one relation across an instruction; `None` when it is killed.
pub fn carry(relation: &Relation, effect: &RelationEffect, direction: Direction, reversibility: Reversibility) -> Option<Relation> {
    match effect {
        RelationEffect::Writes { gpr, xmm, frame } => match relation {
            Relation::Vector(n) => (xmm >> n & 1 == 0).then(|| relation.clone()),
            Relation::Affine(a) => {
                let killed = (0..16).any(|n| gpr >> n & 1 == 1 && a.mentions(n)) || (*frame && a.reads_frame());
                (!killed).then(|| relation.clone())
            }
            Relation::Bits(_) => Some(relation.clone()),
        },
        RelationEffect::Shift { register, other, constant } => {
            let Relation::Affine(a) = relation else { return Some(relation.clone()) };
            if !a.mentions(*register) {
                return Some(relation.clone());
            }
            if reversibility == Reversibility::Ignored {
                return None;
            }
            // Forward: old = new - (…); backward: new = old + (…).
            let sign = if direction == Direction::Forward { -1 } else { 1 };
            let mut result = a.clone();
            let mut factor = 0i64;
            for (source, k) in &a.terms {
                if matches!(source, Source::Register(n) | Source::Half(n) if n == register) {
                    factor = factor.checked_add(*k)?;
                }
            }
            result.constant = result.constant.checked_add(factor.checked_mul(*constant)?.checked_mul(sign)?)?;
            if let Some((other, scale)) = other {
                add_term(&mut result, Source::Register(*other), factor.checked_mul(*scale)?.checked_mul(sign)?)?;
            }
            Some(Relation::Affine(result))
        }
    }
}

fn add_term(affine: &mut Affine, source: Source, factor: i64) -> Option<()> {
    match affine.terms.iter_mut().find(|(s, _)| *s == source) {
        Some((_, k)) => *k = k.checked_add(factor)?,
        None => affine.terms.push((source, factor)),
    }
    affine.terms.retain(|(_, k)| *k != 0);
    affine.terms.sort_unstable();
    Some(())
}

/// Spreads the facts at `cuts` (one set per cut PC) to a fixed point.
pub fn spread(graph: &Graph, cuts: &Facts, direction: Direction, reversibility: Reversibility) -> Facts {
    let effects: BTreeMap<u64, RelationEffect> = graph.instructions.iter().map(|(pc, i)| (*pc, effect(i))).collect();
    let empty = Vec::new();
    // A missing entry is the top element: everything.
    let mut facts: Facts = cuts.clone();
    let mut order: Vec<u64> = graph.instructions.keys().copied().collect();
    if direction == Direction::Backward {
        order.reverse();
    }
    for _ in 0..order.len() + 2 {
        let mut changed = false;
        for pc in &order {
            if cuts.contains_key(pc) {
                continue;
            }
            let sources = match direction {
                Direction::Forward => graph.predecessors.get(pc).unwrap_or(&empty),
                Direction::Backward => graph.successors.get(pc).unwrap_or(&empty),
            };
            let mut meet: Option<BTreeSet<Relation>> = if sources.is_empty() { Some(BTreeSet::new()) } else { None };
            for source in sources {
                let Some(known) = facts.get(source) else { continue };
                let crossed = match direction {
                    Direction::Forward => &effects[source],
                    Direction::Backward => &effects[pc],
                };
                let carried: BTreeSet<Relation> = known.iter().filter_map(|r| carry(r, crossed, direction, reversibility)).collect();
                meet = Some(match meet {
                    None => carried,
                    Some(have) => have.intersection(&carried).cloned().collect(),
                });
            }
            if let Some(meet) = meet
                && facts.get(pc) != Some(&meet)
            {
                facts.insert(*pc, meet);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    facts
}
