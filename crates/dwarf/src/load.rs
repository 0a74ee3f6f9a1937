//! From an ELF file to a [`Module`]: the files that hold its debug information, their units, line programs. Scopes and
//! types are read in the submodules. Damage is an error with a reason, never a panic.

mod dies;
mod image;
mod library;
mod lines;
mod lists;
mod names;
mod scope;
mod sections;
mod sources;
mod split;
mod symbols;
mod types;
mod units;
mod wanted;

pub use sections::Sections;
pub(crate) use sections::read as read_sections;
pub use sources::Search;
pub use wanted::{Wanted, is_languages_own};

use crate::cfi::CfiTable;
use crate::op::FilePlace;
use crate::{DwarfError, FunctionId, MappedLibrary, Module, Producer, Spans, Unit, UnitId};
use dies::UnitDies;
use image::{code, tls_image, unwinding};
use lines::{FileTable, Files, UnitLines};
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use trueline_model::FileName;
use units::{File, Units, borrow, sections};
use wanted::Expressions;

/// Complains unless `binary` is an x86-64 ELF executable whose debug information can be found.
pub(crate) fn find(binary: &Path, search: &Search) -> Result<(), DwarfError> {
    let bad = |reason: String| DwarfError { binary: binary.to_owned(), reason };
    let data = crate::elf::read(binary)?;
    let elf = object::File::parse(&*data).map_err(|e| bad(format!("its ELF structure is damaged ({e})")))?;
    match elf.section_by_name(".debug_info") {
        Some(_) => has_readable_sections(&elf).map_err(|e| bad(e.to_owned())),
        None => sources::separate(binary, &elf, search).map(drop).map_err(|looked| bad(no_debug_information(&looked))),
    }
}

fn no_debug_information(looked: &sources::LookedAt) -> String {
    format!(
        "it has no debug information (no .debug_info in it, {}); compile it with -g, or name the directory of its debug file with --debug-dir",
        looked.0.join(", ")
    )
}

/// Empty sections are what is left of a file that was cut off.
fn has_readable_sections(elf: &object::File<'_>) -> Result<(), &'static str> {
    for name in [".debug_info", ".debug_line"] {
        let section = elf.section_by_name(name).ok_or("it has no line table; compile it with -g")?;
        if section.data().map_or(0, <[u8]>::len) == 0 {
            return Err("its debug information cannot be read (empty or cut off)");
        }
        section.uncompressed_data().map_err(|_| "its debug information is compressed in a way that cannot be read here")?;
    }
    Ok(())
}

/// A shared library of a program that is to be read with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The file that holds the library.
    pub path: PathBuf,
    /// Where it is mapped, counted as the program's own link-time addresses are.
    pub at: u64,
}

/// Reads a binary, and those of its libraries that have debug information of their own.
pub(crate) fn load(path: &Path, libraries: &[Mapped], wanted: Wanted<'_>, search: &Search) -> Result<Module, DwarfError> {
    let bad = |reason: String| DwarfError { binary: path.to_owned(), reason };
    let data = crate::elf::read(path)?;
    let elf = parse(&data).map_err(bad)?;
    let mut module = empty(path);
    module.entry = elf.entry();
    module.image = crate::elf::image(&elf);
    module.code = code(&elf, 0).collect();
    module.tls = tls_image(&elf);
    let expressions = Expressions::Decoded;
    let mut loading = Loading { module, files: Files::default(), dies: 0, wanted, search, expressions };
    loading.read(path, &elf, 0).map_err(bad)?;
    if loading.module.functions.is_empty() {
        return Err(bad("no function in it has debug information; compile it with -g".into()));
    }
    // Debug files that a distribution has for its libraries do not make these the user's.
    let search = Search { debug_dirs: search.asked_for().to_vec() };
    loading.search = &search;
    for library in libraries {
        loading.read_library(library);
    }
    Ok(loading.finish())
}

fn parse(data: &[u8]) -> Result<object::File<'_>, String> {
    object::File::parse(data).map_err(|e| format!("its ELF structure is damaged ({e})"))
}

/// What is being read, file after file.
struct Loading<'w> {
    module: Module,
    files: Files,
    /// The first number that no entry has yet.
    dies: usize,
    wanted: Wanted<'w>,
    search: &'w Search,
    expressions: Expressions,
}

