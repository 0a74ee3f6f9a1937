//! Types, good enough to print values and spell names.

use super::dies::{All, DieId, attribute, children, die, flag, follow, number, text};
use super::library::recognise;
use super::names::language;
use crate::{Bound, BoundValue, Enumerator, EnumeratorHome, Field, Type, TypeId, TypeKind, Variant};
use gimli::AttributeValue;
use std::collections::HashMap;
use std::sync::Arc;

/// What is read of the types that pointers lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointees {
    /// Their names only.
    Named,
    /// All of them.
    Read,
}

/// Types read so far, by entry.
pub(super) struct TypeReader {
    known: HashMap<DieId, TypeId>,
    pointees: Pointees,
    /// Pointers whose pointees are still to be read: going into them at once would nest as deeply as lists are long.
    left: Vec<(TypeId, DieId)>,
    /// How long arrays are whose length is computed.
    pub bounds: Vec<(TypeId, Bound)>,
}

impl TypeReader {
    pub fn new(pointees: Pointees) -> Self {
        Self { known: HashMap::new(), pointees, left: Vec::new(), bounds: Vec::new() }
    }

    /// The type of the entry `of` (its DW_AT_type, possibly on its origin).
    pub fn type_of(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, of: DieId) -> TypeId {
        match attribute(all, of, gimli::DW_AT_type).and_then(|(at, _)| follow(all, at, gimli::DW_AT_type)) {
            Some(id) => {
                let ty = self.read(all, types, id, 0);
                while let Some((pointer, target)) = self.left.pop() {
                    let target = self.read(all, types, target, 0);
                    types[pointer.0 as usize].target = Some(target);
                }
                ty
            }
            None => push(types, TypeKind::Opaque, 0, "void"),
        }
    }

    fn read(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, id: DieId, depth: u32) -> TypeId {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let name = spell(all, id, 0);
        let this = push(types, TypeKind::Opaque, 0, &name);
        self.known.insert(id, this);
        if depth > 64 {
            return this;
        }
        let (kind, size) = self.describe(all, types, (id, this), depth);
        if self.pointees == Pointees::Read
            && matches!(kind, TypeKind::Pointer)
            && let Some(target) = pointee(all, id)
        {
            self.left.push((this, target));
        }
        types[this.0 as usize].kind = kind;
        types[this.0 as usize].size = size;
        this
    }

