//! Writes records, inside the watched process.

use super::codes::{Bases, body, flag, fold, tag};
use super::{ConstantKind, FunctionRecord, InstructionRecord, Record, VariableRecord};

/// Appends records to a buffer.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The bytes so far; the owner takes them away.
    pub bytes: Vec<u8>,
    pub(super) bases: Bases,
}

impl Encoder {
    /// One byte.
    pub fn u8(&mut self, v: u8) {
        self.bytes.push(v);
    }
    /// A number, seven bits at a time.
    pub fn number(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.bytes.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.bytes.push(v as u8);
    }
    /// 32 bits.
    pub fn u32(&mut self, v: u32) {
        self.number(u64::from(v));
    }
    /// 64 bits.
    pub fn u64(&mut self, v: u64) {
        self.number(v);
    }
    /// The address of a block, a function or an instruction: from now on others are written relative to it.
    pub fn address(&mut self, v: u64) {
        self.number(fold(v.wrapping_sub(self.bases.value)));
        self.bases.value = v;
    }
    /// The address of a value that is mentioned.
    pub fn reference(&mut self, v: u64) {
        self.number(fold(v.wrapping_sub(self.bases.value)));
    }
    /// The address of a value that may be absent.
    pub fn optional(&mut self, v: u64) {
        self.number(if v == 0 { 0 } else { fold(v.wrapping_sub(self.bases.value)) + 1 });
    }
    /// The address of a location, 0 for none; neighbours mostly share theirs.
    pub fn location(&mut self, v: u64) {
        if v == 0 {
            return self.u8(0);
        }
        self.number(fold(v.wrapping_sub(self.bases.location)) + 1);
        self.bases.location = v;
    }
    /// Text.
    pub fn text(&mut self, v: &[u8]) {
        self.number(v.len() as u64);
        self.bytes.extend_from_slice(v);
    }
    /// Room for a list's length that is not known yet; gives its place.
    pub fn count(&mut self) -> usize {
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.len() - 4
    }
    /// Fills in the length of the list at `place`.
    pub fn counted(&mut self, place: usize, count: u32) {
        self.bytes[place..place + 4].copy_from_slice(&count.to_le_bytes());
    }
    /// The head of a block, whose body the caller writes.
    pub fn block(&mut self, at: u64) {
        self.address(at);
        self.bases.location = at;
        self.u8(body::FOLLOWS);
    }
    /// The body of the block at `at` is complete.
    pub fn end_block(&mut self, at: u64) {
        self.bases.value = at;
    }
    /// A block that is as it was last written.
    pub fn repeat_block(&mut self, at: u64) {
        self.address(at);
        self.u8(body::AS_BEFORE);
    }
    /// The head of an instruction; operands follow.
    pub fn instruction(&mut self, at: u64, opcode: u8, flags: u8, location: u64, name: &[u8], callee: &[u8]) {
        self.address(at);
        let named = if name.is_empty() { 0 } else { flag::NAMED };
        let calls = if callee.is_empty() { 0 } else { flag::CALLEE };
        self.bytes.extend_from_slice(&[opcode, named | calls | flags]);
        self.location(location);
        for text in [name, callee].into_iter().filter(|t| !t.is_empty()) {
            self.text(text);
        }
    }
    /// The head of a snapshot, whose function the caller writes.
    pub fn snapshot(&mut self, id: u32) {
        self.bases = Bases::default();
        self.u8(tag::SNAPSHOT);
        self.u32(id);
    }
    /// A list of numbers.
    pub fn numbers(&mut self, numbers: &[u64]) {
        self.u32(numbers.len() as u32);
        numbers.iter().for_each(|number| self.u64(*number));
    }
    fn ids(&mut self, ids: &[u32]) {
        self.u32(ids.len() as u32);
        ids.iter().for_each(|id| self.u32(*id));
    }

