//! Functions and blocks of one unit; variables and call sites are read in the submodules.
//!
//! Scopes are built the way gdb builds them, because that is what people see: an inlined instance inherits the
//! entries of its abstract origin that it does not mention, a block without addresses lends its variables to
//! the block around it, and functions without addresses do not exist.

mod calls;
mod variables;

use super::Expressions;
use super::dies::{All, Damage, DieId, attribute, children, die, flag, follow, number, origins, text};
use super::lines::FileTable;
use super::lists::{read_ranges, with_code};
use super::names::function_name;
use super::types::{Pointees, TypeReader};
use crate::{Block, BlockId, BlockKind, EnumeratorHome, FileId, Function, FunctionId, Module, MoreArguments, Presence, UnitId};
use gimli::AttributeValue;
use std::collections::HashSet;
use std::sync::Arc;
use trueline_model::VarKind;

/// Nesting beyond which entries are taken for damage.
const DEEPEST: u32 = 256;

pub(super) struct UnitReader<'m, 's, 'd, 'a> {
    module: &'m mut Module,
    all: All<'s, 'd, 'a>,
    unit: usize,
    id: UnitId,
    tables: &'m [FileTable],
    types: TypeReader,
    /// How the variables being read come to be in their block.
    presence: Presence,
    expressions: Expressions,
}

impl<'m, 's, 'd, 'a> UnitReader<'m, 's, 'd, 'a> {
    pub fn new(
        module: &'m mut Module,
        all: All<'s, 'd, 'a>,
        (unit, id): (usize, UnitId),
        tables: &'m [FileTable],
        (pointees, expressions): (Pointees, Expressions),
    ) -> Self {
        Self { module, all, unit, id, tables, types: TypeReader::new(pointees), presence: Presence::Own, expressions }
    }

    pub fn read(&mut self) -> Result<(), Damage> {
        let dies = self.all[self.unit].dies()?;
        if dies.is_empty() {
            return Err(Damage::Other("a unit without entries"));
        }
        let root = DieId { unit: self.unit, index: 0 };
        let read = self.file_scope(root, 0);
        self.module.bounds.append(&mut self.types.bounds);
        read
    }