    fn describe(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, (id, this): (DieId, TypeId), depth: u32) -> (TypeKind, u64) {
        let entry = &die(all, id).entry;
        let size = number(all, id, gimli::DW_AT_byte_size).unwrap_or(0);
        match entry.tag() {
            gimli::DW_TAG_base_type => {
                use gimli::constants as c;
                let encoding = match entry.attr_value(gimli::DW_AT_encoding) {
                    Some(AttributeValue::Encoding(e)) => e,
                    _ => c::DW_ATE_unsigned,
                };
                let kind = match encoding {
                    c::DW_ATE_signed | c::DW_ATE_signed_char => TypeKind::Signed,
                    c::DW_ATE_float => TypeKind::Float,
                    c::DW_ATE_complex_float => TypeKind::Complex,
                    c::DW_ATE_imaginary_float | c::DW_ATE_decimal_float => TypeKind::Decimal,
                    c::DW_ATE_address => TypeKind::Pointer,
                    _ => TypeKind::Unsigned,
                };
                (kind, size)
            }
            gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                let kind = match follow(all, id, gimli::DW_AT_type) {
                    Some(target) => TypeKind::Reference(self.read(all, types, target, depth + 1)),
                    None => TypeKind::Pointer,
                };
                (kind, if size == 0 { 8 } else { size })
            }
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_ptr_to_member_type
            | gimli::DW_TAG_unspecified_type
            | gimli::DW_TAG_subroutine_type => (TypeKind::Pointer, if size == 0 { 8 } else { size }),
            gimli::DW_TAG_enumeration_type => (self.enumeration(all, id), size),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type | gimli::DW_TAG_class_type => {
                if flag(all, id, gimli::DW_AT_declaration) {
                    return (TypeKind::Opaque, 0);
                }
                match children(all, id).find(|&c| die(all, c).entry.tag() == gimli::DW_TAG_variant_part) {
                    Some(part) => (self.variants(all, types, part, depth), size),
                    None => {
                        let fields = self.fields(all, types, id, depth);
                        let kind = match recognise(all, id, size) {
                            Some(found) => TypeKind::Library { container: found.read(|of| self.read(all, types, of, depth + 1)), fields },
                            None => TypeKind::Aggregate(fields),
                        };
                        (kind, size)
                    }
                }
            }
            gimli::DW_TAG_array_type => self.array(all, types, (id, this), depth),
            // Typedefs and qualifiers print as what they stand for.
            _ => match follow(all, id, gimli::DW_AT_type) {
                Some(target) => {
                    let target = self.read(all, types, target, depth + 1);
                    copy_of(types, target)
                }
                None => (TypeKind::Opaque, 0),
            },
        }
    }

    fn enumeration(&mut self, all: All<'_, '_, '_>, id: DieId) -> TypeKind {
        let negative = |e: DieId| {
            let value = die(all, e).entry.attr_value(gimli::DW_AT_const_value);
            matches!(value, Some(AttributeValue::Sdata(n)) if n < 0)
        };
        let mut enumerators = children(all, id).filter(|&c| die(all, c).entry.tag() == gimli::DW_TAG_enumerator);
        if enumerators.any(negative) { TypeKind::Signed } else { TypeKind::Unsigned }
    }

    /// The constants of an enumeration that code names without a scope before them, where pointees are read: nobody else asks
    /// for them. Those of C++'s `enum class` are not of this kind.
    pub fn enumerators(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, id: DieId, home: EnumeratorHome) -> Vec<Enumerator> {
        if self.pointees == Pointees::Named || flag(all, id, gimli::DW_AT_enum_class) || flag(all, id, gimli::DW_AT_declaration) {
            return Vec::new();
        }
        let ty = self.read(all, types, id, 0);
        let constants = children(all, id).filter(|&c| die(all, c).entry.tag() == gimli::DW_TAG_enumerator);
        let named = constants.filter_map(|constant| {
            let name = text(all, constant, gimli::DW_AT_name)?;
            let value = match die(all, constant).entry.attr_value(gimli::DW_AT_const_value)? {
                AttributeValue::Sdata(n) => i128::from(n),
                value => i128::from(value.udata_value()?),
            };
            Some(Enumerator { name: name.into(), value, ty, home })
        });
        named.collect()
    }

    fn fields(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, id: DieId, depth: u32) -> Vec<Field> {
        let members = children(all, id).filter(|&c| {
            let entry = &die(all, c).entry;
            match entry.tag() {
                gimli::DW_TAG_member => !flag(all, c, gimli::DW_AT_external) && !flag(all, c, gimli::DW_AT_artificial),
                // Where a virtual base is depends on the object: an expression says.
                gimli::DW_TAG_inheritance => number(all, c, gimli::DW_AT_data_member_location).is_some(),
                _ => false,
            }
        });
        members.filter_map(|member| self.field(all, types, member, depth)).collect()
    }

    /// The variants of a Rust enum, each a member of its own type.
    fn variants(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, part: DieId, depth: u32) -> TypeKind {
        let discriminant = follow(all, part, gimli::DW_AT_discr).and_then(|d| self.field(all, types, d, depth));
        let mut variants = Vec::new();
        for variant in children(all, part).filter(|&c| die(all, c).entry.tag() == gimli::DW_TAG_variant) {
            let value = die(all, variant).entry.attr_value(gimli::DW_AT_discr_value);
            let value = value.and_then(|v| v.sdata_value().map(|n| n as u64).or_else(|| v.udata_value()));
            let member = children(all, variant).find(|&c| die(all, c).entry.tag() == gimli::DW_TAG_member);
            let Some(member) = member else { continue };
            let Some(field) = self.field(all, types, member, depth) else { continue };
            let name = text(all, member, gimli::DW_AT_name).unwrap_or_default();
            variants.push(Variant { discriminant: value, name: name.into(), field });
        }
        TypeKind::Enum { discriminant, variants }
    }

    fn field(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, member: DieId, depth: u32) -> Option<Field> {
        let ty = self.read(all, types, follow(all, member, gimli::DW_AT_type)?, depth + 1);
        let bit_size = number(all, member, gimli::DW_AT_bit_size);
        let start = number(all, member, gimli::DW_AT_data_member_location).unwrap_or(0).saturating_mul(8);
        let bit_offset = match (number(all, member, gimli::DW_AT_data_bit_offset), number(all, member, gimli::DW_AT_bit_offset)) {
            (Some(bits), _) => bits,
            // DWARF 3: counted from the most significant bit of the storage unit.
            (None, Some(from_top)) => {
                let storage = number(all, member, gimli::DW_AT_byte_size).unwrap_or(types[ty.0 as usize].size).saturating_mul(8);
                start.saturating_add(storage).saturating_sub(from_top.saturating_add(bit_size.unwrap_or(0)))
            }
            (None, None) => start,
        };
        let name = text(all, member, gimli::DW_AT_name).unwrap_or_default();
        Some(Field { name: name.into(), ty, bit_offset, bit_size })
    }

    fn array(&mut self, all: All<'_, '_, '_>, types: &mut Vec<Type>, (id, this): (DieId, TypeId), depth: u32) -> (TypeKind, u64) {
        let Some(element) = follow(all, id, gimli::DW_AT_type) else { return (TypeKind::Opaque, 0) };
        let mut element = self.read(all, types, element, depth + 1);
        let mut counts: Vec<u64> = dimensions(all, id);
        let mut bounds = computed_bounds(all, id);
        if counts.is_empty() {
            counts.push(0);
        }
        // The last dimension is the innermost.
        while let Some(count) = counts.pop() {
            let size = types[element.0 as usize].size.saturating_mul(count);
            let bound = bounds.pop().flatten();
            if counts.is_empty() {
                self.bounds.extend(bound.map(|b| (this, b)));
                return (TypeKind::Array { element, count }, size);
            }
            element = push(types, TypeKind::Array { element, count }, size, "");
            self.bounds.extend(bound.map(|b| (element, b)));
        }
        (TypeKind::Opaque, 0)
    }
}

