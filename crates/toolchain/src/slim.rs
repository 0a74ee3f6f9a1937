//! The C library, reduced to the functions that a program calls. Most of linking a small program is reading the three
//! thousand names of the C library to find five of them. Whoever knows the five can give the linker a library that has
//! only these, with the same name and versions. What comes out is the same but for the order of the names in `.dynstr` and
//! the build's number: every other section, the code and the debug information among them, is so byte for byte. The first
//! link of a process is made both ways and compared; a linker that does otherwise gets the whole library.
//!
//! Absent on purpose: data of the C library (copied into the program, which takes its size and alignment), other
//! libraries, symbols that come out of archives, programs that define a name of the C library's. All these are linked with
//! the whole library.

use crate::{Job, Limits};
use object::elf::{STB_LOCAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC};
use object::read::elf::{ElfFile64, FileHeader as _, Sym as _};
use object::{Endianness, Object as _, ObjectSection as _};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// As many reduced libraries are kept, each in two descriptors; programs that need others are linked with the whole one.
const MOST: usize = 64;

/// What a link brings along besides the program: the parts of a recipe that matter here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    library: Arc<SharedNames>,
    /// The linker script that stands for the C library, cut where the library's path stood.
    script: [String; 2],
    /// Names that the start files define, and names that they need.
    defined: BTreeSet<Vec<u8>>,
    needed: BTreeSet<Vec<u8>>,
}

/// The names of a shared library.
#[derive(Debug, PartialEq, Eq)]
struct SharedNames {
    /// Functions, with the version that a program gets.
    functions: HashMap<Vec<u8>, Vec<u8>>,
    /// All that it defines.
    names: BTreeSet<Vec<u8>>,
}

/// The global names of an object.
#[derive(Debug, Default)]
struct ObjectNames {
    defined: BTreeSet<Vec<u8>>,
    needed: BTreeSet<Vec<u8>>,
    /// Those that may stay without a definition.
    wanted: BTreeSet<Vec<u8>>,
}

