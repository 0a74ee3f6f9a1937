//! One trace alone against the source (the paper's section 8): a line outside its function, a call line
//! outside its caller, a variable of a block that the stop is not in.

use super::{ToldBy, at_stop, is_in_function, variables_of};
use crate::case::{Candidate, Case, Subject};
use std::sync::Arc;
use trueline_model::{Breach, Contradiction, Line, Step, VarKind, Violation};

pub(super) const TOLD_BY: ToldBy = ToldBy::Address;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
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
                let (first, last) = (Line(extents[0].first), Line(extents[0].last));
                let breach = Breach::SelfContradiction(Contradiction::Frame { depth, first, last });
                let mut candidate = at_stop(case, key, *id, subject, breach);
                candidate.violation.function = Arc::clone(&activation.function);
                candidate.violation.file = at.file.clone();
                candidate.violation.line = at.line;
                found(candidate);
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
            let (open, close) = (Line(block.open), Line(block.close));
            let breach = Breach::SelfContradiction(Contradiction::Block { variable: Arc::clone(&variable.name), open, close });
            found(at_stop(case, key, *stop, Subject::Variable(variable.clone()), breach));
        }
    }
}

pub(super) fn shows(violation: &Violation, breach: &Contradiction, step: &Step) -> bool {
    let on_line = |line: Option<Line>| line == Some(violation.line);
    match breach {
        Contradiction::Frame { .. } => step.frames.iter().any(|f| f.function == violation.function && on_line(f.line)),
        Contradiction::Block { .. } => {
            on_line(step.line) && is_in_function(violation, step) && variables_of(violation, step).next().is_some()
        }
    }
}
