//! Units whose entries stand in .dwo files, or in a package of such files beside the binary.

use super::sources::{CompanionFile, Search, package, split};
use super::units::{File, Sections, borrow, sections};
use crate::op::Slice;
use gimli::{DwarfPackageSections, DwoId, LittleEndian, Unit};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// The files that complete the units of a binary.
pub(super) struct Parts {
    package: Option<CompanionFile>,
    packaged: Vec<DwoId>,
    files: Vec<(DwoId, CompanionFile)>,
}

/// The same, with their sections found.
pub(super) struct Opened<'p> {
    package: Option<(&'p Path, DwarfPackageSections<Cow<'p, [u8]>>)>,
    packaged: &'p [DwoId],
    files: Vec<(DwoId, &'p Path, Sections<'p>)>,
}

impl Parts {
    /// Finds what completes the wanted units.
    pub fn read(binary: &Path, own: &File<'_>, is_wanted: impl Fn(usize) -> bool, search: &Search) -> Result<Self, String> {
        let is_split = |unit: &Unit<Slice<'_>>| unit.dwo_id.is_some() && matches!(unit.dwo_name(), Ok(Some(_)));
        let package = own.units.iter().any(is_split).then(|| package(binary)).flatten();
        let index = package.as_ref().map(|c| package_index(&c.data)).unwrap_or_default();
        let index = gimli::DebugCuIndex::new(&index, LittleEndian).index();
        let mut this = Self { package: None, packaged: Vec::new(), files: Vec::new() };
        for (_, unit) in own.units.iter().enumerate().filter(|(i, _)| is_wanted(*i)) {
            let (Some(id), Ok(Some(name))) = (unit.dwo_id, unit.dwo_name()) else { continue };
            if index.as_ref().is_ok_and(|i| i.find(id.0).is_some()) {
                this.packaged.push(id);
                continue;
            }
            let text = |value| own.dwarf.attr_string(unit, value).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let directory = unit.comp_dir.map(|d| d.to_string_lossy().into_owned()).unwrap_or_default();
            let name = text(name);
            let found = split(binary, &directory, &name, search).map_err(|looked| {
                let at = binary.display();
                format!(
                    "its debug information is split, and {name} was not found (no {at}.dwp, {}); keep the .dwo files",
                    looked.0.join(", ")
                )
            })?;
            this.files.push((id, found));
        }
        this.package = package;
        Ok(this)
    }

    /// Finds the sections.
    pub fn open(&self) -> Result<Opened<'_>, String> {
        let package = match &self.package {
            Some(companion) if !self.packaged.is_empty() => Some((&*companion.path, package_sections(&parse(companion)?))),
            _ => None,
        };
        let mut files = Vec::new();
        for (id, companion) in &self.files {
            files.push((*id, &*companion.path, sections(&parse(companion)?, gimli::SectionId::dwo_name)));
        }
        Ok(Opened { package, packaged: &self.packaged, files })
    }
}

impl Opened<'_> {
    /// The units, with what they take from the units that they complete.
    pub fn files<'s>(&'s self, own: &File<'s>) -> Result<Vec<File<'s>>, String> {
        let damaged = |e: gimli::Error| format!("its debug information is damaged ({e})");
        let skeletons: HashMap<u64, &Unit<Slice<'s>>> = own.units.iter().filter_map(|u| Some((u.dwo_id?.0, u))).collect();
        let mut all = Vec::new();
        if let Some((path, sections)) = &self.package {
            let slice = |s: &'s Cow<'_, [u8]>| Slice::new(s, LittleEndian);
            let package = sections.borrow(slice, Slice::new(&[], LittleEndian)).map_err(damaged)?;
            for &id in self.packaged {
                let dwarf = package.find_cu(id, &own.dwarf).map_err(damaged)?;
                all.push(File::new(path, dwarf.ok_or("its package of .dwo files is damaged")?).map_err(damaged)?);
            }
            for row in 1..=package.tu_index.unit_count() {
                all.push(package.tu_sections(row, &own.dwarf).and_then(|dwarf| File::new(path, dwarf)).map_err(damaged)?);
            }
        }
        for (id, path, sections) in &self.files {
            let mut dwarf = borrow(sections);
            dwarf.make_dwo(&own.dwarf);
            let file = File::new(path, dwarf).map_err(damaged)?;
            if !file.units.iter().any(|u| u.dwo_id == Some(*id)) {
                return Err(format!("its debug information is split, and {} belongs to another build", path.display()));
            }
            all.push(file);
        }
        for unit in all.iter_mut().flat_map(|f| &mut f.units) {
            if let Some(skeleton) = unit.dwo_id.and_then(|id| skeletons.get(&id.0)) {
                unit.copy_relocated_attributes(skeleton);
            }
        }
        Ok(all)
    }
}

fn parse(companion: &CompanionFile) -> Result<object::File<'_>, String> {
    object::File::parse(&*companion.data).map_err(|e| format!("{} is damaged ({e})", companion.path.display()))
}

fn package_sections<'p>(elf: &object::File<'p>) -> DwarfPackageSections<Cow<'p, [u8]>> {
    let read = |id: gimli::SectionId| -> Result<Cow<'p, [u8]>, gimli::Error> {
        let section = id.dwo_name().and_then(|n| elf.section_by_name(n));
        Ok(section.and_then(|s| s.uncompressed_data().ok()).unwrap_or_default())
    };
    DwarfPackageSections::load(read).expect("every section can be empty")
}

/// The bytes of a package's index; none when it cannot be read.
fn package_index(data: &[u8]) -> Vec<u8> {
    let Ok(elf) = object::File::parse(data) else { return Vec::new() };
    elf.section_by_name(".debug_cu_index").and_then(|s| s.uncompressed_data().ok()).map(Cow::into_owned).unwrap_or_default()
}
