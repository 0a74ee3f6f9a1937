//! From debug information to the facts that the oracle's rules ask for.

use crate::debuginfo::{DebugInfo, Function, Place, Var, rows_by_address};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use trueline_model::{LineKey, VarKey};
use trueline_oracle::{Declared, Extent, Home, OptimizedFacts, ReferenceFacts, RowNote, SourceFacts};
use trueline_trace::native::Facts;

/// Facts of the -O0 build.
pub(crate) fn of_reference(info: &DebugInfo, executed: BTreeSet<LineKey>, source: &SourceFacts) -> ReferenceFacts {
    let mut facts = ReferenceFacts { executed, ..ReferenceFacts::default() };
    facts.rows = info.rows.iter().filter_map(|r| r.key.clone()).collect();
    for function in &info.functions {
        facts.variables.extend(function.vars.iter().map(|v| key_of(function, v)));
        if !function.is_inlined
            && let Some(extent) = extent_of(info, function, source)
        {
            facts.functions.entry(Arc::clone(&function.name)).or_default().push(extent);
        }
        add_scopes(info, function, &mut facts.scope);
    }
    facts
}

fn key_of(function: &Function, var: &Var) -> VarKey {
    VarKey { function: Arc::clone(&function.name), name: Arc::clone(&var.name), decl_line: var.decl_line }
}

fn overlaps(ranges: &[(u64, u64)], start: u64, end: u64) -> bool {
    // An empty row still stands at its address.
    let end = end.max(start + 1);
    ranges.iter().any(|(low, high)| *low < end && start < *high)
}

/// From the declaration to the last line with code, the closing brace included, all in the file of the declaration.
fn extent_of(info: &DebugInfo, function: &Function, source: &SourceFacts) -> Option<Extent> {
    let decl = function.decl.as_ref()?;
    let own = |r: &&crate::debuginfo::Row| overlaps(&function.ranges, r.start, r.end);
    let lines = info.rows.iter().filter(own).filter_map(|r| r.key.as_ref()).filter(|k| k.file == decl.file).map(|k| k.line.0);
    let (mut first, mut last) = (decl.line.0, decl.line.0);
    for line in lines {
        first = first.min(line);
        last = last.max(line);
    }
    // Not every -O0 has a row for the closing brace. Without the source, a few lines of grace.
    let close = if *source.file == *decl.file.as_str() { source.body_end(first, last) } else { Some(last + 3) };
    Some(Extent { file: Arc::clone(&decl.file.0), first, last: last.max(close.unwrap_or(last)) })
}

fn add_scopes(info: &DebugInfo, function: &Function, scope: &mut BTreeMap<LineKey, BTreeSet<VarKey>>) {
    for row in info.rows.iter().filter(|r| overlaps(&function.ranges, r.start, r.end)) {
        let Some(line) = &row.key else { continue };
        let visible = function.vars.iter().filter(|v| overlaps(&v.ranges, row.start, row.end)).map(|v| key_of(function, v));
        scope.entry(line.clone()).or_default().extend(visible);
    }
}

/// Facts of the optimized build.
pub(crate) fn of_optimized(info: &DebugInfo) -> OptimizedFacts {
    let mut facts = OptimizedFacts::default();
    for function in &info.functions {
        for var in &function.vars {
            note_home(&mut facts.homes, key_of(function, var), &var.place);
            facts.blocks.entry(key_of(function, var)).or_default().extend(var.ranges.iter());
            if var.is_codeless {
                facts.codeless.insert(key_of(function, var));
            }
            if matches!(var.place, Place::Static(_)) {
                note_home(&mut facts.homes, VarKey { function: "".into(), ..key_of(function, var) }, &var.place);
            }
        }
    }
    // A copy of a function that leaves a block of the description out: gdb takes the block's variables from the description.
    for key in &info.nested {
        let lacks = |f: &Function| f.name == key.function && !f.vars.iter().any(|v| v.name == key.name && v.decl_line == key.decl_line);
        if info.functions.iter().any(lacks) {
            facts.codeless.insert(key.clone());
        }
    }
    for var in &info.globals {
        let key = VarKey { function: "".into(), name: Arc::clone(&var.name), decl_line: var.decl_line };
        note_home(&mut facts.homes, key, &var.place);
    }
    facts.line_zero = info.rows.iter().filter(|r| r.key.is_none() && r.start < r.end).map(|r| (r.start, r.end)).collect();
    for (address, rows) in rows_by_address(&info.rows) {
        facts.rows_at.insert(address, rows.iter().map(|r| RowNote { line: r.key.clone(), is_stmt: r.is_stmt }).collect());
    }
    facts
}

/// Where values are marked as not initialised. Binaries that cannot be read mark nothing: the engine will have said so.
pub(crate) fn uninitialised(binary: &Path, user_files: &[String]) -> BTreeMap<Declared, Vec<(u64, u64)>> {
    let mut marked: BTreeMap<Declared, Vec<(u64, u64)>> = BTreeMap::new();
    for (name, line, range) in Facts::load(binary, user_files).map(|f| f.uninitialised()).unwrap_or_default() {
        marked.entry((name, line)).or_default().push(range);
    }
    marked
}

/// Of several copies of a variable the most modest claim counts.
fn note_home(homes: &mut BTreeMap<VarKey, Home>, key: VarKey, place: &Place) {
    let home = match place {
        Place::Static(_) | Place::Frame(_) => Home::Memory,
        Place::Described => Home::Described,
        Place::Nowhere => return,
    };
    let known = homes.entry(key).or_insert(home);
    *known = (*known).min(home);
}