    /// Appends one record.
    pub fn record(&mut self, record: &Record) {
        self.bases = Bases::default();
        match record {
            Record::Header { major, library, losses } => {
                self.u8(tag::HEADER);
                self.u32(*major);
                self.text(library.as_bytes());
                self.u32(losses.len() as u32);
                losses.iter().for_each(|loss| self.text(loss.as_bytes()));
            }
            Record::Refused(reason) => {
                self.u8(tag::REFUSED);
                self.text(reason.as_bytes());
            }
            Record::Stack { id, frames } => {
                self.u8(tag::STACK);
                self.u32(*id);
                self.u32(frames.len() as u32);
                for (at, function) in frames {
                    self.u64(*at);
                    self.u64(*function);
                }
            }
            Record::Scope { at, parent } => {
                self.u8(tag::SCOPE);
                self.u64(*at);
                self.u64(*parent);
            }
            Record::Variable { at, name, line, scope, subprogram, bits } => {
                self.u8(tag::VARIABLE);
                self.u64(*at);
                self.text(name.as_bytes());
                self.u32(*line);
                self.u64(*scope);
                self.u64(*subprogram);
                self.u32(*bits);
            }
            Record::Expression { at, elements } => {
                self.u8(tag::EXPRESSION);
                self.u64(*at);
                self.numbers(elements);
            }
            Record::Constant { at, width, kind } => {
                self.u8(tag::CONSTANT);
                self.u64(*at);
                self.u32(*width);
                let (number, value) = match kind {
                    ConstantKind::Integer(value) => (0, *value),
                    ConstantKind::Undefined => (1, 0),
                    ConstantKind::Null => (2, 0),
                };
                self.u8(number);
                self.u64(value);
            }
            Record::Location { at, line, column, scope, inlined_at, file, subprogram } => {
                self.u8(tag::LOCATION);
                self.u64(*at);
                self.u32(*line);
                self.u32(*column);
                self.u64(*scope);
                self.u64(*inlined_at);
                self.text(file.as_bytes());
                self.u64(*subprogram);
            }
            Record::Snapshot { id, function } => {
                self.snapshot(*id);
                self.function(function);
            }
            Record::PassStart { pass, unit, before } => {
                self.u8(tag::PASS_START);
                self.text(pass.as_bytes());
                self.text(unit.as_bytes());
                self.ids(before);
            }
            Record::PassFinish { after } => {
                self.u8(tag::PASS_FINISH);
                self.ids(after);
            }
            Record::PassAbandoned => self.u8(tag::PASS_ABANDONED),
            Record::Event { kind, inst, other, stack } => {
                self.u8(tag::EVENT);
                self.u8(*kind as u8);
                self.address(*inst);
                self.optional(*other);
                self.u32(*stack);
            }
        }
    }

    fn function(&mut self, function: &FunctionRecord) {
        self.address(function.at);
        self.text(function.name.as_bytes());
        self.u64(function.subprogram);
        self.u32(function.arguments.len() as u32);
        for argument in &function.arguments {
            self.reference(argument.at);
            self.text(argument.name.as_bytes());
            self.u32(argument.type_code);
            self.u8(u8::from(argument.is_ranged));
        }
        let blocks = self.count();
        self.counted(blocks, function.blocks.len() as u32);
        for block in &function.blocks {
            self.block(block.at);
            self.text(block.name.as_bytes());
            self.u32(block.successors.len() as u32);
            block.successors.iter().for_each(|s| self.reference(*s));
            self.optional(block.decided);
            let instructions = self.count();
            self.counted(instructions, block.instructions.len() as u32);
            for inst in &block.instructions {
                self.whole_instruction(inst);
            }
            self.end_block(block.at);
        }
    }
}

impl Encoder {
    fn whole_instruction(&mut self, inst: &InstructionRecord) {
        let mut flags = 0;
        for (given, bit) in [
            (inst.is_void, flag::VOID),
            (inst.type_code != 0, flag::TYPED),
            (inst.predicate != 0 || inst.known != 0, flag::PREDICATE),
            (inst.scales.is_some(), flag::SCALES),
            (inst.describes.is_some(), flag::DESCRIBES),
            (!inst.records.is_empty(), flag::RECORDS),
        ] {
            flags |= if given { bit } else { 0 };
        }
        self.instruction(inst.at, inst.opcode, flags, inst.location, inst.name.as_bytes(), inst.callee.as_bytes());
        self.u32(inst.operands.len() as u32);
        inst.operands.iter().for_each(|o| self.reference(*o));
        if inst.type_code != 0 {
            self.u32(inst.type_code);
        }
        if inst.predicate != 0 || inst.known != 0 {
            self.u8(inst.predicate);
            self.u8(inst.known);
        }
        if let Some((scales, offset)) = &inst.scales {
            self.numbers(scales);
            self.u64(*offset);
        }
        if let Some(description) = &inst.describes {
            self.description(description);
        }
        if !inst.records.is_empty() {
            self.u32(inst.records.len() as u32);
            inst.records.iter().for_each(|record| self.description(record));
        }
    }

    fn description(&mut self, record: &VariableRecord) {
        self.u8(record.kind as u8);
        self.reference(record.at);
        self.u32(record.values.len() as u32);
        record.values.iter().for_each(|value| self.reference(*value));
        self.u64(record.variable);
        self.u64(record.expression);
        self.location(record.location);
        self.optional(record.address);
        self.u64(record.mark);
    }
}
