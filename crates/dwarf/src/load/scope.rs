//! Functions, blocks, variables and call sites of one unit.
//!
//! Scopes are built the way gdb builds them, because that is what people see: an inlined instance inherits the
//! entries of its abstract origin that it does not mention, a block without addresses lends its variables to
//! the block around it, and functions without addresses do not exist.

use super::dies::{All, Damage, DieId, attribute, children, die, flag, follow, number, origins, text};
use super::lines::FileTable;
use super::lists::{constant, read_list, read_ranges, with_code};
use super::names::function_name;
use super::types::{Pointees, TypeReader};
use crate::op::Op;
use crate::{
    Block, BlockId, BlockKind, CallParam, CallSite, CallTarget, ConstantForm, FileId, Function, FunctionId, Location, Module, Presence,
    UnitId, Var, VarId,
};
use gimli::AttributeValue;
use std::collections::HashSet;
use std::sync::Arc;
use trueline_model::VarKind;

/// Nesting beyond which entries are taken for damage.
const DEEPEST: u32 = 256;

pub(super) struct Reader<'m, 's, 'd, 'a> {
    module: &'m mut Module,
    all: All<'s, 'd, 'a>,
    unit: usize,
    id: UnitId,
    tables: &'m [FileTable],
    types: TypeReader,
    /// How the variables being read come to be in their block.
    presence: Presence,
}

