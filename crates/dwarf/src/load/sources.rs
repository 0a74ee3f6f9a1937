//! Where the debug information of a binary is: in the binary, in a file of its own that the build-id or a link names, in
//! a file that several binaries share (dwz), in the .dwo files of its units or in a package of them.
//!
//! Every place that was looked at is remembered, so that an error can say what would have helped.

use object::Object;
use std::path::{Path, PathBuf};

/// Where debug files outside the binary are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Directories as `/usr/lib/debug` is one: `.build-id/ab/cdef.debug`, or the binary's own path below them.
    pub debug_dirs: Vec<PathBuf>,
}

impl Default for Search {
    fn default() -> Self {
        Self { debug_dirs: vec![PathBuf::from("/usr/lib/debug")] }
    }
}

impl Search {
    /// The usual directory and others, which come first.
    pub fn with(others: &[PathBuf]) -> Self {
        let usual = Self::default().debug_dirs;
        Self { debug_dirs: others.iter().cloned().chain(usual).collect() }
    }

    /// The directories that somebody asked for. The usual one also describes the system's libraries.
    pub fn asked_for(&self) -> &[PathBuf] {
        let usual = Self::default().debug_dirs;
        self.debug_dirs.strip_suffix(&*usual).unwrap_or(&self.debug_dirs)
    }
}

/// A file that belongs to the binary.
pub(super) struct CompanionFile {
    pub path: PathBuf,
    pub data: Vec<u8>,
}

/// What was looked for in vain, one reason each.
#[derive(Debug, Default)]
pub(super) struct LookedAt(pub Vec<String>);

impl LookedAt {
    fn note(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }

    /// Reads the first of the places whose file is the right one.
    fn first(&mut self, places: impl IntoIterator<Item = PathBuf>, is_right: impl Fn(&[u8]) -> bool) -> Option<CompanionFile> {
        for path in places {
            match std::fs::read(&path) {
                Ok(data) if is_right(&data) => return Some(CompanionFile { path, data }),
                Ok(_) => self.note(format!("{} belongs to another build", path.display())),
                Err(_) => self.note(format!("no {}", path.display())),
            }
        }
        None
    }
}

/// The separate debug file of a binary: by build-id, then by link.
pub(super) fn separate(binary: &Path, elf: &object::File<'_>, search: &Search) -> Result<CompanionFile, LookedAt> {
    let mut looked = LookedAt::default();
    match elf.build_id().ok().flatten() {
        None => looked.note("no build-id"),
        Some(id) => {
            let places = search.debug_dirs.iter().filter_map(|dir| by_build_id(dir, id));
            if let Some(found) = looked.first(places, |data| has_build_id(data, id)) {
                return Ok(found);
            }
        }
    }
    match elf.gnu_debuglink().ok().flatten() {
        None => looked.note("no .gnu_debuglink"),
        Some((name, sum)) => {
            let name = PathBuf::from(String::from_utf8_lossy(name).into_owned());
            let binary = std::fs::canonicalize(binary).unwrap_or_else(|_| binary.to_owned());
            let beside = binary.parent().unwrap_or(Path::new("/"));
            let below = |dir: &PathBuf| dir.join(beside.strip_prefix("/").unwrap_or(beside)).join(&name);
            // The debug file may have the binary's own name, elsewhere.
            let places = [beside.join(&name), beside.join(".debug").join(&name)].into_iter().chain(search.debug_dirs.iter().map(below));
            if let Some(found) = looked.first(places.filter(|p| *p != binary), |data| crc32fast::hash(data) == sum) {
                return Ok(found);
            }
        }
    }
    Err(looked)
}

/// The file that several debug files share (dwz), if this one names any.
pub(super) fn shared(path: &Path, elf: &object::File<'_>, search: &Search) -> Result<Option<CompanionFile>, LookedAt> {
    let Some((name, id)) = elf.gnu_debugaltlink().ok().flatten() else { return Ok(None) };
    let name = PathBuf::from(String::from_utf8_lossy(name).into_owned());
    let beside = path.parent().unwrap_or(Path::new("."));
    let mut places = vec![beside.join(&name)];
    for dir in &search.debug_dirs {
        places.extend(name.strip_prefix("/usr/lib/debug").ok().map(|rest| dir.join(rest)));
        places.extend(by_build_id(dir, id));
        places.extend(name.file_name().map(|base| dir.join(".dwz").join(base)));
    }
    places.dedup();
    let mut looked = LookedAt::default();
    looked.first(places, |data| has_build_id(data, id)).map(Some).ok_or(looked)
}

/// The package of a binary's .dwo files.
pub(super) fn package(binary: &Path) -> Option<CompanionFile> {
    let mut name = binary.as_os_str().to_owned();
    name.push(".dwp");
    let path = PathBuf::from(name);
    std::fs::read(&path).ok().map(|data| CompanionFile { path, data })
}

/// The .dwo file of a unit compiled in `directory`.
pub(super) fn split(binary: &Path, directory: &str, name: &str, search: &Search) -> Result<CompanionFile, LookedAt> {
    let beside = binary.parent().unwrap_or(Path::new("."));
    let mut places = vec![Path::new(directory).join(name), beside.join(name)];
    places.extend(Path::new(name).file_name().map(|base| beside.join(base)));
    for dir in &search.debug_dirs {
        places.push(dir.join(Path::new(directory).join(name).strip_prefix("/").unwrap_or(Path::new(name))));
        places.extend(Path::new(name).file_name().map(|base| dir.join(base)));
    }
    places.dedup();
    let mut looked = LookedAt::default();
    looked.first(places, |data| data.starts_with(b"\x7fELF")).ok_or(looked)
}

fn by_build_id(dir: &Path, id: &[u8]) -> Option<PathBuf> {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let (first, rest) = id.split_at_checked(1)?;
    Some(dir.join(".build-id").join(hex(first)).join(hex(rest) + ".debug"))
}

fn has_build_id(data: &[u8], id: &[u8]) -> bool {
    object::File::parse(data).is_ok_and(|elf| matches!(elf.build_id(), Ok(Some(own)) if own == id))
}