fn dimensions(all: All<'_, '_, '_>, id: DieId) -> Vec<u64> {
    let ranges = children(all, id).filter(|&c| die(all, c).entry.tag() == gimli::DW_TAG_subrange_type);
    let signed = |c: DieId, name| match die(all, c).entry.attr_value(name)? {
        AttributeValue::Sdata(n) => Some(n),
        value => value.udata_value().and_then(|n| i64::try_from(n).ok()),
    };
    let first = lower_bound(all, id);
    let count = |c: DieId| {
        let lower = signed(c, gimli::DW_AT_lower_bound).unwrap_or(first);
        let upper = || u64::try_from(signed(c, gimli::DW_AT_upper_bound)?.checked_sub(lower)?.checked_add(1)?).ok();
        number(all, c, gimli::DW_AT_count).or_else(upper).unwrap_or(0)
    };
    ranges.map(count).collect()
}

/// The length of each dimension that is computed where the program stands.
fn computed_bounds(all: All<'_, '_, '_>, id: DieId) -> Vec<Option<Bound>> {
    let ranges = children(all, id).filter(|&c| die(all, c).entry.tag() == gimli::DW_TAG_subrange_type);
    let value = |c: DieId, name| match die(all, c).entry.attr_value(name)? {
        AttributeValue::Exprloc(expression) => all[c.unit].decoder().decode(expression.0).ok().map(BoundValue::Computed),
        _ => {
            let variable = follow(all, c, name)?;
            Some(BoundValue::Object(all[variable.unit].start() + die(all, variable).entry.offset().0))
        }
    };
    let bound = |c| {
        let last = value(c, gimli::DW_AT_upper_bound).map(Bound::Last);
        last.or_else(|| value(c, gimli::DW_AT_count).map(Bound::Count))
    };
    ranges.map(bound).collect()
}

/// The index of an array's first element where the debug information does not say, which depends on the language.
fn lower_bound(all: All<'_, '_, '_>, id: DieId) -> i64 {
    use gimli::constants as c;
    match language(all, id) {
        Some(
            c::DW_LANG_Fortran77
            | c::DW_LANG_Fortran90
            | c::DW_LANG_Fortran95
            | c::DW_LANG_Fortran03
            | c::DW_LANG_Fortran08
            | c::DW_LANG_Fortran18
            | c::DW_LANG_Ada83
            | c::DW_LANG_Ada95
            | c::DW_LANG_Cobol74
            | c::DW_LANG_Cobol85
            | c::DW_LANG_Pascal83
            | c::DW_LANG_Modula2,
        ) => 1,
        _ => 0,
    }
}

