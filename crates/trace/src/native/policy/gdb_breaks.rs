//! Where gdb puts the breakpoints of a line.
//!
//! Every statement of the line counts, in the order of addresses, but of those in one block only the first. A line without
//! a statement is replaced by the next one that has any: in gdb 13 be that in another function, in gdb 18 not where that
//! function begins there and is declared below the line. A place in a prologue moves to the prologue's end.

use super::containing_function;
use super::gdb::body_start;
use super::gdb_lines::GdbLines;
use crate::native::module::{FileId, Module};
use std::collections::HashSet;
use trueline_model::Policy;

/// The addresses for a line of the files that a test accepts.
pub(crate) fn places(module: &Module, lines: &GdbLines, policy: Policy, wanted: impl Fn(FileId) -> bool + Copy, line: u32) -> Vec<u64> {
    let mut chosen: Vec<u64> = chosen(module, lines, policy, wanted, line).into_iter().map(|(_, pc)| pc).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// The statements of a line that breakpoints are set for, each with where its breakpoint goes.
pub(crate) fn chosen(
    module: &Module,
    lines: &GdbLines,
    policy: Policy,
    wanted: impl Fn(FileId) -> bool + Copy,
    line: u32,
) -> Vec<(u64, u64)> {
    let mut found = lines.statements(wanted, line);
    let is_exact = !found.is_empty();
    if !is_exact {
        found = lines.next_line(wanted, line).map_or_else(Vec::new, |later| lines.statements(wanted, later));
    }
    let mut blocks = HashSet::new();
    let mut chosen = Vec::new();
    for pc in found {
        let block = module.block_at(pc);
        let is_before = |(body, declared)| line < declared && module.entry_of(body) == pc;
        if policy == Policy::Gdb18 && !is_exact && block.is_some_and(|b| is_before(containing_function(module, b))) {
            continue;
        }
        if block.is_some_and(|b| !blocks.insert(b)) {
            continue;
        }
        chosen.push((pc, module.function_at(pc).map_or(pc, |f| body_start(module, lines, f).max(pc))));
    }
    chosen
}
