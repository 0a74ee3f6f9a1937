//! Reads records back, in the analysis.

use super::codes::{Bases, body, flag, tag, unfold};
use super::{
    ArgumentRecord, BlockRecord, ConstantKind, EventKind, FunctionRecord, InstructionRecord, MAGIC, Record, VariableKind, VariableRecord,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Reads records back; ends at the first incomplete one.
#[derive(Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    bases: Bases,
    /// Blocks as they were last written, by address.
    written: HashMap<u64, Arc<BlockRecord>>,
}

impl<'a> Decoder<'a> {
    /// A decoder of a stream, `None` when it does not begin with the magic number.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        bytes.strip_prefix(MAGIC.as_slice()).map(|bytes| Self { bytes, bases: Bases::default(), written: HashMap::new() })
    }

    fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }
    fn u32(&mut self) -> Option<u32> {
        u32::try_from(self.u64()?).ok()
    }
    fn u64(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
    fn address(&mut self) -> Option<u64> {
        self.bases.value = self.reference()?;
        Some(self.bases.value)
    }
    fn reference(&mut self) -> Option<u64> {
        Some(unfold(self.u64()?).wrapping_add(self.bases.value))
    }
    fn optional(&mut self) -> Option<u64> {
        let coded = self.u64()?;
        Some(if coded == 0 { 0 } else { unfold(coded - 1).wrapping_add(self.bases.value) })
    }
    fn location(&mut self) -> Option<u64> {
        let coded = self.u64()?;
        if coded == 0 {
            return Some(0);
        }
        self.bases.location = unfold(coded - 1).wrapping_add(self.bases.location);
        Some(self.bases.location)
    }
    /// A list whose length was counted up in place.
    fn counted<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let (head, rest) = self.bytes.split_first_chunk::<4>()?;
        self.bytes = rest;
        (0..u32::from_le_bytes(*head)).map(|_| item(self)).collect()
    }
    fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        let (head, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(String::from_utf8_lossy(head).into_owned())
    }
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.u32()?).map(|_| item(self)).collect()
    }

    fn function(&mut self) -> Option<FunctionRecord> {
        self.bases = Bases::default();
        let (at, name, subprogram) = (self.address()?, self.text()?, self.u64()?);
        let argument =
            |d: &mut Self| Some(ArgumentRecord { at: d.reference()?, name: d.text()?, type_code: d.u32()?, is_ranged: d.u8()? != 0 });
        let arguments = self.list(argument)?;
        // A function lists a block once; a stream that repeats one could ask for any amount of memory.
        let mut listed = HashSet::new();
        let blocks = self.counted(|d| d.block().filter(|block| listed.insert(block.at)))?;
        Some(FunctionRecord { at, name, subprogram, arguments, blocks })
    }

    fn block(&mut self) -> Option<Arc<BlockRecord>> {
        let at = self.address()?;
        self.bases.location = at;
        match self.u8()? {
            body::FOLLOWS => {
                let block = Arc::new(BlockRecord {
                    at,
                    name: self.text()?,
                    successors: self.list(Self::reference)?,
                    decided: self.optional()?,
                    instructions: self.counted(Self::instruction)?,
                });
                self.bases.value = at;
                self.written.insert(at, Arc::clone(&block));
                Some(block)
            }
            body::AS_BEFORE => self.written.get(&at).cloned(),
            _ => None,
        }
    }

    fn instruction(&mut self) -> Option<InstructionRecord> {
        let (at, opcode, flags) = (self.address()?, self.u8()?, self.u8()?);
        let location = self.location()?;
        let mut text_if = |wanted: u8| if flags & wanted != 0 { self.text() } else { Some(String::new()) };
        let (name, callee) = (text_if(flag::NAMED)?, text_if(flag::CALLEE)?);
        let operands = self.list(Self::reference)?;
        let has = |wanted: u8| flags & wanted != 0;
        Some(InstructionRecord {
            at,
            opcode,
            is_void: has(flag::VOID),
            location,
            name,
            callee,
            operands,
            type_code: if has(flag::TYPED) { self.u32()? } else { 0 },
            predicate: if has(flag::PREDICATE) { self.u8()? } else { 0 },
            known: if has(flag::PREDICATE) { self.u8()? } else { 0 },
            scales: if has(flag::SCALES) { Some((self.list(Self::u64)?, self.u64()?)) } else { None },
            describes: if has(flag::DESCRIBES) { Some(Box::new(self.description()?)) } else { None },
            records: if has(flag::RECORDS) { self.list(Self::description)? } else { Vec::new() },
        })
    }

    fn description(&mut self) -> Option<VariableRecord> {
        let kind = match self.u8()? {
            0 => VariableKind::Value,
            1 => VariableKind::Declare,
            2 => VariableKind::Assign,
            _ => return None,
        };
        Some(VariableRecord {
            kind,
            at: self.reference()?,
            values: self.list(Self::reference)?,
            variable: self.u64()?,
            expression: self.u64()?,
            location: self.location()?,
            address: self.optional()?,
            mark: self.u64()?,
        })
    }

    fn constant(&mut self) -> Option<ConstantKind> {
        Some(match (self.u8()?, self.u64()?) {
            (0, value) => ConstantKind::Integer(value),
            (1, _) => ConstantKind::Undefined,
            (2, _) => ConstantKind::Null,
            _ => return None,
        })
    }

    fn record(&mut self) -> Option<Record> {
        Some(match self.u8()? {
            tag::HEADER => Record::Header { major: self.u32()?, library: self.text()?, losses: self.list(Self::text)? },
            tag::REFUSED => Record::Refused(self.text()?),
            tag::STACK => Record::Stack { id: self.u32()?, frames: self.list(|d| Some((d.u64()?, d.u64()?)))? },
            tag::LOCATION => Record::Location {
                at: self.u64()?,
                line: self.u32()?,
                column: self.u32()?,
                scope: self.u64()?,
                inlined_at: self.u64()?,
                file: self.text()?,
                subprogram: self.u64()?,
            },
            tag::VARIABLE => Record::Variable {
                at: self.u64()?,
                name: self.text()?,
                line: self.u32()?,
                scope: self.u64()?,
                subprogram: self.u64()?,
                bits: self.u32()?,
            },
            tag::SCOPE => Record::Scope { at: self.u64()?, parent: self.u64()? },
            tag::EXPRESSION => Record::Expression { at: self.u64()?, elements: self.list(Self::u64)? },
            tag::CONSTANT => Record::Constant { at: self.u64()?, width: self.u32()?, kind: self.constant()? },
            tag::SNAPSHOT => Record::Snapshot { id: self.u32()?, function: self.function()? },
            tag::PASS_START => Record::PassStart { pass: self.text()?, unit: self.text()?, before: self.list(Self::u32)? },
            tag::PASS_FINISH => Record::PassFinish { after: self.list(Self::u32)? },
            tag::PASS_ABANDONED => Record::PassAbandoned,
            tag::EVENT => {
                self.bases = Bases::default();
                Record::Event { kind: EventKind::from_u8(self.u8()?)?, inst: self.address()?, other: self.optional()?, stack: self.u32()? }
            }
            _ => return None,
        })
    }
}

impl Iterator for Decoder<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        self.record()
    }
}
