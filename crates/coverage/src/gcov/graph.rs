//! Control-flow graphs from gcov's notes, and which of their blocks ran, from its counters. Only arcs off
//! a spanning tree are counted; the rest follows because what flows into a block flows out of it.

use super::records::{GcovFile, GcovReader, tag};
use crate::CoverageError;
use std::collections::HashMap;
use std::path::Path;

/// A function of the compiler.
#[derive(Debug, Default)]
pub(super) struct GcovFunction {
    pub name: String,
    pub checksums: (u32, u32),
    pub arcs: Vec<Arc>,
    pub blocks: Vec<GcovBlock>,
}

#[derive(Debug, Default)]
pub(super) struct GcovBlock {
    /// Source lines by file.
    pub lines: Vec<(String, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    from: usize,
    to: usize,
    on_tree: bool,
}

/// What one notes file tells of a source file's functions.
#[derive(Debug)]
pub(super) struct Notes {
    pub stamp: u32,
    pub functions: HashMap<u32, GcovFunction>,
}

impl Notes {
    pub fn read(data: &[u8], path: &Path) -> Result<Self, CoverageError> {
        let mut reader = GcovReader::open(data, GcovFile::Notes, path)?;
        reader.string()?;
        reader.word()?;
        let mut functions: HashMap<u32, GcovFunction> = HashMap::new();
        let mut current = None;
        // Every block but the last has an arc, which takes eight bytes: a file that announces more blocks
        // than it has bytes is damaged, and must not make us reserve them.
        let mut blocks_left = data.len();
        while let Some(mut record) = reader.record()? {
            let body = &mut record.body;
            if record.tag == tag::FUNCTION {
                let ident = body.word()?;
                let checksums = (body.word()?, body.word()?);
                functions.insert(ident, GcovFunction { name: body.string()?, checksums, ..GcovFunction::default() });
                current = Some(ident);
                continue;
            }
            let Some(function) = current.and_then(|ident| functions.get_mut(&ident)) else { continue };
            match record.tag {
                tag::BLOCKS => {
                    let count = body.word()? as usize;
                    // Arcs that were read already would lead out of a shorter list.
                    if !function.blocks.is_empty() {
                        return Err(body.bad("a function with two lists of blocks"));
                    }
                    blocks_left = blocks_left.checked_sub(count).ok_or_else(|| body.bad("more blocks than the file has room for"))?;
                    function.blocks.resize_with(count, GcovBlock::default);
                }
                tag::ARCS => {
                    let from = body.word()? as usize;
                    while !body.is_empty() {
                        let (to, flags) = (body.word()? as usize, body.word()?);
                        if from >= function.blocks.len() || to >= function.blocks.len() {
                            return Err(body.bad("an arc leads nowhere"));
                        }
                        function.arcs.push(Arc { from, to, on_tree: flags & 1 != 0 });
                    }
                }
                tag::LINES => {
                    let block = body.word()? as usize;
                    let mut file = String::new();
                    loop {
                        let line = body.word()?;
                        if line != 0 {
                            let slot = function.blocks.get_mut(block).ok_or_else(|| reader.bad("lines of a block that is not there"))?;
                            slot.lines.push((file.clone(), line));
                            continue;
                        }
                        file = body.string()?;
                        if file.is_empty() {
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(Self { stamp: reader.stamp, functions })
    }

    /// Which blocks of which functions ran: (ident, block) pairs.
    pub fn executed(&self, counters: &[u8], path: &Path) -> Result<Vec<(u32, usize)>, CoverageError> {
        let mut reader = GcovReader::open(counters, GcovFile::Counters, path)?;
        if reader.stamp != self.stamp {
            return Err(reader.bad("counters of another compilation than the notes"));
        }
        let mut current = None;
        let mut executed = Vec::new();
        while let Some(mut record) = reader.record()? {
            match record.tag {
                tag::FUNCTION if record.length >= 12 => {
                    let ident = record.body.word()?;
                    let checksums = (record.body.word()?, record.body.word()?);
                    current = self.functions.get(&ident).filter(|f| f.checksums == checksums).map(|f| (ident, f));
                }
                tag::ARC_COUNTERS if record.length > 0 => {
                    let Some((ident, function)) = current else { continue };
                    let mut counts = Vec::new();
                    while !record.body.is_empty() {
                        counts.push(record.body.counter()?);
                    }
                    executed.extend(function.run_blocks(&counts).into_iter().map(|block| (ident, block)));
                }
                _ => {}
            }
        }
        Ok(executed)
    }
}

impl GcovFunction {
    /// The blocks with a count above zero, by conservation of flow.
    fn run_blocks(&self, counted: &[u64]) -> Vec<usize> {
        let mut counts = counted.iter();
        let mut arcs: Vec<Option<i128>> =
            self.arcs.iter().map(|arc| if arc.on_tree { None } else { counts.next().map(|c| i128::from(*c)) }).collect();
        let mut blocks: Vec<Option<i128>> = vec![None; self.blocks.len()];
        let mut into: Vec<Vec<usize>> = vec![Vec::new(); self.blocks.len()];
        let mut out: Vec<Vec<usize>> = vec![Vec::new(); self.blocks.len()];
        for (index, arc) in self.arcs.iter().enumerate() {
            out[arc.from].push(index);
            into[arc.to].push(index);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..blocks.len() {
                for side in [&into[block], &out[block]] {
                    if side.is_empty() {
                        continue;
                    }
                    let unknown: Vec<usize> = side.iter().copied().filter(|&arc| arcs[arc].is_none()).collect();
                    let known: i128 = side.iter().filter_map(|&arc| arcs[arc]).sum();
                    match (blocks[block], unknown.as_slice()) {
                        (None, []) => {
                            blocks[block] = Some(known);
                            changed = true;
                        }
                        (Some(total), [single]) => {
                            arcs[*single] = Some((total - known).max(0));
                            changed = true;
                        }
                        _ => {}
                    }
                }
            }
        }
        (0..blocks.len()).filter(|&block| blocks[block].is_some_and(|count| count > 0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes of gcc 12 with one function that announces so many blocks.
    fn notes_with_blocks(count: u32) -> Vec<u8> {
        let header = [u32::from_be_bytes(*b"gcno"), u32::from_be_bytes(*b"B22*"), 7, 0];
        let directory_and_flag = [0, 0];
        let function = [tag::FUNCTION, 16, 1, 2, 3, 0];
        let blocks = [tag::BLOCKS, 4, count];
        header.into_iter().chain(directory_and_flag).chain(function).chain(blocks).flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn a_file_that_announces_more_blocks_than_it_has_bytes_is_refused() {
        assert_eq!(Notes::read(&notes_with_blocks(5), Path::new("a.gcno")).unwrap().functions[&1].blocks.len(), 5);
        let error = Notes::read(&notes_with_blocks(0x00ff_ffff), Path::new("a.gcno")).unwrap_err();
        assert!(error.to_string().contains("more blocks"), "{error}");
    }

    #[test]
    fn a_second_list_of_blocks_is_refused() {
        let mut notes = notes_with_blocks(5);
        notes.extend([tag::ARCS, 12, 4, 3, 0, tag::BLOCKS, 4, 1].into_iter().flat_map(u32::to_le_bytes));
        assert!(Notes::read(&notes, Path::new("a.gcno")).unwrap_err().to_string().contains("two lists"));
    }

    #[test]
    fn counts_off_the_tree_determine_the_rest() {
        // entry 0 -> 2 -> {3, 4} -> 1 exit; only 2 -> 3 is counted, and the return arc is implicit.
        let arc = |from, to, on_tree| Arc { from, to, on_tree };
        let blocks = (0..5).map(|_| GcovBlock::default()).collect();
        let arcs = vec![arc(0, 2, false), arc(2, 3, false), arc(2, 4, true), arc(3, 1, true), arc(4, 1, true)];
        let function = GcovFunction { arcs, blocks, ..GcovFunction::default() };
        assert_eq!(function.run_blocks(&[5, 5]), [0, 1, 2, 3]);
        assert_eq!(function.run_blocks(&[5, 2]), [0, 1, 2, 3, 4]);
        assert_eq!(function.run_blocks(&[0, 0]), Vec::<usize>::new());
    }
}
