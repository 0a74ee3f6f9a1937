//! Expressions as text that two files agree on: entries that an expression refers to are named, not numbered, and a constant
//! has the width of its variable.

use std::sync::Arc;
use trueline_dwarf::op::Op;
use trueline_dwarf::{Location, Module, Var};

/// What a variable without a location says.
pub(crate) const NOWHERE: &str = "nowhere";

/// An expression, or what is wrong with it.
pub(crate) fn expression(module: &Module, ops: Result<&Arc<[Op]>, &Arc<str>>) -> String {
    match ops {
        Ok(ops) if ops.is_empty() => NOWHERE.into(),
        Ok(ops) => ops.iter().map(|op| one(module, op)).collect::<Vec<_>>().join(", "),
        Err(reason) => format!("unreadable ({reason})"),
    }
}

fn one(module: &Module, op: &Op) -> String {
    match op {
        Op::ImplicitPointer(die, offset) => format!("implicit_pointer to {} {offset:+}", named(module, *die)),
        Op::ParameterRef(die) => format!("GNU_parameter_ref {}", named(module, *die)),
        Op::EntryValue(inner) => format!("entry_value({})", expression(module, Ok(inner))),
        other => trueline_dwarf::spell(std::slice::from_ref(other)),
    }
}

/// The variable of an entry by its name and declaration.
fn named(module: &Module, die: usize) -> String {
    match module.var_dies.binary_search_by_key(&die, |v| v.0) {
        Ok(at) => {
            let var = module.var(module.var_dies[at].1);
            format!("{} of line {}", var.name, var.decl_line)
        }
        Err(_) => "an entry that is no variable".into(),
    }
}

/// A location that does not depend on the address; none for a list.
pub(crate) fn fixed(module: &Module, var: &Var) -> Option<String> {
    match &var.location {
        Location::None => Some(NOWHERE.into()),
        Location::Constant(bytes, _) => {
            let size = module.ty(var.ty).size as usize;
            let kept = if size == 0 { bytes.len() } else { size.min(bytes.len()) };
            Some(format!("the constant {}", trueline_dwarf::spell_constant(&bytes[..kept])))
        }
        Location::Everywhere(ops) => Some(expression(module, Ok(ops))),
        Location::Broken(reason) => Some(expression(module, Err(reason))),
        Location::List(_) => None,
    }
}