    /// A unit or a namespace.
    fn file_scope(&mut self, scope: DieId, depth: u32) -> Result<(), Damage> {
        if depth > DEEPEST {
            return Err(Damage::Other("entries nested too deeply"));
        }
        // What a namespace or a class holds has its name before it.
        let is_outermost = matches!(die(self.all, scope).entry.tag(), gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit);
        for child in children(self.all, scope) {
            if is_outermost && die(self.all, child).entry.tag() == gimli::DW_TAG_enumeration_type {
                self.enumeration(child, EnumeratorHome::Unit(self.id));
            }
            match die(self.all, child).entry.tag() {
                gimli::DW_TAG_variable => {
                    if let Some(var) = self.variable(child, VarKind::Global) {
                        self.module.units[self.id.0 as usize].globals.push(var);
                    }
                }
                gimli::DW_TAG_dwarf_procedure => self.object(child),
                gimli::DW_TAG_subprogram => self.function(child, None)?,
                // What several units have in common (dwz): constants may stand there.
                gimli::DW_TAG_imported_unit => {
                    if let Some(unit) = follow(self.all, child, gimli::DW_AT_import)
                        && die(self.all, unit).entry.tag() == gimli::DW_TAG_partial_unit
                    {
                        self.file_scope(unit, depth + 1)?;
                    }
                }
                gimli::DW_TAG_namespace | gimli::DW_TAG_module | gimli::DW_TAG_structure_type | gimli::DW_TAG_enumeration_type => {
                    self.file_scope(child, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn enumeration(&mut self, id: DieId, home: EnumeratorHome) {
        let found = self.types.enumerators(self.all, &mut self.module.types, id, home);
        self.module.enumerators.extend(found);
    }

    /// The functions of classes inside a function: a lambda is one, and its body stands in its class, whether or not the
    /// function around it has code of its own.
    fn local_classes(&mut self, id: DieId, depth: u32) -> Result<(), Damage> {
        if depth > DEEPEST {
            return Err(Damage::Other("blocks nested too deeply"));
        }
        for child in children(self.all, id) {
            match die(self.all, child).entry.tag() {
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                    for member in children(self.all, child) {
                        if die(self.all, member).entry.tag() == gimli::DW_TAG_subprogram {
                            self.function(member, None)?;
                        }
                    }
                }
                gimli::DW_TAG_lexical_block => self.local_classes(child, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn function(&mut self, id: DieId, within: Option<FunctionId>) -> Result<(), Damage> {
        self.local_classes(id, 0)?;
        let described = self.ranges(id);
        let ranges = with_code(&described);
        let Some(name) = function_name(self.all, id) else { return Ok(()) };
        if ranges.is_empty() {
            return Ok(());
        }
        let function = FunctionId(self.module.functions.len() as u32);
        let block = self.push_block(id, BlockKind::Function, function, None, described);
        let frame_base = self.location(id, gimli::DW_AT_frame_base);
        let decl_file = self.file_of(id, gimli::DW_AT_decl_file);
        let decl_line = number(self.all, id, gimli::DW_AT_decl_line).unwrap_or(0) as u32;
        let result = attribute(self.all, id, gimli::DW_AT_type).map(|_| self.types.type_of(self.all, &mut self.module.types, id));
        let takes_more = |of| children(self.all, of).any(|c| die(self.all, c).entry.tag() == gimli::DW_TAG_unspecified_parameters);
        let more = if origins(self.all, id).any(takes_more) { MoreArguments::Any } else { MoreArguments::None };
        for &(low, high) in &ranges {
            self.module.by_address.push((low, high, function));
        }
        self.module.functions.push(Function {
            unit: self.id,
            within,
            name,
            ranges,
            block,
            decl_file,
            decl_line,
            result,
            more,
            frame_base,
            call_sites: Vec::new(),
        });
        self.scope(id, block, function, 0)
    }

    /// The children of a scope, then what its origin has and it does not mention.
    fn scope(&mut self, id: DieId, block: BlockId, function: FunctionId, depth: u32) -> Result<(), Damage> {
        if depth > DEEPEST {
            return Err(Damage::Other("blocks nested too deeply"));
        }
        let mut mentioned = HashSet::new();
        for child in children(self.all, id) {
            let last = origins(self.all, child).last().filter(|&o| o != child);
            mentioned.extend(last);
            self.member(child, block, function, depth)?;
        }
        if let Some(origin) = origins(self.all, id).last().filter(|&o| o != id) {
            self.inherit(origin, &mentioned, block, function, depth)?;
        }
        Ok(())
    }

    fn inherit(
        &mut self,
        origin: DieId,
        mentioned: &HashSet<DieId>,
        block: BlockId,
        function: FunctionId,
        depth: u32,
    ) -> Result<(), Damage> {
        let is_block = die(self.all, origin).entry.tag() == gimli::DW_TAG_lexical_block;
        for child in children(self.all, origin).filter(|c| !mentioned.contains(c)) {
            let presence = match die(self.all, child).entry.tag() {
                gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable if !is_block => Presence::Inherited,
                gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable | gimli::DW_TAG_lexical_block => Presence::InheritedNested,
                // Types of a function stand in its abstract entry only.
                gimli::DW_TAG_enumeration_type => Presence::Inherited,
                _ => continue,
            };
            self.within(presence, |this| this.member(child, block, function, depth))?;
        }
        Ok(())
    }

    /// Reads on below an entry whose variables come to their block in some way. What is inherited stays so further in.
    fn within(&mut self, presence: Presence, read: impl FnOnce(&mut Self) -> Result<(), Damage>) -> Result<(), Damage> {
        let before = self.presence;
        if matches!(before, Presence::Own | Presence::Codeless) {
            self.presence = presence;
        }
        let read = read(self);
        self.presence = before;
        read
    }

    fn member(&mut self, id: DieId, block: BlockId, function: FunctionId, depth: u32) -> Result<(), Damage> {
        match die(self.all, id).entry.tag() {
            gimli::DW_TAG_variable => match self.variable(id, VarKind::Local) {
                Some(var) => self.module.blocks[block.0 as usize].vars.push(var),
                None if flag(self.all, id, gimli::DW_AT_declaration) => {
                    let name = text(self.all, id, gimli::DW_AT_name);
                    self.module.blocks[block.0 as usize].declared.extend(name.map(Arc::from));
                }
                None => {}
            },
            gimli::DW_TAG_formal_parameter => {
                if let Some(var) = self.variable(id, VarKind::Param) {
                    self.module.blocks[block.0 as usize].vars.push(var);
                }
            }
            gimli::DW_TAG_lexical_block => {
                let entry = &die(self.all, id).entry;
                if !entry.has_attr(gimli::DW_AT_ranges) && !entry.has_attr(gimli::DW_AT_low_pc) {
                    return self.within(Presence::Codeless, |this| this.scope(id, block, function, depth + 1));
                }
                let ranges = self.ranges(id);
                if with_code(&ranges).is_empty() {
                    self.within(Presence::Gone, |this| this.bury(id, block, depth + 1))?;
                } else {
                    let inner = self.push_block(id, BlockKind::Lexical, function, Some(block), ranges);
                    self.scope(id, inner, function, depth + 1)?;
                }
            }
            gimli::DW_TAG_inlined_subroutine => {
                let ranges = self.ranges(id);
                let Some(name) = function_name(self.all, id) else { return Ok(()) };
                if !with_code(&ranges).is_empty() {
                    let kind = BlockKind::Inlined {
                        name,
                        decl_file: self.file_of(id, gimli::DW_AT_decl_file),
                        call_file: self.file_of(id, gimli::DW_AT_call_file),
                        call_line: number(self.all, id, gimli::DW_AT_call_line).unwrap_or(0) as u32,
                        decl_line: number(self.all, id, gimli::DW_AT_decl_line).unwrap_or(0) as u32,
                    };
                    let inner = self.push_block(id, kind, function, Some(block), ranges);
                    self.scope(id, inner, function, depth + 1)?;
                }
            }
            gimli::DW_TAG_call_site | gimli::DW_TAG_GNU_call_site => self.call_site(id, function, depth > 0),
            gimli::DW_TAG_dwarf_procedure => self.object(id),
            gimli::DW_TAG_enumeration_type => self.enumeration(id, EnumeratorHome::Block(block)),
            // A nested function (GNU C) is a function like any other.
            gimli::DW_TAG_subprogram => self.function(id, Some(function))?,
            _ => {}
        }
        Ok(())
    }

    /// Notes the variables of a block whose code is gone.
    fn bury(&mut self, id: DieId, block: BlockId, depth: u32) -> Result<(), Damage> {
        if depth > DEEPEST {
            return Err(Damage::Other("blocks nested too deeply"));
        }
        for child in children(self.all, id) {
            match die(self.all, child).entry.tag() {
                gimli::DW_TAG_variable => {
                    let var = self.variable(child, VarKind::Local);
                    self.module.blocks[block.0 as usize].gone.extend(var);
                }
                gimli::DW_TAG_lexical_block => self.bury(child, block, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn push_block(
        &mut self,
        die: DieId,
        kind: BlockKind,
        function: FunctionId,
        parent: Option<BlockId>,
        described: Vec<(u64, u64)>,
    ) -> BlockId {
        let ranges = with_code(&described);
        let entry_pc = self.entry_pc(die, &ranges);
        let id = BlockId(self.module.blocks.len() as u32);
        if ranges.len() > 1 {
            self.module.units[self.id.0 as usize].has_split_block = true;
        }
        self.module.blocks.push(Block {
            kind,
            function,
            parent,
            ranges,
            described,
            entry_pc,
            children: Vec::new(),
            vars: Vec::new(),
            gone: Vec::new(),
            declared: Vec::new(),
            die: Some(self.number_of(die)),
        });
        if let Some(parent) = parent {
            self.module.blocks[parent.0 as usize].children.push(id);
        }
        id
    }

    /// An entry's offset in the numbering of all files.
    fn number_of(&self, id: DieId) -> usize {
        self.all[id.unit].start() + die(self.all, id).entry.offset().0
    }

    /// Where control enters a block, if it says so: as an address, or as a distance from where the block begins.
    fn entry_pc(&self, id: DieId, ranges: &[(u64, u64)]) -> Option<u64> {
        let unit = &self.all[id.unit];
        let value = die(self.all, id).entry.attr_value(gimli::DW_AT_entry_pc)?;
        match unit.dwarf.attr_address(unit.unit, value).ok().flatten() {
            Some(address) => Some(unit.place.address(address)),
            None => ranges.first()?.0.checked_add(value.udata_value()?),
        }
    }

    /// The address ranges of an entry, empty ones included.
    fn ranges(&self, id: DieId) -> Vec<(u64, u64)> {
        let unit = &self.all[id.unit];
        let entry = &die(self.all, id).entry;
        let list = entry.attr_value(gimli::DW_AT_ranges).and_then(|v| unit.dwarf.attr_ranges_offset(unit.unit, v).ok().flatten());
        if let Some(offset) = list {
            let decoder = unit.decoder();
            return read_ranges(&decoder, offset).unwrap_or_default();
        }
        let mut found = Vec::new();
        if let Ok(mut ranges) = crate::ranges::die_ranges(unit.dwarf, unit.unit, entry) {
            while let Ok(Some(range)) = ranges.next() {
                // Functions removed by the linker keep their entry at address 0.
                if range.begin != 0 {
                    found.push((unit.place.address(range.begin), unit.place.address(range.end)));
                }
            }
        }
        found
    }

    fn file_of(&self, id: DieId, name: gimli::DwAt) -> Option<FileId> {
        let (at, value) = attribute(self.all, id, name)?;
        let index = match value {
            AttributeValue::FileIndex(index) => index,
            other => other.udata_value()?,
        };
        self.tables[at.unit].get(usize::try_from(index).ok()?).copied().flatten()
    }
}
