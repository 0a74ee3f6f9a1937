//! A first look at a binary, so that bad ones get the same clear error whoever reads it.

use crate::DwarfError;
use object::{Object, ObjectSegment, ObjectSymbol};
use std::path::Path;

/// The bytes of an x86-64 ELF executable or shared library; complains about anything else.
pub(crate) fn read(binary: &Path) -> Result<Vec<u8>, DwarfError> {
    let bad = |reason: &str| DwarfError { binary: binary.to_owned(), reason: reason.to_owned() };
    let data = std::fs::read(binary).map_err(|e| bad(&format!("{e}")))?;
    if !data.starts_with(b"\x7fELF") {
        return Err(bad("it is not an ELF file"));
    }
    let file = object::File::parse(&*data).map_err(|e| bad(&format!("its ELF structure is damaged ({e})")))?;
    if file.architecture() != object::Architecture::X86_64 {
        return Err(bad(&format!("it is for {:?}, and only x86-64 can be read here", file.architecture())));
    }
    if !matches!(file.kind(), object::ObjectKind::Executable | object::ObjectKind::Dynamic) {
        return Err(bad("it is not an executable"));
    }
    Ok(data)
}

/// How a program comes together when it starts, without a look at its debug information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicLinks {
    /// Where the program starts.
    pub entry: u64,
    /// Lowest and highest address of the image.
    pub image: (u64, u64),
    /// Whether a dynamic linker brings it together.
    pub is_dynamic: bool,
    /// The libraries that it names.
    pub needed: Vec<String>,
    /// Whether it can ask for more while it runs.
    pub opens_libraries: bool,
}

impl DynamicLinks {
    /// Reads a program's own file.
    pub fn of(binary: &Path) -> Result<Self, DwarfError> {
        let data = read(binary)?;
        let damaged = |e: object::Error| DwarfError { binary: binary.to_owned(), reason: format!("its ELF structure is damaged ({e})") };
        let elf = object::File::parse(&*data).map_err(damaged)?;
        let asks = |s: object::Symbol<'_, '_>| s.is_undefined() && matches!(s.name(), Ok("dlopen" | "dlmopen"));
        Ok(Self {
            entry: elf.entry(),
            image: image(&elf),
            is_dynamic: elf.section_by_name(".interp").is_some(),
            needed: needed(&data).unwrap_or_default(),
            opens_libraries: elf.dynamic_symbols().any(asks),
        })
    }
}

/// Lowest and highest address of a file's segments.
pub(crate) fn image(elf: &object::File<'_>) -> (u64, u64) {
    let low = elf.segments().map(|s| s.address()).min().unwrap_or(0);
    (low, elf.segments().map(|s| s.address().saturating_add(s.size())).max().unwrap_or(0))
}

/// The libraries of a file's dynamic section.
fn needed(data: &[u8]) -> Option<Vec<String>> {
    let file: object::read::elf::ElfFile64<'_> = object::read::elf::ElfFile64::parse(data).ok()?;
    let table = file.elf_dynamic_table().ok()?;
    let names = table.iter().filter(|d| d.tag == object::elf::DT_NEEDED).filter_map(|d| table.string(d).ok());
    Some(names.map(|n| String::from_utf8_lossy(n).into_owned()).collect())
}
