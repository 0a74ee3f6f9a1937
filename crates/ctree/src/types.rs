//! Types, canonical (typedefs seen through), in one table per unit.

/// Index into a unit's type table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CTypeId(pub(crate) u32);

/// Index into a unit's record table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub(crate) u32);

/// Qualifiers of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quals {
    /// `const`; for an array, its elements.
    pub constant: bool,
    /// `volatile`; for an array, its elements.
    pub volatile: bool,
}

/// A type with its qualifiers and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CType {
    /// What sort of type it is.
    pub kind: CTypeKind,
    /// The qualifiers written with it.
    pub quals: Quals,
    /// Size in bytes, `None` when incomplete.
    pub size: Option<u64>,
    /// As the front end spells it.
    pub spelling: String,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CTypeKind {
    /// The type without values, `void`.
    Void,
    /// Any integer type, `_Bool` included.
    Int(IntType),
    /// An enumeration, with the integer type that represents it.
    Enum(IntType),
    /// A real floating type.
    Float(FloatKind),
    /// A pointer to another type.
    Pointer(CTypeId),
    /// An array; no length for incomplete and variable ones.
    Array(CTypeId, Option<u64>),
    /// A structure or union.
    Record(RecordId),
    /// A function with its result and parameters.
    Function {
        /// The type of what it returns.
        result: CTypeId,
        /// The types of its parameters, in order.
        params: Vec<CTypeId>,
        /// Whether its parameters end in `...`.
        variadic: bool,
        /// False for `f()` and old-style definitions.
        prototype: bool,
    },
    /// Vectors, complex numbers, `_BitInt`, 128-bit integers: nothing here computes with them.
    Other,
}

/// The integer types by rank, signedness apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntKind {
    /// The truth type, `_Bool`.
    Bool,
    /// `char`, `signed char`, `unsigned char`.
    Char,
    /// Two bytes wide: `short`.
    Short,
    /// Four bytes wide: `int`.
    Int,
    /// Eight bytes wide on this machine: `long`.
    Long,
    /// Eight bytes wide everywhere: `long long`.
    LongLong,
}

/// An integer type: its width and whether it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntType {
    /// Which of C's integer types.
    pub kind: IntKind,
    /// Whether it is signed.
    pub signed: bool,
}

impl IntType {
    /// The type of most expressions: `int`.
    pub const INT: Self = Self { kind: IntKind::Int, signed: true };
    /// Its counterpart that wraps: `unsigned int`.
    pub const UNSIGNED: Self = Self { kind: IntKind::Int, signed: false };
    /// The signed type of eight bytes: `long`.
    pub const LONG: Self = Self { kind: IntKind::Long, signed: true };
    /// The type of sizes: `unsigned long`.
    pub const UNSIGNED_LONG: Self = Self { kind: IntKind::Long, signed: false };
    /// Every integer type there is.
    pub const ALL: [Self; 11] = [
        Self { kind: IntKind::Bool, signed: false },
        Self { kind: IntKind::Char, signed: true },
        Self { kind: IntKind::Char, signed: false },
        Self { kind: IntKind::Short, signed: true },
        Self { kind: IntKind::Short, signed: false },
        Self::INT,
        Self::UNSIGNED,
        Self::LONG,
        Self::UNSIGNED_LONG,
        Self { kind: IntKind::LongLong, signed: true },
        Self { kind: IntKind::LongLong, signed: false },
    ];

    /// Width in bits under the LP64 model of x86-64 Linux; the value bits only for `_Bool`.
    pub fn bits(self) -> u32 {
        match self.kind {
            IntKind::Bool => 1,
            IntKind::Char => 8,
            IntKind::Short => 16,
            IntKind::Int => 32,
            IntKind::Long | IntKind::LongLong => 64,
        }
    }

    /// As a declaration writes it. Plain `char` counts as `signed char`, which it equals on x86-64.
    pub fn name(self) -> &'static str {
        match (self.kind, self.signed) {
            (IntKind::Bool, _) => "_Bool",
            (IntKind::Char, true) => "signed char",
            (IntKind::Char, false) => "unsigned char",
            (IntKind::Short, true) => "short",
            (IntKind::Short, false) => "unsigned short",
            (IntKind::Int, true) => "int",
            (IntKind::Int, false) => "unsigned int",
            (IntKind::Long, true) => "long",
            (IntKind::Long, false) => "unsigned long",
            (IntKind::LongLong, true) => "long long",
            (IntKind::LongLong, false) => "unsigned long long",
        }
    }
}

/// The real floating types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the types'")]
pub enum FloatKind {
    Float,
    Double,
    LongDouble,
}

/// Whether a record is a structure or a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordShape {
    /// Members one after another.
    Struct,
    /// Members on top of one another.
    Union,
}

/// Who declares a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredBy {
    /// The program's own file.
    Here,
    /// A header, or the compiler itself: what its members hold is their business (`va_list` is filled in as a
    /// level of optimization sees fit).
    Elsewhere,
}

/// A structure or union type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordType {
    /// Its tag, empty when it has none.
    pub name: String,
    /// Which of the two.
    pub shape: RecordShape,
    /// Who declares it: the program or a header.
    pub declared: DeclaredBy,
    /// Its members in order.
    pub fields: Vec<RecordField>,
}

/// A member of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordField {
    /// Its name; empty for an anonymous record member and an unnamed bit-field.
    pub name: String,
    /// The type of the field.
    pub ty: CTypeId,
    /// Width in bits of a bit-field.
    pub width: Option<u32>,
    /// Its offset from the record's start, in bits.
    pub offset: Option<u64>,
}
