//! All units of a binary's debug information under one numbering, whichever file they stand in.
//!
//! An entry is known by its offset in the `.debug_info` sections of all files laid end to end: the binary's (or its debug
//! file's), then the one that several share, then every .dwo.

use super::dies::{DieId, UnitDies};
use crate::op::{FilePlace, Slice};
use gimli::{Dwarf, LittleEndian, Unit, UnitOffset, UnitType};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Index;
use std::path::{Path, PathBuf};

/// The sections of one file.
pub(super) type Sections<'a> = gimli::DwarfSections<Cow<'a, [u8]>>;

/// One file's debug information and its units.
pub(super) struct File<'a> {
    pub path: PathBuf,
    pub dwarf: Dwarf<Slice<'a>>,
    pub units: Vec<Unit<Slice<'a>>>,
}

/// The sections of a file by the names they have in it.
pub(super) fn sections<'a>(elf: &object::File<'a>, name: impl Fn(gimli::SectionId) -> Option<&'static str>) -> Sections<'a> {
    let read = |id: gimli::SectionId| -> Result<Cow<'a, [u8]>, gimli::Error> { Ok(name(id).map(|n| section(elf, n)).unwrap_or_default()) };
    gimli::DwarfSections::load(read).expect("every section can be empty")
}

/// The bytes of a section. A .dwo file has one for each type unit, all under one name: they are laid end to end.
fn section<'a>(elf: &object::File<'a>, name: &str) -> Cow<'a, [u8]> {
    let parts = elf.sections().filter(|s| s.name() == Ok(name)).filter_map(|s| s.uncompressed_data().ok());
    parts.reduce(|all, more| Cow::Owned([&*all, &*more].concat())).unwrap_or_default()
}

/// Bytes as gimli reads them.
pub(super) fn borrow<'s>(sections: &'s Sections<'_>) -> Dwarf<Slice<'s>> {
    sections.borrow(|s| Slice::new(s, LittleEndian))
}

impl<'a> File<'a> {
    /// Parses the headers of all units.
    pub fn new(path: &Path, dwarf: Dwarf<Slice<'a>>) -> gimli::Result<Self> {
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        let mut headers = dwarf.type_units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        Ok(Self { path: path.to_owned(), dwarf, units })
    }
}

/// The units of all files.
pub(super) struct Units<'d, 'a> {
    all: Vec<UnitDies<'d, 'a>>,
    /// For each unit of the binary the one that has its entries: itself, or one of a .dwo file.
    completing: Vec<usize>,
    /// Where types with a signature are.
    signatures: HashMap<u64, (usize, UnitOffset)>,
    /// The first offset of the file that several share.
    shared: Option<usize>,
    /// The first offset of each file.
    starts: Vec<(usize, PathBuf)>,
    /// The first offset after all files.
    end: usize,
}

impl<'d, 'a> Units<'d, 'a> {
    /// From the binary's own file, which stands at a place, the one that it shares with others and the .dwo files.
    pub fn new(place: FilePlace, own: &'d File<'a>, shared: Option<&'d File<'a>>, split: &'d [File<'a>]) -> Self {
        let completing = (0..own.units.len()).collect();
        let mut this = Self { all: Vec::new(), completing, signatures: HashMap::new(), shared: None, starts: Vec::new(), end: place.base };
        this.add(own, place.slide);
        if let Some(file) = shared {
            this.shared = Some(this.end);
            this.add(file, place.slide);
        }
        let skeletons: HashMap<u64, usize> = own.units.iter().enumerate().filter_map(|(i, u)| Some((u.dwo_id?.0, i))).collect();
        for file in split {
            let first = this.all.len();
            this.add(file, place.slide);
            for number in first..this.all.len() {
                if let Some(&skeleton) = this.all[number].unit.dwo_id.and_then(|id| skeletons.get(&id.0)) {
                    this.completing[skeleton] = number;
                }
            }
        }
        this
    }

    /// Adds a file after the others.
    fn add(&mut self, file: &'d File<'a>, slide: u64) {
        let base = self.end;
        self.starts.push((base, file.path.clone()));
        let end = |is_info: bool| {
            let of = file.units.iter().filter(|u| u.header.debug_info_offset().is_some() == is_info);
            of.map(|u| u.header.offset().0.saturating_add(u.header.length_including_self())).max().unwrap_or(0)
        };
        let (info, types) = (end(true), end(false));
        for unit in &file.units {
            // The types of DWARF 4 have a section of their own; it comes after the other.
            let base = if unit.header.debug_info_offset().is_some() { base } else { base.saturating_add(info) };
            if let UnitType::Type { type_signature, type_offset } | UnitType::SplitType { type_signature, type_offset } =
                unit.header.type_()
            {
                self.signatures.insert(type_signature.0, (self.all.len(), type_offset));
            }
            self.all.push(UnitDies::new(&file.dwarf, unit, FilePlace { base, slide }));
        }
        self.end = base.saturating_add(info).saturating_add(types);
    }

    /// The first offset of each file, in the order they were given.
    pub fn starts(&self) -> &[(usize, PathBuf)] {
        &self.starts
    }

    /// The first offset after all files.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The unit that has the entries of a unit of the binary.
    pub fn completing(&self, unit: usize) -> usize {
        self.completing[unit]
    }

    /// The unit of the binary that another completes.
    pub fn completed_by(&self, number: usize) -> Option<usize> {
        self.completing.iter().position(|&n| n == number)
    }

    /// Numbers of all units.
    pub fn numbers(&self) -> std::ops::Range<usize> {
        0..self.all.len()
    }

    /// The first offset of the file that several share.
    pub fn shared(&self) -> Option<usize> {
        self.shared
    }

    /// The entry at an offset.
    pub fn entry_at(&self, offset: usize) -> Option<DieId> {
        let unit = self.all.partition_point(|u| u.start() <= offset).checked_sub(1)?;
        let index = self.all[unit].find(UnitOffset(offset - self.all[unit].start()))?;
        Some(DieId { unit, index })
    }

    /// The type that a signature stands for.
    pub fn entry_of(&self, signature: gimli::DebugTypeSignature) -> Option<DieId> {
        let &(unit, offset) = self.signatures.get(&signature.0)?;
        Some(DieId { unit, index: self.all[unit].find(offset)? })
    }
}

impl<'d, 'a> Index<usize> for Units<'d, 'a> {
    type Output = UnitDies<'d, 'a>;

    fn index(&self, unit: usize) -> &Self::Output {
        &self.all[unit]
    }
}