impl Loading<'_> {
    /// The module with everything that was read.
    fn finish(self) -> Module {
        let Self { mut module, files, .. } = self;
        module.base_names = files.names.iter().map(|f| FileName::new(f.base())).collect();
        module.files = files.names;
        module
    }

    /// Reads a library if it can be read; one without debug information is not the user's, and one that is damaged must
    /// not keep the program from being looked at.
    fn read_library(&mut self, library: &Mapped) {
        let Ok(data) = crate::elf::read(&library.path) else { return };
        let Ok(elf) = parse(&data) else { return };
        let first = crate::elf::image(&elf).0 & !0xfff;
        let slide = library.at.wrapping_sub(first);
        let before = TableMark::of(&self.module);
        if self.read(&library.path, &elf, slide).is_ok() && self.module.functions.len() > before.functions {
            let end = crate::elf::image(&elf).1.wrapping_add(slide);
            self.module.libraries.push(MappedLibrary { path: library.path.clone(), slide, start: library.at, end });
            self.module.code.extend(code(&elf, slide));
        } else {
            before.restore(&mut self.module);
        }
    }

    /// Adds what one file and those that complete it say; `slide` is added to its addresses.
    fn read(&mut self, path: &Path, elf: &object::File<'_>, slide: u64) -> Result<(), String> {
        let damaged = |e: gimli::Error| format!("its debug information is damaged ({e})");
        let separate = match elf.section_by_name(".debug_info") {
            Some(_) => None,
            None => Some(sources::separate(path, elf, self.search).map_err(|looked| no_debug_information(&looked))?),
        };
        let separate_elf = separate.as_ref().map(|c| parse(&c.data)).transpose()?;
        let debug_path = separate.as_ref().map_or(path, |c| &*c.path);
        let debug = separate_elf.as_ref().unwrap_or(elf);
        has_readable_sections(debug)?;
        let shared = sources::shared(debug_path, debug, self.search).map_err(|looked| {
            let looked = looked.0.join(", ");
            format!("it shares names and types with other files (dwz), and the file that holds them was not found: {looked}")
        })?;
        let shared_elf = shared.as_ref().map(|c| parse(&c.data)).transpose()?;
        let shared_sections = shared_elf.as_ref().map(|elf| sections(elf, |id| Some(id.name())));
        let shared_path = shared.as_ref().map_or(debug_path, |c| &*c.path);
        let own_sections = sections(debug, |id| Some(id.name()));
        let mut dwarf = borrow(&own_sections);
        if let Some(sections) = &shared_sections {
            dwarf.set_sup(borrow(sections));
        }
        let own = File::new(debug_path, dwarf).map_err(damaged)?;
        let shared = shared_sections.as_ref().map(|s| File::new(shared_path, borrow(s))).transpose().map_err(damaged)?;
        let chosen = self.choose(&own, slide)?;
        let parts = split::Parts::read(path, &own, |unit| chosen.wanted[unit], self.search)?;
        let opened = parts.open()?;
        let split = opened.files(&own)?;
        let place = self.add(&own, shared.as_ref(), &split, chosen)?;
        let module = &mut self.module;
        symbols::complete(module, place, elf, debug);
        unwinding(module, place, elf, debug);
        Ok(())
    }

    /// Says which units of a file are wanted.
    fn choose(&mut self, own: &File<'_>, slide: u64) -> Result<ChosenUnits, String> {
        if own.units.is_empty() {
            return Err("it has no compilation unit; compile it with -g".into());
        }
        let place = FilePlace { base: self.dies, slide };
        let files = &mut self.files;
        let tables: Vec<FileTable> = own.units.iter().map(|unit| UnitLines { dwarf: &own.dwarf, unit, place }.files(files)).collect();
        // A unit without code may have no files.
        let is_wanted = |t: &FileTable| {
            matches!(self.wanted, Wanted::Everything) || t.iter().flatten().any(|f| self.wanted.accepts(&files.names[f.0 as usize]))
        };
        Ok(ChosenUnits { wanted: tables.iter().map(is_wanted).collect(), tables, place })
    }

    /// Adds the chosen units of one file, which may refer to the file that it shares with others and be completed by split
    /// ones, and says where it stands.
    fn add<'a>(
        &mut self,
        own: &File<'a>,
        shared: Option<&File<'a>>,
        split: &[File<'a>],
        ChosenUnits { place, wanted, mut tables }: ChosenUnits,
    ) -> Result<FilePlace, String> {
        let damaged = |e: gimli::Error| format!("its debug information is damaged ({e})");
        let Self { module, files, .. } = self;
        let lines_of = |unit| UnitLines { dwarf: &own.dwarf, unit, place };
        let all = Units::new(place, own, shared, split);
        self.dies = all.end();
        module.info.extend(all.starts().iter().cloned());
        for number in all.numbers().skip(own.units.len()) {
            let unit = &all[number];
            let table = match all.completed_by(number) {
                Some(skeleton) => tables[skeleton].clone(),
                None => UnitLines { dwarf: unit.dwarf, unit: unit.unit, place }.files(files),
            };
            tables.push(table);
        }
        for index in (0..own.units.len()).filter(|&i| wanted[i]) {
            let body = all.completing(index);
            if !all[body].is_whole() {
                continue;
            }
            let id = UnitId(module.units.len() as u32);
            let first = module.rows.len();
            lines_of(&own.units[index]).rows(id, files, &mut tables[index], &mut module.rows).map_err(damaged)?;
            if body != index {
                let known = tables[index].clone();
                tables[body] = known;
            }
            let made_by = all[body].root_text(gimli::DW_AT_producer);
            module.units.push(Unit {
                name: all[body].root_text(gimli::DW_AT_name),
                directory: all[body].root_text(gimli::DW_AT_comp_dir),
                producer: producer(&made_by),
                made_by,
                knows_volatile: all[body].has_tag(gimli::DW_TAG_volatile_type),
                has_loclist: false,
                has_split_block: false,
                globals: Vec::new(),
                files: tables[index].iter().copied().flatten().collect(),
                rows: first..module.rows.len(),
            });
            let detail = (self.wanted.pointees(), self.expressions);
            scope::UnitReader::new(module, &all, (body, id), &tables, detail).read().map_err(|e| match e {
                dies::Damage::Dwarf(e) => damaged(e),
                dies::Damage::Other(reason) => format!("its debug information is damaged ({reason})"),
            })?;
        }
        module.index();
        Ok(place)
    }
}

