//! Whether a value that is no longer described could be: it is still computed, another value took its place, or an expression
//! of values that live gives it.

use super::defs::{Def, Side};
use super::judge::Function;
use super::meaning::{Choices, Depth, Meaning, Reader, Term};
use super::proof::{Proof, prove_expressible};
use crate::history::{Place, ValueId};
use crate::opcode;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use trueline_llvm_hook::wire::{ConstantKind, VariableKind};

/// The longest chain of dead instructions that is expressed; LLVM's own salvaging goes one step at a time as they die.
const LONGEST: u32 = 4;

/// How a value could be described.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// By what.
    pub by: Means,
    /// The value that is to be described.
    pub value: ValueId,
    /// The values that the description would name.
    pub live: BTreeSet<ValueId>,
    /// What the value computes from them, for [`Means::Expression`].
    pub term: Option<Rc<Term>>,
    /// Whether the description would give the value.
    pub proof: Proof,
}

/// What a value can be described by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Means {
    /// The value itself, which is still computed.
    Itself,
    /// The value that took its place in the code.
    Heir,
    /// An expression of its operands.
    Expression,
}

impl Recovery {
    /// By the value itself.
    pub fn alive(value: ValueId) -> Self {
        Self { by: Means::Itself, value, live: [value].into(), term: None, proof: Proof::Proved }
    }
}

impl Recovery {
    /// Has the solver prove that the value can be expressed, in the bits of the variable that count.
    pub fn prove(&mut self, bits: u32) {
        let Some(term) = &self.term else { return };
        let mut widths = BTreeMap::new();
        term.leaf_widths(&mut widths);
        let leaf =
            |(value, width): (&ValueId, &u32)| (*value, Rc::new(Term { width: *width, meaning: Meaning::Leaf(*value), poisoned_by: 0 }));
        self.proof = prove_expressible(term, &widths.iter().map(leaf).collect(), bits);
    }
}

/// The values that exist at one instruction behind the pass.
pub struct Survivors<'f, 'a, 'h> {
    function: &'f Function<'a, 'h>,
    point: Place,
}

impl<'f, 'a, 'h> Survivors<'f, 'a, 'h> {
    /// Those at `point`.
    pub fn at(function: &'f Function<'a, 'h>, point: Place) -> Self {
        Self { function, point }
    }

    /// How what a description said could still be said.
    pub fn recover(&self, def: &Def<'_>) -> Option<Recovery> {
        let mut whole: Option<Recovery> = None;
        for value in &def.values {
            let one = self.recover_value(*value, def.record.kind)?;
            whole = Some(match whole {
                None => one,
                Some(mut all) => {
                    all.by = all.by.max(one.by);
                    all.live.extend(one.live);
                    all
                }
            });
        }
        whole
    }

    fn recover_value(&self, value: ValueId, kind: VariableKind) -> Option<Recovery> {
        let life = match value {
            ValueId::Inst(id) => Some(self.function.history.life(id)),
            ValueId::Given(_) => None,
        };
        // Where the pass itself found the value to be undefined, there is none.
        if life.is_some_and(|life| life.taken_over_by.iter().any(|(to, _)| self.is_undefined(*to))) {
            return None;
        }
        if self.is_alive(value) {
            return Some(Recovery::alive(value));
        }
        let mut live = BTreeSet::new();
        if self.express(value, kind, LONGEST, &mut live).is_some() {
            let (history, referents) = (self.function.history, self.function.referents);
            let reader = Reader {
                history,
                referents,
                side: Side::Before,
                function: self.function.before,
                choices: Choices::Opaque,
                depth: Depth::Full,
            };
            if let Some(term) = reader.term(value) {
                return Some(Recovery { by: Means::Expression, value, live, term: Some(term), proof: Proof::Tried });
            }
        }
        let heir = self.heir(value)?;
        Some(Recovery { by: Means::Heir, value, live: [heir].into(), term: None, proof: Proof::Proved })
    }

    /// A value that took this one's place and exists here. Of a value that was moved first nobody knows where the two are the
    /// same: what replaced it may hold only there.
    fn heir(&self, value: ValueId) -> Option<ValueId> {
        if matches!(value, ValueId::Inst(id) if self.function.history.life(id).moved.is_some()) {
            return None;
        }
        self.function.heirs(value).into_iter().find(|heir| !self.is_undefined(*heir) && self.exists(*heir))
    }

    fn is_undefined(&self, value: ValueId) -> bool {
        matches!(value, ValueId::Given(at) if self.function.referents.is_undefined(at))
    }

    fn exists(&self, value: ValueId) -> bool {
        self.function.exists_at(value, self.point)
    }

    /// Whether a value is computed as before and exists at the point.
    fn is_alive(&self, value: ValueId) -> bool {
        !self.is_undefined(value) && self.exists(value) && self.function.is_stable(value)
    }

    /// Collects the live values from which a dead one can be computed by what LLVM's own salvaging can express.
    fn express(&self, value: ValueId, kind: VariableKind, steps: u32, live: &mut BTreeSet<ValueId>) -> Option<()> {
        if self.is_alive(value) {
            live.insert(value);
            return Some(());
        }
        let (ValueId::Inst(id), true) = (value, steps > 0) else { return None };
        let record = self.function.history.record_before(id)?;
        if !can_be_salvaged(record.opcode, self.function.major) {
            return None;
        }
        let operands: Vec<ValueId> = record.operands.iter().map(|at| self.function.history.value_before(*at)).collect();
        let is_number = |v: &&ValueId| {
            let ValueId::Given(at) = v else { return false };
            self.function.referents.constants.get(at).is_some_and(|c| matches!(c.kind, ConstantKind::Integer(_)))
        };
        // Only a `dbg.value` can name several values.
        let several = operands.len() - operands.iter().filter(is_number).count() > 1;
        if several && kind != VariableKind::Value {
            return None;
        }
        operands.into_iter().try_for_each(|operand| self.express(operand, kind, steps - 1, live))
    }
}

/// Whether LLVM's `salvageDebugInfo` can express what an instruction computes.
fn can_be_salvaged(number: u8, major: u32) -> bool {
    match number {
        opcode::ADD | opcode::SUB | opcode::MUL | opcode::SDIV | opcode::SREM => true,
        opcode::SHL..=opcode::XOR => true,
        opcode::GETELEMENTPTR | opcode::TRUNC | opcode::ZEXT | opcode::SEXT => true,
        opcode::PTRTOINT..=opcode::BITCAST => true,
        opcode::ICMP => major >= 18,
        _ => false,
    }
}
