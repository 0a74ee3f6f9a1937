//! Writes an ELF file anew with other contents in some sections that are not loaded.
//!
//! Of a linked file every byte up to the last loaded one stays where it is; only what follows is laid out
//! again. A relocatable object is laid out as a whole, its loaded sections unchanged.

use std::collections::BTreeMap;
use trueline_machine::image::ImageKind;

const EHDR: usize = 64;
const SHDR: usize = 64;

/// A section to be written.
#[derive(Clone, Debug)]
pub struct OutSection {
    /// The name it has in the source or the file.
    pub name: String,
    /// The type that the ELF header gives.
    pub kind: u32,
    /// The flags that the ELF header gives.
    pub flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    /// Section it is linked to.
    pub link: u32,
    /// Extra information that depends on its type.
    pub info: u32,
    align: u64,
    entry_size: u64,
    /// Contents; `None` for sections without any in the file.
    pub data: Option<Vec<u8>>,
    changed: bool,
}

/// A file being rewritten.
#[derive(Clone, Debug)]
pub struct Elf {
    original: Vec<u8>,
    kind: ImageKind,
    /// Sections by header index.
    pub sections: Vec<OutSection>,
}

fn u16_at(b: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(b.get(at..at + 2)?.try_into().ok()?))
}
fn u32_at(b: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(b.get(at..at + 4)?.try_into().ok()?))
}
fn u64_at(b: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(b.get(at..at + 8)?.try_into().ok()?))
}

/// Section types whose entries name a string table.
const SYMTAB: u32 = 2;
const DYNSYM: u32 = 11;
/// Largest alignment of a section that is followed: a huge page.
const MOST_ALIGNMENT: usize = 2 << 20;

impl Elf {
    /// Reads the section headers.
    pub fn read(bytes: &[u8], kind: ImageKind) -> Option<Self> {
        let start = u64_at(bytes, 0x28)? as usize;
        let count = usize::from(u16_at(bytes, 0x3c)?);
        let names = usize::from(u16_at(bytes, 0x3e)?);
        let header = |n: usize| bytes.get(start.checked_add(n * SHDR)?..start.checked_add((n + 1) * SHDR)?);
        let mut sections = Vec::new();
        for n in 0..count {
            let h = header(n)?;
            let (offset, size, kind) = (u64_at(h, 24)?, u64_at(h, 32)?, u32_at(h, 4)?);
            let data = if kind == 8 || kind == 0 {
                None
            } else {
                Some(bytes.get(offset as usize..(offset.checked_add(size)?) as usize)?.to_vec())
            };
            sections.push(OutSection {
                name: String::new(),
                kind,
                flags: u64_at(h, 8)?,
                address: u64_at(h, 16)?,
                offset,
                size,
                link: u32_at(h, 40)?,
                info: u32_at(h, 44)?,
                align: u64_at(h, 48)?,
                entry_size: u64_at(h, 56)?,
                data,
                changed: false,
            });
        }
        let table = sections.get(names)?.data.clone()?;
        for (n, section) in sections.iter_mut().enumerate() {
            let at = u32_at(header(n)?, 0)? as usize;
            let end = table.get(at..)?.iter().position(|b| *b == 0)? + at;
            section.name = String::from_utf8_lossy(&table[at..end]).into_owned();
        }
        Some(Self { original: bytes.to_vec(), kind, sections })
    }