/// Which units of a file are read.
struct ChosenUnits {
    place: FilePlace,
    /// For each unit, whether it is.
    wanted: Vec<bool>,
    /// The files that each names.
    tables: Vec<FileTable>,
}

fn empty(path: &Path) -> Module {
    Module {
        path: path.to_owned(),
        entry: 0,
        image: (0, 0),
        files: Vec::new(),
        base_names: Vec::new(),
        units: Vec::new(),
        functions: Vec::new(),
        by_address: Vec::new(),
        blocks: Vec::new(),
        vars: Vec::new(),
        var_dies: Vec::new(),
        types: Vec::new(),
        enumerators: Vec::new(),
        bounds: Vec::new(),
        nameless: Vec::new(),
        rows: Vec::new(),
        cfi: CfiTable::default(),
        code: Vec::new(),
        libraries: Vec::new(),
        tls: None,
        info: Vec::new(),
        function_index: Spans::default(),
        name_index: HashMap::new(),
        block_index: Vec::new(),
        row_index: OnceLock::new(),
        written: HashMap::new(),
    }
}

/// How far the tables went before a file was read.
struct TableMark {
    units: usize,
    functions: usize,
    blocks: usize,
    vars: usize,
    types: usize,
    rows: usize,
}

impl TableMark {
    fn of(module: &Module) -> Self {
        Self {
            units: module.units.len(),
            functions: module.functions.len(),
            blocks: module.blocks.len(),
            vars: module.vars.len(),
            types: module.types.len(),
            rows: module.rows.len(),
        }
    }

    /// Takes out what was added since.
    fn restore(&self, module: &mut Module) {
        module.units.truncate(self.units);
        module.functions.truncate(self.functions);
        module.blocks.truncate(self.blocks);
        module.vars.truncate(self.vars);
        module.types.truncate(self.types);
        module.rows.truncate(self.rows);
        module.by_address.retain(|r| (r.2.0 as usize) < self.functions);
        module.var_dies.retain(|v| (v.1.0 as usize) < self.vars);
        module.enumerators.retain(|e| (e.ty.0 as usize) < self.types);
        module.bounds.retain(|b| (b.0.0 as usize) < self.types);
        module.index();
    }
}

impl Module {
    /// Makes the indices anew, after functions were added or taken out.
    fn index(&mut self) {
        self.row_index = OnceLock::new();
        self.name_index.clear();
        self.var_dies.sort_unstable_by_key(|v| v.0);
        self.bounds.sort_unstable_by_key(|b| b.0);
        self.nameless.sort_unstable_by_key(|n| n.0);
        self.by_address.sort_unstable();
        self.function_index = Spans::new(self.by_address.iter().copied());
        for (number, function) in self.functions.iter().enumerate() {
            self.name_index.entry(Arc::clone(&function.name)).or_insert(FunctionId(number as u32));
        }
        self.block_index = std::iter::repeat_with(OnceLock::new).take(self.functions.len()).collect();
    }
}

impl UnitDies<'_, '_> {
    /// A text of the unit's own entry; empty when it has none.
    fn root_text(&self, name: gimli::DwAt) -> Arc<str> {
        let root = self.dies().ok().and_then(|d| d.first());
        root.and_then(|d| d.entry.attr_value(name)).and_then(|v| self.string(v)).unwrap_or_default().into()
    }

    /// Whether any of its entries has a tag.
    fn has_tag(&self, tag: gimli::DwTag) -> bool {
        self.dies().is_ok_and(|dies| dies.iter().any(|d| d.entry.tag() == tag))
    }
}

fn producer(made_by: &str) -> Producer {
    if made_by.starts_with("GNU ") {
        Producer::Gcc
    } else if made_by.starts_with("clang ") {
        Producer::Llvm
    } else if made_by.contains("clang") || made_by.contains("rustc") || made_by.contains("LLVM") {
        Producer::VendorLlvm
    } else {
        Producer::Other
    }
}
