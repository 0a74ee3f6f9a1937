//! Names for LLVM's static functions. libLLVM.so exports none of them, but where the development package is
//! installed its archives hold the same object code with local symbols: a function of the library is
//! recognised by its bytes, those left out that the linker filled in.
//!
//! The archives that distributions ship have no debug information. Where a pass's source was compiled again with it
//! (`TRUELINE_LLVM_OBJECTS` names the directory of the objects) and the compiler made the same code of it, the place
//! of a call in the library is a place in the object, and its line is known. A function whose code came out another
//! way gets no line: one that is only probably right would send people to the wrong call.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, SectionKind, SymbolKind};
use std::path::{Path, PathBuf};
use trueline_toolchain::Job;

/// Functions shorter than this are alike too often.
const SHORTEST: usize = 48;

/// Names the directory of objects with debug information.
const OBJECTS: &str = "TRUELINE_LLVM_OBJECTS";

/// A function of an archive.
#[derive(Debug)]
struct Function {
    name: String,
    /// The source file, from the object's name.
    file: String,
    /// Its bytes; `None` where the linker writes.
    code: Vec<Option<u8>>,
    /// Where it is in an object with debug information.
    debug: Option<Place>,
}

/// A function's place in an object file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    object: PathBuf,
    section: String,
    offset: u64,
}

/// What is known of a function by its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// The mangled name of the function.
    pub name: String,
    /// Its source file, without directories.
    pub file: String,
    debug: Option<Place>,
}

impl Recognised {
    /// The source line of the call that returns to `offset` bytes behind the function's start.
    pub fn line(&self, offset: u64) -> Option<u32> {
        let place = self.debug.as_ref()?;
        // The return address is behind the call.
        let inside = place.offset + offset.checked_sub(1)?;
        let job = Job::new("addr2line").arg("-i").arg("-e").arg(&place.object).args(["-j", &place.section, &format!("{inside:#x}")]);
        let outcome = job.run().ok().filter(trueline_toolchain::Outcome::success)?;
        // Innermost first: what was inlined from headers stands in front of the pass's own line.
        line_in(&outcome.stdout_text(), &self.file)
    }
}

/// The first line of `file` in what addr2line prints: `path/file.cpp:12 (discriminator 3)`.
fn line_in(output: &str, file: &str) -> Option<u32> {
    let own = |line: &str| {
        let (path, rest) = line.rsplit_once(':')?;
        let number = rest.split(' ').next()?.parse().ok()?;
        (path.rsplit('/').next() == Some(file)).then_some(number)
    };
    output.lines().find_map(own)
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
        for entry in std::env::var_os(OBJECTS).and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten() {
            archives.read_with_lines(&entry.path());
        }
        archives
    }

    /// Reads an object that has debug information; its functions come first, since they know more.
    fn read_with_lines(&mut self, path: &Path) {
        let Some(name) = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".o")) else { return };
        let Ok(bytes) = std::fs::read(path) else { return };
        if let Ok(object) = object::File::parse(&*bytes) {
            let before = self.functions.len();
            self.read_object(&object, name, Some(path));
            let end = self.functions.len();
            self.functions.rotate_right(end - before);
        }
    }

    /// Whether there are objects with debug information.
    pub fn have_lines() -> bool {
        std::env::var_os(OBJECTS).is_some()
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
                self.read_object(&object, name.trim_end_matches(".o"), None);
            }
        }
    }

    fn read_object(&mut self, object: &object::File<'_>, file: &str, path: Option<&Path>) {
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
            let debug = path.and_then(|path| {
                Some(Place { object: path.to_owned(), section: section.name().ok()?.to_owned(), offset: symbol.address() })
            });
            self.functions.push(Function { name: name.to_owned(), file: file.to_owned(), code, debug });
        }
    }

    /// The function whose code begins `code`; `None` when none or several match.
    pub fn recognise(&self, code: &[u8]) -> Option<Recognised> {
        let same =
            |f: &&Function| f.code.len() <= code.len() && f.code.iter().zip(code).all(|(want, have)| want.is_none_or(|w| w == *have));
        let length = self.functions.iter().filter(same).map(|f| f.code.len()).max()?;
        let mut longest = self.functions.iter().filter(same).filter(|f| f.code.len() == length);
        let first = longest.next()?;
        // One with debug information may stand beside its twin of the archive.
        longest.all(|f| f.name == first.name).then(|| Recognised {
            name: first.name.clone(),
            file: first.file.clone(),
            debug: first.debug.clone(),
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_toolchain::Scratch;

    #[test]
    fn a_call_in_stripped_code_gets_the_line_it_has_in_an_object_with_debug_information() {
        let scratch = Scratch::new().unwrap();
        let text = "extern int one(int), two(int);\nint user(int x) {\n  int sum = one(x * 3 + 1);\n  for (int i = 0; i < x; i++)\n    sum += two(sum ^ i);\n  return sum - 5;\n}\n";
        let source = scratch.write("user.c", text).unwrap();
        let compile = |flag: &str, out: &str| {
            let job =
                Job::new("gcc").args(["-O2", flag, "-ffunction-sections", "-fPIC", "-c"]).arg(&source).arg("-o").arg(scratch.join(out));
            job.run().is_ok_and(|o| o.success())
        };
        if !compile("-g0", "stripped.o") || !compile("-g", "user.c.o") || Job::new("addr2line").arg("--version").run().is_err() {
            return println!("skipped: no gcc or no addr2line here");
        }
        // The \"library\": the stripped code, as an archive would not give lines for it.
        let bytes = std::fs::read(scratch.join("stripped.o")).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let code = object.section_by_name(".text.user").unwrap().data().unwrap().to_vec();
        let mut archives = Archives::default();
        archives.read_object(&object, "user.c", None);
        archives.read_with_lines(&scratch.join("user.c.o"));
        let found = archives.recognise(&code).expect("the same code");
        assert_eq!((found.name.as_str(), found.file.as_str()), ("user", "user.c"));
        // Each relocation of a call ends where the call returns to.
        let section = object.section_by_name(".text.user").unwrap();
        let mut lines: Vec<u32> = section.relocations().filter_map(|(offset, _)| found.line(offset + 4)).collect();
        lines.sort_unstable();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn lines_of_headers_are_not_the_call() {
        assert_eq!(line_in("/x/IRBuilder.h:90\n/x/LICM.cpp:1201 (discriminator 2)\n", "LICM.cpp"), Some(1201));
        assert_eq!(line_in("??:0\n", "LICM.cpp"), None);
    }
}
