//! Where breakpoints on lines go, as each debugger chooses, without a program that runs.

use super::line::Row;
use super::module::{BlockId, BlockKind, FileId, Module};
use super::policy::containing_function;
use super::policy::gdb::body_start;
use super::policy::gdb_breaks;
use super::policy::gdb_lines::GdbLines;
use super::policy::lldb_breaks;
use super::policy::lldb_lines::LldbLines;
use crate::{Placement, Placements, TraceError, TraceRequest};
use std::collections::HashMap;
use trueline_model::{Debugger, LineKey, Policy};

/// One breakpoint of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub pc: u64,
    /// The body, inlined or not, of the function whose line it is.
    pub block: Option<BlockId>,
}

/// Where the breakpoints of one line go in a module that was read.
pub(super) fn sites_of(module: &Module, policy: Policy, key: &LineKey) -> Vec<Site> {
    let base = key.file.base();
    let wanted = |file: FileId| module.file(file).base() == base;
    let body = |pc: u64| module.block_at(pc).map(|b| containing_function(module, b).0);
    let plain = |pcs: Vec<u64>| pcs.into_iter().map(|pc| Site { pc, block: body(pc) }).collect();
    match policy {
        Policy::Gdb | Policy::Gdb16 | Policy::Gdb18 => {
            let found = gdb_breaks::chosen(module, &GdbLines::new(module), policy, wanted, key.line.0);
            found.into_iter().map(|(line_pc, pc)| Site { pc, block: body(line_pc) }).collect()
        }
        Policy::Lldb | Policy::Lldb22 => plain(lldb_breaks::places(module, &LldbLines::new(module), wanted, key.line.0)),
        Policy::Standard => plain(Statements::of(module).at(wanted, key.line.0).iter().map(|r| r.address).collect()),
    }
}

/// Where the breakpoints of a function go: behind its prologue, and where its inlined copies begin.
pub(super) fn sites_in(module: &Module, policy: Policy, name: &str) -> Vec<Site> {
    let is_it = |full: &str| {
        let bare = without_parameters(full);
        full == name || bare == name || bare.rsplit("::").next() == Some(name)
    };
    let lines = (policy.debugger() == Some(Debugger::Gdb)).then(|| GdbLines::new(module));
    let start = |function, pc: u64| match &lines {
        Some(lines) => body_start(module, lines, function).max(pc),
        None => pc,
    };
    let named = |id: usize| match &module.blocks[id].kind {
        BlockKind::Function => is_it(&module.function(module.blocks[id].function).name),
        BlockKind::Inlined { name, .. } => is_it(name),
        BlockKind::Lexical => false,
    };
    let found = (0..module.blocks.len()).filter(|&id| named(id)).map(|id| {
        let block = &module.blocks[id];
        let pc = if block.is_inlined() { module.entry_of(BlockId(id as u32)) } else { module.function(block.function).entry() };
        Site { pc: start(block.function, pc), block: Some(BlockId(id as u32)) }
    });
    found.collect()
}

/// The name of a C++ function as people give it: `run` for `run(int)`. Parentheses that belong to the name stay.
fn without_parameters(full: &str) -> &str {
    const ANONYMOUS: &str = "(anonymous namespace)";
    let mut from = 0;
    while let Some(at) = full[from..].find('(').map(|n| from + n) {
        if full[at..].starts_with(ANONYMOUS) {
            from = at + ANONYMOUS.len();
        } else if full[..at].ends_with("operator") && full[at..].starts_with("()") {
            from = at + 2;
        } else {
            return &full[..at];
        }
    }
    full
}

/// The statements of every line, as the standard has them.
struct Statements<'m> {
    by_line: HashMap<u32, Vec<&'m Row>>,
}

impl<'m> Statements<'m> {
    fn of(module: &'m Module) -> Self {
        let mut by_line: HashMap<u32, Vec<&Row>> = HashMap::new();
        for row in module.rows.iter().filter(|r| r.flags.is_stmt && !r.flags.end_sequence && r.address != 0) {
            by_line.entry(row.line).or_default().push(row);
        }
        Self { by_line }
    }

    /// Those of a line of the files that a test accepts.
    fn at(&self, wanted: impl Fn(FileId) -> bool, line: u32) -> Vec<&'m Row> {
        self.by_line.get(&line).into_iter().flatten().copied().filter(|r| wanted(r.file)).collect()
    }
}

/// The places for each line under the request's policy. Files are named by their base names.
pub fn places(request: &TraceRequest, lines: &[LineKey]) -> Result<Placements, TraceError> {
    let module = Module::of(request)?;
    let of_file = |key: &LineKey| {
        let base = key.file.base().to_owned();
        let module = &module;
        move |file: FileId| module.file(file).base() == base
    };
    let shown = |line: Option<(FileId, u32)>| line.and_then(|(file, line)| module.line_key(file, line));
    let mut found = Placements::new();
    let mut note = |key: &LineKey, pcs: Vec<u64>, line_at: &dyn Fn(u64) -> Option<(FileId, u32)>| {
        let placed = pcs.into_iter().map(|pc| Placement { pc, shown: shown(line_at(pc)) });
        found.insert(key.clone(), placed.collect());
    };
    match request.policy {
        Policy::Gdb | Policy::Gdb16 | Policy::Gdb18 => {
            let table = GdbLines::new(&module);
            let line_at = |pc| table.at(pc).map(|s| (s.file, s.line));
            for key in lines {
                note(key, gdb_breaks::places(&module, &table, request.policy, &of_file(key), key.line.0), &line_at);
            }
        }
        Policy::Lldb | Policy::Lldb22 => {
            let table = LldbLines::new(&module);
            let line_at = |pc| table.at(pc).map(|e| (e.file, e.line));
            for key in lines {
                note(key, lldb_breaks::places(&module, &table, of_file(key), key.line.0), &line_at);
            }
        }
        Policy::Standard => {
            // Every statement of the line, and nothing else: the standard moves no breakpoint.
            let statements = Statements::of(&module);
            for key in lines {
                let rows = statements.at(of_file(key), key.line.0);
                let mut pcs: Vec<u64> = rows.iter().map(|r| r.address).collect();
                pcs.sort_unstable();
                pcs.dedup();
                let line = rows.first().map(|r| (r.file, r.line));
                note(key, pcs, &|_| line);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_function_goes_without_its_parameters() {
        for (full, bare) in [
            ("run", "run"),
            ("run(int, ns::T)", "run"),
            ("(anonymous namespace)::run(int)", "(anonymous namespace)::run"),
            ("Call::operator()(int) const", "Call::operator()"),
        ] {
            assert_eq!(without_parameters(full), bare);
        }
    }
}
