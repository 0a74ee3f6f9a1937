//! Calls that the debug information describes, with what is known of their arguments.

use super::UnitReader;
use crate::load::dies::{DieId, children, die, flag, follow};
use crate::load::names::function_name;
use crate::{CallParam, CallSite, CallTarget, FunctionId};

impl UnitReader<'_, '_, '_, '_> {
    pub(super) fn call_site(&mut self, id: DieId, function: FunctionId, is_nested: bool) {
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
}
