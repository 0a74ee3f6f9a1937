//! Which shared libraries a program has, at its start and later on, and where they lie.
//!
//! The program is run once, without stops in its code. It is started as for every other run and without randomization, so that
//! its libraries lie at the same places each time; where one does not, its breakpoints are never inserted.

use super::module::Module;
use crate::{TraceError, TraceRequest};
use std::path::{Path, PathBuf};
use trueline_dwarf::{DynamicLinks, Mapped};
use trueline_machine::inferior::{Event, Inferior, LibrarySpan};

/// Directories of the system's own libraries.
const SYSTEM: [&str; 4] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"];

/// Libraries that come with the C and C++ compilers: a program that names no other and opens none itself has none of the user's.
const USUAL: [&str; 10] = [
    "libc.so.",
    "libm.so.",
    "libpthread.so.",
    "libdl.so.",
    "librt.so.",
    "ld-linux",
    "libgcc_s.so.",
    "libstdc++.so.",
    "libatomic.so.",
    "libmvec.so.",
];

/// A library that a run had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedLibrary {
    /// Its file.
    pub path: PathBuf,
    /// Where it was mapped, counted as the program's own link-time addresses are.
    pub at: u64,
}

impl LoadedLibrary {
    /// Whether it lies where the system keeps its own.
    pub fn is_systems(&self) -> bool {
        SYSTEM.iter().any(|dir| self.path.starts_with(dir))
    }

    /// What ties it to the same library of another build: its file's name.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl From<&LoadedLibrary> for Mapped {
    fn from(library: &LoadedLibrary) -> Self {
        Self { path: library.path.clone(), at: library.at }
    }
}

/// The libraries that the request's program has in one run. How the run ends is of no interest here: whoever traces it says.
pub fn loaded_libraries(request: &TraceRequest) -> Result<Vec<LoadedLibrary>, TraceError> {
    let linkage = DynamicLinks::of(&request.binary)?;
    let is_usual = |name: &String| USUAL.iter().any(|usual| name.starts_with(usual));
    let is_preloaded = request.launch.env.iter().any(|(name, _)| name == "LD_PRELOAD");
    if !linkage.is_dynamic || (linkage.needed.iter().all(is_usual) && !linkage.opens_libraries && !is_preloaded) {
        return Ok(Vec::new());
    }
    let mut inferior = Inferior::launch(&request.job()?, linkage.entry, linkage.image)?;
    inferior.permit(request.launch.allowed, request.follow);
    inferior.follow_libraries(Vec::new())?;
    while let Event::Breakpoint(_) | Event::Stepped = inferior.resume().map_err(|e| inferior.why(e))? {}
    let interpreter = |path: &Path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("ld-linux"));
    let found = inferior.libraries_seen().iter().filter(|l| !interpreter(&l.path));
    Ok(found.map(|l| LoadedLibrary { path: l.path.clone(), at: l.start.wrapping_sub(inferior.bias()) }).collect())
}

/// Where breakpoints in a module's libraries wait for them.
pub(super) fn follow(inferior: &mut Inferior, module: &Module) -> Result<(), TraceError> {
    if !module.libraries.is_empty() {
        inferior.follow_libraries(spans(module, inferior.bias()))?;
    }
    Ok(())
}

/// A module's libraries by run-time addresses.
pub fn spans(module: &trueline_dwarf::Module, bias: u64) -> Vec<LibrarySpan> {
    let moved = |address: u64| address.wrapping_add(bias);
    module.libraries.iter().map(|l| LibrarySpan { path: l.path.clone(), start: moved(l.start), end: moved(l.end) }).collect()
}
