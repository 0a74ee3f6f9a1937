//! Variables of a unit, and where they and the objects without a name are.

use super::{Expressions, UnitReader};
use crate::load::dies::{DieId, attribute, die, flag, number, origins, text};
use crate::load::lists::{constant, read_list, read_written};
use crate::op::Op;
use crate::{ConstantForm, Location, Presence, Var, VarId, WrittenEntry};
use gimli::AttributeValue;
use std::sync::Arc;
use trueline_model::VarKind;

impl UnitReader<'_, '_, '_, '_> {
    pub(super) fn variable(&mut self, id: DieId, kind: VarKind) -> Option<VarId> {
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
        if self.expressions == Expressions::Kept {
            let written = self.written(id);
            self.module.written.insert(var, written);
        }
        Some(var)
    }

    /// The expressions of a variable's location as the file has them.
    fn written(&self, id: DieId) -> Vec<WrittenEntry> {
        let Some((at, value)) = attribute(self.all, id, gimli::DW_AT_location) else { return Vec::new() };
        let unit = &self.all[at.unit];
        if let AttributeValue::Exprloc(expression) = value {
            return vec![WrittenEntry { range: None, bytes: expression.0.slice().to_vec() }];
        }
        let list = unit.dwarf.attr_locations_offset(unit.unit, value).ok().flatten();
        list.and_then(|offset| read_written(&unit.decoder(), offset).ok()).unwrap_or_default()
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
    pub(super) fn object(&mut self, id: DieId) {
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

    pub(super) fn location(&mut self, id: DieId, name: gimli::DwAt) -> Location {
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
}
