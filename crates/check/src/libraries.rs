//! What of a program's libraries was not checked, and why. The libraries of two builds belong together by their files' names.

use crate::note::{LibraryGap, Note};
use trueline_dwarf::Module;
use trueline_model::Violation;
use trueline_trace::native::LoadedLibrary;

/// The libraries of one build with what was read of them.
type Build<'a> = (&'a [LoadedLibrary], &'a Module);

/// One note for each library of the user's whose code could not be compared.
pub(crate) fn notes(reference: Build<'_>, optimized: Build<'_>) -> Vec<Note> {
    let is_read = |(_, module): Build<'_>, library: &LoadedLibrary| module.libraries.iter().any(|l| l.path == library.path);
    let mut notes = Vec::new();
    let mut note = |library: &LoadedLibrary, gap| notes.push(Note::Library { name: library.name(), gap });
    for library in reference.0.iter().filter(|l| !l.is_systems() || is_read(reference, l)) {
        let Some(other) = optimized.0.iter().find(|o| o.name() == library.name()) else {
            note(library, LibraryGap::NotLoaded);
            continue;
        };
        if !is_read(reference, library) {
            note(library, LibraryGap::NoDebugInformation);
        } else if library.path == other.path {
            note(library, LibraryGap::SameFile);
        } else if !is_read(optimized, other) {
            note(library, LibraryGap::NoDebugInformation);
        }
    }
    let is_known = |library: &LoadedLibrary| reference.0.iter().any(|l| l.name() == library.name());
    for library in optimized.0.iter().filter(|l| (!l.is_systems() || is_read(optimized, l)) && !is_known(l)) {
        note(library, LibraryGap::OnlyOptimized);
    }
    notes
}

/// Gives addresses in libraries as the libraries' own files have them.
pub(crate) fn own_addresses(module: &Module, violations: &mut [Violation]) {
    for violation in violations {
        if let Some((_, own)) = violation.pc.and_then(|pc| module.library_at(pc)) {
            violation.pc = Some(own);
        }
    }
}
