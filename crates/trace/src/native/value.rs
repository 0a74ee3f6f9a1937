//! From a placement and a type to the canonical text of a value.

use super::eval::{Fault, Machine, Memory, Place, Placement, SSE, Value, X87};
use super::frame::Frame;
use super::module::{Field, Module, TypeId, TypeKind, Variant};
use super::op::ValueType;
use std::fmt::Write as _;

/// Scalars of one aggregate that are rendered; the rest is `...`. The debugger engines have the same limit.
const LEAVES: i32 = 256;
/// Largest object that is looked at, as gdb's `max-value-size` is set.
const LARGEST: u64 = 65536;

/// Where a piece may begin at most in the place it is cut from, in bits: a megabyte.
const FARTHEST_PIECE: u64 = 8 << 20;

/// An object's bytes; `missing` has a bit set for every bit that has no location.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub bytes: Vec<u8>,
    pub missing: Option<Vec<u8>>,
    /// A pointer to something that has no memory: the entry of what it leads to, and how many bytes into that.
    pub synthetic: Option<(usize, i64)>,
    /// The untyped value that the object was computed as, before it was cut to the object's size.
    pub computed: Option<u64>,
}

/// What printing comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    Text,
    AllMissing,
}

impl Machine<'_> {
    /// Fetches an object of type `ty` into `content`.
    pub fn fetch(&self, frame: &Frame, placement: &Placement, ty: TypeId, content: &mut Content) -> Result<(), Fault> {
        let size = self.module.ty(ty).size;
        if size > LARGEST {
            return Err(Fault::Unsupported(format!("{size} bytes are more than are looked at")));
        }
        content.bytes.clear();
        content.bytes.resize(size as usize, 0);
        content.missing = None;
        content.synthetic = None;
        content.computed = match placement {
            Placement::Whole(Place::Value(Value { ty: ValueType::Generic, bits })) => Some(*bits as u64),
            _ => None,
        };
        match placement {
            Placement::Whole(place) => self.fetch_whole(frame, place, content),
            Placement::Pieces(pieces) => self.fetch_pieces(frame, pieces, content),
        }
    }

    fn fetch_whole(&self, frame: &Frame, place: &Place, content: &mut Content) -> Result<(), Fault> {
        match place {
            Place::Memory(address) => {
                if !self.memory.read(*address, &mut content.bytes) {
                    return Err(Fault::Unreadable(format!("no memory at {address:#x}")));
                }
                Ok(())
            }
            Place::ImplicitPointer(entry, offset) => {
                content.synthetic = Some((*entry, *offset));
                Ok(())
            }
            Place::Nowhere => Err(Fault::OptimizedOut),
            _ => {
                let (bytes, length) = self.bytes_of(frame, place, content.bytes.len())?;
                if content.bytes.len() > length {
                    return Err(Fault::IllFormed(format!("a value of {length} bytes for an object of {}", content.bytes.len())));
                }
                let size = content.bytes.len();
                content.bytes.copy_from_slice(&bytes[..size]);
                Ok(())
            }
        }
    }

    /// The bytes of a place that is not memory; vector registers have as many as are wanted.
    fn bytes_of(&self, frame: &Frame, place: &Place, wanted: usize) -> Result<(Vec<u8>, usize), Fault> {
        let bytes = match place {
            Place::Register(register) if SSE.contains(register) => self.vector(frame, *register, wanted)?,
            Place::Register(register) if X87.contains(register) => self.x87(*register)?.to_vec(),
            Place::Register(register) if *register >= X87.end => {
                return Err(Fault::Unsupported(format!("register {register} is not known to this engine")));
            }
            Place::Register(register) => {
                let unknown = || Fault::Unreadable(format!("register {register} is not known in this frame"));
                frame.registers.get(*register).ok_or_else(unknown)?.to_le_bytes().to_vec()
            }
            Place::Value(value) => value.bits.to_le_bytes()[..usize::from(value.ty.size())].to_vec(),
            Place::Implicit(bytes) => bytes.to_vec(),
            Place::Memory(_) | Place::ImplicitPointer(..) | Place::Nowhere => Vec::new(),
        };
        let length = bytes.len();
        Ok((bytes, length))
    }

    fn fetch_pieces(&self, frame: &Frame, pieces: &[(u64, u64, Place)], content: &mut Content) -> Result<(), Fault> {
        let total = content.bytes.len() as u64 * 8;
        let mut missing = vec![0u8; content.bytes.len()];
        let mut at = 0u64;
        for (bits, offset, place) in pieces {
            // The offset is a stranger's word too: nothing lies megabytes into the place of one object.
            if *offset > FARTHEST_PIECE {
                return Err(Fault::IllFormed(format!("a piece that begins {offset} bits into its place")));
            }
            let bits = (*bits).min(total - at);
            let source = match place {
                Place::Nowhere | Place::ImplicitPointer(..) => None,
                Place::Memory(address) => {
                    let mut bytes = vec![0u8; (offset + bits).div_ceil(8) as usize];
                    if !self.memory.read(*address, &mut bytes) {
                        return Err(Fault::Unreadable(format!("no memory at {address:#x}")));
                    }
                    Some(bytes)
                }
                _ => Some(self.bytes_of(frame, place, (offset + bits).div_ceil(8) as usize)?.0),
            };
            match source {
                Some(bytes) => copy_bits(&mut content.bytes, at, &bytes, *offset, bits),
                None => copy_bits(&mut missing, at, &[], 0, bits),
            }
            at += bits;
            if at >= total {
                break;
            }
        }
        // What no piece describes has no location either.
        if at < total {
            copy_bits(&mut missing, at, &[], 0, total - at);
        }
        if missing.iter().any(|&b| b != 0) {
            content.missing = Some(missing);
        }
        Ok(())
    }
}

