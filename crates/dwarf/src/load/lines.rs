//! Line programs: the files that they name and their rows.

use crate::line::{Row, RowFlags};
use crate::op::{FilePlace, Slice};
use crate::{FileId, UnitId};
use gimli::{AttributeValue, Dwarf, Unit};
use std::collections::HashMap;
use trueline_model::FileName;

/// File names, each once.
#[derive(Default)]
pub(super) struct Files {
    pub names: Vec<FileName>,
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
pub(super) type FileTable = Vec<Option<FileId>>;

/// A unit with the line program that it refers to.
#[derive(Clone, Copy)]
pub(super) struct UnitLines<'d, 'a> {
    pub dwarf: &'d Dwarf<Slice<'a>>,
    pub unit: &'d Unit<Slice<'a>>,
    pub place: FilePlace,
}

impl UnitLines<'_, '_> {
    /// The files that the line program names.
    pub fn files(self, files: &mut Files) -> FileTable {
        let Some(program) = &self.unit.line_program else { return Vec::new() };
        let header = program.header();
        let file = |index| header.file(index).map(|f| files.intern(self.file_path(header, f)));
        (0..=header.file_names().len() as u64).map(file).collect()
    }

    /// Reads the rows; `table` gets the files that the program defines on its way.
    pub fn rows(self, id: UnitId, files: &mut Files, table: &mut FileTable, rows: &mut Vec<Row>) -> gimli::Result<()> {
        let Some(program) = self.unit.line_program.clone() else { return Ok(()) };
        let mut lookup = |index: u64, header: &gimli::LineProgramHeader<Slice<'_>>, files: &mut Files| -> Option<FileId> {
            let slot = usize::try_from(index).ok().filter(|&i| i < 1 << 20)?;
            if table.len() <= slot {
                table.resize(slot + 1, None);
            }
            if table[slot].is_none() {
                table[slot] = header.file(index).map(|f| files.intern(self.file_path(header, f)));
            }
            table[slot]
        };
        let first = rows.len();
        let mut reader = program.rows();
        while let Some((header, row)) = reader.next_row()? {
            let file = lookup(row.file_index(), header, files).unwrap_or_else(|| files.intern("??".into()));
            // What the linker removed stays at 0.
            let address = if row.address() == 0 { 0 } else { self.place.address(row.address()) };
            let view = rows[first..].last().filter(|r| r.address == address && !r.flags.end_sequence).map_or(0, |r| r.view + 1);
            rows.push(Row {
                address,
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

    /// The absolute, normalised path of a file of the line program.
    fn file_path(self, header: &gimli::LineProgramHeader<Slice<'_>>, file: &gimli::FileEntry<Slice<'_>>) -> String {
        let text = |value: AttributeValue<Slice<'_>>| {
            self.dwarf.attr_string(self.unit, value).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let name = text(file.path_name());
        let directory = file.directory(header).map(text).unwrap_or_default();
        let base = self.unit.comp_dir.map(|d| d.to_string_lossy().into_owned()).unwrap_or_default();
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
}
