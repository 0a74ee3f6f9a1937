//! Variables at file scope. Which unit describes one does not matter: what several units share may stand in any of them.

use crate::types::Types;
use crate::vars::{declarations, describe};
use crate::{Aspect, Side, ViewComparison, spelling};
use std::collections::BTreeMap;
use trueline_dwarf::{Module, Var};

/// A variable's name and declaration.
type Key<'m> = (&'m str, &'m str, u32);

/// Each variable by its declaration, then by where it is: one declaration in a header makes several static ones.
type Globals<'m> = BTreeMap<Key<'m>, BTreeMap<String, &'m Var>>;

pub(crate) fn compare(a: &Module, b: &Module, found: &mut ViewComparison) {
    let (of_a, of_b) = (globals(a), globals(b));
    found.looked.globals = of_a.values().map(BTreeMap::len).sum();
    let mut types = Types::new(a, b);
    let none = BTreeMap::new();
    let mut keys: Vec<&Key<'_>> = of_a.keys().chain(of_b.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (x, y) = (of_a.get(key).unwrap_or(&none), of_b.get(key).unwrap_or(&none));
        for (place, var) in x {
            if let Some(other) = y.get(place) {
                declarations(a, b, (var, other), key.0, &[], &mut types, found);
            }
        }
        // One that only moved is one difference, not two.
        let mut only_a = x.iter().filter(|(place, _)| !y.contains_key(*place));
        let mut only_b = y.iter().filter(|(place, _)| !x.contains_key(*place));
        loop {
            let (p, q) = (only_a.next(), only_b.next());
            if p.is_none() && q.is_none() {
                break;
            }
            found.add(Aspect::Globals, key.0, Vec::new(), side(a, p), side(b, q));
        }
    }
}

fn side(module: &Module, of: Option<(&String, &&Var)>) -> Side {
    match of {
        Some((place, var)) => Side::of_var(module, var, format!("{}, is {place}", describe(module, var))),
        None => Side::says("no such variable"),
    }
}

fn globals(module: &Module) -> Globals<'_> {
    let mut all = Globals::new();
    for &id in module.units.iter().flat_map(|u| &u.globals) {
        let var = module.var(id);
        let file = var.decl_file.map_or("?", |f| module.file(f).as_str());
        let place = spelling::fixed(module, var).unwrap_or_else(|| "at places that depend on the address".into());
        all.entry((&var.name, file, var.decl_line)).or_default().insert(place, var);
    }
    all
}
