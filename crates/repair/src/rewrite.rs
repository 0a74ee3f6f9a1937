//! Writes new location lists into an image's DWARF and gives the bytes of the new file.
//!
//! Every entry, line table, range and string is carried over; only the variables named in the edits get
//! another location. Indices that no longer hold (`.debug_aranges`, `.debug_names`, `.gdb_index`) are
//! emptied, which debuggers take as "not there". Nothing is written to disk here.

use crate::description;
use crate::elf::Elf;
use crate::relation::Relation;
use gimli::write::{self, Address, AttributeValue, EndianVec, Location, LocationList, RelocateWriter, Relocation, RelocationTarget};
use gimli::{LittleEndian, SectionId};
use std::collections::{BTreeMap, HashMap};
use trueline_machine::image::{Image, ImageKind, OBJECT_BASE};

/// Symbols above this are indices into the object's outside names, below it section indices.
const OUTSIDE: usize = 1 << 20;

/// What to write for a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeContent {
    /// A relation for a variable of this many bytes.
    New(Relation, u64),
    /// An expression the compiler wrote.
    Old(Vec<u8>),
    /// A constant the compiler wrote.
    Constant(i64),
}

/// A range with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRange {
    /// The first address that it holds at.
    pub low: u64,
    /// One past the last.
    pub high: u64,
    /// What holds there.
    pub content: RangeContent,
}

/// The whole new location list of one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Offset of the variable's entry in `.debug_info`.
    pub die: usize,
    /// Its list, by address.
    pub ranges: Vec<EditRange>,
}

