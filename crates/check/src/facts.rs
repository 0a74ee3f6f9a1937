//! From debug information to the facts that the oracle's rules ask for.

use crate::declared::Declarations;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use trueline_dwarf::op::Op;
use trueline_dwarf::{BlockId, CopiedVar, FileId, FunctionCopy, Location, Module, VarId};
use trueline_model::{LineKey, VarKey};
use trueline_oracle::{Declared, Extent, Home, OptimizedFacts, ReferenceFacts, RowNote, SourceFacts};

/// Facts of the -O0 build.
pub(crate) fn of_reference(module: &Module, executed: BTreeSet<LineKey>, source: &SourceFacts, declared: &Declarations) -> ReferenceFacts {
    let mut facts = ReferenceFacts { executed, ..ReferenceFacts::default() };
    facts.rows = lines_of(module, module.rows_by_address()).collect();
    for copy in module.copies() {
        let vars = own_vars(module, copy);
        facts.variables.extend(vars.iter().map(|v| key_of(module, copy, v.var)));
        // Statics of functions are shown as globals.
        facts.variables.extend(vars.iter().filter(|v| is_static(&module.var(v.var).location)).map(|v| static_key(module, v.var)));
        let rows = module.rows_over(copy.ranges());
        if !copy.is_inlined()
            && let Some(extent) = extent_of(module, copy, &rows, (source, declared))
        {
            let elsewhere = extents_elsewhere(module, &rows, &extent.file);
            facts.functions.entry(Arc::clone(copy.name())).or_default().extend(std::iter::once(extent).chain(elsewhere));
        }
        add_scopes(module, copy, &vars, &rows, &mut facts.scope);
    }
    facts.variables.extend(module.units.iter().flat_map(|u| &u.globals).map(|&v| static_key(module, v)));
    facts
}

/// The variables of a copy that the source has.
fn own_vars(module: &Module, copy: FunctionCopy<'_>) -> Vec<CopiedVar> {
    let mut vars = copy.vars();
    vars.retain(|v| !module.var(v.var).is_artificial);
    vars
}

fn key_of(module: &Module, copy: FunctionCopy<'_>, var: VarId) -> VarKey {
    VarKey { function: Arc::clone(copy.name()), ..static_key(module, var) }
}

/// A variable that no function is named for.
fn static_key(module: &Module, var: VarId) -> VarKey {
    let var = module.var(var);
    VarKey { function: "".into(), name: Arc::clone(&var.name), decl_line: var.decl_line }
}

/// The lines of rows, each once.
fn lines_of(module: &Module, rows: impl Iterator<Item = usize>) -> impl Iterator<Item = LineKey> {
    let lines: BTreeSet<(FileId, u32)> = rows.map(|i| (module.rows[i].file, module.rows[i].line)).collect();
    lines.into_iter().filter_map(|(file, line)| module.line_key(file, line))
}

/// From the declaration to the last line with code, the closing brace included, all in the file of the declaration. A row that the
/// source gives to another function does not count.
fn extent_of(module: &Module, copy: FunctionCopy<'_>, rows: &[usize], (source, declared): (&SourceFacts, &Declarations)) -> Option<Extent> {
    let function = copy.around();
    let decl = module.line_key(function.decl_file?, function.decl_line)?;
    let is_own = |k: &LineKey| k.file == decl.file && !declared.is_foreign(copy.name(), k);
    let lines = lines_of(module, rows.iter().copied()).filter(is_own).map(|k| k.line.0);
    let (first, last) = lines.fold((decl.line.0, decl.line.0), |(first, last), line| (first.min(line), last.max(line)));
    // Not every -O0 has a row for the closing brace. Without the source, a few lines of grace.
    let close = if *source.file == *decl.file.as_str() { source.body_end(first, last) } else { Some(last + 3) };
    Some(Extent { file: Arc::clone(&decl.file.0), first, last: last.max(close.unwrap_or(last)) })
}

/// What a body has in other files than its declaration's: `#line`, as generators of parsers write it, and text that is included in
/// the body. Calls that are inlined at -O0 too are other functions.
fn extents_elsewhere(module: &Module, rows: &[usize], declared_in: &str) -> Vec<Extent> {
    let mut found: BTreeMap<Arc<str>, (u32, u32)> = BTreeMap::new();
    for &number in rows {
        let row = &module.rows[number];
        let Some(key) = module.line_key(row.file, row.line).filter(|k| k.file.as_str() != declared_in) else { continue };
        if module.chain_at(row.address).into_iter().any(|b| module.block(b).is_inlined()) {
            continue;
        }
        let lines = found.entry(Arc::clone(&key.file.0)).or_insert((key.line.0, key.line.0));
        *lines = (lines.0.min(key.line.0), lines.1.max(key.line.0));
    }
    found.into_iter().map(|(file, (first, last))| Extent { file, first, last }).collect()
}

