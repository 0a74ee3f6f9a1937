//! From debug information to the facts that the oracle's rules ask for.

use crate::debuginfo::{DebugInfo, Function, Place, Row, Var, rows_by_address};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use trueline_model::{LineKey, VarKey};
use trueline_oracle::{Declared, Extent, Home, OptimizedFacts, ReferenceFacts, RowNote, SourceFacts};
use trueline_trace::native::Facts;

/// Facts of the -O0 build.
pub(crate) fn of_reference(info: &DebugInfo, executed: BTreeSet<LineKey>, source: &SourceFacts) -> ReferenceFacts {
    let mut facts = ReferenceFacts { executed, ..ReferenceFacts::default() };
    facts.rows = info.rows.iter().filter_map(|r| r.key.clone()).collect();
    let index = RowIndex::new(&info.rows);
    for function in &info.functions {
        let rows = index.overlapping(&function.ranges);
        facts.variables.extend(function.vars.iter().map(|v| key_of(function, v)));
        if !function.is_inlined
            && let Some(extent) = extent_of(&rows, function, source)
        {
            facts.functions.entry(Arc::clone(&function.name)).or_default().push(extent);
        }
        add_scopes(&rows, function, &mut facts.scope);
    }
    facts
}

fn key_of(function: &Function, var: &Var) -> VarKey {
    VarKey { function: Arc::clone(&function.name), name: Arc::clone(&var.name), decl_line: var.decl_line }
}

fn overlaps(ranges: &[(u64, u64)], start: u64, end: u64) -> bool {
    // An empty row still stands at its address.
    let end = end.max(start.saturating_add(1));
    ranges.iter().any(|(low, high)| *low < end && start < *high)
}

/// The rows by address, so that a function's rows are found without going over those of the whole program.
struct RowIndex<'a> {
    /// In the order of their addresses.
    rows: &'a [Row],
    /// The highest end of a row up to each: never falls, so it can be searched.
    reach: Vec<u64>,
}

impl<'a> RowIndex<'a> {
    fn new(rows: &'a [Row]) -> Self {
        let reach = rows.iter().scan(0, |reach: &mut u64, row| {
            *reach = (*reach).max(row.end).max(row.start.saturating_add(1));
            Some(*reach)
        });
        Self { rows, reach: reach.collect() }
    }

    /// The rows that overlap one of the ranges, each once, in order.
    fn overlapping(&self, ranges: &[(u64, u64)]) -> Vec<&'a Row> {
        let mut found = BTreeSet::new();
        for &(low, high) in ranges {
            let first = self.reach.partition_point(|&end| end <= low);
            let after = self.rows.partition_point(|r| r.start < high);
            found.extend((first..after).filter(|&i| overlaps(&[(low, high)], self.rows[i].start, self.rows[i].end)));
        }
        found.into_iter().map(|i| &self.rows[i]).collect()
    }
}

/// From the declaration to the last line with code, the closing brace included, all in the file of the declaration.
fn extent_of(rows: &[&Row], function: &Function, source: &SourceFacts) -> Option<Extent> {
    let decl = function.decl.as_ref()?;
    let lines = rows.iter().filter_map(|r| r.key.as_ref()).filter(|k| k.file == decl.file).map(|k| k.line.0);
    let (mut first, mut last) = (decl.line.0, decl.line.0);
    for line in lines {
        first = first.min(line);
        last = last.max(line);
    }
    // Not every -O0 has a row for the closing brace. Without the source, a few lines of grace.
    let close = if *source.file == *decl.file.as_str() { source.body_end(first, last) } else { Some(last + 3) };
    Some(Extent { file: Arc::clone(&decl.file.0), first, last: last.max(close.unwrap_or(last)) })
}

fn add_scopes(rows: &[&Row], function: &Function, scope: &mut BTreeMap<LineKey, BTreeSet<VarKey>>) {
    for row in rows {
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
    let mut copies: HashMap<&str, Vec<&Function>> = HashMap::new();
    for function in &info.functions {
        copies.entry(&function.name).or_default().push(function);
    }
    for key in &info.nested {
        let lacks = |f: &&Function| !f.vars.iter().any(|v| v.name == key.name && v.decl_line == key.decl_line);
        if copies.get(&*key.function).is_some_and(|copies| copies.iter().any(lacks)) {
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
