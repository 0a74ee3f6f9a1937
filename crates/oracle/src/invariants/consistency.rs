//! One trace alone against the source (the paper's section 8): a line outside its function, a call line
//! outside its caller, a variable of a block that the stop is not in.

use super::at_stop;
use crate::case::{Candidate, Case, Subject};
use std::sync::Arc;
use trueline_model::{Invariant, VarKind};

pub(super) fn list(case: &Case<'_>, found: &mut Vec<Candidate>) {
    for (key, digest) in &case.optimized.lines {
        for id in &digest.stops {
            let stop = case.optimized.stop(*id);
            for (depth, activation) in stop.stack.iter().enumerate() {
                let Some(at) = &activation.at else { continue };
                let Some(extents) = case.reference_facts.functions.get(&activation.function) else { continue };
                if extents.iter().any(|e| e.contains(at)) {
                    continue;
                }
                let subject = Subject::Activation(Arc::clone(&activation.function), at.clone());
                let mut candidate = at_stop(case, Invariant::Consistency, key, *id, subject);
                let extent = &extents[0];
                let what = if depth == 0 { "stands on" } else { "is said to call from" };
                candidate.violation.function = Arc::clone(&activation.function);
                candidate.violation.file = at.file.clone();
                candidate.violation.line = at.line;
                candidate.violation.expected =
                    Some(format!("`{}` is lines {} to {}", activation.function, extent.first, extent.last).into());
                candidate.violation.why = Some(format!("frame {depth}, `{}`, {what} line {}", activation.function, at.line).into());
                found.push(candidate);
            }
        }
        if *case.source.file != *key.file.as_str() {
            continue;
        }
        for (variable, stop) in &digest.visible {
            if case.optimized.vars.get(variable).is_none_or(|v| v.kind != VarKind::Local) {
                continue;
            }
            // Declarations of other files have nothing to do with this file's blocks.
            let here = |e: &crate::facts::Extent| *e.file == *case.source.file && (e.first..=e.last).contains(&variable.decl_line);
            if !case.reference_facts.functions.get(&variable.function).is_some_and(|f| f.iter().any(here)) {
                continue;
            }
            let Some(block) = case.source.block_of(variable.decl_line) else { continue };
            // A body's variables may show on its function's header; a block's on the statement that opens it.
            let is_body = block.depth == 1;
            if is_body || (block.open.saturating_sub(1)..=block.close).contains(&key.line.0) {
                continue;
            }
            let mut candidate = at_stop(case, Invariant::Consistency, key, *stop, Subject::Variable(variable.clone()));
            candidate.violation.variable = Some(Arc::clone(&variable.name));
            candidate.violation.expected =
                Some(format!("`{}` lives in the block of lines {} to {}", variable.name, block.open, block.close).into());
            candidate.violation.why = Some(format!("line {} is outside that block", key.line).into());
            found.push(candidate);
        }
    }
}
