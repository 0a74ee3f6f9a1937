//! The line table as gdb keeps it: one table per source file, rows for line 0 dropped, rows of one line
//! merged when they have discriminators, and an end marker wherever the program switches to another file.

use crate::native::module::{FileId, Module, UnitId};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// What gdb knows of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sal {
    pub file: FileId,
    pub line: u32,
    pub start: u64,
    pub end: u64,
    pub is_stmt: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub pc: u64,
    /// 0 marks an end.
    pub line: u32,
    pub is_stmt: bool,
    pub prologue_end: bool,
}

/// The tables of all units.
#[derive(Debug)]
pub(crate) struct GdbLines {
    units: Vec<Vec<(FileId, Vec<Item>)>>,
    reach: Reach,
    /// Address ranges covered by sequences, with their unit.
    covered: Vec<(Range<u64>, UnitId)>,
    /// The statements of each file by line, for breakpoints: every line of a program is asked about.
    statements: HashMap<FileId, BTreeMap<u32, Vec<Statement>>>,
}

/// How far a row reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// gdb 13: to the next row.
    Row,
    /// gdb 16 and later: over rows of the same line that begin no statement.
    Statement,
}

/// A row that a breakpoint can be set on.
#[derive(Clone, Copy, Debug)]
struct Statement {
    /// Counts the tables: gdb goes through them in this order.
    table: u32,
    pc: u64,
}

impl GdbLines {
    pub fn new(module: &Module) -> Self {
        let mut covered = Vec::new();
        let units: Vec<_> = (0..module.units.len()).map(|i| build(module, UnitId(i as u32), &mut covered)).collect();
        covered.sort_by_key(|c: &(Range<u64>, UnitId)| c.0.start);
        let mut statements: HashMap<FileId, BTreeMap<u32, Vec<Statement>>> = HashMap::new();
        for (table, (file, items)) in (0..).zip(units.iter().flatten()) {
            let of_file = statements.entry(*file).or_default();
            for item in items.iter().filter(|i| i.is_stmt && i.line != 0 && i.pc != 0) {
                of_file.entry(item.line).or_default().push(Statement { table, pc: item.pc });
            }
        }
        let reach = if module.gdb_blocks.is_some() { Reach::Statement } else { Reach::Row };
        Self { units, reach, covered, statements }
    }

    fn unit_at(&self, pc: u64) -> Option<UnitId> {
        let after = self.covered.partition_point(|c| c.0.start <= pc);
        self.covered[..after].iter().rev().take(4).find(|c| pc < c.0.end).map(|c| c.1)
    }

    /// The table of a file.
    pub(super) fn table(&self, pc: u64, file: FileId) -> Option<&[Item]> {
        let unit = self.unit_at(pc)?;
        self.units[unit.0 as usize].iter().find(|t| t.0 == file).map(|t| &t.1[..])
    }

    /// The statements of a line in the files that a test accepts, in the order of the tables.
    pub(super) fn statements(&self, wanted: impl Fn(FileId) -> bool, line: u32) -> Vec<u64> {
        let of_line = self.statements.iter().filter(|(file, _)| wanted(**file)).filter_map(|(_, lines)| lines.get(&line));
        let mut found: Vec<Statement> = of_line.flatten().copied().collect();
        found.sort_by_key(|s| s.table);
        found.into_iter().map(|s| s.pc).collect()
    }

    /// The next line after one that has a statement in the files that a test accepts.
    pub(super) fn next_line(&self, wanted: impl Fn(FileId) -> bool, line: u32) -> Option<u32> {
        let of_files = self.statements.iter().filter(|(file, _)| wanted(**file)).map(|(_, lines)| lines);
        of_files.filter_map(|lines| lines.range(line + 1..).next()).map(|(line, _)| *line).min()
    }

