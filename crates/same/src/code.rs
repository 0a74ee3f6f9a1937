//! Whether two files hold the same code at the same addresses. A file that only keeps debug information has its sections
//! without their bytes; its addresses and sizes count then.

use object::{Object, ObjectSection, SectionKind};
use std::path::{Path, PathBuf};

/// Two files whose code is not the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{a} and {b} do not have the same code: {reason}; only files made from one another, or built twice with the same code, can be compared",
    a = a.display(),
    b = b.display()
)]
pub struct CodeDiffers {
    /// The first file.
    pub a: PathBuf,
    /// The second one.
    pub b: PathBuf,
    /// What is not the same.
    pub reason: String,
}

/// An executable section.
struct CodeSection {
    name: String,
    address: u64,
    size: u64,
    /// None in a file that only keeps debug information.
    bytes: Option<Vec<u8>>,
}

/// Complains unless the code of both is the same.
pub(crate) fn require_same(a: &Path, b: &Path) -> Result<(), crate::SameError> {
    let (of_a, of_b) = (read(a)?, read(b)?);
    match first_difference(&of_a, &of_b) {
        Some(reason) => Err(CodeDiffers { a: a.to_owned(), b: b.to_owned(), reason }.into()),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<Vec<CodeSection>, trueline_dwarf::DwarfError> {
    let bad = |reason: String| trueline_dwarf::DwarfError { binary: path.to_owned(), reason };
    let data = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
    let elf = object::File::parse(&*data).map_err(|e| bad(format!("it is not an ELF file ({e})")))?;
    let is_code = |s: &object::Section<'_, '_>| match s.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & object::elf::SHF_EXECINSTR.0 != 0,
        _ => s.kind() == SectionKind::Text,
    };
    let code = elf.sections().filter(is_code).map(|s| {
        let bytes = s.data().ok().filter(|d| !d.is_empty() || s.size() == 0).map(<[u8]>::to_vec);
        CodeSection { name: s.name().unwrap_or("?").to_owned(), address: s.address(), size: s.size(), bytes }
    });
    let mut code: Vec<CodeSection> = code.collect();
    code.sort_by_key(|c| (c.address, c.size));
    if code.is_empty() {
        return Err(bad("it has no code".into()));
    }
    Ok(code)
}

fn first_difference(a: &[CodeSection], b: &[CodeSection]) -> Option<String> {
    for (x, y) in a.iter().zip(b) {
        if (x.address, x.size) != (y.address, y.size) {
            return Some(format!("{} is {} bytes at {:#x}, {} is {} at {:#x}", x.name, x.size, x.address, y.name, y.size, y.address));
        }
        if let (Some(p), Some(q)) = (&x.bytes, &y.bytes)
            && let Some(at) = p.iter().zip(q).position(|(p, q)| p != q)
        {
            return Some(format!("{} differs at {:#x}", x.name, x.address + at as u64));
        }
    }
    (a.len() != b.len()).then(|| format!("one has {} sections of code, the other {}", a.len(), b.len()))
}
