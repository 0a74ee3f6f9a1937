//! What functions are called. A bare name does not tell one function from another: C++ has overloads and instantiations,
//! Rust has modules. The full name is made of the entries around the function's declaration, whichever unit that is in, so
//! that it is the same in every build of a program.

use super::dies::{All, DieId, attribute, children, die, flag, follow, number, origins, parent, text};
use gimli::AttributeValue;
use std::sync::Arc;

/// Nesting beyond which a name is cut short.
const DEEPEST: u32 = 32;

/// How a language tells functions apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// By their name alone.
    Plain,
    /// By the modules and types around them.
    Path,
    /// By namespaces, classes and the types of their parameters.
    Overloads,
}

/// The language of an entry's unit.
pub(super) fn language(all: All<'_, '_, '_>, id: DieId) -> Option<gimli::DwLang> {
    match die(all, DieId { unit: id.unit, index: 0 }).entry.attr_value(gimli::DW_AT_language) {
        Some(AttributeValue::Language(language)) => Some(language),
        _ => None,
    }
}

fn naming(all: All<'_, '_, '_>, id: DieId) -> Naming {
    use gimli::constants as c;
    match language(all, id) {
        Some(c::DW_LANG_Rust) => Naming::Path,
        Some(
            c::DW_LANG_C_plus_plus
            | c::DW_LANG_C_plus_plus_03
            | c::DW_LANG_C_plus_plus_11
            | c::DW_LANG_C_plus_plus_14
            | c::DW_LANG_C_plus_plus_17
            | c::DW_LANG_C_plus_plus_20,
        ) => Naming::Overloads,
        _ => Naming::Plain,
    }
}

/// A function's full name as debuggers show it.
pub(super) fn function_name(all: All<'_, '_, '_>, id: DieId) -> Option<Arc<str>> {
    named(all, id, 0).map(Arc::from)
}

fn named(all: All<'_, '_, '_>, id: DieId, depth: u32) -> Option<String> {
    let name = text(all, id, gimli::DW_AT_name).or_else(|| text(all, id, gimli::DW_AT_linkage_name))?;
    let declaration = origins(all, id).last()?;
    let naming = naming(all, declaration);
    if naming == Naming::Plain || depth > DEEPEST {
        return Some(name);
    }
    let path = origins(all, id).find_map(|o| path(all, o, naming, depth));
    // Global functions without either are not told apart by their parameters: main, and those with C's linkage.
    let is_global = attribute(all, id, gimli::DW_AT_external).is_some();
    let is_overloaded = naming == Naming::Overloads && (path.is_some() || !is_global || text(all, id, gimli::DW_AT_linkage_name).is_some());
    let parameters = if is_overloaded { parameters(all, declaration) } else { String::new() };
    Some(match path {
        Some(path) => format!("{path}::{name}{parameters}"),
        None => format!("{name}{parameters}"),
    })
}

/// The names of what is around an entry, if anything is.
fn path(all: All<'_, '_, '_>, id: DieId, naming: Naming, depth: u32) -> Option<String> {
    let mut names = Vec::new();
    for around in std::iter::successors(parent(all, id), |&d| parent(all, d)).take(DEEPEST as usize) {
        let name = || text(all, around, gimli::DW_AT_name);
        match die(all, around).entry.tag() {
            gimli::DW_TAG_namespace => names.push(name().unwrap_or_else(|| "(anonymous namespace)".to_owned())),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_enumeration_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                names.push(name().unwrap_or_else(|| unnamed(all, around)));
            }
            // A class inside a function.
            gimli::DW_TAG_subprogram if naming == Naming::Overloads && !names.is_empty() => {
                names.extend(named(all, around, depth + 1));
                break;
            }
            gimli::DW_TAG_lexical_block if naming == Naming::Overloads => {}
            gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit | gimli::DW_TAG_type_unit => break,
            _ => return None,
        }
    }
    names.reverse();
    (!names.is_empty()).then(|| names.join("::"))
}

/// What stands for a type without a name, such as a lambda's: two of them in one function have different places.
fn unnamed(all: All<'_, '_, '_>, id: DieId) -> String {
    let place = |name| number(all, id, name).map(|n| format!(":{n}")).unwrap_or_default();
    format!("(anonymous{}{})", place(gimli::DW_AT_decl_line), place(gimli::DW_AT_decl_column))
}

/// The types of a function's parameters as C++ names have them.
fn parameters(all: All<'_, '_, '_>, function: DieId) -> String {
    let mut types = Vec::new();
    let mut suffix = "";
    for child in children(all, function) {
        match die(all, child).entry.tag() {
            gimli::DW_TAG_formal_parameter if flag(all, child, gimli::DW_AT_artificial) => {
                let this = follow(all, child, gimli::DW_AT_type).filter(|_| types.is_empty());
                let this = this.map(|t| skip_const(all, t)).and_then(|t| follow(all, t, gimli::DW_AT_type));
                if this.is_some_and(|t| die(all, t).entry.tag() == gimli::DW_TAG_const_type) {
                    suffix = " const";
                }
            }
            gimli::DW_TAG_formal_parameter => types.push(spell(all, follow(all, child, gimli::DW_AT_type), 0)),
            gimli::DW_TAG_unspecified_parameters => types.push("...".to_owned()),
            _ => {}
        }
    }
    format!("({}){suffix}", types.join(", "))
}

/// What stands behind a `const` that belongs to a parameter itself.
fn skip_const(all: All<'_, '_, '_>, id: DieId) -> DieId {
    match die(all, id).entry.tag() {
        gimli::DW_TAG_const_type => follow(all, id, gimli::DW_AT_type).unwrap_or(id),
        _ => id,
    }
}

/// A type as demanglers spell it, with no regard to typedefs.
fn spell(all: All<'_, '_, '_>, id: Option<DieId>, depth: u32) -> String {
    let Some(id) = id else { return "void".to_owned() };
    if depth > DEEPEST {
        return "...".to_owned();
    }
    let inner = || spell(all, follow(all, id, gimli::DW_AT_type), depth + 1);
    match die(all, id).entry.tag() {
        gimli::DW_TAG_pointer_type => format!("{}*", inner()),
        gimli::DW_TAG_reference_type => format!("{}&", inner()),
        gimli::DW_TAG_rvalue_reference_type => format!("{}&&", inner()),
        gimli::DW_TAG_const_type => format!("{} const", inner()),
        gimli::DW_TAG_volatile_type => format!("{} volatile", inner()),
        gimli::DW_TAG_typedef | gimli::DW_TAG_restrict_type => inner(),
        gimli::DW_TAG_array_type => format!("{} []", inner()),
        gimli::DW_TAG_subroutine_type => format!("{} {}", inner(), parameters(all, id)),
        _ => {
            let name = text(all, id, gimli::DW_AT_name).unwrap_or_else(|| unnamed(all, id));
            match path(all, id, Naming::Overloads, depth + 1) {
                Some(path) => format!("{path}::{name}"),
                None => name,
            }
        }
    }
}
