//! Functions that have line rows and no entry, as `-gline-tables-only` leaves them: the symbol table knows their names.

use crate::op::FilePlace;
use crate::{Block, BlockId, BlockKind, Function, FunctionId, Location, Module, MoreArguments};
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds the functions of the symbol table whose code has rows and belongs to no function yet.
pub(super) fn complete(module: &mut Module, place: FilePlace, elf: &object::File<'_>, debug: &object::File<'_>) {
    let mut symbols: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for symbol in debug.symbols().chain(elf.symbols()).filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
        let start = place.address(symbol.address());
        let end = start.saturating_add(symbol.size());
        if let Ok(name) = symbol.name() {
            symbols.entry(start).or_insert_with(|| (end, name.to_owned()));
        }
    }
    let known = module.functions.len();
    for (low, (high, name)) in symbols {
        let Some(row) = module.row_around(low).copied().filter(|_| module.function_at(low).is_none()) else { continue };
        let function = FunctionId(module.functions.len() as u32);
        let block = BlockId(module.blocks.len() as u32);
        module.blocks.push(Block {
            kind: BlockKind::Function,
            function,
            parent: None,
            ranges: vec![(low, high)],
            described: vec![(low, high)],
            entry_pc: None,
            children: Vec::new(),
            vars: Vec::new(),
            gone: Vec::new(),
            declared: Vec::new(),
            die: None,
        });
        module.by_address.push((low, high, function));
        module.functions.push(Function {
            unit: row.unit,
            within: None,
            name: Arc::from(name),
            ranges: vec![(low, high)],
            block,
            decl_file: Some(row.file),
            decl_line: row.line,
            result: None,
            more: MoreArguments::None,
            frame_base: Location::None,
            call_sites: Vec::new(),
        });
    }
    if module.functions.len() > known {
        module.index();
    }
}
