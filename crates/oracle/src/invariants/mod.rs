//! One module per invariant; each lists candidates by its literal definition.

mod backtrace;
mod consistency;
mod dwarf;
mod line;
mod scope;
mod value;

use crate::case::{Candidate, Case, Subject};
use crate::digest::StopId;
use std::sync::Arc;
use trueline_model::{Invariant, LineKey, Violation};

/// The candidates of every wanted invariant. `codegen` has none here: it compares code, not traces.
pub(crate) fn candidates(case: &Case<'_>, wanted: &[Invariant]) -> Vec<Candidate> {
    let mut found = Vec::new();
    for invariant in wanted {
        match invariant {
            Invariant::Line => line::list(case, &mut found),
            Invariant::Backtrace => backtrace::list(case, &mut found),
            Invariant::Scope => scope::list(case, &mut found),
            Invariant::Parameter | Invariant::Value => value::list(case, *invariant, &mut found),
            Invariant::Consistency => consistency::list(case, &mut found),
            Invariant::Dwarf => dwarf::list(case, &mut found),
            Invariant::Codegen => {}
        }
    }
    found
}

/// A candidate at a stop, with everything that the stop says filled in.
fn at_stop(case: &Case<'_>, invariant: Invariant, key: &LineKey, stop: StopId, subject: Subject) -> Candidate {
    let place = case.optimized.stop(stop);
    let frames = place.functions();
    Candidate {
        violation: Violation {
            invariant,
            file: key.file.clone(),
            line: key.line,
            function: frames.first().cloned().unwrap_or_else(|| Arc::from("")),
            frames,
            variable: None,
            value: None,
            expected: None,
            pc: Some(place.pc),
            why: None,
        },
        subject,
        stop: Some(stop),
    }
}

/// What the line table says at the address of a stop, as a sentence, when it says more than one line.
fn shared_rows(case: &Case<'_>, pc: u64) -> Option<Arc<str>> {
    let rows = case.optimized_facts.rows_at.get(&pc)?;
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let name = row.line.as_ref().map_or_else(|| "0".to_owned(), |l| l.line.to_string());
        if !lines.contains(&name) {
            lines.push(name);
        }
    }
    match lines.len() {
        0 => None,
        1 => Some(format!("the line table gives {pc:#x} line {} only", lines[0]).into()),
        _ => Some(format!("lines {} share {pc:#x}; a debugger shows one of them", lines.join(", ")).into()),
    }
}
