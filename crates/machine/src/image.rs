//! An ELF file as the repair reads it: sections, symbols, code and the names behind its stubs.
//!
//! A relocatable object gets an address space of its own (each section at a place of its own, relocations
//! applied), so that everything after this module sees link-time addresses and nothing else.

use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionFlags, SymbolKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the first section of a relocatable object goes; below it no address is an address.
pub const OBJECT_BASE: u64 = 0x1000_0000;

/// The table of addresses that an object's code goes through; the linker would make it.
const GOT: &str = ".got of the object";

/// A place for the next part of an object: `far` moves past it, by more or less.
fn further(far: &mut u64, number: u64, size: u64) -> u64 {
    let gap = 0x10_0000 + 0x1_0000 * (number * number % 13);
    let start = far.next_multiple_of(0x1_0000).saturating_add(gap);
    *far = start.saturating_add(size);
    start
}

/// True for a relocation whose place holds the distance to a slot with the symbol's address.
fn through_table(relocation: &object::Relocation) -> bool {
    relocation.kind() == object::RelocationKind::GotRelative
}

/// Why a file cannot be repaired at all.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It cannot be read.
    #[error("cannot read {path}; check the path", path = path.display())]
    Read {
        /// The file that is in question.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// It is not an ELF file that we understand.
    #[error("{path} is not an ELF file for x86-64: {reason}", path = path.display())]
    NotElf {
        /// The file that is in question.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It has nothing to repair.
    #[error("{path} {reason}", path = path.display())]
    Unsuitable {
        /// The file that is in question.
        path: PathBuf,
        /// What it lacks and what to do about it.
        reason: String,
    },
}

/// What kind of ELF file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// Linked to fixed addresses.
    Fixed,
    /// Linked, loaded anywhere: a position-independent executable or a shared library.
    Movable,
    /// An object that is not linked, a `.o` file.
    Relocatable,
}

/// Where the parts of a relocatable object are taken to be. Code is at the same addresses in both placements, so that they have the same
/// program counters; everything else is elsewhere, at other distances. What holds in both does not come from where it was put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// One after the other.
    #[default]
    First,
    /// Further up, with uneven gaps.
    Second,
}

/// Where the second placement of an object begins.
const SECOND_BASE: u64 = 0x3000_0000;

/// How far past the ends of its section or symbol an address in an object may lie and still be told to be of it: half of the gaps.
pub const MARGIN: u64 = 0x4000;

/// A section with its place.
#[derive(Clone, Debug)]
pub struct Section {
    /// The name it has in the source or the file.
    pub name: String,
    /// Its index among the section headers.
    pub index: usize,
    /// Link-time address (assigned by us in a relocatable object).
    pub address: u64,
    /// Contents, relocated; empty for zero-initialised ones.
    pub data: Vec<u8>,
    /// How many bytes it takes in memory.
    pub size: u64,
    /// Loaded at run time.
    pub loaded: bool,
    /// Whether it holds code that runs.
    pub code: bool,
    /// Whether the program may write to it.
    pub writable: bool,
    /// Whether the linker may join equal contents, so that distances inside it are not kept.
    pub merged: bool,
}

impl Section {
    /// Whether an address lies in it.
    fn holds(&self, address: u64) -> bool {
        (self.address..self.address + self.size).contains(&address)
    }
}

/// A data symbol or function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name it has in the source or the file.
    pub name: String,
    /// The address that the linker gave it.
    pub address: u64,
    /// How many bytes it takes.
    pub size: u64,
    /// Whether it is a function.
    pub function: bool,
}

