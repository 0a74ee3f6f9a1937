//! Where breakpoints on lines go, as each debugger chooses, without a program that runs.

use super::line::Row;
use super::module::{FileId, Module};
use super::policy::gdb_breaks;
use super::policy::gdb_lines::GdbLines;
use super::policy::lldb_breaks;
use super::policy::lldb_lines::LldbLines;
use crate::{Placement, Placements, TraceError, TraceRequest};
use trueline_model::{LineKey, Policy};

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
        Policy::Gdb => {
            let table = GdbLines::new(&module);
            let line_at = |pc| table.at(pc).map(|s| (s.file, s.line));
            for key in lines {
                note(key, gdb_breaks::places(&module, &table, &of_file(key), key.line.0), &line_at);
            }
        }
        Policy::Lldb => {
            let table = LldbLines::new(&module);
            let line_at = |pc| table.at(pc).map(|e| (e.file, e.line));
            for key in lines {
                note(key, lldb_breaks::places(&module, &table, of_file(key), key.line.0), &line_at);
            }
        }
        Policy::Standard => {
            // Every statement of the line, and nothing else: the standard moves no breakpoint.
            for key in lines {
                let wanted = of_file(key);
                let is_it = |r: &&Row| r.flags.is_stmt && !r.flags.end_sequence && r.line == key.line.0 && r.address != 0 && wanted(r.file);
                let rows: Vec<&Row> = module.rows.iter().filter(is_it).collect();
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
