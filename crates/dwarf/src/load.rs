//! From an ELF file to a [`Module`]: sections, units, line programs. Scopes and types are read in the
//! submodules. Damage is an error with a reason, never a panic.

mod dies;
mod lists;
mod scope;
mod types;

use crate::cfi::CfiTable;
use crate::line::{Row, RowFlags};
use crate::op::Slice;
use crate::{DwarfError, FileId, FunctionId, Module, Producer, Spans, Unit, UnitId};
use dies::UnitDies;
use gimli::{AttributeValue, BaseAddresses, DebugFrame, EhFrame, LittleEndian};
use object::{Object, ObjectSection, ObjectSegment};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;
use trueline_model::FileName;

/// Which compilation units are read.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// All of them, except a language's own library.
    All,
    /// Those whose line program names one of these files, by base name.
    Files(&'a [String]),
}

impl Wanted<'_> {
    /// By the user's choice: no names, all files.
    pub fn new(user_files: &[String]) -> Wanted<'_> {
        if user_files.is_empty() { Wanted::All } else { Wanted::Files(user_files) }
    }

    pub(crate) fn accepts(&self, name: &FileName) -> bool {
        match self {
            // Rust's own library comes with debug information, under this prefix.
            Self::All => !name.as_str().starts_with("/rustc/"),
            Self::Files(names) => names.iter().any(|n| n == name.base()),
        }
    }
}

/// Reads a binary.
pub(crate) fn load(path: &Path, wanted: Wanted<'_>) -> Result<Module, DwarfError> {
    let bad = |reason: String| DwarfError { binary: path.to_owned(), reason };
    let data = crate::elf::read(path)?;
    let elf = object::File::parse(&*data).map_err(|e| bad(format!("its ELF structure is damaged ({e})")))?;
    let section = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        Ok(elf.section_by_name(id.name()).and_then(|s| s.uncompressed_data().ok()).unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(section).map_err(|e| bad(e.to_string()))?;
    let dwarf = sections.borrow(|s| Slice::new(s, LittleEndian));

    let mut module = Module {
        path: path.to_owned(),
        entry: elf.entry(),
        image: (
            elf.segments().map(|s| s.address()).min().unwrap_or(0),
            elf.segments().map(|s| s.address().saturating_add(s.size())).max().unwrap_or(0),
        ),
        files: Vec::new(),
        base_names: Vec::new(),
        units: Vec::new(),
        functions: Vec::new(),
        by_address: Vec::new(),
        blocks: Vec::new(),
        vars: Vec::new(),
        var_dies: Vec::new(),
        types: Vec::new(),
        rows: Vec::new(),
        cfi: CfiTable::default(),
        code: Vec::new(),
        tls: tls_image(&elf),
        function_index: Spans::default(),
        block_index: Vec::new(),
        row_index: OnceLock::new(),
    };
    for s in elf.sections().filter(|s| s.kind() == object::SectionKind::Text) {
        if let Ok(bytes) = s.data() {
            module.code.push((s.address(), bytes.to_vec()));
        }
    }

    let damaged = |e: gimli::Error| bad(format!("its debug information is damaged ({e})"));
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().map_err(damaged)? {
        units.push(dwarf.unit(header).map_err(damaged)?);
    }
    if units.is_empty() {
        return Err(bad("it has no compilation unit; compile it with -g".into()));
    }
    let dies: Vec<UnitDies<'_, '_>> = units.iter().map(|u| UnitDies::new(&dwarf, u)).collect();
    let mut files = Files::default();
    for (index, unit) in dies.iter().enumerate() {
        let id = UnitId(module.units.len() as u32);
        let mut table = read_files(unit, &mut files);
        if !table.iter().flatten().any(|f| wanted.accepts(&files.names[f.0 as usize])) {
            continue;
        }
        let first = module.rows.len();
        read_rows(unit, id, &mut files, &mut table, &mut module.rows).map_err(damaged)?;
        let rows = first..module.rows.len();
        let producer = unit.producer();
        let files = table.iter().copied().flatten().collect();
        module.units.push(Unit { producer, has_loclist: false, has_split_block: false, globals: Vec::new(), files, rows });
        scope::Reader::new(&mut module, &dies, index, id, &table).read().map_err(|e| match e {
            dies::Damage::Dwarf(e) => damaged(e),
            dies::Damage::Other(reason) => bad(format!("its debug information is damaged ({reason})")),
        })?;
    }
    module.base_names = files.names.iter().map(|f| FileName::new(f.base())).collect();
    module.files = files.names;
    module.var_dies.sort_unstable_by_key(|v| v.0);
    module.by_address.sort_unstable();
    module.function_index = Spans::new(module.by_address.iter().copied());
    module.block_index.resize_with(module.functions.len(), OnceLock::new);
    if module.functions.is_empty() {
        return Err(bad("no function in it has debug information; compile it with -g".into()));
    }

    let ranges = union(&module.by_address);
    let touches = |low: u64, high: u64| {
        let at = ranges.partition_point(|r| r.1 <= low);
        ranges.get(at).is_some_and(|r| r.0 < high)
    };
    let address = |name: &str| elf.section_by_name(name).map_or(0, |s| s.address());
    let bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")).set_text(address(".text")).set_got(address(".got"));
    let bytes = |name: &str| elf.section_by_name(name).and_then(|s| s.uncompressed_data().ok()).unwrap_or_default();
    let eh_frame = bytes(".eh_frame");
    module.cfi.collect(&EhFrame::from(Slice::new(&eh_frame, LittleEndian)), &bases, touches);
    let debug_frame = bytes(".debug_frame");
    module.cfi.collect(&DebugFrame::from(Slice::new(&debug_frame, LittleEndian)), &bases, touches);
    Ok(module)
}

/// Ranges sorted by their starts, as ranges that do not touch.
fn union(sorted: &[(u64, u64, FunctionId)]) -> Vec<(u64, u64)> {
    let mut union: Vec<(u64, u64)> = Vec::new();
    for &(low, high, _) in sorted {
        match union.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => union.push((low, high)),
        }
    }
    union
}

