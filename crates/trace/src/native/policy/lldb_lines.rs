//! The line table as lldb 16 keeps it: of several rows at one address only the last, whatever its flags.

use crate::native::module::{FileId, FunctionId, Module};
use std::collections::{BTreeMap, HashMap};

/// One entry; it holds up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub pc: u64,
    pub file: FileId,
    pub line: u32,
    pub prologue_end: bool,
    pub is_end: bool,
}

/// The entries of all units.
#[derive(Debug)]
pub(crate) struct LldbLines {
    entries: Vec<Entry>,
    /// The entries of each file by line, those that end a sequence left out: every line of a program is asked about.
    by_line: HashMap<FileId, BTreeMap<u32, Vec<usize>>>,
}

impl LldbLines {
    pub fn new(module: &Module) -> Self {
        let mut sequences: Vec<Vec<Entry>> = Vec::new();
        let mut current: Vec<Entry> = Vec::new();
        for row in &module.rows {
            let mut entry = Entry {
                pc: row.address,
                file: row.file,
                line: row.line,
                prologue_end: row.flags.prologue_end,
                is_end: row.flags.end_sequence,
            };
            match current.last_mut() {
                Some(last) if last.pc == entry.pc => {
                    // Two rows at one address mark an empty prologue.
                    entry.prologue_end = entry.file == last.file;
                    *last = entry;
                }
                _ => current.push(entry),
            }
            if entry.is_end {
                sequences.push(std::mem::take(&mut current));
            }
        }
        sequences.sort_by_key(|s| s.first().map_or(0, |e| e.pc));
        let entries = sequences.concat();
        let mut by_line: HashMap<FileId, BTreeMap<u32, Vec<usize>>> = HashMap::new();
        for (index, entry) in entries.iter().enumerate().filter(|(_, e)| !e.is_end) {
            by_line.entry(entry.file).or_default().entry(entry.line).or_default().push(index);
        }
        Self { entries, by_line }
    }

    fn index(&self, pc: u64) -> Option<usize> {
        let after = self.entries.partition_point(|e| e.pc <= pc);
        after.checked_sub(1).filter(|&i| !self.entries[i].is_end)
    }

    /// The entries of the first line, from one on, that has any which a test accepts; in the order of their addresses.
    pub fn closest(&self, wanted: impl Fn(&Entry) -> bool, files: impl Fn(FileId) -> bool, line: u32) -> Vec<Entry> {
        let tables: Vec<_> = self.by_line.iter().filter(|(file, _)| files(**file)).map(|(_, lines)| lines).collect();
        let is_wanted = |index: &usize| wanted(&self.entries[*index]);
        let first = |lines: &BTreeMap<u32, Vec<usize>>| lines.range(line..).find(|(_, of)| of.iter().any(is_wanted)).map(|(line, _)| *line);
        let Some(closest) = tables.iter().filter_map(|lines| first(lines)).min() else { return Vec::new() };
        let mut found: Vec<usize> = tables.iter().filter_map(|lines| lines.get(&closest)).flatten().copied().filter(is_wanted).collect();
        found.sort_unstable();
        found.into_iter().map(|index| self.entries[index]).collect()
    }

    /// The entry that holds at an address.
    pub fn at(&self, pc: u64) -> Option<Entry> {
        self.index(pc).map(|i| self.entries[i])
    }

    fn end_of(&self, index: usize) -> u64 {
        self.entries.get(index + 1).map_or(u64::MAX, |e| e.pc)
    }

    /// The range of the entry that holds at an address.
    pub fn range(&self, pc: u64) -> Option<(u64, u64)> {
        self.index(pc).map(|i| (self.entries[i].pc, self.end_of(i)))
    }

    /// Where the entry that holds at an address starts.
    pub fn start(&self, pc: u64) -> u64 {
        self.at(pc).map_or(pc, |e| e.pc)
    }

    /// The range from an address on of entries that have a line, or none.
    pub fn same_line_range(&self, pc: u64, file: FileId, line: u32) -> Option<(u64, u64)> {
        let first = self.index(pc)?;
        let is_same = |e: &&Entry| !e.is_end && e.file == file && (e.line == line || e.line == 0);
        let count = self.entries[first..].iter().take_while(is_same).count();
        Some((pc, self.end_of(first + count.checked_sub(1)?)))
    }

    /// Where a function's body starts.
    pub fn after_prologue(&self, module: &Module, function: FunctionId) -> u64 {
        let f = module.function(function);
        let (start, end) = (f.entry(), f.entry_end());
        let Some(first) = self.index(start) else { return start };
        let nearby = || (first + 1..first + 6).filter(|&i| i < self.entries.len());
        let mut at = first;
        let mut body = self.end_of(first);
        if self.entries[first].prologue_end {
            body = self.entries[first].pc;
        } else if let Some(i) = nearby().find(|&i| self.entries[i].prologue_end) {
            (at, body) = (i, self.entries[i].pc);
        } else if let Some(i) = nearby().find(|&i| self.entries[i].line != self.entries[first].line) {
            (at, body) = (i, self.entries[i].pc);
        }
        let mut skip = if start < body && body < end { body - start } else { 0 };
        // Pass the entries without a line that follow.
        let nonzero = (at..self.entries.len()).find(|&i| self.entries[i].line != 0 || self.entries[i].pc >= end).unwrap_or(at);
        if nonzero > at {
            let zero_end = self.entries[nonzero].pc;
            if body < zero_end && zero_end < end {
                skip += zero_end - body;
            }
        }
        start + skip
    }
}
