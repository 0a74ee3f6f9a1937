//! Arguments that a pass found to be unused, so that callers pass nothing for them any more, and that still describe variables
//! of the called function: a debugger shows what happens to be where the argument would be.
//!
//! Only calls that stay are looked at, and only values that were known to be there: what a pass finds to be undefined was
//! shown as anything before. Deliberately absent: functions whose signature was changed.

use super::judge::{Attention, Counterexample, Described, Deviation, Function, Judged, VariableErrorKind};
use super::meaning::Assignment;
use super::reach::Holding;
use crate::flow::Flow;
use crate::history::{History, ValueId};
use crate::observation::{Referents, StackId};
use crate::opcode;
use std::collections::{BTreeMap, BTreeSet};

/// Arguments that a call stopped to pass, by the called function's index behind the pass.
pub struct Unpassed(BTreeMap<usize, BTreeSet<u64>>);

impl Unpassed {
    /// Finds them.
    pub fn of(history: &History<'_>, referents: &Referents) -> Self {
        let functions = &history.run.after;
        let by_name: BTreeMap<&str, usize> = functions.iter().enumerate().map(|(i, f)| (f.name.as_str(), i)).collect();
        let mut found: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        for function in functions {
            let undefined = |at: &u64| referents.is_undefined(*at);
            let passes_nothing = |i: &&trueline_llvm_hook::wire::InstructionRecord| {
                opcode::is_call(i.opcode) && by_name.contains_key(i.callee.as_str()) && i.operands.iter().any(undefined)
            };
            for (number, block) in function.blocks.iter().enumerate() {
                for call in block.instructions.iter().filter(passes_nothing) {
                    let callee = by_name[call.callee.as_str()];
                    let reached = || Flow::feasible(function).is_reachable(crate::flow::BlockIndex(number as u32));
                    let arguments = lost_arguments(history, referents, call, callee);
                    if !arguments.is_empty() && reached() {
                        found.entry(callee).or_default().extend(arguments);
                    }
                }
            }
        }
        Self(found)
    }

    /// Those of a function.
    pub fn of_function(&self, after: usize) -> Option<&BTreeSet<u64>> {
        self.0.get(&after)
    }
}

/// The arguments of the called function, by address, for which this call passed something in front of the pass.
fn lost_arguments(
    history: &History<'_>,
    referents: &Referents,
    call: &trueline_llvm_hook::wire::InstructionRecord,
    callee: usize,
) -> Vec<u64> {
    let Some(old) = history.after_ids.get(&call.at).and_then(|id| history.record_before(*id)) else { return Vec::new() };
    if old.callee != call.callee || old.operands.len() != call.operands.len() {
        return Vec::new();
    }
    let was_there = |at: u64| match history.value_before(at) {
        ValueId::Given(at) => !referents.is_undefined(at),
        ValueId::Inst(id) => history.record_after(id).is_some(),
    };
    let arguments = history.run.after[callee].arguments.iter();
    let lost =
        arguments.zip(old.operands.iter().zip(&call.operands)).filter(|(_, (old, new))| was_there(**old) && referents.is_undefined(**new));
    lost.map(|(argument, _)| argument.at).collect()
}

impl Function<'_, '_> {
    /// Descriptions of this function's variables by arguments that a caller does not pass any more.
    pub(super) fn find_unpassed(&self, arguments: &BTreeSet<u64>, judged: &mut Judged) {
        let Described { before, after } = self.described;
        let mut told = BTreeSet::new();
        for ((_, key), ids) in after.by_key.iter().filter(|((function, _), _)| *function == self.after) {
            let name = self.referents.variables.get(&key.variable).map(|v| v.name.as_str());
            if matches!(self.attention, Attention::Only(only, _) if name != Some(only)) {
                continue;
            }
            for id in ids {
                let is = after.get(*id);
                let [value @ ValueId::Given(at)] = is.values.as_slice() else { continue };
                let Some(origin) = is.origin.filter(|_| arguments.contains(at) && !is.kills) else { continue };
                let says_the_same = before.get(origin).values == [*value];
                if !says_the_same || !self.new_flow.is_reachable(is.place.block) || !told.insert(*key) {
                    continue;
                }
                let nothing = Counterexample { numbers: Assignment::new(), value: 0, described: None, bits: 0, by: Deviation::Unpassed };
                let sides: (Holding, Holding) = ([Some(origin)].into(), [Some(*id)].into());
                judged.compared += 1;
                self.tell(judged, VariableErrorKind::Wrong, *key, None, (&sides.0, &sides.1), StackId::default(), |v| {
                    v.counterexample = Some(nothing);
                });
            }
        }
    }
}