    /// What gdb's `find_pc_line` answers.
    pub fn at(&self, pc: u64) -> Option<Sal> {
        let unit = self.unit_at(pc)?;
        let mut best: Option<(FileId, Item)> = None;
        let mut best_end = 0u64;
        let mut first_after: Option<u64> = None;
        for (file, items) in &self.units[unit.0 as usize] {
            let Some(first) = items.first() else { continue };
            if first.pc > pc && first_after.is_none_or(|a| first.pc < a) {
                first_after = Some(first.pc);
            }
            let mut next = items.partition_point(|i| i.pc <= pc);
            let row = next;
            if let (Reach::Statement, Some(last)) = (self.reach, row.checked_sub(1)) {
                next += items[row..].iter().take_while(|i| i.line == items[last].line && !i.is_stmt).count();
            }
            if row > 0 && items[row - 1].line != 0 && best.is_none_or(|b| items[row - 1].pc > b.1.pc) {
                let mut chosen = row - 1;
                if !items[chosen].is_stmt {
                    let mut look = chosen;
                    while look > 0 && items[look - 1].pc == items[look].pc && items[look - 1].line != 0 && !items[look].is_stmt {
                        look -= 1;
                    }
                    if items[look].is_stmt {
                        chosen = look;
                    }
                }
                best = Some((*file, items[chosen]));
                if best_end <= items[chosen].pc {
                    best_end = 0;
                }
            }
            if let (Some(b), Some(item)) = (best, items.get(next))
                && item.pc > b.1.pc
                && (best_end == 0 || best_end > item.pc)
            {
                best_end = item.pc;
            }
        }
        let (file, item) = best?;
        let end = match (best_end, first_after) {
            (0, Some(after)) => after,
            (0, None) => u64::MAX,
            (end, Some(after)) if after <= end => after,
            (end, _) => end,
        };
        Some(Sal { file, line: item.line, start: item.pc, end, is_stmt: item.is_stmt })
    }
}

fn build(module: &Module, unit: UnitId, covered: &mut Vec<(Range<u64>, UnitId)>) -> Vec<(FileId, Vec<Item>)> {
    let mut tables = Tables::default();
    let mut last_file: Option<FileId> = None;
    let (mut last_line, mut last_address) = (0u32, 0u64);
    let mut stmt_at_address = false;
    let mut discriminated = false;
    let mut line_of_flag = 0u32;
    let mut start: Option<u64> = None;
    for row in &module.rows[module.unit(unit).rows.clone()] {
        start.get_or_insert(row.address);
        if row.line == line_of_flag {
            discriminated |= row.discriminator != 0;
        } else {
            discriminated = row.discriminator != 0;
            line_of_flag = row.line;
        }
        let end = row.flags.end_sequence;
        let changed = last_file != Some(row.file);
        let ignored = (changed && !end && last_address == row.address && !row.flags.is_stmt && stmt_at_address) || (!end && row.line == 0);
        if ((changed && !ignored) || end)
            && let Some(file) = last_file
        {
            tables.push(file, Item { pc: row.address, line: 0, is_stmt: true, prologue_end: false });
        }
        if !end && !ignored {
            if changed || row.line != last_line || !discriminated {
                let (is_stmt, prologue_end) = (row.flags.is_stmt, row.flags.prologue_end);
                tables.push(row.file, Item { pc: row.address, line: row.line, is_stmt, prologue_end });
                last_file = Some(row.file);
            }
            last_line = row.line;
        }
        if last_address != row.address {
            stmt_at_address = false;
            last_address = row.address;
        }
        stmt_at_address |= row.flags.is_stmt;
        if end {
            if let Some(from) = start.take()
                && from < row.address
            {
                covered.push((from..row.address, unit));
            }
            (last_file, last_line, last_address, stmt_at_address, discriminated, line_of_flag) = (None, 0, 0, false, false, 0);
        }
    }
    for (_, items) in &mut tables.of {
        items.sort_by_key(|i| (i.pc, i.line != 0));
    }
    tables.of
}

/// The tables of one unit, in the order in which its rows name the files.
#[derive(Default)]
struct Tables {
    of: Vec<(FileId, Vec<Item>)>,
    known: HashMap<FileId, usize>,
}

impl Tables {
    fn push(&mut self, file: FileId, item: Item) {
        let index = *self.known.entry(file).or_insert_with(|| {
            self.of.push((file, Vec::new()));
            self.of.len() - 1
        });
        let items = &mut self.of[index].1;
        // An end marker replaces the empty lines before it.
        if item.line == 0 {
            while items.last().is_some_and(|l| l.pc == item.pc) {
                items.pop();
            }
        }
        items.push(item);
    }
}
