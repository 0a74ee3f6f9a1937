//! An ELF image as far as coverage needs it: its identity, its code, its functions and its constants.

use crate::CoverageError;
use gimli::UnwindSection;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A range of code that has an unwind entry of its own: a function, or the part of one that the
/// compiler moved away from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// The first address of the range.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// A loaded image. Addresses are those that the file states.
#[derive(Debug)]
pub struct CompilerImage {
    /// Where the image is on the disk.
    pub path: PathBuf,
    /// The identity the linker gave it, in hexadecimal.
    pub build_id: Vec<u8>,
    /// True when it is always loaded at the addresses it states.
    pub fixed_address: bool,
    /// The executable segment: address, offset in the file, bytes.
    pub text_address: u64,
    /// Where the segment starts in the file.
    pub text_offset: u64,
    /// The bytes of the segment.
    pub text: Vec<u8>,
    /// Read-only data: address and bytes of each section.
    pub constants: Vec<(u64, Vec<u8>)>,
    /// Data that may be written: address and bytes of `.data`.
    pub data: Vec<(u64, Vec<u8>)>,
    /// Code ranges by address, from the unwind entries.
    pub ranges: Vec<CodeRange>,
    /// Exported functions by address.
    pub exports: BTreeMap<u64, Export>,
}

/// A function that the image exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The name as linked (mangled).
    pub name: String,
    /// Whether other objects may define it too (inline functions and templates).
    pub weak: bool,
}

impl CompilerImage {
    /// Reads an image from a file.
    pub fn load(path: &Path) -> Result<Self, CoverageError> {
        let bytes = std::fs::read(path).map_err(|source| CoverageError::Read { path: path.to_owned(), source })?;
        let unusable = |reason: &str| CoverageError::Unmappable { image: path.to_owned(), reason: reason.to_owned() };
        let file = object::File::parse(&*bytes).map_err(|e| unusable(&e.to_string()))?;
        if file.architecture() != object::Architecture::X86_64 {
            return Err(unusable("it is not x86-64 code"));
        }
        if file.section_by_name(".dynamic").is_none() {
            return Err(unusable("it is linked statically, so no library can be loaded into it"));
        }
        let build_id = file.build_id().ok().flatten().ok_or_else(|| unusable("it has no build id"))?.to_vec();
        let executable = |flags| matches!(flags, object::SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0);
        let segment = file.segments().find(|s| executable(s.flags())).ok_or_else(|| unusable("it has no code"))?;
        let text = segment.data().map_err(|e| unusable(&e.to_string()))?.to_vec();
        let constants = file
            .sections()
            .filter(|s| matches!(s.name(), Ok(".rodata" | ".data.rel.ro" | ".rodata.cst" | ".rodata.str")))
            .filter_map(|s| Some((s.address(), s.data().ok()?.to_vec())))
            .collect();
        let data = file.section_by_name(".data").and_then(|s| Some((s.address(), s.data().ok()?.to_vec()))).into_iter().collect();
        let ranges = unwind_ranges(&file).map_err(|e| unusable(&format!("its unwind entries cannot be read: {e}")))?;
        if ranges.is_empty() {
            return Err(unusable("it has no unwind entries (.eh_frame), so functions cannot be told apart"));
        }
        let mut exports: BTreeMap<u64, Export> = BTreeMap::new();
        for symbol in file.dynamic_symbols().chain(file.symbols()) {
            if !symbol.is_definition() || symbol.kind() != SymbolKind::Text || symbol.address() == 0 {
                continue;
            }
            let Ok(name) = symbol.name() else { continue };
            let export = Export { name: name.to_owned(), weak: symbol.is_weak() };
            // Several names at one address: a strong one says more, then the first in order.
            let better = exports.get(&symbol.address()).is_none_or(|old| (export.weak, &export.name) < (old.weak, &old.name));
            if better {
                exports.insert(symbol.address(), export);
            }
        }
        Ok(Self {
            path: path.to_owned(),
            build_id,
            fixed_address: file.kind() == object::ObjectKind::Executable,
            text_address: segment.address(),
            text_offset: segment.file_range().0,
            text,
            constants,
            data,
            ranges,
            exports,
        })
    }

    /// The build id as text.
    pub fn identity(&self) -> String {
        self.build_id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The code of a range.
    pub fn code(&self, range: CodeRange) -> &[u8] {
        let from = (range.start - self.text_address) as usize;
        &self.text[from..from + (range.end - range.start) as usize]
    }

    /// The eight bytes at an address of the data, read-only or not.
    pub fn word_at(&self, address: u64) -> Option<u64> {
        let (base, bytes) =
            self.constants.iter().chain(&self.data).find(|(base, bytes)| (*base..*base + bytes.len() as u64).contains(&address))?;
        let from = (address - base) as usize;
        Some(u64::from_le_bytes(bytes.get(from..from + 8)?.try_into().ok()?))
    }

    /// The zero-terminated text at an address of the read-only data, if it is short and printable.
    pub fn string_at(&self, address: u64) -> Option<&str> {
        let (base, bytes) = self.constants.iter().find(|(base, bytes)| (*base..*base + bytes.len() as u64).contains(&address))?;
        let tail = &bytes[(address - base) as usize..];
        let end = tail.iter().take(400).position(|&b| b == 0)?;
        let text = std::str::from_utf8(&tail[..end]).ok()?;
        text.bytes().all(|b| (0x20..0x7f).contains(&b)).then_some(text)
    }
}

fn unwind_ranges(file: &object::File<'_>) -> Result<Vec<CodeRange>, gimli::Error> {
    let Some(section) = file.section_by_name(".eh_frame") else { return Ok(Vec::new()) };
    let Ok(data) = section.uncompressed_data() else { return Ok(Vec::new()) };
    let frames = gimli::EhFrame::new(&data, gimli::LittleEndian);
    let bases = gimli::BaseAddresses::default().set_eh_frame(section.address());
    let text: Vec<CodeRange> = file
        .segments()
        .filter(|s| matches!(s.flags(), object::SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0))
        .map(|s| CodeRange { start: s.address(), end: s.address() + s.size() })
        .collect();
    let mut ranges = Vec::new();
    let mut cies = std::collections::HashMap::new();
    let mut entries = frames.entries(&bases);
    while let Some(entry) = entries.next()? {
        if let gimli::CieOrFde::Fde(partial) = entry {
            let fde = partial.parse(|section, bases, offset| match cies.get(&offset.0) {
                Some(cie) => Ok(Clone::clone(cie)),
                None => {
                    let cie = section.cie_from_offset(bases, offset)?;
                    cies.insert(offset.0, Clone::clone(&cie));
                    Ok(cie)
                }
            })?;
            let range = CodeRange { start: fde.initial_address(), end: fde.initial_address() + fde.len() };
            if range.end > range.start && text.iter().any(|t| t.start <= range.start && range.end <= t.end) {
                ranges.push(range);
            }
        }
    }
    ranges.sort_by_key(|r| r.start);
    ranges.dedup_by_key(|r| r.start);
    // The procedure linkage table has an entry too; its stubs are rewritten by nobody, and nobody's code.
    if let Some(plt) = file.section_by_name(".plt") {
        ranges.retain(|r| r.start < plt.address() || r.start >= plt.address() + plt.size());
    }
    if let Some(code) = file.section_by_name(".text") {
        ranges.retain(|r| code.address() <= r.start && r.end <= code.address() + code.size());
    }
    Ok(ranges)
}
