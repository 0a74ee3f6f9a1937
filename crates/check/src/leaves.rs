//! Types as the scalars they consist of, and the canonical text of a scalar's bytes (the rules are those of
//! `trueline_trace`'s engines).

use trueline_dwarf::{Module, TypeId, TypeKind};

/// A scalar inside a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub offset: u64,
    pub size: u64,
    /// First bit and width, for bit-fields.
    pub bits: Option<(u64, u64)>,
    pub encoding: Encoding,
}

/// How a scalar's bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Signed,
    Unsigned,
    Float,
}

/// More scalars than this are not looked at; engines cut their text off at 256 nodes too.
const MOST_LEAVES: usize = 200;

/// The scalars of a type, `None` when it holds anything but numbers, or too many.
pub(crate) fn leaves(module: &Module, ty: TypeId) -> Option<Vec<Leaf>> {
    let mut found = Vec::new();
    flatten(module, ty, 0, &mut found, 0)?;
    Some(found)
}

/// Appends the scalars of a type that starts at a bit.
fn flatten(module: &Module, ty: TypeId, bit: u64, found: &mut Vec<Leaf>, depth: u32) -> Option<()> {
    if depth > 24 || found.len() > MOST_LEAVES {
        return None;
    }
    let of = module.ty(ty);
    let encoding = match &of.kind {
        TypeKind::Signed => Encoding::Signed,
        TypeKind::Unsigned => Encoding::Unsigned,
        TypeKind::Float => Encoding::Float,
        TypeKind::Aggregate(fields) => {
            for field in fields {
                let first = found.len();
                flatten(module, field.ty, bit.saturating_add(field.bit_offset), found, depth + 1)?;
                if let (Some(width), Some(leaf)) = (field.bit_size, found.get_mut(first)) {
                    let start = bit.saturating_add(field.bit_offset);
                    let size = (start % 8).saturating_add(width).div_ceil(8);
                    *leaf = Leaf { offset: start / 8, size, bits: Some((start % 8, width)), encoding: leaf.encoding };
                    if size > 8 {
                        return None;
                    }
                }
            }
            return Some(());
        }
        TypeKind::Array { element, count } => {
            // An array without a known length reads as one without elements.
            let count = usize::try_from(*count).ok().filter(|n| (1..=MOST_LEAVES).contains(n))?;
            let stride = module.ty(*element).size.saturating_mul(8);
            for index in 0..count as u64 {
                flatten(module, *element, bit.saturating_add(index.saturating_mul(stride)), found, depth + 1)?;
            }
            return (found.len() <= MOST_LEAVES).then_some(());
        }
        TypeKind::Complex
        | TypeKind::Decimal
        | TypeKind::Pointer
        | TypeKind::Reference(_)
        | TypeKind::Library { .. }
        | TypeKind::Enum { .. }
        | TypeKind::Opaque => return None,
    };
    if of.size > 8 {
        return None;
    }
    found.push(Leaf { offset: bit / 8, size: of.size, bits: None, encoding });
    Some(())
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
