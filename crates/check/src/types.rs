//! Types as the scalars they consist of, and the canonical text of a scalar's bytes (the rules are those of
//! `trueline_trace`'s engines).

use crate::debuginfo::{Encoding, Leaf};
use gimli::{AttributeValue, EndianArcSlice, LittleEndian};

type Slice = EndianArcSlice<LittleEndian>;

/// More scalars than this are not looked at; engines cut their text off at 256 nodes too.
const MOST_LEAVES: usize = 200;

/// Appends the scalars of the type at `offset`; false when it holds anything else or too many.
pub(crate) fn flatten(
    dwarf: &gimli::Dwarf<Slice>,
    unit: &gimli::Unit<Slice>,
    offset: gimli::UnitOffset,
    base: u64,
    found: &mut Vec<Leaf>,
    depth: u32,
) -> gimli::Result<bool> {
    if depth > 24 || found.len() > MOST_LEAVES {
        return Ok(false);
    }
    let entry = unit.entry(offset)?;
    let number = |name| entry.attr_value(name).and_then(|v| v.udata_value());
    let inner = match entry.attr_value(gimli::DW_AT_type) {
        Some(AttributeValue::UnitRef(inner)) => Some(inner),
        _ => None,
    };
    match entry.tag() {
        gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type | gimli::DW_TAG_restrict_type => match inner {
            Some(inner) => flatten(dwarf, unit, inner, base, found, depth + 1),
            None => Ok(false),
        },
        gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type => {
            let Some(size) = number(gimli::DW_AT_byte_size) else { return Ok(false) };
            let encoding = match entry.attr_value(gimli::DW_AT_encoding) {
                Some(AttributeValue::Encoding(gimli::DW_ATE_signed | gimli::DW_ATE_signed_char)) => Encoding::Signed,
                Some(AttributeValue::Encoding(gimli::DW_ATE_float)) => Encoding::Float,
                Some(AttributeValue::Encoding(
                    gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_boolean | gimli::DW_ATE_UTF,
                )) => Encoding::Unsigned,
                None => Encoding::Unsigned,
                _ => return Ok(false),
            };
            if size > 8 {
                return Ok(false);
            }
            found.push(Leaf { offset: base, size, bits: None, encoding });
            Ok(true)
        }
        gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => members(dwarf, unit, offset, base, found, depth),
        gimli::DW_TAG_array_type => {
            let Some(inner) = inner else { return Ok(false) };
            let mut total = 1u64;
            let mut tree = unit.entries_tree(Some(offset))?;
            let mut children = tree.root()?.children();
            while let Some(child) = children.next()? {
                if child.entry().tag() == gimli::DW_TAG_subrange_type {
                    let count = child.entry().attr_value(gimli::DW_AT_count).and_then(|v| v.udata_value());
                    let upper = child.entry().attr_value(gimli::DW_AT_upper_bound).and_then(|v| v.udata_value());
                    match count.or(upper.map(|u| u.saturating_add(1))) {
                        Some(n) => total = total.saturating_mul(n),
                        None => return Ok(false),
                    }
                }
            }
            if total > MOST_LEAVES as u64 {
                return Ok(false);
            }
            let mut one = Vec::new();
            if !flatten(dwarf, unit, inner, 0, &mut one, depth + 1)? {
                return Ok(false);
            }
            let Some(stride) = size_of(unit, inner, 0)? else { return Ok(false) };
            for index in 0..total {
                found.extend(
                    one.iter()
                        .map(|l| Leaf { offset: base.saturating_add(index.saturating_mul(stride)).saturating_add(l.offset), ..l.clone() }),
                );
            }
            Ok(found.len() <= MOST_LEAVES)
        }
        _ => Ok(false),
    }
}