/// Which variables of a copy are in scope on each of its lines.
fn add_scopes(
    module: &Module,
    copy: FunctionCopy<'_>,
    vars: &[CopiedVar],
    rows: &[usize],
    scope: &mut BTreeMap<LineKey, BTreeSet<VarKey>>,
) {
    for line in lines_of(module, rows.iter().copied()) {
        scope.entry(line).or_default();
    }
    let inside: HashSet<usize> = rows.iter().copied().collect();
    let mut by_block: BTreeMap<BlockId, Vec<VarKey>> = BTreeMap::new();
    for var in vars {
        let keys = by_block.entry(var.block).or_default();
        keys.push(key_of(module, copy, var.var));
        if is_static(&module.var(var.var).location) {
            keys.push(static_key(module, var.var));
        }
    }
    for (block, keys) in by_block {
        let rows = module.rows_over(&module.block(block).ranges).into_iter().filter(|i| inside.contains(i));
        for line in lines_of(module, rows) {
            scope.entry(line).or_default().extend(keys.iter().cloned());
        }
    }
}

/// Facts of the optimized build.
pub(crate) fn of_optimized(module: &Module) -> OptimizedFacts {
    let mut facts = OptimizedFacts::default();
    for copy in module.copies() {
        for CopiedVar { var, block, is_codeless } in own_vars(module, copy) {
            let key = key_of(module, copy, var);
            note_home(module, &mut facts.homes, key.clone(), var);
            let as_global = is_static(&module.var(var).location).then(|| static_key(module, var));
            if let Some(key) = &as_global {
                note_home(module, &mut facts.homes, key.clone(), var);
            }
            for key in [Some(key), as_global].into_iter().flatten() {
                facts.blocks.entry(key.clone()).or_default().extend(module.block(block).ranges.iter());
                if is_codeless {
                    facts.codeless.insert(key);
                }
            }
        }
        // A copy of a function that leaves a block of the description out: gdb takes the block's variables from the description.
        // Clang's copies do not say which described block is which: there gdb takes from the description what the copy has too.
        let own: HashSet<VarKey> = copy.vars().into_iter().map(|v| key_of(module, copy, v.var)).collect();
        let left_out = copy.left_out().into_iter().map(|v| key_of(module, copy, v.var));
        facts.codeless.extend(left_out.filter(|key| !own.contains(key)));
    }
    for &var in module.units.iter().flat_map(|u| &u.globals) {
        let key = static_key(module, var);
        note_home(module, &mut facts.homes, key.clone(), var);
        if !facts.blocks.contains_key(&key) {
            facts.file_scope.insert(key);
        }
    }
    for number in module.rows_by_address() {
        let row = &module.rows[number];
        let line = module.line_key(row.file, row.line);
        if line.is_none() && row.address < module.row_end(number) {
            facts.line_zero.push((row.address, module.row_end(number)));
        }
        facts.rows_at.entry(row.address).or_default().push(RowNote { line, is_stmt: row.flags.is_stmt });
    }
    facts
}

/// Where values are marked as not initialised.
pub(crate) fn uninitialised(module: &Module) -> BTreeMap<Declared, Vec<(u64, u64)>> {
    let mut marked: BTreeMap<Declared, Vec<(u64, u64)>> = BTreeMap::new();
    for (name, line, range) in module.uninitialised() {
        marked.entry((name, line)).or_default().push(range);
    }
    marked
}

fn is_static(location: &Location) -> bool {
    matches!(location, Location::Everywhere(ops) if matches!(**ops, [Op::Address(_)]))
}

/// Of several copies of a variable the most modest claim counts.
fn note_home(module: &Module, homes: &mut BTreeMap<VarKey, Home>, key: VarKey, var: VarId) {
    let home = match &module.var(var).location {
        Location::None => return,
        Location::Everywhere(ops) if matches!(**ops, [Op::Address(_) | Op::FrameOffset(_)]) => Home::Memory,
        _ => Home::Described,
    };
    let known = homes.entry(key).or_insert(home);
    *known = (*known).min(home);
}
