//! Range lists, location lists and constants, as they stand in the debug information.

use crate::op::{ExpressionDecoder, Slice};
use crate::{ConstantForm, Location, LocationEntry, WrittenEntry};
use gimli::{AttributeValue, RawLocListEntry, RawRngListEntry};
use std::sync::Arc;

/// The ranges that hold code.
pub(super) fn with_code(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    ranges.iter().copied().filter(|r| r.0 < r.1).collect()
}

/// A range list in order, empty ranges included: lldb gives them a meaning.
pub(super) fn read_ranges(decoder: &ExpressionDecoder<'_, '_>, offset: gimli::RangeListsOffset) -> gimli::Result<Vec<(u64, u64)>> {
    let unit = decoder.unit;
    let mut raw = decoder.dwarf.raw_ranges(unit, offset)?;
    let mut base = unit.low_pc;
    let mut list = Vec::new();
    let address = |index| decoder.dwarf.address(unit, index);
    while let Some(entry) = raw.next()? {
        let (low, high) = match entry {
            RawRngListEntry::BaseAddress { addr } => {
                base = addr;
                continue;
            }
            RawRngListEntry::BaseAddressx { addr } => {
                base = address(addr)?;
                continue;
            }
            RawRngListEntry::StartxEndx { begin, end } => (address(begin)?, address(end)?),
            RawRngListEntry::StartxLength { begin, length } => {
                let low = address(begin)?;
                (low, low.wrapping_add(length))
            }
            RawRngListEntry::AddressOrOffsetPair { begin, end } | RawRngListEntry::OffsetPair { begin, end } => {
                (base.wrapping_add(begin), base.wrapping_add(end))
            }
            RawRngListEntry::StartEnd { begin, end } => (begin, end),
            RawRngListEntry::StartLength { begin, length } => (begin, begin.wrapping_add(length)),
        };
        // What the linker removed starts near 0 or at the very end of the address space.
        if low <= high && low > 1 && low < u64::MAX - 1 {
            list.push((decoder.place.address(low), decoder.place.address(high)));
        }
    }
    Ok(list)
}

/// A location list in order, empty entries included: gdb gives them a meaning at a function's entry.
pub(super) fn read_list(decoder: &ExpressionDecoder<'_, '_>, offset: gimli::LocationListsOffset) -> gimli::Result<Vec<LocationEntry>> {
    let mut list = Vec::new();
    each_entry(decoder, offset, |(low, high), bytes| {
        let ops = decoder.decode(bytes).map_err(Arc::from);
        list.push(LocationEntry { low, high, ops });
    })?;
    Ok(list)
}

/// The same with the expressions as they are written, without empty entries.
pub(super) fn read_written(decoder: &ExpressionDecoder<'_, '_>, offset: gimli::LocationListsOffset) -> gimli::Result<Vec<WrittenEntry>> {
    let mut list = Vec::new();
    each_entry(decoder, offset, |(low, high), bytes| {
        // What the linker removed starts near 0 or at the very end of the address space.
        if low < high && (low > 1 || high == u64::MAX) && low < u64::MAX - 1 {
            list.push(WrittenEntry { range: Some((low, high)), bytes: bytes.slice().to_vec() });
        }
    })?;
    Ok(list)
}

fn each_entry<'a>(
    decoder: &ExpressionDecoder<'_, 'a>,
    offset: gimli::LocationListsOffset,
    mut found: impl FnMut((u64, u64), Slice<'a>),
) -> gimli::Result<()> {
    let unit = decoder.unit;
    let mut raw = decoder.dwarf.raw_locations(unit, offset)?;
    let mut base = unit.low_pc;
    let address = |index| decoder.dwarf.address(unit, index);
    while let Some(entry) = raw.next()? {
        let (low, high, data) = match entry {
            RawLocListEntry::BaseAddress { addr } => {
                base = addr;
                continue;
            }
            RawLocListEntry::BaseAddressx { addr } => {
                base = address(addr)?;
                continue;
            }
            RawLocListEntry::StartxEndx { begin, end, data } => (address(begin)?, address(end)?, data),
            RawLocListEntry::StartxLength { begin, length, data } => {
                let low = address(begin)?;
                (low, low.wrapping_add(length), data)
            }
            RawLocListEntry::AddressOrOffsetPair { begin, end, data } | RawLocListEntry::OffsetPair { begin, end, data } => {
                (base.wrapping_add(begin), base.wrapping_add(end), data)
            }
            RawLocListEntry::StartEnd { begin, end, data } => (begin, end, data),
            RawLocListEntry::StartLength { begin, length, data } => (begin, begin.wrapping_add(length), data),
            RawLocListEntry::DefaultLocation { data } => {
                found((0, u64::MAX), data.0);
                continue;
            }
        };
        found((decoder.place.address(low), decoder.place.address(high)), data.0);
    }
    Ok(())
}

/// A value that the debug information gives outright.
pub(super) fn constant(attribute: &gimli::Attribute<Slice<'_>>) -> Location {
    let form = match attribute.form() {
        gimli::DW_FORM_implicit_const => ConstantForm::Abbreviation,
        _ => ConstantForm::Entry,
    };
    let bytes: Arc<[u8]> = match attribute.value() {
        AttributeValue::Block(b) => Arc::from(b.slice()),
        AttributeValue::String(s) => Arc::from(s.slice()),
        // Only this form has a sign; fixed-size data is extended with zeros.
        AttributeValue::Sdata(n) => Arc::from(i128::from(n).to_le_bytes()),
        AttributeValue::Data1(n) => Arc::from(u128::from(n).to_le_bytes()),
        AttributeValue::Data2(n) => Arc::from(u128::from(n).to_le_bytes()),
        AttributeValue::Data4(n) => Arc::from(u128::from(n).to_le_bytes()),
        AttributeValue::Data8(n) => Arc::from(u128::from(n).to_le_bytes()),
        other => match other.udata_value() {
            Some(n) => Arc::from(u128::from(n).to_le_bytes()),
            None => return Location::Broken("constant of an unknown form".into()),
        },
    };
    Location::Constant(bytes, form)
}
