//! The descriptions of variables in one snapshot, in the order of the code, and how those behind a pass go back to those
//! in front of it.

use crate::flow::BlockIndex;
use crate::history::{Birth, History, Place, ValueId};
use crate::observation::{LocationId, Referents, StackId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use trueline_llvm_hook::wire::{FunctionRecord, VariableKind, VariableRecord};

/// `DW_OP_LLVM_fragment`, which ends an expression.
pub const FRAGMENT: u64 = 0x1000;

/// A source variable, or a piece of one, in one inlined copy of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableKey {
    /// Identity of the variable.
    pub variable: u64,
    /// Where its function was inlined.
    pub inlined_at: Option<LocationId>,
    /// Offset and size in bits of the piece; `None` for all of it.
    pub fragment: Option<(u64, u64)>,
}

/// The number of a description within its side of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(pub u32);

/// A description at its place.
#[derive(Clone, Debug)]
pub struct Def<'a> {
    /// What it says.
    pub record: &'a VariableRecord,
    /// Its variable.
    pub key: VariableKey,
    /// The instruction it stands in front of, or is.
    pub place: Place,
    /// The values it names.
    pub values: Vec<ValueId>,
    /// Whether it says that the variable has no value.
    pub kills: bool,
    /// The description in front of the pass that it goes back to; itself there.
    pub origin: Option<DefId>,
    /// Where in the pass it was made, for those that were.
    pub made: Option<StackId>,
}

/// Which side of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// In front of it.
    Before,
    /// Behind it.
    After,
}

/// All descriptions of one side.
#[derive(Debug, Default)]
pub struct Defs<'a> {
    /// By number, in the order of the code.
    pub list: Vec<Def<'a>>,
    /// Numbers by function and variable.
    pub by_key: BTreeMap<(usize, VariableKey), Vec<DefId>>,
}

impl<'a> Defs<'a> {
    /// The description of a number.
    pub fn get(&self, id: DefId) -> &Def<'a> {
        &self.list[id.0 as usize]
    }

    /// Collects those in front of a pass.
    pub fn before(history: &History<'a>, referents: &Referents) -> Self {
        let mut defs = Self::collect(history, referents, Side::Before);
        for (number, def) in defs.list.iter_mut().enumerate() {
            def.origin = Some(DefId(number as u32));
        }
        defs
    }

    /// Collects those behind it, tied to those in front of it.
    pub fn after(history: &History<'a>, referents: &Referents, before: &Self) -> Self {
        let mut defs = Self::collect(history, referents, Side::After);
        let known: HashMap<u64, DefId> = before.list.iter().enumerate().map(|(i, def)| (def.record.at, DefId(i as u32))).collect();
        for def in &mut defs.list {
            (def.origin, def.made) = trace_back(history, def, &known);
        }
        defs
    }

    fn collect(history: &History<'a>, referents: &Referents, side: Side) -> Self {
        let functions: &'a [Arc<FunctionRecord>] = match side {
            Side::Before => &history.run.before,
            Side::After => &history.run.after,
        };
        let mut defs = Self::default();
        for (function, f) in functions.iter().enumerate() {
            for (block, b) in f.blocks.iter().enumerate() {
                for (index, inst) in b.instructions.iter().enumerate() {
                    let place = Place { function, block: BlockIndex(block as u32), index };
                    for record in inst.records.iter().chain(inst.describes.as_deref()) {
                        defs.add(history, referents, side, place, record);
                    }
                }
            }
        }
        defs
    }

    fn add(&mut self, history: &History<'_>, referents: &Referents, side: Side, place: Place, record: &'a VariableRecord) {
        let inlined_at = history.locations.at(record.location).and_then(|l| history.locations.get(l).inlined_at);
        let fragment = referents.expressions.get(&record.expression).and_then(|e| fragment_of(e));
        let key = VariableKey { variable: record.variable, inlined_at, fragment };
        let is_undefined = |at: &u64| referents.is_undefined(*at);
        let value = |at: &u64| match side {
            Side::Before => history.value_before(*at),
            Side::After => history.value_after(*at),
        };
        let id = DefId(self.list.len() as u32);
        self.by_key.entry((place.function, key)).or_default().push(id);
        self.list.push(Def {
            record,
            key,
            place,
            values: record.values.iter().map(value).collect(),
            kills: record.values.is_empty() || record.values.iter().any(is_undefined),
            origin: None,
            made: None,
        });
    }
}

/// What a description behind the pass goes back to, and where it was made if the pass made it.
fn trace_back(history: &History<'_>, def: &Def<'_>, known: &HashMap<u64, DefId>) -> (Option<DefId>, Option<StackId>) {
    // A call is an instruction, whose life is known; a record has events of its own.
    if let Some(id) = history.after_ids.get(&def.record.at) {
        let origin_of = |at| history.record_before(at).and_then(|r| known.get(&r.at)).copied();
        return match history.life(*id).birth {
            Birth::Original => (origin_of(*id), None),
            Birth::Cloned(from, stack) => (history.origins(from).first().and_then(|o| origin_of(*o)), Some(stack)),
            Birth::Created(stack) => (None, Some(stack)),
            Birth::Unseen => (None, None),
        };
    }
    match history.new_records.get(&def.record.at) {
        Some(birth) => (birth.origin.and_then(|at| known.get(&at)).copied(), Some(birth.stack)),
        None => (known.get(&def.record.at).copied(), None),
    }
}

/// The piece of the variable that an expression speaks of.
fn fragment_of(expression: &[u64]) -> Option<(u64, u64)> {
    match expression {
        [.., FRAGMENT, offset, size] => Some((*offset, *size)),
        _ => None,
    }
}

impl Def<'_> {
    /// Whether it says that the variable lives at an address.
    pub fn declares(&self) -> bool {
        self.record.kind == VariableKind::Declare
    }
}
