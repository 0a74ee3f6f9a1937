//! A first look at a binary, so that bad ones get the same clear error whoever reads it.

use crate::DwarfError;
use object::Object;
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