fn tls_image(elf: &object::File<'_>) -> Option<(u64, u64)> {
    let of = |name: &str| elf.section_by_name(name).map(|s| (s.address(), s.size(), s.align()));
    let (start, size, align) = match (of(".tdata"), of(".tbss")) {
        (Some(d), Some(b)) => (d.0, b.0 + b.1 - d.0, d.2.max(b.2)),
        (Some(s), None) | (None, Some(s)) => s,
        (None, None) => return None,
    };
    // The block of the main program ends at the thread pointer, its size rounded up to its alignment.
    let align = align.max(1);
    Some((start, size.div_ceil(align) * align))
}

/// File names, each once.
#[derive(Default)]
struct Files {
    names: Vec<FileName>,
    known: HashMap<String, FileId>,
}

impl Files {
    fn intern(&mut self, path: String) -> FileId {
        if let Some(&id) = self.known.get(&path) {
            return id;
        }
        let id = FileId(self.names.len() as u32);
        self.names.push(FileName::new(&path));
        self.known.insert(path, id);
        id
    }
}

/// Files of a line program by their index in it.
type FileTable = Vec<Option<FileId>>;

/// The files that a unit's line program names.
fn read_files(unit: &UnitDies<'_, '_>, files: &mut Files) -> FileTable {
    let Some(program) = &unit.unit.line_program else { return Vec::new() };
    let header = program.header();
    let file = |index| header.file(index).map(|f| files.intern(file_path(unit, header, f)));
    (0..=header.file_names().len() as u64).map(file).collect()
}

/// Reads a unit's line program; `table` gets the files that it defines on its way.
fn read_rows(unit: &UnitDies<'_, '_>, id: UnitId, files: &mut Files, table: &mut FileTable, rows: &mut Vec<Row>) -> gimli::Result<()> {
    let Some(program) = unit.unit.line_program.clone() else { return Ok(()) };
    let mut lookup = |index: u64, header: &gimli::LineProgramHeader<Slice<'_>>, files: &mut Files| -> Option<FileId> {
        let slot = usize::try_from(index).ok().filter(|&i| i < 1 << 20)?;
        if table.len() <= slot {
            table.resize(slot + 1, None);
        }
        if table[slot].is_none() {
            table[slot] = header.file(index).map(|f| files.intern(file_path(unit, header, f)));
        }
        table[slot]
    };
    let first = rows.len();
    let mut reader = program.rows();
    while let Some((header, row)) = reader.next_row()? {
        let file = lookup(row.file_index(), header, files).unwrap_or_else(|| files.intern("??".into()));
        let view = rows[first..].last().filter(|r| r.address == row.address() && !r.flags.end_sequence).map_or(0, |r| r.view + 1);
        rows.push(Row {
            address: row.address(),
            file,
            line: row.line().map_or(0, |l| u32::try_from(l.get()).unwrap_or(0)),
            column: match row.column() {
                gimli::ColumnType::LeftEdge => 0,
                gimli::ColumnType::Column(c) => u32::try_from(c.get()).unwrap_or(0),
            },
            discriminator: row.discriminator() as u32,
            unit: id,
            view,
            flags: RowFlags { is_stmt: row.is_stmt(), prologue_end: row.prologue_end(), end_sequence: row.end_sequence() },
        });
    }
    Ok(())
}

/// The absolute, normalised path of a file of a line program.
fn file_path(unit: &UnitDies<'_, '_>, header: &gimli::LineProgramHeader<Slice<'_>>, file: &gimli::FileEntry<Slice<'_>>) -> String {
    let text = |value: AttributeValue<Slice<'_>>| {
        unit.dwarf.attr_string(unit.unit, value).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let name = text(file.path_name());
    let directory = file.directory(header).map(text).unwrap_or_default();
    let base = unit.unit.comp_dir.map(|d| d.to_string_lossy().into_owned()).unwrap_or_default();
    let mut parts: Vec<&str> = Vec::new();
    let mut absolute = false;
    for piece in [&base, &directory, &name] {
        if piece.starts_with('/') {
            parts.clear();
            absolute = true;
        }
        for part in piece.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|&p| p != "..") => {
                    parts.pop();
                }
                _ => parts.push(part),
            }
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

impl UnitDies<'_, '_> {
    fn producer(&self) -> Producer {
        let root = self.dies().ok().and_then(|d| d.first());
        let text = root.and_then(|d| d.entry.attr_value(gimli::DW_AT_producer)).and_then(|v| self.string(v)).unwrap_or_default();
        if text.starts_with("GNU ") {
            Producer::Gcc
        } else if text.starts_with("clang ") {
            Producer::Llvm
        } else if text.contains("clang") || text.contains("rustc") || text.contains("LLVM") {
            Producer::VendorLlvm
        } else {
            Producer::Other
        }
    }
}
