//! Where lldb 16 puts the breakpoints of a line.
//!
//! Every entry of the line counts, statement or not, but of those in one block only the first. A line without an entry is
//! replaced by the next one that has any, unit by unit, unless that is in a function declared further down. A place at a
//! function's entry moves behind its prologue.

use super::containing_function;
use super::lldb_lines::{Entry, LldbLines};
use crate::native::module::{FileId, Module};
use std::collections::HashSet;

/// The line above a declaration still counts as the function's: compilers give the line of the name.
const GRACE: u32 = 1;

/// The addresses for a line of the files that a test accepts.
pub(crate) fn places(module: &Module, lines: &LldbLines, wanted: impl Fn(FileId) -> bool, line: u32) -> Vec<u64> {
    let usable = |e: &Entry| e.pc != 0 && module.function_at(e.pc).is_some();
    let mut blocks = HashSet::new();
    let mut chosen = Vec::new();
    for entry in lines.closest(usable, wanted, line) {
        let (Some(function), Some(block)) = (module.function_at(entry.pc), module.block_at(entry.pc)) else { continue };
        let (_, declared) = containing_function(module, block);
        if line + GRACE < declared || !blocks.insert(block) {
            continue;
        }
        let is_entry = module.function(function).entry() == entry.pc;
        chosen.push(if is_entry { lines.after_prologue(module, function) } else { entry.pc });
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}
