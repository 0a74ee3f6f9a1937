//! What an expression comes to before its value is asked for: a type, and where the bytes are.

use super::super::eval::Fault;
use super::super::module::{Module, TypeId, TypeKind};
use super::super::value::Content;
use super::expression::TypeName;
use std::rc::Rc;

/// A type: one of the debug information's, or one that the expression makes.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Known(TypeId),
    Integer {
        size: u8,
        is_signed: bool,
    },
    Real(u8),
    /// Two floating-point numbers of this size.
    Complex(u8),
    Pointer(Rc<Kind>),
    /// An array whose length is known only where the program stands.
    Array(Rc<Kind>, u64),
    Function,
    Void,
}

/// Where the bytes of a part are.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// In memory, from an address on.
    Memory(u64),
    /// In what was fetched from registers, constants and pieces.
    Bytes(Rc<Content>),
    /// In the expression itself.
    Number(super::number::Number),
    /// Nowhere, for this reason.
    Lost(Fault),
}

/// An object, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub kind: Kind,
    pub held: Held,
    /// Its first bit, counted from where the bytes begin.
    pub bit: u64,
    /// Its width, for bit-fields.
    pub bit_size: Option<u64>,
}

impl Part {
    pub fn whole(kind: Kind, held: Held) -> Self {
        Self { kind, held, bit: 0, bit_size: None }
    }
}

impl Kind {
    /// How many bytes a value has.
    pub fn size(&self, module: &Module) -> u64 {
        match self {
            Self::Known(id) => module.ty(*id).size,
            Self::Integer { size, .. } | Self::Real(size) => u64::from(*size),
            Self::Complex(size) => 2 * u64::from(*size),
            Self::Pointer(_) => 8,
            Self::Array(element, count) => element.size(module).saturating_mul(*count),
            Self::Function | Self::Void => 1,
        }
    }

    /// What a pointer leads to.
    pub fn target(&self, module: &Module) -> Option<Rc<Self>> {
        match self {
            Self::Pointer(to) => Some(Rc::clone(to)),
            Self::Known(id) => {
                let of = module.ty(*id);
                let is_pointer = matches!(of.kind, TypeKind::Pointer);
                is_pointer.then(|| Rc::new(of.target.map_or(Self::Void, Self::Known)))
            }
            _ => None,
        }
    }

    /// What an array is made of.
    pub fn element(&self, module: &Module) -> Option<(Rc<Self>, u64)> {
        match self {
            Self::Array(element, count) => Some((Rc::clone(element), *count)),
            Self::Known(id) => match &module.ty(*id).kind {
                TypeKind::Array { element, count } => Some((Rc::new(Self::Known(*element)), *count)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type that a name stands for.
    pub fn named(module: &Module, name: &TypeName) -> Option<Self> {
        let mut kind = match basic(&name.words) {
            Some(kind) => kind,
            None => Self::Known(find(module, &name.words)?),
        };
        for _ in 0..name.pointers {
            kind = Self::Pointer(Rc::new(kind));
        }
        Some(kind)
    }
}

/// A type of the debug information by its name; tags may be left out, as C++ does. One with a size is preferred to a
/// declaration without.
pub(super) fn find(module: &Module, name: &str) -> Option<TypeId> {
    let is_it = |spelled: &str| {
        spelled == name || ["struct ", "union ", "enum ", "class "].iter().any(|tag| spelled.strip_prefix(tag) == Some(name))
    };
    let mut found = (0..module.types.len()).filter(|&i| is_it(&module.types[i].name));
    let first = found.clone().next();
    found.find(|&i| module.types[i].size > 0).or(first).map(|i| TypeId(i as u32))
}

/// A type made of C's own words, in any order.
fn basic(words: &str) -> Option<Kind> {
    let count = |word: &str| words.split(' ').filter(|w| *w == word).count();
    if !words.split(' ').all(|w| super::expression::TYPE_WORDS.contains(&w)) {
        return None;
    }
    let is_signed = count("unsigned") == 0;
    let integer = |size| Some(Kind::Integer { size, is_signed });
    match () {
        () if count("void") == 1 => Some(Kind::Void),
        () if count("float") == 1 => Some(Kind::Real(4)),
        () if count("double") == 1 => Some(Kind::Real(if count("long") > 0 { 16 } else { 8 })),
        () if count("_Bool") + count("bool") == 1 => Some(Kind::Integer { size: 1, is_signed: false }),
        () if count("char") == 1 => integer(1),
        () if count("short") == 1 => integer(2),
        () if count("__int128") == 1 => integer(16),
        () if count("long") > 0 => integer(8),
        () => integer(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_basic_type_come_in_any_order() {
        for (words, size, signed) in [("long unsigned int", 8, false), ("unsigned", 4, false), ("signed char", 1, true), ("long", 8, true)]
        {
            assert!(matches!(basic(words), Some(Kind::Integer { size: s, is_signed: g }) if s == size && g == signed), "{words}");
        }
        assert!(basic("struct pair").is_none());
    }
}
