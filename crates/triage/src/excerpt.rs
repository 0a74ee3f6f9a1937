//! The part of the debug information that is wrong: the line rows at the violating address, the blocks whose ranges hold
//! it, the variable with its locations.

use trueline_dwarf::Module;
use trueline_model::{Invariant, Violation};

/// Lines of context kept from each part: a draft is to be read.
const KEPT: usize = 24;

/// The excerpt for a violation in a build; `None` when there is nothing to show.
pub fn excerpt(debug: &Module, violation: &Violation) -> Option<String> {
    let excerpt = debug.excerpt(violation.pc, violation.variable().map(|name| &**name));
    let mut parts = Vec::new();
    let mut part = |title: String, lines: Vec<String>| {
        if !lines.is_empty() {
            let kept: Vec<String> = lines.into_iter().take(KEPT).collect();
            parts.push(format!("{title}\n{}", kept.join("\n")));
        }
    };
    if let Some(pc) = violation.pc {
        part(format!(".debug_line rows around {pc:#x}"), excerpt.rows);
        if matches!(violation.invariant(), Invariant::Backtrace | Invariant::Scope) {
            part(format!("functions and blocks whose ranges hold {pc:#x}"), excerpt.scopes);
        }
    }
    if let Some(variable) = violation.variable() {
        part(format!("`{variable}`"), excerpt.locations);
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}
