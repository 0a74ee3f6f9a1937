//! PI and our extension of it to locals and globals: a variable shows only values that it has somewhere
//! in the -O0 trace. Aggregates are compared scalar by scalar.

use super::at_stop;
use crate::case::{Candidate, Case, Subject};
use crate::leaves::is_gap;
use std::collections::BTreeMap;
use std::sync::Arc;
use trueline_model::{Invariant, LineKey, VarKind};

/// Values of one variable on one line that are looked at: the first that holds is reported anyway.
const VALUES_PER_LINE: usize = 8;

pub(super) fn list(case: &Case<'_>, invariant: Invariant, found: &mut Vec<Candidate>) {
    for (key, optimized) in &case.optimized.vars {
        let is_parameter = optimized.kind == VarKind::Param;
        if is_parameter != (invariant == Invariant::Parameter) {
            continue;
        }
        let Some(reference) = case.reference.vars.get(key) else { continue };
        if !reference.ever_available {
            continue;
        }
        let mut per_line: BTreeMap<LineKey, usize> = BTreeMap::new();
        for (index, leaf) in optimized.leaves.iter().enumerate() {
            let known = reference.leaves.get(index);
            for (value, sightings) in &leaf.values {
                if is_gap(value) || known.is_some_and(|k| k.values.contains_key(value)) {
                    continue;
                }
                for sighting in sightings {
                    let Some(line) = case.optimized.stop(sighting.0).line.clone() else { continue };
                    let count = per_line.entry(line.clone()).or_default();
                    *count += 1;
                    if *count > VALUES_PER_LINE {
                        continue;
                    }
                    let mut candidate = at_stop(case, invariant, &line, sighting.0, Subject::Leaf(key.clone(), index));
                    candidate.violation.variable = Some(Arc::clone(&key.name));
                    candidate.violation.value = Some(Arc::from(&**value));
                    let allowed: Vec<&str> = known.into_iter().flat_map(|k| k.values.keys()).take(8).map(|v| &**v).collect();
                    candidate.violation.expected = Some(allowed.join(", ").into());
                    if optimized.leaves.len() > 1 {
                        candidate.violation.why = Some(format!("element {index} of the aggregate, counted over all its scalars").into());
                    }
                    found.push(candidate);
                }
            }
        }
    }
}