impl Surroundings {
    /// Reads what a linker is given besides an object; `None` when it holds anything that is not known to be harmless.
    pub(crate) fn read<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        const LIBRARIES: [&str; 5] = ["-lc", "-lgcc", "-lgcc_s", "-lgcc_s_asneeded", "-latomic_asneeded"];
        const FLAGS: [&str; 14] = [
            "-pie",
            "-no-pie",
            "--build-id",
            "--eh-frame-hdr",
            "--hash-style=gnu",
            "--hash-style=both",
            "--as-needed",
            "--no-as-needed",
            "--push-state",
            "--pop-state",
            "-z",
            "relro",
            "now",
            "",
        ];
        let (mut defined, mut needed, mut places) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut words = words.peekable();
        let mut libraries = 0;
        while let Some(word) = words.next() {
            match word {
                "-m" | "-dynamic-linker" | "-o" => drop(words.next()?),
                "-lc" => libraries += 1,
                _ if LIBRARIES.contains(&word) || FLAGS.contains(&word) => {}
                _ if word.starts_with("-L") => places.push(PathBuf::from(&word[2..])),
                _ if word.ends_with(".o") => {
                    let names = ObjectNames::of(&std::fs::read(word).ok()?)?;
                    defined.extend(names.defined);
                    needed.extend(names.needed.into_iter().chain(names.wanted));
                }
                _ => return None,
            }
        }
        let script = places.iter().map(|place| place.join("libc.so")).find(|path| path.exists())?;
        let text = std::fs::read_to_string(script).ok()?;
        let path = text.split_whitespace().find(|word| word.ends_with("/libc.so.6"))?.to_owned();
        let (before, after) = text.split_once(&path)?;
        let is_one = libraries == 1 && !after.contains("libc.so.6");
        let library = is_one.then(|| SharedNames::at(Path::new(&path)))??;
        Some(Self { library, script: [before.to_owned(), after.to_owned()], defined, needed })
    }

    /// The library to be given instead of `-lc`; `None` when an object needs the whole one. Works in the object's directory,
    /// and asks for links, to a file and with a library, to see whether the linker plays along.
    pub(crate) fn library_for(
        &self,
        linker: &Path,
        object: &Path,
        link: impl Fn(&Path, Option<&SlimLibrary>) -> Job,
    ) -> Option<SlimLibrary> {
        type Known = HashMap<(PathBuf, usize, BTreeMap<Vec<u8>, Vec<u8>>), Option<SlimLibrary>>;
        static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
        static SIZES: LazyLock<Mutex<HashMap<PathBuf, Option<u32>>>> = LazyLock::new(Mutex::default);
        let functions = self.functions(&ObjectNames::of(&std::fs::read(object).ok()?)?)?;
        let key = (linker.to_owned(), Arc::as_ptr(&self.library) as usize, functions);
        if let Some(known) = KNOWN.lock().get(&key) {
            return known.clone();
        }
        if KNOWN.lock().len() >= MOST {
            return None;
        }
        let made = self.reduce(&key.2, linker, object).and_then(|reduced| {
            let known = SIZES.lock().get(linker).copied();
            let size = known.unwrap_or_else(|| try_sizes(&reduced, object, link));
            SIZES.lock().insert(linker.to_owned(), size);
            size.map(|hash_size| SlimLibrary { hash_size, ..reduced })
        });
        KNOWN.lock().insert(key, made.clone());
        made
    }

    /// The functions of the C library that a program with this object calls; `None` when it needs more, or gives it something.
    fn functions(&self, names: &ObjectNames) -> Option<BTreeMap<Vec<u8>, Vec<u8>>> {
        if names.defined.iter().any(|name| self.library.names.contains(name)) {
            return None;
        }
        let is_met = |name: &Vec<u8>| self.defined.contains(name) || name == b"_GLOBAL_OFFSET_TABLE_";
        if !names.needed.iter().all(|name| is_met(name) || self.library.functions.contains_key(name)) {
            return None;
        }
        let all = names.needed.iter().chain(&names.wanted).chain(&self.needed).filter(|name| self.library.names.contains(*name));
        all.map(|name| Some((name.clone(), self.library.functions.get(name)?.clone()))).collect()
    }

    /// Has the assembler and the linker make a library that has these functions only.
    fn reduce(&self, functions: &BTreeMap<Vec<u8>, Vec<u8>>, linker: &Path, object: &Path) -> Option<SlimLibrary> {
        let is_plain = |name: &[u8]| name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, version) in functions {
            if !is_plain(name) || !is_plain(version) {
                return None;
            }
            versions.entry(std::str::from_utf8(version).ok()?).or_default().push(std::str::from_utf8(name).ok()?);
        }
        let names = versions.values().flatten();
        let assembly: String = names.map(|name| format!("\t.globl {name}\n\t.type {name}, @function\n{name}:\tret\n")).collect();
        let map: String = versions.iter().map(|(version, names)| format!("{version} {{ global: {}; }};\n", names.join("; "))).collect();
        let beside = |end: &str| {
            let mut name = object.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        let [source, code, script, library] = [".libc.s", ".libc.o", ".libc.map", ".libc.so"].map(beside);
        let make = || {
            std::fs::write(&source, format!("\t.text\n{assembly}\t.section .note.GNU-stack,\"\",@progbits\n")).ok()?;
            std::fs::write(&script, map).ok()?;
            let limits = Limits::seconds(30);
            let assembled = Job::new("as").arg(&source).arg("-o").arg(&code).limits(limits.clone()).kept().run().ok()?;
            let link = Job::new(linker).args(["-shared", "-soname", "libc.so.6", "--version-script"]).arg(&script).arg(&code);
            let linked = link.arg("-o").arg(&library).limits(limits).kept().run().ok()?;
            (assembled.success() && linked.success()).then(|| std::fs::read(&library).ok())?
        };
        let made: Option<Vec<u8>> = make();
        for path in [&source, &code, &script, &library] {
            let _ = std::fs::remove_file(path);
        }
        let library = in_memory(c"libc.so.6", &made?)?;
        let [before, after] = &self.script;
        let script = in_memory(c"libc.so", format!("{before}{}{after}", path_of(&library).display()).as_bytes())?;
        Some(SlimLibrary { _library: Arc::new(library), script: Arc::new(script), hash_size: 0 })
    }
}

