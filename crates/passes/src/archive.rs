//! Names for LLVM's static functions. libLLVM.so exports none of them, but where the development package is
//! installed its archives hold the same object code with local symbols: a function of the library is
//! recognised by its bytes, those left out that the linker filled in.
//!
//! Deliberately absent: line numbers, which need the pass compiled again with debug information.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, SectionKind, SymbolKind};
use std::path::{Path, PathBuf};

/// Functions shorter than this are alike too often.
const SHORTEST: usize = 48;

/// A function of an archive.
#[derive(Debug)]
struct Function {
    name: String,
    /// The source file, from the object's name.
    file: String,
    /// Its bytes; `None` where the linker writes.
    code: Vec<Option<u8>>,
}

/// The functions of all archives of a version.
#[derive(Debug, Default)]
pub struct Archives {
    functions: Vec<Function>,
}

impl Archives {
    /// Reads the archives next to a version of LLVM: `/usr/lib/llvm-NN/lib`, or the directory that
    /// `TRUELINE_LLVM_ARCHIVES` names. Without any there are no names.
    pub fn of(major: u32) -> Self {
        const NAMES: [&str; 6] = ["ScalarOpts", "TransformUtils", "InstCombine", "ipo", "Vectorize", "AggressiveInstCombine"];
        let directory =
            std::env::var_os("TRUELINE_LLVM_ARCHIVES").map_or_else(|| PathBuf::from(format!("/usr/lib/llvm-{major}/lib")), PathBuf::from);
        let mut archives = Self::default();
        for name in NAMES {
            if let Ok(bytes) = std::fs::read(directory.join(format!("libLLVM{name}.a"))) {
                archives.read(&bytes);
            }
        }
        archives
    }

    /// Whether there is nothing to look up.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    fn read(&mut self, bytes: &[u8]) {
        let Ok(archive) = ArchiveFile::parse(bytes) else { return };
        for member in archive.members().flatten() {
            let (Ok(data), name) = (member.data(bytes), String::from_utf8_lossy(member.name()).into_owned()) else { continue };
            if let Ok(object) = object::File::parse(data) {
                self.read_object(&object, name.trim_end_matches(".o"));
            }
        }
    }

    fn read_object(&mut self, object: &object::File<'_>, file: &str) {
        for symbol in object.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() as usize >= SHORTEST) {
            let section = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
            let Some(section) = section.filter(|s| s.kind() == SectionKind::Text) else { continue };
            let (Ok(data), Ok(name)) = (section.data(), symbol.name()) else { continue };
            let (start, size) = (symbol.address() as usize, symbol.size() as usize);
            let Some(bytes) = data.get(start..start + size) else { continue };
            let mut code: Vec<Option<u8>> = bytes.iter().copied().map(Some).collect();
            for (offset, relocation) in section.relocations() {
                let Some(at) = (offset as usize).checked_sub(start).filter(|at| *at < size) else { continue };
                // Loads from the offset table may be relaxed, which changes the instruction before the field too.
                use object::elf::{R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX};
                let relaxed = matches!(relocation.flags(), RelocationFlags::Elf { r_type } if r_type == R_X86_64_GOTPCRELX || r_type == R_X86_64_REX_GOTPCRELX);
                let width = if relocation.size() == 64 { 8 } else { 4 };
                let from = at.saturating_sub(if relaxed { 3 } else { 0 });
                code[from..(at + width).min(size)].fill(None);
            }
            self.functions.push(Function { name: name.to_owned(), file: file.to_owned(), code });
        }
    }

    /// The mangled name and source file of the function whose code begins `code`; `None` when none or several match.
    pub fn recognise(&self, code: &[u8]) -> Option<(&str, &str)> {
        let same =
            |f: &&Function| f.code.len() <= code.len() && f.code.iter().zip(code).all(|(want, have)| want.is_none_or(|w| w == *have));
        let longest = self.functions.iter().filter(same).max_by_key(|f| f.code.len())?;
        let rivals = self.functions.iter().filter(same).filter(|f| f.code.len() == longest.code.len() && f.name != longest.name).count();
        (rivals == 0).then_some((longest.name.as_str(), longest.file.as_str()))
    }
}

/// The code of a library from an address on, at most `limit` bytes.
pub fn code_at(library: &Path, address: u64, limit: usize) -> Option<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(library).ok()?;
    let offset = {
        let cache = object::ReadCache::new(&mut file);
        let object = object::File::parse(&cache).ok()?;
        let section =
            object.sections().find(|s| s.kind() == SectionKind::Text && (s.address()..s.address() + s.size()).contains(&address))?;
        section.file_range()?.0 + (address - section.address())
    };
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut code = Vec::new();
    file.take(limit as u64).read_to_end(&mut code).ok()?;
    Some(code)
}