impl<'m, 's, 'd, 'a> Reader<'m, 's, 'd, 'a> {
    pub fn new(module: &'m mut Module, all: All<'s, 'd, 'a>, unit: usize, id: UnitId, tables: &'m [FileTable], pointees: Pointees) -> Self {
        Self { module, all, unit, id, tables, types: TypeReader::new(pointees), presence: Presence::Own }
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
        for child in children(self.all, scope) {
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

    fn variable(&mut self, id: DieId, kind: VarKind) -> Option<VarId> {
        let Some(name) = text(self.all, id, gimli::DW_AT_name) else {
            self.object(id);
            return None;
        };
        let at_file_scope = kind == VarKind::Global;
        // What no file declares is the compiler's own, such as Rust's method tables.
        if at_file_scope && attribute(self.all, id, gimli::DW_AT_decl_file).is_none() {
            return None;
        }
        let mut location = self.location(id, gimli::DW_AT_location);
        if matches!(location, Location::None)
            && let Some(value) = self.constant(id)
        {
            location = value;
        }
        if matches!(location, Location::None) {
            let declared = flag(self.all, id, gimli::DW_AT_declaration);
            let external = attribute(self.all, id, gimli::DW_AT_external).is_some();
            if declared || external {
                return None;
            }
        }
        let is_static = matches!(&location, Location::Everywhere(ops) if matches!(**ops, [Op::Address(_)]));
        let kind = if is_static || at_file_scope { VarKind::Global } else { kind };
        let ty = self.types.type_of(self.all, &mut self.module.types, id);
        let var = VarId(self.module.vars.len() as u32);
        let die = self.number_of(id);
        self.module.vars.push(Var {
            name: Arc::from(name),
            kind,
            decl_line: number(self.all, id, gimli::DW_AT_decl_line).unwrap_or(0) as u32,
            decl_file: self.file_of(id, gimli::DW_AT_decl_file),
            ty,
            location,
            die,
            presence: self.presence,
            is_artificial: attribute(self.all, id, gimli::DW_AT_artificial).is_some(),
        });
        if self.presence != Presence::Gone {
            self.module.var_dies.push((die, var));
        }
        Some(var)
    }

    /// The value that an entry always has. A text may stand among those that entries share.
    fn constant(&self, id: DieId) -> Option<Location> {
        let (at, attribute) = origins(self.all, id).find_map(|d| Some((d, die(self.all, d).entry.attr(gimli::DW_AT_const_value)?)))?;
        let unit = &self.all[at.unit];
        Some(match attribute.value() {
            value @ (AttributeValue::DebugStrRef(_) | AttributeValue::DebugLineStrRef(_) | AttributeValue::DebugStrOffsetsIndex(_)) => {
                match unit.dwarf.attr_string(unit.unit, value) {
                    Ok(text) => Location::Constant(Arc::from(text.slice()), ConstantForm::Entry),
                    Err(e) => Location::Broken(e.to_string().into()),
                }
            }
            _ => constant(attribute),
        })
    }

    /// Where an entry without a name says that an object is, or what its value is.
    fn object(&mut self, id: DieId) {
        // gdb makes no symbol of it, so that its list does not count.
        let had_loclist = self.module.units[self.id.0 as usize].has_loclist;
        let mut location = self.location(id, gimli::DW_AT_location);
        self.module.units[self.id.0 as usize].has_loclist = had_loclist;
        if matches!(location, Location::None)
            && let Some(value) = self.constant(id)
        {
            location = value;
        }
        let number = self.number_of(id);
        self.module.nameless.push((number, location));
    }

    fn location(&mut self, id: DieId, name: gimli::DwAt) -> Location {
        let Some((at, value)) = attribute(self.all, id, name) else { return Location::None };
        let unit = &self.all[at.unit];
        let decoder = unit.decoder();
        if let AttributeValue::Exprloc(expression) = value {
            return match decoder.decode(expression.0) {
                Ok(ops) if ops.is_empty() => Location::None,
                Ok(ops) => Location::Everywhere(ops),
                Err(reason) => Location::Broken(reason.into()),
            };
        }
        let offset = match unit.dwarf.attr_locations_offset(unit.unit, value) {
            Ok(Some(offset)) => offset,
            Ok(None) => return Location::Broken("location of an unknown form".into()),
            Err(e) => return Location::Broken(e.to_string().into()),
        };
        if name == gimli::DW_AT_location {
            self.module.units[self.id.0 as usize].has_loclist = true;
        }
        match read_list(&decoder, offset) {
            Ok(list) => Location::List(list.into()),
            Err(e) => Location::Broken(format!("damaged location list: {e}").into()),
        }
    }

    fn call_site(&mut self, id: DieId, function: FunctionId, is_nested: bool) {
        let unit = &self.all[id.unit];
        let entry = &die(self.all, id).entry;
        let address = |name| {
            let own = entry.attr_value(name).and_then(|v| unit.dwarf.attr_address(unit.unit, v).ok().flatten());
            own.map(|own| unit.place.address(own))
        };
        let Some(return_pc) = address(gimli::DW_AT_call_return_pc).or_else(|| address(gimli::DW_AT_low_pc)) else { return };
        let is_tail = flag(self.all, id, gimli::DW_AT_call_tail_call) || flag(self.all, id, gimli::DW_AT_GNU_tail_call);
        let callee = follow(self.all, id, gimli::DW_AT_call_origin).or_else(|| follow(self.all, id, gimli::DW_AT_abstract_origin));
        let decoder = unit.decoder();
        let computed =
            [gimli::DW_AT_call_target, gimli::DW_AT_GNU_call_site_target].iter().find_map(|&n| entry.attr_value(n)?.exprloc_value());
        let target = match (callee, computed) {
            (Some(c), _) => match (self.ranges(c).first(), function_name(self.all, c)) {
                (Some(&(entry, _)), _) => CallTarget::Entry(entry),
                (None, Some(name)) if flag(self.all, c, gimli::DW_AT_declaration) => CallTarget::Named(name),
                (None, Some(name)) => CallTarget::Shared(name),
                (None, None) => CallTarget::Unknown,
            },
            (None, Some(e)) => decoder.decode(e.0).map_or(CallTarget::Unknown, CallTarget::Computed),
            (None, None) => CallTarget::Unknown,
        };
        let expression = |c: DieId, names: [gimli::DwAt; 2]| {
            let value = names.iter().find_map(|&n| die(self.all, c).entry.attr_value(n))?;
            decoder.decode(value.exprloc_value()?.0).ok()
        };
        let params = children(self.all, id).filter_map(|c| {
            // A parameter that was removed has no place, and is known by its entry alone.
            let place = expression(c, [gimli::DW_AT_location, gimli::DW_AT_location]);
            let value = expression(c, [gimli::DW_AT_call_value, gimli::DW_AT_GNU_call_site_value])?;
            let parameter = follow(self.all, c, gimli::DW_AT_call_parameter).or_else(|| follow(self.all, c, gimli::DW_AT_abstract_origin));
            let parameter = parameter.map(|p| self.number_of(p));
            if place.is_none() && parameter.is_none() {
                return None;
            }
            Some(CallParam { place: place.unwrap_or_default(), value, parameter })
        });
        let site = CallSite { return_pc, is_tail, is_nested, target, params: params.collect() };
        self.module.functions[function.0 as usize].call_sites.push(site);
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