/// Why a file cannot be rewritten.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// The DWARF cannot be carried over.
    #[error("the DWARF cannot be rewritten: {0}")]
    Convert(#[from] write::ConvertError),
    /// The DWARF cannot be written.
    #[error("the DWARF cannot be written: {0}")]
    Write(#[from] write::Error),
    /// The DWARF cannot be read.
    #[error("the DWARF cannot be read: {0}")]
    Read(#[from] gimli::Error),
    /// A line program that no compiler writes.
    #[error("a line program has an impossible header; the file is damaged")]
    Lines,
    /// The ELF structure cannot be followed.
    #[error("the ELF section table cannot be followed")]
    Elf,
    /// The debug information is elsewhere.
    #[error("the debug information is split (.dwo); link it without -gsplit-dwarf")]
    Split,
}

/// A section under construction with its relocations.
#[derive(Clone, Debug)]
struct Sink {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl RelocateWriter for Sink {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &Self::Writer {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut Self::Writer {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}

/// Applies edits and returns the new file.
pub fn rewrite<'b>(image: &'b Image, edits: &'b [Edit]) -> Result<Vec<u8>, RewriteError> {
    let by_die: HashMap<usize, &'b Edit> = edits.iter().map(|e| (e.die, e)).collect();
    let dwarf: gimli::Dwarf<Slice<'b>> = sections(image)?;
    let outside: Vec<(u64, &String)> = image.outside.iter().map(|(a, n)| (*a, n)).collect();
    let place = |address: u64| -> Address {
        if image.kind != ImageKind::Relocatable || !(OBJECT_BASE..=u64::MAX - 16).contains(&address) {
            return Address::Constant(address);
        }
        if let Ok(n) = outside.binary_search_by_key(&address, |o| o.0) {
            return Address::Symbol { symbol: OUTSIDE + n, addend: 0 };
        }
        let holds = |s: &&trueline_machine::image::Section| s.loaded && address >= s.address && address <= s.address + s.size;
        match image.sections.iter().find(holds) {
            Some(s) => Address::Symbol { symbol: s.index, addend: (address - s.address) as i64 },
            None => Address::Constant(address),
        }
    };
    let near = |address: u64| description::near(image, address);
    let convert_address = |address: u64| Some(place(address));
    refuse_unwritable_lines(&dwarf)?;
    let mut out = write::Dwarf::new();
    {
        let mut convert = out.convert(&dwarf)?;
        while let Some((mut unit, root)) = convert.read_unit()? {
            if root.tag == gimli::DW_TAG_skeleton_unit || root.attrs.iter().any(|a| a.name() == gimli::DW_AT_GNU_dwo_name) {
                return Err(RewriteError::Split);
            }
            if let Some(program) = unit.read_line_program(None, None)? {
                let (program, files) = program.convert(&convert_address)?;
                unit.set_line_program(program, files);
            }
            let root_id = unit.unit.root();
            attributes(&mut unit, root_id, &root, &convert_address)?;
            let base = root.read_unit.low_pc;
            let mut entry = root;
            while let Some(id) = unit.read_entry(&mut entry)? {
                if id.is_none() {
                    continue;
                }
                let id = unit.add_entry(id, &entry);
                attributes(&mut unit, id, &entry, &convert_address)?;
                let offset = entry.offset.to_debug_info_offset(&entry.read_unit.header).map_or(usize::MAX, |o| o.0);
                if let Some(edit) = by_die.get(&offset) {
                    apply(&mut unit, id, &entry, edit, base, &place, &near)?;
                }
            }
        }
    }
    let mut sections = write::Sections::new(Sink { bytes: EndianVec::new(LittleEndian), relocations: Vec::new() });
    out.write(&mut sections)?;
    assemble(image, &sections, &outside)
}

/// The sections that are carried over.
fn sections(image: &Image) -> gimli::Result<gimli::Dwarf<Slice<'_>>> {
    gimli::Dwarf::load(|id| Ok(Slice::new(image.section(id.name()).map_or(&[][..], |s| &s.data), LittleEndian)))
}

type Slice<'a> = gimli::EndianSlice<'a, LittleEndian>;
type ConvertUnit<'a, 'b> = write::ConvertUnit<'a, Slice<'b>>;
type ConvertEntry<'a, 'b> = write::ConvertUnitEntry<'a, Slice<'b>>;

fn attributes<'a, 'b>(
    unit: &mut ConvertUnit<'a, 'b>,
    id: write::UnitEntryId,
    entry: &ConvertEntry<'a, 'b>,
    convert_address: &dyn Fn(u64) -> Option<Address>,
) -> Result<(), RewriteError> {
    for attribute in &entry.attrs {
        let name = attribute.name();
        // Views count rows of the old list; the lists they belong to may change.
        if name == gimli::DW_AT_GNU_locviews {
            continue;
        }
        let file = matches!(name, gimli::DW_AT_decl_file | gimli::DW_AT_call_file);
        let value = match attribute.raw_value() {
            // File numbers kept in the abbreviation have to be mapped like all others.
            gimli::AttributeValue::Sdata(index) if file && attribute.form() == gimli::DW_FORM_implicit_const => {
                AttributeValue::FileIndex(unit.convert_file_index(entry.read_unit, index as u64)?)
            }
            _ => unit.convert_attribute_value(entry.read_unit, attribute, convert_address)?,
        };
        if let AttributeValue::LocationListRef(list) = &value {
            // Empty ranges (which location views produce) may not be written in DWARF 4.
            let kept: Vec<Location> = unit.unit.locations.get(*list).0.iter().filter(|l| !is_empty(l)).cloned().collect();
            let list = unit.unit.locations.add(LocationList(kept));
            unit.unit.get_mut(id).set(name, AttributeValue::LocationListRef(list));
            continue;
        }
        unit.unit.get_mut(id).set(name, value);
    }
    Ok(())
}

fn is_empty(location: &Location) -> bool {
    match location {
        Location::OffsetPair { begin, end, .. } => begin == end,
        Location::StartEnd { begin, end, .. } => begin == end,
        Location::StartLength { length, .. } => *length == 0,
        _ => false,
    }
}

fn apply<'a, 'b>(
    unit: &mut ConvertUnit<'a, 'b>,
    id: write::UnitEntryId,
    entry: &ConvertEntry<'a, 'b>,
    edit: &'b Edit,
    base: u64,
    place: &dyn Fn(u64) -> Address,
    near: &dyn Fn(u64) -> u64,
) -> Result<(), RewriteError> {
    let version = entry.read_unit.encoding().version;
    let convert_address = |address: u64| Some(place(address));
    let mut list = Vec::new();
    for range in edit.ranges.iter().filter(|r| r.high > r.low) {
        let data = match &range.content {
            RangeContent::New(relation, size) => description::describe(relation, *size, near).expression(*size, place),
            RangeContent::Constant(value) => {
                let mut e = write::Expression::new();
                e.op_consts(*value);
                e.op(gimli::DW_OP_stack_value);
                e
            }
            RangeContent::Old(bytes) => {
                let expression = gimli::Expression(gimli::EndianSlice::new(bytes.as_slice(), LittleEndian));
                unit.convert_expression(entry.read_unit, expression, &convert_address)?
            }
        };
        list.push(if version <= 4 && base != 0 {
            Location::OffsetPair { begin: range.low.wrapping_sub(base), end: range.high.wrapping_sub(base), data }
        } else {
            Location::StartLength { begin: place(range.low), length: range.high - range.low, data }
        });
    }
    let list = unit.unit.locations.add(LocationList(list));
    let die = unit.unit.get_mut(id);
    die.delete(gimli::DW_AT_const_value);
    die.set(gimli::DW_AT_location, AttributeValue::LocationListRef(list));
    Ok(())
}

/// The writer asserts what the reader accepts of damaged line programs: a special opcode must be able to
/// stay on its line, and names must be neither empty nor broken off.
fn refuse_unwritable_lines<R: gimli::Reader>(dwarf: &gimli::Dwarf<R>) -> Result<(), RewriteError> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let Some(program) = &unit.line_program else { continue };
        let (base, range) = (program.header().line_base(), program.header().line_range());
        if base > 0 || !(1..=i8::MAX as u8).contains(&range) || i16::from(base) + i16::from(range) <= 0 {
            return Err(RewriteError::Lines);
        }
    }
    Ok(())
}

fn assemble(image: &Image, sections: &write::Sections<Sink>, outside: &[(u64, &String)]) -> Result<Vec<u8>, RewriteError> {
    let mut elf = Elf::read(&image.bytes, image.kind).ok_or(RewriteError::Elf)?;
    let mut written: BTreeMap<&'static str, &Sink> = BTreeMap::new();
    sections.for_each(|id: SectionId, sink: &Sink| {
        written.insert(id.name(), sink);
        Ok::<(), RewriteError>(())
    })?;
    for (name, sink) in &written {
        if name.starts_with(".debug") && *name != ".debug_frame" {
            elf.put(name, sink.bytes.slice().to_vec());
        }
    }
    let stale = [".debug_aranges", ".debug_names", ".gdb_index", ".debug_addr", ".debug_str_offsets", ".debug_pubnames", ".debug_pubtypes"];
    for name in [".debug_gnu_pubnames", ".debug_gnu_pubtypes"].iter().chain(&stale) {
        elf.retire(name);
        elf.retire(&format!(".rela{name}"));
    }
    if image.kind == ImageKind::Relocatable {
        relocate(&mut elf, &written, outside)?;
    } else {
        // Offsets between sections are final in a linked file: put them in place.
        for (name, sink) in &written {
            let Some(n) = elf.index(name).filter(|_| name.starts_with(".debug") && *name != ".debug_frame") else { continue };
            let Some(data) = elf.sections[n].data.as_mut() else { continue };
            for r in &sink.relocations {
                let size = usize::from(r.size);
                let value = (r.addend as u64).to_le_bytes();
                data.get_mut(r.offset..r.offset + size).ok_or(RewriteError::Elf)?.copy_from_slice(&value[..size]);
            }
        }
    }
    elf.write().ok_or(RewriteError::Elf)
}

fn relocate(elf: &mut Elf, written: &BTreeMap<&'static str, &Sink>, outside: &[(u64, &String)]) -> Result<(), RewriteError> {
    let mut wanted = Vec::new();
    for sink in written.values() {
        for r in &sink.relocations {
            match r.target {
                RelocationTarget::Section(id) => wanted.extend(elf.index(id.name())),
                RelocationTarget::Symbol(n) if n < OUTSIDE => wanted.push(n),
                RelocationTarget::Symbol(_) => {}
            }
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    let symbols = elf.section_symbols(&wanted);
    for (name, sink) in written.iter().filter(|(n, _)| n.starts_with(".debug") && **n != ".debug_frame") {
        let Some(target) = elf.index(name) else { continue };
        let mut list = Vec::new();
        for r in &sink.relocations {
            let symbol = match r.target {
                RelocationTarget::Section(id) => elf.index(id.name()).and_then(|n| symbols.get(&n).copied()),
                RelocationTarget::Symbol(n) if n < OUTSIDE => symbols.get(&n).copied(),
                RelocationTarget::Symbol(n) => outside.get(n - OUTSIDE).and_then(|(_, name)| elf.symbol(name)),
            };
            let kind = if r.size == 8 { object::elf::R_X86_64_64.0 } else { object::elf::R_X86_64_32.0 };
            list.push((r.offset as u64, symbol.ok_or(RewriteError::Elf)?, kind, r.addend));
        }
        elf.put_relocations(target, &list);
    }
    Ok(())
}
