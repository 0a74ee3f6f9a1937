//! What the prover knows of both builds' address spaces.

use super::exposure;
use crate::debug::{Convention, FrameBase, PlacedVariable, TypeClass, VariableKind, frame_offset};
use crate::flow::Graph;
use crate::inputs;
use crate::observe::BuildSide;
use crate::study::Study;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_machine::algebra::{GPR_DWARF, Place};
use trueline_machine::image::{Image, ImageKind, MARGIN, Section, Symbol};
use trueline_machine::symbolic::{ELSEWHERE, Errno, Exposure, JumpTable, Layout, Linkage, Moves, Part, Stability, Threads};

/// The layouts of the reference and of the optimized build, whose walks go through functions of these units too.
pub fn layouts(study: &Study<'_>, exposure: Exposure, entered: (&BTreeSet<usize>, &BTreeSet<usize>)) -> (Arc<Layout>, Arc<Layout>) {
    let (r, o) = (&study.reference, &study.optimized);
    let mut elements = Vec::new();
    let mut moves: Moves = Vec::new();
    for (name, theirs, ours, size) in inputs::shared(r.image, o.image) {
        let ty = o.info.globals.iter().find(|g| g.name == name).map(|g| g.ty);
        let element = ty.and_then(|t| t.element.map(|e| e.1).or(Some(t.size))).filter(|e| matches!(e, 1 | 2 | 4 | 8)).unwrap_or(4);
        elements.push((ours, ours + size, element as u32));
        moves.push((theirs, theirs + size, ours.wrapping_sub(theirs)));
    }
    moves.extend(same_constants(r.image, o.image));
    let linkage = match o.image.kind {
        ImageKind::Fixed => Linkage::Fixed,
        ImageKind::Movable => Linkage::Movable,
        ImageKind::Relocatable => Linkage::Scattered,
    };
    let (mut constants, mut parts) = (Vec::new(), Vec::new());
    for (image, shift) in [(o.image, 0), (r.image, ELSEWHERE)] {
        for s in image.sections.iter().filter(|s| s.loaded && !s.writable && !s.code && !s.data.is_empty()) {
            constants.extend(unpatched(image, s).map(|(address, data)| (address + shift, data.to_vec())));
        }
        if linkage == Linkage::Scattered {
            parts.extend(object_parts(image, shift));
        }
    }
    let slots = |image: &Image, shift: u64| -> BTreeMap<u64, u64> {
        let all = image.inside.iter().filter(|_| linkage == Linkage::Scattered);
        all.map(|(slot, target)| (slot + shift, *target)).collect()
    };
    let threads = threads(r.image, o.image);
    let asks = |image: &Image| image.outside.values().any(|n| trueline_machine::library::plain(n) == "__errno_location");
    let errno = if asks(r.image) || asks(o.image) { Errno::Visible } else { Errno::Unknown };
    let is_volatile = |side: &BuildSide<'_>, entered: &BTreeSet<usize>| {
        entered.iter().chain([&side.function.unit]).any(|n| side.info.units.get(*n).is_some_and(|u| u.volatile))
    };
    let stability = if is_volatile(r, entered.0) || is_volatile(o, entered.1) { Stability::Volatile } else { Stability::Stable };
    let granule = granule(r);
    let optimized = Layout {
        moves: None,
        constants: constants.clone(),
        elements: elements.clone(),
        granule,
        exposure,
        protected: Vec::new(),
        stability,
        tables: tables(&o.graph),
        linkage,
        own: if linkage == Linkage::Scattered { parts.iter().map(|p| (p.low, p.high)).collect() } else { Vec::new() },
        parts: parts.clone(),
        slots: slots(o.image, 0),
        threads,
        errno,
    };
    let taken = exposure::of_reference(&r.graph);
    let exposure = if taken.as_ref().is_some_and(BTreeSet::is_empty) { Exposure::Private } else { Exposure::Exposed };
    let protected = taken.map(|taken| protected(r, &taken)).unwrap_or_default();
    // The numbers in the optimized build's code are the addresses that both builds are taken to have.
    let fixed = r.image.kind == ImageKind::Fixed;
    let own = match linkage {
        Linkage::Scattered => object_parts(r.image, 0).into_iter().map(|p| (p.low, p.high)).collect(),
        _ if fixed => r.image.sections.iter().filter(|s| s.loaded).map(|s| (s.address, s.address + s.size)).collect(),
        _ => Vec::new(),
    };
    let slots = slots(r.image, ELSEWHERE);
    let tables = tables(&r.graph);
    let reference = Layout {
        moves: Some(moves),
        constants,
        elements,
        granule,
        exposure,
        protected,
        stability,
        tables,
        linkage,
        own,
        parts,
        slots,
        threads,
        errno,
    };
    (Arc::new(reference), Arc::new(optimized))
}

