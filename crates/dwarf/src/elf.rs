//! A first look at a binary, so that bad ones get the same clear error whoever reads it.

use crate::DwarfError;
use object::{Object, ObjectSection};
use std::path::Path;

/// Complains unless `binary` is an x86-64 ELF executable with debug information.
pub fn check(binary: &Path) -> Result<(), DwarfError> {
    read(binary).map(drop)
}

/// The bytes of a binary that passes [`check`].
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
    for name in [".debug_info", ".debug_line"] {
        let section = file.section_by_name(name).ok_or_else(|| bad("it has no debug information; compile it with -g"))?;
        if section.data().map_or(0, <[u8]>::len) == 0 {
            return Err(bad("its debug information cannot be read (empty or cut off)"));
        }
    }
    Ok(data)
}
