//! Types, good enough to print values and spell names.

use crate::op::Op;
use crate::{BlockId, TypeId, UnitId};
use std::sync::Arc;

/// A type, good enough to print values.
#[derive(Debug)]
pub struct Type {
    /// What it is made of.
    pub kind: TypeKind,
    /// How many bytes a value has.
    pub size: u64,
    /// The type as the source spells it.
    pub name: Arc<str>,
    /// What a pointer leads to, where pointees were asked for.
    pub target: Option<TypeId>,
}

/// What a type is made of.
#[derive(Debug)]
pub enum TypeKind {
    /// A signed integer, or an enumeration with negative members.
    Signed,
    /// An unsigned integer, character, boolean or enumeration.
    Unsigned,
    /// A binary floating-point number.
    Float,
    /// A complex number of two floating-point numbers, the real part first.
    Complex,
    /// A decimal number, whose value is not printed.
    Decimal,
    /// A pointer or function.
    Pointer,
    /// A reference to an object of another type.
    Reference(TypeId),
    /// Structs and unions: debuggers print the members of both. Base classes come first, as members of their own types.
    Aggregate(Vec<Field>),
    /// A class of the C++ library that stands for more than its members say.
    Library {
        /// What it is.
        container: Container,
        /// Its members, as those of any other class.
        fields: Vec<Field>,
    },
    /// An enum of Rust's: which of its variants is there depends on a discriminant, if there is more than one.
    Enum {
        /// Where the discriminant is, if there is one.
        discriminant: Option<Field>,
        /// The variants, each with its members.
        variants: Vec<Variant>,
    },
    /// One dimension of an array.
    Array {
        /// The type of each element.
        element: TypeId,
        /// How many there are; 0 when that is not known.
        count: u64,
    },
    /// Not known, or without values (void, incomplete types).
    Opaque,
}

/// Classes of the C++ library that can be read, with the types of what they hold.
#[derive(Clone, Copy, Debug)]
pub enum Container {
    /// `std::string`.
    Text,
    /// `std::vector`.
    Sequence(TypeId),
    /// `std::map` and `std::set` with their kin.
    Tree {
        /// What it is sorted by.
        key: TypeId,
        /// What it maps to, for maps.
        value: Option<TypeId>,
    },
    /// `std::unordered_map` and `std::unordered_set` with their kin.
    Hash {
        /// What it is looked up by.
        key: TypeId,
        /// What it maps to, for maps.
        value: Option<TypeId>,
    },
    /// `std::optional`.
    Optional(TypeId),
    /// `std::unique_ptr`.
    Owner(TypeId),
}

/// How long an array is whose length is known only where the program stands.
#[derive(Clone, Debug)]
pub enum Bound {
    /// Its last index.
    Last(BoundValue),
    /// The number of its elements.
    Count(BoundValue),
}

/// Where the number of a [`Bound`] comes from.
#[derive(Clone, Debug)]
pub enum BoundValue {
    /// What this computes.
    Computed(Arc<[Op]>),
    /// The value of the object that this entry describes, as an offset in .debug_info.
    Object(usize),
}

/// A member of a structure, union or variant.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name in the source; empty for an unnamed one.
    pub name: Arc<str>,
    /// The type of its value.
    pub ty: TypeId,
    /// Its first bit, counted from the start of the whole.
    pub bit_offset: u64,
    /// Its width, for bit-fields.
    pub bit_size: Option<u64>,
}

/// A constant that an enumeration of C's names.
#[derive(Clone, Debug)]
pub struct Enumerator {
    /// Its name in the source.
    pub name: Arc<str>,
    /// Its value.
    pub value: i128,
    /// The enumeration.
    pub ty: TypeId,
    /// Where its name is known.
    pub home: EnumeratorHome,
}

/// Where an enumerator can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnumeratorHome {
    /// In a unit, outside its functions.
    Unit(UnitId),
    /// In a block and those inside it.
    Block(BlockId),
}

/// A variant of an enum.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The discriminant's value; `None` for the variant that is there when no other is.
    pub discriminant: Option<u64>,
    /// Its name in the source.
    pub name: Arc<str>,
    /// The member that holds its own.
    pub field: Field,
}
