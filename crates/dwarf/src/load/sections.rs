//! A module from sections that somebody else has read, such as those of an object after its relocations.

use super::lines::Files;
use super::units::{File, borrow};
use super::{Expressions, Loading, Search, Wanted, empty};
use crate::{DwarfError, Module};
use std::borrow::Cow;
use std::path::Path;

/// The sections of a file.
pub struct Sections<'s> {
    /// The file they come from.
    pub path: &'s Path,
    /// The bytes of a section by its name; none for one that the file does not have.
    pub find: &'s dyn Fn(&str) -> Option<&'s [u8]>,
}

/// Reads all units, which must be complete in themselves.
pub(crate) fn read(from: &Sections<'_>) -> Result<Module, DwarfError> {
    let bad = |reason: String| DwarfError { binary: from.path.to_owned(), reason };
    let damaged = |e: gimli::Error| bad(format!("its debug information is damaged ({e})"));
    let section = |id: gimli::SectionId| Ok::<_, gimli::Error>(Cow::Borrowed((from.find)(id.name()).unwrap_or_default()));
    let sections = gimli::DwarfSections::load(section).map_err(damaged)?;
    let own = File::new(from.path, borrow(&sections)).map_err(damaged)?;
    if own.units.iter().any(|unit| matches!(unit.dwo_name(), Ok(Some(_)))) {
        return Err(bad("its debug information is split (.dwo); build it without -gsplit-dwarf".to_owned()));
    }
    let search = Search { debug_dirs: Vec::new() };
    let (module, expressions) = (empty(from.path), Expressions::Kept);
    let mut loading = Loading { module, files: Files::default(), dies: 0, wanted: Wanted::Everything, search: &search, expressions };
    let chosen = loading.choose(&own, 0).map_err(bad)?;
    loading.add(&own, None, &[], chosen).map_err(bad)?;
    Ok(loading.finish())
}