fn members(
    dwarf: &gimli::Dwarf<Slice>,
    unit: &gimli::Unit<Slice>,
    offset: gimli::UnitOffset,
    base: u64,
    found: &mut Vec<Leaf>,
    depth: u32,
) -> gimli::Result<bool> {
    let mut tree = unit.entries_tree(Some(offset))?;
    let mut children = tree.root()?.children();
    while let Some(child) = children.next()? {
        let member = child.entry();
        match member.tag() {
            gimli::DW_TAG_member => {}
            gimli::DW_TAG_variant_part => return Ok(false),
            _ => continue,
        }
        let number = |name| member.attr_value(name).and_then(|v| v.udata_value());
        let Some(AttributeValue::UnitRef(inner)) = member.attr_value(gimli::DW_AT_type) else { return Ok(false) };
        let at = base.saturating_add(number(gimli::DW_AT_data_member_location).unwrap_or(0));
        let first = found.len();
        if !flatten(dwarf, unit, inner, at, found, depth + 1)? {
            return Ok(false);
        }
        if let Some(width) = number(gimli::DW_AT_bit_size) {
            if number(gimli::DW_AT_bit_offset).is_some() {
                // DWARF 3's big-endian numbering; no compiler we know emits it by default.
                return Ok(false);
            }
            let start = number(gimli::DW_AT_data_bit_offset).unwrap_or(0);
            if let Some(leaf) = found.get_mut(first) {
                leaf.offset = base.saturating_add(start / 8);
                leaf.bits = Some((start % 8, width));
                leaf.size = (start % 8).saturating_add(width).div_ceil(8);
                if leaf.size > 8 {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

fn size_of(unit: &gimli::Unit<Slice>, offset: gimli::UnitOffset, depth: u32) -> gimli::Result<Option<u64>> {
    if depth > 24 {
        return Ok(None);
    }
    let entry = unit.entry(offset)?;
    if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size).and_then(|v| v.udata_value()) {
        return Ok(Some(size));
    }
    match entry.attr_value(gimli::DW_AT_type) {
        Some(AttributeValue::UnitRef(inner)) if entry.tag() != gimli::DW_TAG_array_type => size_of(unit, inner, depth + 1),
        _ => Ok(None),
    }
}

/// The canonical text of a scalar, from the bytes of the whole variable.
pub(crate) fn text_of(leaf: &Leaf, bytes: &[u8]) -> Option<String> {
    let raw = bytes.get(leaf.offset as usize..leaf.offset.checked_add(leaf.size)? as usize)?;
    let mut word = [0u8; 16];
    word[..raw.len()].copy_from_slice(raw);
    let mut value = u128::from_le_bytes(word);
    let mut width = leaf.size as u32 * 8;
    if let Some((first, bits)) = leaf.bits {
        value = value >> first & ((1u128 << bits) - 1);
        width = bits as u32;
    }
    Some(match leaf.encoding {
        Encoding::Unsigned => value.to_string(),
        Encoding::Signed => ((value as i128) << (128 - width) >> (128 - width)).to_string(),
        Encoding::Float if leaf.size == 4 => format!("{:?}", f32::from_bits(value as u32)),
        Encoding::Float if leaf.size == 8 => format!("{:?}", f64::from_bits(value as u64)),
        Encoding::Float => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_read_as_engines_write_them() {
        let leaf = |size, encoding| Leaf { offset: 0, size, bits: None, encoding };
        assert_eq!(text_of(&leaf(1, Encoding::Signed), &[0xff]).as_deref(), Some("-1"));
        assert_eq!(text_of(&leaf(1, Encoding::Unsigned), &[0xff]).as_deref(), Some("255"));
        assert_eq!(text_of(&leaf(8, Encoding::Unsigned), &[0xff; 8]).as_deref(), Some("18446744073709551615"));
        assert_eq!(text_of(&leaf(4, Encoding::Float), &0.1f32.to_le_bytes()).as_deref(), Some("0.1"));
        let field = Leaf { offset: 0, size: 1, bits: Some((2, 3)), encoding: Encoding::Signed };
        assert_eq!(text_of(&field, &[0b0001_1100]).as_deref(), Some("-1"));
    }
}