    /// The index of a section by name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|s| s.name == name)
    }

    /// Replaces a section's contents, or adds the section; empty contents for a section that is not there
    /// add nothing.
    pub fn put(&mut self, name: &str, data: Vec<u8>) -> Option<usize> {
        match self.index(name) {
            Some(n) => {
                self.sections[n].data = Some(data);
                self.sections[n].changed = true;
                Some(n)
            }
            None if data.is_empty() => None,
            None => {
                let flags = if matches!(name, ".debug_str" | ".debug_line_str") { 0x30 } else { 0 };
                let entry_size = u64::from(flags != 0);
                self.sections.push(OutSection {
                    name: name.to_owned(),
                    kind: 1,
                    flags,
                    address: 0,
                    offset: 0,
                    size: 0,
                    link: 0,
                    info: 0,
                    align: 1,
                    entry_size,
                    data: Some(data),
                    changed: true,
                });
                Some(self.sections.len() - 1)
            }
        }
    }

    /// Empties a section whose contents no longer hold and gives it no name that a reader would look for.
    pub fn retire(&mut self, name: &str) {
        if let Some(n) = self.index(name) {
            let section = &mut self.sections[n];
            section.data = Some(Vec::new());
            section.changed = true;
            if name == ".gdb_index" || name == ".debug_names" {
                section.name = String::new();
            }
        }
    }

    /// Replaces (or adds) the relocations of a section: (offset, symbol, type, addend).
    pub fn put_relocations(&mut self, target: usize, relocations: &[(u64, u32, u32, i64)]) {
        let mut data = Vec::with_capacity(relocations.len() * 24);
        for (offset, symbol, kind, addend) in relocations {
            data.extend(offset.to_le_bytes());
            data.extend((u64::from(*symbol) << 32 | u64::from(*kind)).to_le_bytes());
            data.extend(addend.to_le_bytes());
        }
        let name = format!(".rela{}", self.sections[target].name);
        let symbols = self.index(".symtab").unwrap_or(0) as u32;
        let Some(n) = self.put(&name, data) else { return };
        let section = &mut self.sections[n];
        section.kind = 4;
        section.flags = 0x40;
        section.link = symbols;
        section.info = target as u32;
        section.align = 8;
        section.entry_size = 24;
    }

    /// The symbol that stands for a section's start, added where there is none. Relocations elsewhere are
    /// renumbered when local symbols are added in front of the global ones.
    pub fn section_symbols(&mut self, wanted: &[usize]) -> BTreeMap<usize, u32> {
        let mut found = BTreeMap::new();
        let Some(table) = self.index(".symtab") else { return found };
        let symbols = self.sections[table].data.clone().unwrap_or_default();
        for (n, symbol) in symbols.chunks_exact(24).enumerate() {
            if symbol[4] & 15 == 3 {
                found.insert(usize::from(u16::from_le_bytes([symbol[6], symbol[7]])), n as u32);
            }
        }
        let missing: Vec<usize> = wanted.iter().copied().filter(|w| !found.contains_key(w)).collect();
        if missing.is_empty() {
            return found;
        }
        let locals = self.sections[table].info;
        // A count beyond the table is damage; whoever asked finds its symbol missing and says so.
        let Some((before, after)) = symbols.split_at_checked(locals as usize * 24) else { return found };
        let mut data = before.to_vec();
        for (n, section) in missing.iter().enumerate() {
            let mut symbol = [0u8; 24];
            symbol[4] = 3;
            symbol[6..8].copy_from_slice(&(*section as u16).to_le_bytes());
            data.extend(symbol);
            found.insert(*section, locals + n as u32);
        }
        data.extend(after);
        let added = missing.len() as u32;
        self.sections[table].data = Some(data);
        self.sections[table].info = locals + added;
        for section in &mut self.sections {
            if section.kind == 17 && section.info >= locals {
                section.info = section.info.saturating_add(added);
            }
            if section.kind != 4 {
                continue;
            }
            for entry in section.data.iter_mut().flat_map(|d| d.chunks_exact_mut(24)) {
                let symbol = u32::from_le_bytes(entry[12..16].try_into().unwrap_or_default());
                if symbol >= locals {
                    entry[12..16].copy_from_slice(&symbol.saturating_add(added).to_le_bytes());
                }
            }
        }
        found
    }

    /// The index of a named symbol.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        let table = &self.sections[self.index(".symtab")?];
        let strings = self.sections.get(table.link as usize)?.data.as_ref()?;
        let found = table.data.as_ref()?.chunks_exact(24).position(|symbol| {
            let at = u32::from_le_bytes(symbol[..4].try_into().unwrap_or_default()) as usize;
            strings.get(at..).is_some_and(|s| s.starts_with(name.as_bytes()) && s.get(name.len()) == Some(&0))
        });
        found.map(|n| n as u32)
    }

    /// The bytes of the new file.
    pub fn write(mut self) -> Option<Vec<u8>> {
        let names = usize::from(u16_at(&self.original, 0x3e)?);
        // Names first: the table is one of the sections. clang keeps the names of symbols in the same table:
        // what a symbol table refers to stays where it is, and ours go behind it.
        let shared = self.sections.iter().any(|s| matches!(s.kind, SYMTAB | DYNSYM) && s.link as usize == names);
        let mut table = if shared { self.sections.get(names)?.data.clone()? } else { vec![0u8] };
        let mut starts: BTreeMap<String, u32> = BTreeMap::from([(String::new(), 0)]);
        let mut offsets = Vec::new();
        for section in &self.sections {
            let at = *starts.entry(section.name.clone()).or_insert_with(|| {
                let at = table.len() as u32;
                table.extend(section.name.as_bytes());
                table.push(0);
                at
            });
            offsets.push(at);
        }
        self.sections.get_mut(names)?.data = Some(table);
        let relocatable = self.kind == ImageKind::Relocatable;
        let kept = if relocatable { EHDR } else { self.loaded_end()? };
        let mut out = self.original.get(..kept)?.to_vec();
        for section in self.sections.iter_mut().skip(1) {
            let loaded = section.flags & 2 != 0;
            if loaded && !relocatable {
                continue;
            }
            // The standard wants a power of two; no toolchain asks for more than a huge page, damaged files do.
            let align = usize::try_from(section.align.max(1)).ok().filter(|a| a.is_power_of_two() && *a <= MOST_ALIGNMENT)?;
            out.resize(out.len().next_multiple_of(align), 0);
            section.offset = out.len() as u64;
            if let Some(data) = &section.data {
                section.size = data.len() as u64;
                out.extend(data);
            }
        }
        out.resize(out.len().next_multiple_of(8), 0);
        let start = out.len() as u64;
        for (section, name) in self.sections.iter().zip(offsets) {
            out.extend(name.to_le_bytes());
            out.extend(section.kind.to_le_bytes());
            for x in [section.flags, section.address, section.offset, section.size] {
                out.extend(x.to_le_bytes());
            }
            out.extend(section.link.to_le_bytes());
            out.extend(section.info.to_le_bytes());
            out.extend(section.align.to_le_bytes());
            out.extend(section.entry_size.to_le_bytes());
        }
        out[0x28..0x30].copy_from_slice(&start.to_le_bytes());
        out[0x3c..0x3e].copy_from_slice(&(self.sections.len() as u16).to_le_bytes());
        Some(out)
    }

    /// One past the last byte of the file that is loaded or describes loading.
    fn loaded_end(&self) -> Option<usize> {
        let b = &self.original;
        let (start, size, count) = (u64_at(b, 0x20)?, u64::from(u16_at(b, 0x36)?), u64::from(u16_at(b, 0x38)?));
        let mut end = start.checked_add(size * count)?;
        for n in 0..count {
            let h = b.get((start + n * size) as usize..)?;
            end = end.max(u64_at(h, 8)?.checked_add(u64_at(h, 32)?)?);
        }
        for section in self.sections.iter().filter(|s| s.flags & 2 != 0 && s.kind != 8) {
            end = end.max(section.offset.checked_add(section.size)?);
        }
        (end as usize <= b.len()).then_some(end as usize)
    }
}
