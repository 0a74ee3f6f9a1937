//! Types of the C++ library that mean more than their members: recognised here by name, namespace and size, read by whoever
//! prints values. The layouts are those of libstdc++, which its ABI fixes; clang on Linux uses the same library.
//!
//! Deliberately absent: libc++, and the old string that shared its text.

use super::dies::{All, DieId, children, die, parent, text};
use crate::Container;
use gimli::DW_TAG_template_type_parameter as TYPE_PARAMETER;

/// What a class of the library stands for, with the entries of the types it is made for.
pub(super) enum LibraryClass {
    Text,
    Sequence(DieId),
    Tree(DieId, Option<DieId>),
    Hash(DieId, Option<DieId>),
    Optional(DieId),
    Owner(DieId),
}

/// The class of an entry, `None` when it is none of the library's, or not as its ABI has it.
pub(super) fn recognise(all: All<'_, '_, '_>, id: DieId, size: u64) -> Option<LibraryClass> {
    let name = text(all, id, gimli::DW_AT_name)?;
    let (class, arguments) = name.split_once('<')?;
    if !is_in_std(all, id) {
        return None;
    }
    let mut parameters = children(all, id).filter(|&c| die(all, c).entry.tag() == TYPE_PARAMETER);
    let mut parameter = || parameters.next().and_then(|p| super::dies::follow(all, p, gimli::DW_AT_type));
    Some(match (class, size) {
        ("basic_string", 32) if arguments.starts_with("char,") => LibraryClass::Text,
        // Bits are packed into words.
        ("vector", 24) if !arguments.starts_with("bool,") => LibraryClass::Sequence(parameter()?),
        ("map" | "multimap", 48) => LibraryClass::Tree(parameter()?, Some(parameter()?)),
        ("set" | "multiset", 48) => LibraryClass::Tree(parameter()?, None),
        ("unordered_map" | "unordered_multimap", 56) => LibraryClass::Hash(parameter()?, Some(parameter()?)),
        ("unordered_set" | "unordered_multiset", 56) => LibraryClass::Hash(parameter()?, None),
        ("optional", _) => LibraryClass::Optional(parameter()?),
        // A deleter with a state of its own makes it larger; of an array the length is not known.
        ("unique_ptr", 8) if !arguments.contains("[]") => LibraryClass::Owner(parameter()?),
        _ => return None,
    })
}

/// Directly in `std`, or in one of its versioned namespaces.
fn is_in_std(all: All<'_, '_, '_>, id: DieId) -> bool {
    let mut around = parent(all, id);
    while let Some(namespace) = around.filter(|&d| die(all, d).entry.tag() == gimli::DW_TAG_namespace) {
        match text(all, namespace, gimli::DW_AT_name).as_deref() {
            Some("std") => return parent(all, namespace).is_none_or(|d| die(all, d).entry.tag() != gimli::DW_TAG_namespace),
            Some(name) if name.starts_with("__") => around = parent(all, namespace),
            _ => return false,
        }
    }
    false
}

impl LibraryClass {
    /// The same with the types read.
    pub fn read(self, mut read: impl FnMut(DieId) -> crate::TypeId) -> Container {
        match self {
            Self::Text => Container::Text,
            Self::Sequence(element) => Container::Sequence(read(element)),
            Self::Tree(key, value) => Container::Tree { key: read(key), value: value.map(read) },
            Self::Hash(key, value) => Container::Hash { key: read(key), value: value.map(read) },
            Self::Optional(of) => Container::Optional(read(of)),
            Self::Owner(of) => Container::Owner(read(of)),
        }
    }
}