/// An ELF file, read into memory.
#[derive(Clone, Debug)]
pub struct Image {
    /// Where it came from.
    pub path: PathBuf,
    /// The bytes of the whole file.
    pub bytes: Vec<u8>,
    /// What sort of thing it is.
    pub kind: ImageKind,
    /// Its sections, in the order of their headers.
    pub sections: Vec<Section>,
    /// Its symbols, in the order of the table.
    pub symbols: Vec<Symbol>,
    /// Names of outside functions by the GOT slot that holds them or, in objects, by their stand-in.
    pub outside: BTreeMap<u64, String>,
    /// Slots that the dynamic linker fills with an address inside the file: slot and link-time target. In objects, the slots that
    /// the linker makes.
    pub inside: Vec<(u64, u64)>,
    /// Thread-local objects: name, place in the block of their thread, size.
    pub threads: Vec<(String, u64, u64)>,
    /// Bytes of an object's loaded sections that depend on where its parts are: address and how many.
    pub patched: Vec<(u64, u64)>,
    /// Why the addresses in an object do not say what they belong to.
    pub vague: Option<String>,
}

impl Image {
    /// Reads a file from the disk.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let bytes = std::fs::read(path).map_err(|source| ImageError::Read { path: path.to_owned(), source })?;
        Self::parse(path, bytes)
    }

    /// The same file with its parts elsewhere, if it is a relocatable object.
    pub fn elsewhere(&self) -> Option<Self> {
        let relocatable = self.kind == ImageKind::Relocatable;
        relocatable.then(|| Self::parse_placed(&self.path, self.bytes.clone(), Placement::Second).ok()).flatten()
    }

    /// Reads a file that is in memory already.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self, ImageError> {
        Self::parse_placed(path, bytes, Placement::First)
    }

    fn parse_placed(path: &Path, bytes: Vec<u8>, placement: Placement) -> Result<Self, ImageError> {
        let not_elf = |reason: String| ImageError::NotElf { path: path.to_owned(), reason };
        let unsuitable = |reason: &str| ImageError::Unsuitable { path: path.to_owned(), reason: reason.to_owned() };
        let file = ElfFile64::<Endianness>::parse(&*bytes).map_err(|e| not_elf(e.to_string()))?;
        let header = file.elf_header();
        let endian = file.endian();
        if header.e_machine.get(endian) != object::elf::EM_X86_64 || endian != Endianness::Little {
            return Err(not_elf(format!("its machine is {}, not x86-64", header.e_machine.get(endian))));
        }
        let kind = match header.e_type(endian) {
            object::elf::ET_EXEC => ImageKind::Fixed,
            object::elf::ET_DYN => ImageKind::Movable,
            object::elf::ET_REL => ImageKind::Relocatable,
            other => return Err(not_elf(format!("its type is {other}"))),
        };
        if file.section_by_name(".debug_info").is_none() {
            if file.section_by_name(".zdebug_info").is_some() {
                return Err(unsuitable(
                    "has old-style compressed debug sections; decompress them with `objcopy --decompress-debug-sections`",
                ));
            }
            return Err(unsuitable("has no DWARF (stripped, or built without -g); build it with -g"));
        }
        let mut next = OBJECT_BASE;
        let mut far = SECOND_BASE;
        let mut sections = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let loaded = sh_flags.0 & object::elf::SHF_ALLOC.0 != 0;
            let name = section.name().unwrap_or("").to_owned();
            if name.starts_with(".debug") && sh_flags.0 & object::elf::SHF_COMPRESSED.0 != 0 {
                return Err(unsuitable("has compressed debug sections; decompress them with `objcopy --decompress-debug-sections`"));
            }
            let mut address = section.address();
            if kind == ImageKind::Relocatable && loaded {
                // Sizes and alignments of a damaged file may be anything.
                let room = section.size().max(1).checked_add(0x1_0000);
                let start = next.checked_next_multiple_of(section.align().max(0x1_0000));
                let end = start.zip(room).and_then(|(start, room)| start.checked_add(room));
                (address, next) = start.zip(end).ok_or_else(|| unsuitable("a section of it is larger than memory; it is damaged"))?;
                if placement == Placement::Second && sh_flags.0 & object::elf::SHF_EXECINSTR.0 == 0 {
                    address = further(&mut far, section.index().0 as u64, section.size().max(section.align()));
                }
            }
            // Whatever reads the image may add a size to an address.
            if address.checked_add(section.size()).is_none() {
                return Err(unsuitable("a section of it ends past the end of memory; it is damaged"));
            }
            sections.push(Section {
                name,
                index: section.index().0,
                address,
                data: section.data().map(<[u8]>::to_vec).unwrap_or_default(),
                size: section.size(),
                loaded,
                code: sh_flags.0 & object::elf::SHF_EXECINSTR.0 != 0,
                writable: sh_flags.0 & object::elf::SHF_WRITE.0 != 0,
                merged: sh_flags.0 & object::elf::SHF_MERGE.0 != 0,
            });
        }
        let place: BTreeMap<usize, u64> = sections.iter().map(|s| (s.index, s.address)).collect();
        let mut outside = BTreeMap::new();
        let mut inside = Vec::new();
        let mut externs: BTreeMap<String, u64> = BTreeMap::new();
        let mut symbols = Vec::new();
        let mut threads: Vec<(String, u64, u64)> = file
            .symbols()
            .filter(|s| s.kind() == SymbolKind::Tls && !s.is_undefined())
            .map(|s| (s.name().unwrap_or("").to_owned(), s.address(), s.size()))
            .collect();
        threads.sort_unstable();
        let (mut patched, mut vague) = (Vec::new(), None);
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let Ok(name) = symbol.name() else { continue };
            if !matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Text | SymbolKind::Unknown) || name.is_empty() {
                continue;
            }
            let Some(section) = symbol.section_index() else { continue };
            let base = if kind == ImageKind::Relocatable { place.get(&section.0).copied().unwrap_or(0) } else { 0 };
            let address = symbol.address().wrapping_add(base);
            if address.checked_add(symbol.size()).is_none() {
                continue;
            }
            symbols.push(Symbol { name: name.to_owned(), address, size: symbol.size(), function: symbol.kind() == SymbolKind::Text });
        }
        symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        symbols.dedup();
        if kind == ImageKind::Relocatable {
            let mut patches = Vec::new();
            // Slots that the linker would fill with addresses, by what they hold.
            let mut slots: BTreeMap<u64, u64> = BTreeMap::new();
            next = next.checked_next_multiple_of(0x1_0000).unwrap_or(0).wrapping_add(0x10_0000);
            let table = if placement == Placement::Second { further(&mut far, 0, 0x10_0000) } else { next };
            for section in file.sections() {
                for (offset, relocation) in section.relocations() {
                    let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                    let Ok(symbol) = file.symbol_by_index(index) else { continue };
                    let value = match symbol.section_index() {
                        Some(s) => place.get(&s.0).copied().unwrap_or(0).wrapping_add(symbol.address()),
                        None => {
                            let name = symbol.name().unwrap_or("").to_owned();
                            let at = *externs.entry(name.clone()).or_insert_with(|| {
                                if placement == Placement::Second {
                                    return further(&mut far, index.0 as u64, 0x10_0000);
                                }
                                next = next.checked_next_multiple_of(0x1_0000).unwrap_or(0).wrapping_add(0x10_0000);
                                next
                            });
                            outside.insert(at, name);
                            at
                        }
                    };
                    let loaded = sections.iter().find(|s| s.index == section.index().0).filter(|s| s.loaded);
                    if let Some(own) = loaded {
                        patched.push((own.address.wrapping_add(offset), u64::from(relocation.size()).div_ceil(8)));
                        let data = symbol.kind() == SymbolKind::Data || symbol.kind() == SymbolKind::Unknown;
                        if through_table(&relocation) && data && symbol.section_index().is_some() {
                            vague
                                .get_or_insert_with(|| "its own objects are reached through a table that another file may fill".to_owned());
                        }
                        // What is past the gaps would pass for something of the next part.
                        let end = symbol.section_index().and_then(|s| sections.iter().find(|x| x.index == s.0)).map(|s| s.address + s.size);
                        let start = symbol.section_index().and_then(|s| place.get(&s.0).copied()).unwrap_or(value);
                        let at = value.wrapping_add(relocation.addend() as u64);
                        let slack = MARGIN - 0x100;
                        let inside =
                            at >= start.wrapping_sub(slack) && at < end.unwrap_or(value.saturating_add(0xe_0000)).saturating_add(slack);
                        if !inside && !own.name.starts_with(".eh_frame") {
                            vague.get_or_insert_with(|| "its code names places far from everything".to_owned());
                        }
                    }
                    let value = if through_table(&relocation) {
                        let free = table.wrapping_add(8 * slots.len() as u64);
                        *slots.entry(value).or_insert(free)
                    } else {
                        value
                    };
                    patches.push((section.index().0, offset, relocation, value));
                }
            }
            for (index, offset, relocation, value) in patches {
                let Some(section) = sections.iter_mut().find(|s| s.index == index) else { continue };
                let mut result = value.wrapping_add(relocation.addend() as u64);
                let relative = matches!(relocation.kind(), object::RelocationKind::Relative | object::RelocationKind::PltRelative);
                if relative || through_table(&relocation) {
                    result = result.wrapping_sub(section.address.wrapping_add(offset));
                }
                let size = usize::from(relocation.size() / 8);
                let at = offset as usize;
                if let Some(slot) = section.data.get_mut(at..at.saturating_add(size)) {
                    slot.copy_from_slice(&result.to_le_bytes()[..size]);
                }
            }
            if !slots.is_empty() {
                let mut data = vec![0; 8 * slots.len()];
                for (value, slot) in &slots {
                    let at = (slot - table) as usize;
                    data[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
                inside.extend(slots.iter().map(|(value, slot)| (*slot, *value)));
                sections.push(Section {
                    name: GOT.to_owned(),
                    index: usize::MAX,
                    address: table,
                    size: data.len() as u64,
                    data,
                    loaded: true,
                    code: false,
                    writable: false,
                    merged: false,
                });
            }
        } else if let Some(relocations) = file.dynamic_relocations() {
            for (offset, relocation) in relocations {
                let RelocationTarget::Symbol(index) = relocation.target() else {
                    inside.push((offset, relocation.addend() as u64));
                    continue;
                };
                let table = file.dynamic_symbol_table();
                let Some(symbol) = table.and_then(|t| object::ObjectSymbolTable::symbol_by_index(&t, index).ok()) else { continue };
                if symbol.is_definition() {
                    inside.push((offset, symbol.address().wrapping_add(relocation.addend() as u64)));
                }
                if let Ok(name) = symbol.name() {
                    outside.insert(offset, name.to_owned());
                }
            }
        }
        drop(file);
        Ok(Self { path: path.to_owned(), bytes, kind, sections, symbols, outside, inside, threads, patched, vague })
    }

    /// The section of a name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// The loaded section that holds an address.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        self.sections.iter().find(|s| s.loaded && s.holds(address))
    }

    /// Code bytes from an address to the end of its section.
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        let section = self.sections.iter().find(|s| s.code && s.holds(address))?;
        section.data.get((address - section.address) as usize..)
    }

    /// The symbols of data that the program may write to.
    pub fn data_symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(|s| !s.function && s.size > 0 && self.section_at(s.address).is_some_and(|x| x.writable))
    }

    /// The symbol that holds an address, else the nearest data symbol below it.
    pub fn symbol_near(&self, address: u64) -> Option<&Symbol> {
        let named = |s: &&Symbol| !s.function && s.size > 0;
        self.symbols
            .iter()
            .filter(named)
            .find(|s| address >= s.address && address < s.address + s.size)
            .or_else(|| self.symbols.iter().filter(named).rfind(|s| s.address <= address))
    }
}