/// Copies bits, least significant first; past the end of `from` all bits are ones (used for masks).
fn copy_bits(to: &mut [u8], at: u64, from: &[u8], offset: u64, bits: u64) {
    if at.is_multiple_of(8) && offset.is_multiple_of(8) && bits.is_multiple_of(8) && (offset + bits) / 8 <= from.len() as u64 {
        let (a, b, n) = ((at / 8) as usize, (offset / 8) as usize, (bits / 8) as usize);
        to[a..a + n].copy_from_slice(&from[b..b + n]);
        return;
    }
    for i in 0..bits {
        let s = offset + i;
        let bit = from.get((s / 8) as usize).map_or(1, |byte| byte >> (s % 8) & 1);
        let t = at + i;
        let byte = &mut to[(t / 8) as usize];
        *byte = *byte & !(1 << (t % 8)) | bit << (t % 8);
    }
}

/// Prints an object into `text`.
///
/// With `memory`, references and classes of the C++ library show what lies behind them.
pub(crate) fn print(module: &Module, memory: Option<&dyn Memory>, ty: TypeId, content: &Content, text: &mut String) -> Printed {
    print_part(module, memory, ty, content, (0, None), text)
}

/// Prints a part of an object into `text`: what begins at a bit of it, and how many bits there are if that is not what the
/// type says.
pub(crate) fn print_part(
    module: &Module,
    memory: Option<&dyn Memory>,
    ty: TypeId,
    content: &Content,
    (bit, bit_size): (u64, Option<u64>),
    text: &mut String,
) -> Printed {
    text.clear();
    if content.synthetic.is_some() {
        text.push_str("(synthetic pointer)");
        return Printed::Text;
    }
    let mut printer = Printer { module, content, memory, text, budget: LEAVES, depth: 0, shown: false, hidden: false };
    printer.object(ty, bit, bit_size);
    match (printer.hidden, printer.shown) {
        (true, false) => Printed::AllMissing,
        _ => Printed::Text,
    }
}

pub(super) struct Printer<'p> {
    pub(super) module: &'p Module,
    pub(super) content: &'p Content,
    pub(super) memory: Option<&'p dyn Memory>,
    pub(super) text: &'p mut String,
    pub(super) budget: i32,
    /// How many pointers were followed on the way to this object.
    pub(super) depth: u32,
    pub(super) shown: bool,
    pub(super) hidden: bool,
}

