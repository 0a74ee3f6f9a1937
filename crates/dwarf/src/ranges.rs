//! Address ranges of an entry of debug information, without trusting its numbers.

use gimli::{AttributeValue, DW_AT_high_pc, DW_AT_low_pc, DebuggingInformationEntry, Dwarf, RangeIter, Reader, Unit};

/// The ranges of an entry. gimli (0.34) adds the size in `DW_AT_high_pc` to the address without looking; a size that leads
/// past the end of memory is an error here.
pub(crate) fn die_ranges<R: Reader>(dwarf: &Dwarf<R>, unit: &Unit<R>, entry: &DebuggingInformationEntry<R>) -> gimli::Result<RangeIter<R>> {
    let low = match entry.attr_value(DW_AT_low_pc) {
        Some(value) => dwarf.attr_address(unit, value)?,
        None => None,
    };
    if let (Some(low), Some(AttributeValue::Udata(size))) = (low, entry.attr_value(DW_AT_high_pc))
        && low.checked_add(size).is_none()
    {
        return Err(gimli::Error::AddressOverflow);
    }
    dwarf.die_ranges(unit, entry)
}

/// Ranges in order; those that touch are one.
pub fn join_ranges(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    ranges.dedup_by(|next, last| {
        let touch = next.0 <= last.1;
        if touch {
            last.1 = last.1.max(next.1);
        }
        touch
    });
    ranges
}