/// The contents of a section but for the bytes that depend on where the parts of an object are.
fn unpatched<'i>(image: &'i Image, section: &'i Section) -> impl Iterator<Item = (u64, &'i [u8])> {
    let end = section.address + section.size;
    let mut holes: Vec<(u64, u64)> = image.patched.iter().copied().filter(|(at, _)| *at >= section.address && *at < end).collect();
    holes.sort_unstable();
    let mut from = section.address;
    let mut pieces = Vec::new();
    for (at, bytes) in holes.into_iter().chain([(end, 0)]) {
        let range = (from - section.address) as usize..(at.max(from) - section.address) as usize;
        pieces.extend(section.data.get(range).filter(|d| !d.is_empty()).map(|d| (from, d)));
        from = from.max(at + bytes);
    }
    // The slots that the linker makes hold addresses.
    let made = image.inside.iter().any(|(slot, _)| image.kind == ImageKind::Relocatable && *slot >= section.address && *slot < end);
    pieces.into_iter().filter(move |_| !made)
}

/// The parts of an object that the linker places: its sections, and what it only names.
fn object_parts(image: &Image, shift: u64) -> Vec<Part> {
    let side = if shift == 0 { "" } else { "ref_" };
    let sections = image.sections.iter().filter(|s| s.loaded).map(|s| (s.address, s.size, format!("{side}{}", s.index), s.merged));
    let outside = image.outside.iter().map(|(at, name)| (*at, inputs::EXTERN_SIZE, format!("{side}{name}"), false));
    let parts = sections.chain(outside);
    parts
        .map(|(at, size, name, merged)| Part { low: at + shift - MARGIN, high: at.saturating_add(size) + shift + MARGIN, name, merged })
        .collect()
}

/// Whether thread-local objects have the same places in both builds. Those of an object get theirs from the linker.
fn threads(r: &Image, o: &Image) -> Threads {
    let blocks = |image: &Image| -> Vec<(String, u64)> {
        let all = image.sections.iter().filter(|s| s.name.starts_with(".tdata") || s.name.starts_with(".tbss"));
        all.map(|s| (s.name.clone(), s.size)).collect()
    };
    let alike = o.kind != ImageKind::Relocatable && r.threads == o.threads && blocks(r) == blocks(o);
    if alike { Threads::Alike } else { Threads::Apart }
}

/// The tables that a function jumps by.
fn tables(graph: &Graph) -> Vec<JumpTable> {
    let all = graph.tables.iter();
    all.map(|(address, t)| JumpTable { address: *address, width: t.entries.width() as u32, targets: t.targets.clone() }).collect()
}

/// Registers that hold the same argument in both builds: those in which the optimized build has a parameter when it is entered,
/// if that is where the convention of calls puts it. The parameters of a function that only its own file calls may have moved.
pub fn shared_arguments(study: &Study<'_>) -> BTreeSet<Place> {
    let (o, r) = (&study.optimized, &study.reference);
    let own = |side: &BuildSide<'_>| -> Vec<PlacedVariable> {
        let all = side.function.variables.iter();
        all.filter(|v| v.kind == VariableKind::Parameter && !v.inlined && v.function == side.function.name).cloned().collect()
    };
    let (mut integers, mut vectors) = ([7u8, 6, 2, 1, 8, 9].into_iter(), 0..8u8);
    let mut found = BTreeSet::new();
    // The reference build has the source's parameters in the source's order.
    for parameter in own(r) {
        let (place, number) = match parameter.ty.class {
            TypeClass::Signed | TypeClass::Unsigned | TypeClass::Pointer => match integers.next() {
                Some(n) => (Place::Gpr(n), GPR_DWARF[n as usize]),
                None => continue,
            },
            TypeClass::Float if matches!(parameter.ty.size, 4 | 8) => match vectors.next() {
                Some(n) => (Place::Xmm(n), 17 + u16::from(n)),
                None => continue,
            },
            // How it is passed is a long story, and what comes after it depends on it.
            _ => break,
        };
        let entry = o.function.entry();
        let same = own(o).into_iter().find(|v| v.name == parameter.name && v.line == parameter.line);
        let location = same.and_then(|v| v.locations.into_iter().find(|l| entry >= l.low && entry < l.high));
        let register = u8::try_from(number).ok().and_then(|n| gimli::DW_OP_reg0.0.checked_add(n));
        if location.is_some_and(|l| Some(l.expression.as_slice()) == register.as_ref().map(std::slice::from_ref)) {
            found.insert(place);
        }
    }
    found
}