/// A reduced library and the linker script that names it, both in memory: nothing is left where we end.
#[derive(Clone, Debug)]
pub(crate) struct SlimLibrary {
    _library: Arc<File>,
    script: Arc<File>,
    hash_size: u32,
}

impl SlimLibrary {
    /// What to give to the linker in the place of `-lc`.
    pub(crate) fn path(&self) -> PathBuf {
        path_of(&self.script)
    }

    /// Flags that go with it. The linker writes names in the order of its table, which would have grown with the whole library.
    pub(crate) fn flags(&self) -> Option<String> {
        (self.hash_size > 0).then(|| format!("--hash-size={}", self.hash_size))
    }
}

/// The size of its table with which a linker makes of a reduced library what it makes of the whole one; `None` when there is none.
fn try_sizes(reduced: &SlimLibrary, object: &Path, link: impl Fn(&Path, Option<&SlimLibrary>) -> Job) -> Option<u32> {
    let mut name = object.as_os_str().to_owned();
    name.push(".try");
    let output = PathBuf::from(name);
    let made = |library: Option<&SlimLibrary>| {
        let outcome = link(&output, library).run().ok()?;
        let bytes = std::fs::read(&output).ok();
        let _ = std::fs::remove_file(&output);
        bytes.filter(|_| outcome.success())
    };
    let whole = made(None)?;
    // The sizes that GNU ld grows to; 0 for one without such a table.
    let mut sizes = [16381, 8191, 32749, 65537, 0].into_iter();
    sizes.find(|&hash_size| made(Some(&SlimLibrary { hash_size, ..reduced.clone() })).is_some_and(|slim| is_same_program(&whole, &slim)))
}

/// Whether two files differ in the order of names and in the build's number at most.
pub(crate) fn is_same_program(a: &[u8], b: &[u8]) -> bool {
    type Section = (String, u64, u64, Vec<u8>);
    let sections = |bytes| -> Option<Vec<Section>> {
        let file = ElfFile64::<Endianness>::parse(bytes).ok()?;
        let read = |section: object::read::elf::ElfSection64<'_, '_, Endianness>| {
            let name = section.name().ok()?.to_owned();
            let data = if matches!(name.as_str(), ".dynstr" | ".dynsym" | ".note.gnu.build-id") { &[] } else { section.data().ok()? };
            Some((name, section.address(), section.size(), data.to_vec()))
        };
        file.sections().map(read).collect()
    };
    sections(a).is_some_and(|a| sections(b).is_some_and(|b| a == b))
}

/// Where our children find an open file of ours.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
}

fn in_memory(name: &std::ffi::CStr, bytes: &[u8]) -> Option<File> {
    // SAFETY: the name is a C string; the result is a new descriptor that nobody else owns.
    let mut file = unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        (fd >= 0).then(|| File::from_raw_fd(fd))?
    };
    file.write_all(bytes).ok()?;
    Some(file)
}

