//! What a file has beside its debug information: code, unwinding rows, the thread-local image.

use crate::op::{FilePlace, Slice};
use crate::{FunctionId, Module};
use gimli::{BaseAddresses, DebugFrame, EhFrame, LittleEndian};
use object::{Object, ObjectSection};

/// The executable sections.
pub(super) fn code<'e>(elf: &'e object::File<'_>, slide: u64) -> impl Iterator<Item = (u64, Vec<u8>)> + 'e {
    let text = elf.sections().filter(|s| s.kind() == object::SectionKind::Text);
    text.filter_map(move |s| Some((s.address().wrapping_add(slide), s.data().ok()?.to_vec())))
}

/// Adds the unwinding rows of the functions that were read.
pub(super) fn unwinding(module: &mut Module, place: FilePlace, elf: &object::File<'_>, debug: &object::File<'_>) {
    let ranges = union(&module.by_address);
    let touches = |low: u64, high: u64| {
        let at = ranges.partition_point(|r| r.1 <= low);
        ranges.get(at).is_some_and(|r| r.0 < high)
    };
    let cfi = &mut module.cfi;
    let address = |name: &str| elf.section_by_name(name).map_or(0, |s| s.address());
    let bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")).set_text(address(".text")).set_got(address(".got"));
    let bytes = |elf: &object::File<'_>, name: &str| {
        elf.section_by_name(name).and_then(|s| s.uncompressed_data().ok()).map(std::borrow::Cow::into_owned).unwrap_or_default()
    };
    let eh_frame = bytes(elf, ".eh_frame");
    cfi.collect(&EhFrame::from(Slice::new(&eh_frame, LittleEndian)), &bases, place, touches);
    let debug_frame = bytes(debug, ".debug_frame");
    cfi.collect(&DebugFrame::from(Slice::new(&debug_frame, LittleEndian)), &bases, place, touches);
}

/// Ranges sorted by their starts, as ranges that do not touch.
fn union(sorted: &[(u64, u64, FunctionId)]) -> Vec<(u64, u64)> {
    let mut union: Vec<(u64, u64)> = Vec::new();
    for &(low, high, _) in sorted {
        match union.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => union.push((low, high)),
        }
    }
    union
}

/// Where the thread-local variables of the program start, and how many bytes they take.
pub(super) fn tls_image(elf: &object::File<'_>) -> Option<(u64, u64)> {
    let of = |name: &str| elf.section_by_name(name).map(|s| (s.address(), s.size(), s.align()));
    let (start, size, align) = match (of(".tdata"), of(".tbss")) {
        (Some(d), Some(b)) => (d.0, b.0 + b.1 - d.0, d.2.max(b.2)),
        (Some(s), None) | (None, Some(s)) => s,
        (None, None) => return None,
    };
    // The block of the main program ends at the thread pointer, its size rounded up to its alignment.
    let align = align.max(1);
    Some((start, size.div_ceil(align) * align))
}