/// Argument registers that hold a pointer when the function is entered. A number may be as wide as an address: added to a pointer it
/// says nothing about where that points.
pub fn pointer_arguments(study: &Study<'_>) -> BTreeSet<u8> {
    let function = study.reference.function;
    if function.convention == Convention::Aggregate {
        return BTreeSet::new();
    }
    let mut integers = [7u8, 6, 2, 1, 8, 9].into_iter();
    let mut found = BTreeSet::new();
    for v in function.variables.iter().filter(|v| v.kind == VariableKind::Parameter && !v.inlined && v.function == function.name) {
        match v.ty.class {
            TypeClass::Signed | TypeClass::Unsigned if v.ty.size <= 8 => {
                integers.next();
            }
            TypeClass::Pointer => found.extend(integers.next()),
            TypeClass::Float => {}
            _ => break,
        }
    }
    found
}

/// Named constants with the same bytes in both builds: the source may as well have them where the machine does.
fn same_constants(reference: &Image, optimized: &Image) -> Moves {
    let bytes = |image: &Image, s: &Symbol| -> Option<Vec<u8>> {
        let section = image.section_at(s.address).filter(|x| !x.writable && !x.code)?;
        let at = usize::try_from(s.address - section.address).ok()?;
        section.data.get(at..at.checked_add(s.size as usize)?).map(<[u8]>::to_vec)
    };
    let constants = |image: &Image| -> BTreeMap<String, Vec<(u64, Vec<u8>)>> {
        let mut found: BTreeMap<String, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
        for s in image.symbols.iter().filter(|s| !s.function && s.size > 0) {
            if let Some(bytes) = bytes(image, s) {
                found.entry(s.name.clone()).or_default().push((s.address, bytes));
            }
        }
        found
    };
    let ours = constants(optimized);
    let mut moves = Moves::new();
    for (name, theirs) in constants(reference) {
        let ([(from, a)], Some([(to, b)])) = (theirs.as_slice(), ours.get(&name).map(Vec::as_slice)) else { continue };
        if a == b {
            moves.push((*from, from + a.len() as u64, to.wrapping_sub(*from)));
        }
    }
    moves
}

/// The size of most accesses that the source makes through pointers: wide ones are split so.
fn granule(side: &BuildSide<'_>) -> u32 {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for i in side.graph.instructions.values() {
        let base = i.memory_base();
        let pointer = base.is_gpr() && !matches!(base, iced_x86::Register::RSP | iced_x86::Register::RBP);
        if pointer && i.mnemonic() != iced_x86::Mnemonic::Lea {
            *sizes.entry(i.memory_size().size()).or_insert(0) += 1;
        }
    }
    sizes.into_iter().filter(|(s, _)| matches!(s, 1 | 2 | 4 | 8)).max_by_key(|(s, n)| (*n, *s)).map_or(4, |(s, _)| s as u32)
}

/// Plain variables of the reference build whose address is not taken: no pointer reaches them.
fn protected(side: &BuildSide<'_>, taken: &BTreeSet<i64>) -> Vec<(i64, u32)> {
    let base = match side.function.frame_base {
        FrameBase::Cfa => 0,
        FrameBase::FramePointer => 16,
        FrameBase::Other => return Vec::new(),
    };
    let own = side.function.variables.iter().filter(|v| !v.inlined && v.ty.class != TypeClass::Other && matches!(v.ty.size, 1 | 2 | 4 | 8));
    let places = own.filter_map(|v| Some((frame_offset(v)? - base, v.ty.size as u32)));
    let mut safe: Vec<(i64, u32)> = places.filter(|(at, bytes)| taken.range(*at..at + i64::from(*bytes)).next().is_none()).collect();
    safe.sort_unstable();
    safe.dedup();
    safe
}