impl Printer<'_> {
    pub(super) fn object(&mut self, ty: TypeId, bit: u64, bit_size: Option<u64>) {
        self.budget -= 1;
        if self.budget < 0 {
            self.text.push_str("...");
            return;
        }
        let of = self.module.ty(ty);
        match &of.kind {
            TypeKind::Library { container, .. } if self.library(container, bit).is_some() => {}
            TypeKind::Reference(to) if self.referent(*to, bit).is_some() => {}
            TypeKind::Aggregate(fields) | TypeKind::Library { fields, .. } => {
                self.list(fields.len() as u64, |p, i| {
                    let field = &fields[i as usize];
                    p.object(field.ty, bit + field.bit_offset, field.bit_size);
                });
            }
            TypeKind::Enum { discriminant, variants } => self.variant(discriminant.as_ref(), variants, bit),
            TypeKind::Array { element, count } => {
                let stride = self.module.ty(*element).size * 8;
                self.list(*count, |p, i| p.object(*element, bit + i * stride, None));
            }
            kind => self.scalar(kind, bit, bit_size.unwrap_or(of.size * 8)),
        }
    }

    /// The variant that is there: its name, then its members.
    fn variant(&mut self, discriminant: Option<&Field>, variants: &[Variant], bit: u64) {
        let chosen = match discriminant {
            Some(field) => {
                let bits = self.module.ty(field.ty).size.saturating_mul(8).min(64);
                let at = bit + field.bit_offset;
                if self.content.missing.as_ref().is_some_and(|m| extract(m, at, bits) != 0) {
                    self.hidden = true;
                    self.text.push('?');
                    return;
                }
                let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
                let value = extract(&self.content.bytes, at, bits) as u64;
                variants.iter().find(|v| v.discriminant.is_some_and(|d| d & mask == value))
            }
            None => None,
        };
        match chosen.or_else(|| variants.iter().find(|v| v.discriminant.is_none())) {
            Some(variant) => {
                self.shown = true;
                self.text.push_str(&variant.name);
                self.object(variant.field.ty, bit + variant.field.bit_offset, None);
            }
            // No variant has this discriminant: the memory holds no value of the type.
            None => self.text.push_str("{}"),
        }
    }

    /// Eight bytes of the object, if all of them are there.
    pub(super) fn word(&self, bit: u64) -> Option<u64> {
        self.part(bit, 64).map(|bits| bits as u64)
    }

    /// One byte of the object.
    pub(super) fn byte(&self, bit: u64) -> Option<u64> {
        self.part(bit, 8).map(|bits| bits as u64)
    }

    fn part(&self, bit: u64, bits: u64) -> Option<u128> {
        let is_missing = self.content.missing.as_ref().is_some_and(|m| extract(m, bit, bits) != 0);
        let is_inside = (bit + bits).div_ceil(8) <= self.content.bytes.len() as u64;
        (is_inside && !is_missing).then(|| extract(&self.content.bytes, bit, bits))
    }

    pub(super) fn list(&mut self, count: u64, mut item: impl FnMut(&mut Self, u64)) {
        self.text.push('{');
        for i in 0..count {
            if i > 0 {
                self.text.push_str(", ");
            }
            item(self, i);
            if self.budget < 0 {
                break;
            }
        }
        self.text.push('}');
    }

    fn scalar(&mut self, kind: &TypeKind, bit: u64, bits: u64) {
        if self.content.missing.as_ref().is_some_and(|m| extract(m, bit, bits.min(128)) != 0) {
            self.hidden = true;
            self.text.push('?');
            return;
        }
        self.shown = true;
        let raw = extract(&self.content.bytes, bit, bits.min(128));
        let width = bits.clamp(1, 128) as u32;
        // Writing into a String cannot fail.
        let _ = match kind {
            TypeKind::Signed => write!(self.text, "{}", (raw << (128 - width)) as i128 >> (128 - width)),
            TypeKind::Pointer | TypeKind::Reference(_) => write!(self.text, "{raw:#x}"),
            TypeKind::Float => match bits {
                32 => write!(self.text, "{:?}", f32::from_bits(raw as u32)),
                64 => write!(self.text, "{:?}", f64::from_bits(raw as u64)),
                _ => write!(self.text, "{:?}", from_extended(raw)),
            },
            _ => write!(self.text, "{raw}"),
        };
    }
}

/// Bits of an object, least significant first; what lies past its end is zero.
pub(super) fn extract(bytes: &[u8], bit: u64, bits: u64) -> u128 {
    let first = (bit / 8) as usize;
    let shift = bit % 8;
    let mut wide = [0u8; 16];
    let available = bytes.get(first..).unwrap_or_default();
    let n = available.len().min(16);
    wide[..n].copy_from_slice(&available[..n]);
    let mut value = u128::from_le_bytes(wide) >> shift;
    if shift + bits > 128 && available.len() > 16 {
        value |= u128::from(available[16]) << (128 - shift);
    }
    if bits >= 128 { value } else { value & ((1 << bits) - 1) }
}

/// An x87 extended float, rounded to a double as gdb's Python does.
pub(super) fn from_extended(raw: u128) -> f64 {
    let mantissa = raw as u64;
    let exponent = (raw >> 64) as u16 & 0x7fff;
    let sign = if raw >> 79 & 1 == 1 { -1.0 } else { 1.0 };
    match (exponent, mantissa << 1) {
        (0x7fff, 0) => sign * f64::INFINITY,
        (0x7fff, _) => f64::NAN,
        _ => {
            // In two steps: the power alone may be below the smallest double where the product is not.
            let power = i32::from(exponent) - 16383 - 63;
            sign * (mantissa as f64) * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_copied_least_significant_first() {
        let mut to = [0u8; 2];
        copy_bits(&mut to, 4, &[0b1010_1100], 2, 6);
        assert_eq!(to, [0b1011_0000, 0b0000_0010]);
    }

    #[test]
    fn bit_fields_are_extracted_across_bytes() {
        assert_eq!(extract(&[0xff, 0x01], 4, 6), 0b01_1111);
        assert_eq!(extract(&[1; 17], 4, 128), u128::from_le_bytes([1; 16]) >> 4 | 1 << 124);
    }

    #[test]
    fn extended_floats_are_rounded_to_doubles() {
        assert_eq!(from_extended(0x3fff_8000_0000_0000_0000), 1.0);
        assert_eq!(from_extended(0xc000_8000_0000_0000_0000), -2.0);
    }
}
