//! PI and our extension of it to locals and globals: a variable shows only values that it has somewhere
//! in the -O0 trace. Aggregates are compared scalar by scalar.

use super::{ToldBy, at_stop, has_wrong_value, is_in_function, variables_of};
use crate::case::{Candidate, Case, Strictness, Subject};
use crate::leaves::is_gap;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueline_model::{Breach, LineKey, Listed, NeverHeld, Step, VarKind, Violation};

/// Values of one variable on one line that are looked at: the first that holds is reported anyway.
const VALUES_PER_LINE: usize = 8;

/// Values that are kept of those that -O0 has.
const LISTED: usize = 8;

pub(super) const TOLD_BY: ToldBy = ToldBy::Values;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    list_of(case, |kind| kind != VarKind::Param, Breach::Value, found);
}

/// The candidates among variables of some kinds.
pub(super) fn list_of(case: &Case<'_>, wanted: fn(VarKind) -> bool, breach: fn(NeverHeld) -> Breach, found: &mut dyn FnMut(Candidate)) {
    for (key, optimized) in case.optimized.vars.iter().filter(|(_, v)| wanted(v.kind)) {
        let Some(reference) = case.reference.vars.get(key) else { continue };
        if !reference.ever_available {
            continue;
        }
        let mut per_line: BTreeMap<LineKey, usize> = BTreeMap::new();
        for (index, leaf) in optimized.leaves.iter().enumerate() {
            let known = reference.leaves.get(index);
            let allowed = OnceCell::new();
            let list = || Listed::first_of(known.into_iter().flat_map(|k| k.values.keys()).map(|v| Arc::from(&**v)), LISTED);
            for (value, sightings) in &leaf.values {
                if is_gap(value) || known.is_some_and(|k| k.values.contains_key(value)) {
                    continue;
                }
                for sighting in sightings {
                    let Some(line) = case.optimized.stop(sighting.0).line.clone() else { continue };
                    let count = per_line.entry(line.clone()).or_default();
                    *count += 1;
                    if *count > VALUES_PER_LINE && case.strictness == Strictness::Filtered {
                        continue;
                    }
                    let held = NeverHeld {
                        variable: Arc::clone(&key.name),
                        element: (optimized.leaves.len() > 1).then_some(index),
                        value: Arc::from(&**value),
                        allowed: allowed.get_or_init(list).clone(),
                    };
                    let subject = Subject::Leaf(key.clone(), index);
                    found(at_stop(case, &line, sighting.0, subject, breach(held)));
                }
            }
        }
    }
}

pub(super) fn shows(violation: &Violation, _: &NeverHeld, step: &Step) -> bool {
    shows_value(violation, step)
}

/// True where a stop in the violation's function shows its value.
pub(super) fn shows_value(violation: &Violation, step: &Step) -> bool {
    is_in_function(violation, step) && variables_of(violation, step).any(|v| has_wrong_value(violation, &v.observation))
}