impl SharedNames {
    /// Reads a library, once.
    fn at(path: &Path) -> Option<Arc<Self>> {
        static KNOWN: LazyLock<Mutex<HashMap<PathBuf, Option<Arc<SharedNames>>>>> = LazyLock::new(Mutex::default);
        let read = || Self::read(&std::fs::read(path).ok()?).map(Arc::new);
        KNOWN.lock().entry(path.to_owned()).or_insert_with(read).clone()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (header, endian) = (object::elf::FileHeader64::<Endianness>::parse(bytes).ok()?, Endianness::Little);
        let sections = header.sections(endian, bytes).ok()?;
        let symbols = sections.symbols(endian, bytes, object::elf::SHT_DYNSYM).ok()?;
        let versions = sections.versions(endian, bytes).ok()??;
        let mut library = Self { functions: HashMap::new(), names: BTreeSet::new() };
        for (index, symbol) in symbols.enumerate() {
            if symbol.is_undefined(endian) || symbol.st_bind() == STB_LOCAL {
                continue;
            }
            let name = symbol.name(endian, symbols.strings()).ok()?.to_vec();
            let version = versions.version_index(endian, index);
            if !version.is_hidden() && matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC) {
                let version = versions.version(version.index()).ok()??.name().to_vec();
                library.functions.insert(name.clone(), version);
            }
            library.names.insert(name);
        }
        Some(library)
    }
}

impl ObjectNames {
    /// The global names of an object file; `None` when it is not understood.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (header, endian) = (object::elf::FileHeader64::<Endianness>::parse(bytes).ok()?, Endianness::Little);
        let sections = header.sections(endian, bytes).ok()?;
        let symbols = sections.symbols(endian, bytes, object::elf::SHT_SYMTAB).ok()?;
        let mut names = Self::default();
        for symbol in symbols.iter().filter(|symbol| symbol.st_bind() != STB_LOCAL) {
            let name = symbol.name(endian, symbols.strings()).ok()?.to_vec();
            // A version of its own.
            if name.contains(&b'@') {
                return None;
            }
            match (symbol.is_undefined(endian), symbol.st_bind()) {
                (false, _) => names.defined.insert(name),
                (true, STB_WEAK) => names.wanted.insert(name),
                (true, _) => names.needed.insert(name),
            };
        }
        Some(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_of_this_machine_is_read_with_the_versions_that_programs_get() {
        let library = SharedNames::at(Path::new("/lib/x86_64-linux-gnu/libc.so.6")).expect("a C library");
        assert_eq!(library.functions.get(&b"printf"[..]).map(Vec::as_slice), Some(&b"GLIBC_2.2.5"[..]));
        assert_eq!(library.functions.get(&b"memcpy"[..]).map(Vec::as_slice), Some(&b"GLIBC_2.14"[..]), "the later of two");
        assert!(library.names.contains(&b"stdout"[..]) && !library.functions.contains_key(&b"stdout"[..]), "data");
    }

    #[test]
    fn an_object_that_needs_data_or_gives_names_needs_the_whole_library() {
        let library = SharedNames::at(Path::new("/lib/x86_64-linux-gnu/libc.so.6")).expect("a C library");
        let needed = BTreeSet::from([b"__libc_start_main".to_vec(), b"main".to_vec()]);
        let surroundings = Surroundings { library, script: Default::default(), defined: BTreeSet::from([b"_init".to_vec()]), needed };
        let set = |names: &[&str]| names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let functions = |defined: &[&str], needed: &[&str], wanted: &[&str]| {
            let names = ObjectNames { defined: set(defined), needed: set(needed), wanted: set(wanted) };
            surroundings.functions(&names).map(|all| all.into_keys().map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>())
        };
        let some = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(functions(&["main"], &["printf"], &["nowhere"]), some(&["__libc_start_main", "printf"]));
        assert_eq!(functions(&["main"], &["_init"], &["puts"]), some(&["__libc_start_main", "puts"]));
        assert_eq!(functions(&["main"], &["stdout"], &[]), None, "data");
        assert_eq!(functions(&["main"], &[], &["environ"]), None, "data that may be missing");
        assert_eq!(functions(&["main", "malloc"], &["printf"], &[]), None, "a name of the C library's");
        assert_eq!(functions(&["main"], &["atexit"], &[]), None, "out of an archive");
    }
}