/// What a pointer leads to, behind typedefs and qualifiers of the pointer itself.
fn pointee(all: All<'_, '_, '_>, id: DieId) -> Option<DieId> {
    let mut at = id;
    // Bounded: damaged references may form a circle.
    for _ in 0..16 {
        let target = follow(all, at, gimli::DW_AT_type)?;
        match die(all, at).entry.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => return Some(target),
            gimli::DW_TAG_subroutine_type | gimli::DW_TAG_ptr_to_member_type => return None,
            _ => at = target,
        }
    }
    None
}

fn push(types: &mut Vec<Type>, kind: TypeKind, size: u64, name: &str) -> TypeId {
    types.push(Type { kind, size, name: Arc::from(name), target: None });
    TypeId(types.len() as u32 - 1)
}

fn copy_of(types: &[Type], id: TypeId) -> (TypeKind, u64) {
    let of = &types[id.0 as usize];
    let kind = match &of.kind {
        TypeKind::Signed => TypeKind::Signed,
        TypeKind::Unsigned => TypeKind::Unsigned,
        TypeKind::Float => TypeKind::Float,
        TypeKind::Complex => TypeKind::Complex,
        TypeKind::Decimal => TypeKind::Decimal,
        TypeKind::Pointer => TypeKind::Pointer,
        TypeKind::Reference(to) => TypeKind::Reference(*to),
        TypeKind::Opaque => TypeKind::Opaque,
        TypeKind::Array { element, count } => TypeKind::Array { element: *element, count: *count },
        TypeKind::Aggregate(fields) => TypeKind::Aggregate(fields.clone()),
        TypeKind::Library { container, fields } => TypeKind::Library { container: *container, fields: fields.clone() },
        TypeKind::Enum { discriminant, variants } => TypeKind::Enum { discriminant: discriminant.clone(), variants: variants.clone() },
    };
    (kind, of.size)
}

/// The type as C spells it, near enough to what gdb prints.
fn spell(all: All<'_, '_, '_>, id: DieId, depth: u32) -> String {
    if depth > 12 {
        return "...".into();
    }
    let target = || match follow(all, id, gimli::DW_AT_type) {
        Some(target) => spell(all, target, depth + 1),
        None => "void".into(),
    };
    let tagged = |word: &str| match text(all, id, gimli::DW_AT_name) {
        Some(name) => format!("{word} {name}"),
        None => format!("{word} {{...}}"),
    };
    match die(all, id).entry.tag() {
        gimli::DW_TAG_pointer_type => {
            let to = follow(all, id, gimli::DW_AT_type);
            if let Some(function) = to.filter(|&t| die(all, t).entry.tag() == gimli::DW_TAG_subroutine_type) {
                return spell(all, function, depth + 1).replacen("()", "(*)()", 1);
            }
            let inner = target();
            if inner.ends_with('*') { format!("{inner}*") } else { format!("{inner} *") }
        }
        gimli::DW_TAG_reference_type => format!("{} &", target()),
        gimli::DW_TAG_rvalue_reference_type => format!("{} &&", target()),
        gimli::DW_TAG_const_type => match target() {
            inner if inner.ends_with('*') => format!("{inner} const"),
            inner => format!("const {inner}"),
        },
        gimli::DW_TAG_volatile_type => match target() {
            inner if inner.ends_with('*') => format!("{inner} volatile"),
            inner => format!("volatile {inner}"),
        },
        gimli::DW_TAG_array_type => {
            let counts: String = dimensions(all, id).iter().map(|c| format!("[{c}]")).collect();
            format!("{} {counts}", target())
        }
        gimli::DW_TAG_subroutine_type => format!("{} ()", target()),
        gimli::DW_TAG_structure_type => tagged("struct"),
        gimli::DW_TAG_union_type => tagged("union"),
        gimli::DW_TAG_enumeration_type => tagged("enum"),
        _ => text(all, id, gimli::DW_AT_name).unwrap_or_else(target),
    }
}
