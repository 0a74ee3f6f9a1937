//! The record format between the preloaded library and its reader: a magic number, then tagged records. Numbers
//! are written with as many bytes as they need, addresses as the distance from a neighbour, and a block that is as it
//! was last time is not written again: what a record costs the watched process is mostly the copying of its bytes. A file that ends in the middle of a record (the process
//! crashed) is read up to there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// First bytes of every stream; the digit is the format's version.
pub const MAGIC: &[u8; 8] = b"TLHOOK4\n";

/// One record, as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The library that was hooked.
    Header {
        /// Major version of LLVM.
        major: u32,
        /// Path of the libLLVM that is loaded.
        library: String,
        /// What could not be hooked, in words.
        losses: Vec<String>,
    },
    /// The library declined to hook, and why.
    Refused(String),
    /// A call stack, innermost frame first: (return address, start of the function), both relative to
    /// libLLVM's load address.
    Stack {
        /// Number used by later records.
        id: u32,
        /// The frames.
        frames: Vec<(u64, u64)>,
    },
    /// A debug location met for the first time.
    Location {
        /// Address of the DILocation.
        at: u64,
        /// Line, 0 for compiler-generated.
        line: u32,
        /// Column.
        column: u32,
        /// Address of the scope.
        scope: u64,
        /// Address of the inlined-at location, 0 when there is none.
        inlined_at: u64,
        /// File of the scope.
        file: String,
        /// Address of the subprogram that the scope is in, 0 when variables are not watched.
        subprogram: u64,
    },
    /// A source variable met for the first time.
    Variable {
        /// Address of the DILocalVariable.
        at: u64,
        /// Its name.
        name: String,
        /// Its line.
        line: u32,
        /// Address of its scope.
        scope: u64,
        /// Address of the subprogram that it belongs to.
        subprogram: u64,
        /// Its size in bits, 0 when it is not known.
        bits: u32,
    },
    /// A scope within a subprogram met for the first time.
    Scope {
        /// Its address.
        at: u64,
        /// Address of the scope around it.
        parent: u64,
    },
    /// An expression met for the first time.
    Expression {
        /// Address of the DIExpression.
        at: u64,
        /// Operators and their arguments.
        elements: Vec<u64>,
    },
    /// A constant met for the first time.
    Constant {
        /// Address of the value.
        at: u64,
        /// The code of its type, as in [`InstructionRecord::type_code`].
        width: u32,
        /// What it is.
        kind: ConstantKind,
    },
    /// A function's blocks and instructions.
    Snapshot {
        /// Number used by later records.
        id: u32,
        /// The function.
        function: FunctionRecord,
    },
    /// A pass begins on a unit; the snapshots show every function of the unit.
    PassStart {
        /// Class of the pass, `LICMPass`.
        pass: String,
        /// What it runs on.
        unit: String,
        /// Snapshots of the functions before.
        before: Vec<u32>,
    },
    /// The innermost pass ended; `after` is empty when it manipulated nothing.
    PassFinish {
        /// Snapshots of the functions after.
        after: Vec<u32>,
    },
    /// The innermost pass turned out to run other passes and is not observed itself.
    PassAbandoned,
    /// Something happened to an instruction.
    Event {
        /// What.
        kind: EventKind,
        /// The instruction.
        inst: u64,
        /// The other value: clone's original, replacement, location written; else 0.
        other: u64,
        /// The call stack of a manipulation, else 0.
        stack: u32,
    },
}

/// A constant that is known by its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstantKind {
    /// An integer of at most 64 bits.
    Integer(u64),
    /// `undef` or `poison`.
    Undefined,
    /// The null pointer.
    Null,
}

/// How a variable is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum VariableKind {
    /// From here on it has this value.
    Value = 0,
    /// It lives at this address throughout.
    Declare = 1,
    /// From here on it has this value, which the marked store puts at this address.
    Assign = 2,
}

/// What happened to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EventKind {
    /// Constructed.
    Create = 1,
    /// Constructed as a copy of `other`.
    Clone = 2,
    /// Moved by one of the move functions.
    Move = 3,
    /// Taken out of its block, alive.
    Remove = 4,
    /// All its uses now use `other`.
    Replace = 5,
    /// `applyMergedLocation`.
    Merge = 6,
    /// `dropLocation`.
    Drop = 7,
    /// Its location became `other`.
    SetLocation = 8,
    /// Its location was taken away.
    ClearLocation = 9,
    /// Destroyed.
    Death = 10,
    /// A basic block (not an instruction) was constructed.
    BlockCreate = 11,
    /// A debug record (not an instruction) was constructed.
    RecordCreate = 12,
    /// A debug record was constructed as a copy of `other`.
    RecordClone = 13,
    /// A debug record was deleted.
    RecordDeath = 14,
    /// Descriptions that named the value now name `other`, an undefined value where it died.
    Redescribe = 15,
    /// `salvageDebugInfo` was asked to express the value by others.
    Salvage = 16,
}

impl EventKind {
    fn from_u8(value: u8) -> Option<Self> {
        use EventKind::*;
        [
            Create,
            Clone,
            Move,
            Remove,
            Replace,
            Merge,
            Drop,
            SetLocation,
            ClearLocation,
            Death,
            BlockCreate,
            RecordCreate,
            RecordClone,
            RecordDeath,
            Redescribe,
            Salvage,
        ]
        .into_iter()
        .find(|k| *k as u8 == value)
    }
}

/// A function as it is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionRecord {
    /// Its address.
    pub at: u64,
    /// Its name.
    pub name: String,
    /// Address of its DISubprogram, 0 for none.
    pub subprogram: u64,
    /// Its arguments; those without a name take the first numbers.
    pub arguments: Vec<ArgumentRecord>,
    /// Its blocks, the entry first; snapshots share those that did not change.
    pub blocks: Vec<Arc<BlockRecord>>,
}

/// An argument of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentRecord {
    /// Its address.
    pub at: u64,
    /// Its name, empty when it is numbered.
    pub name: String,
    /// The code of its type, as in [`InstructionRecord::type_code`].
    pub type_code: u32,
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockRecord {
    /// Its address.
    pub at: u64,
    /// Its name, empty when it is numbered.
    pub name: String,
    /// Addresses of its successors, in terminator order.
    pub successors: Vec<u64>,
    /// The successor that a constant condition always chooses, 0 when the condition is not constant.
    pub decided: u64,
    /// Its instructions.
    pub instructions: Vec<InstructionRecord>,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionRecord {
    /// Its address.
    pub at: u64,
    /// LLVM-C opcode number, which is the same in all versions.
    pub opcode: u8,
    /// True when it has no result.
    pub is_void: bool,
    /// Address of its DILocation, 0 for none.
    pub location: u64,
    /// Its name, empty when it is numbered.
    pub name: String,
    /// Name of the function it calls, when it does so directly.
    pub callee: String,
    /// Addresses of its operands.
    pub operands: Vec<u64>,
    /// The width of an integer result, [`POINTER`] for a pointer, 0 for others and when variables are not watched.
    pub type_code: u32,
    /// LLVM-C number of the predicate of an `icmp`.
    pub predicate: u8,
    /// Of a `getelementptr`, what each index is multiplied with and the bytes that fields add, where these are known.
    pub scales: Option<(Vec<u64>, u64)>,
    /// What a call of `llvm.dbg.*` describes.
    pub describes: Option<Box<VariableRecord>>,
    /// The debug records in front of it.
    pub records: Vec<VariableRecord>,
}

/// The code of the type of pointers.
pub const POINTER: u32 = 1 << 24;

/// One description of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableRecord {
    /// How it describes.
    pub kind: VariableKind,
    /// Address of the record, or of the call.
    pub at: u64,
    /// Addresses of the values it names; none where the variable has no value.
    pub values: Vec<u64>,
    /// Address of the DILocalVariable.
    pub variable: u64,
    /// Address of the DIExpression.
    pub expression: u64,
    /// Address of its DILocation.
    pub location: u64,
    /// Address of the value that is the variable's address, for [`VariableKind::Assign`]; else 0.
    pub address: u64,
    /// Address of the DIAssignID that ties it to its store; else 0.
    pub mark: u64,
}

mod tag {
    pub const HEADER: u8 = 1;
    pub const REFUSED: u8 = 2;
    pub const STACK: u8 = 3;
    pub const LOCATION: u8 = 4;
    pub const SNAPSHOT: u8 = 5;
    pub const PASS_START: u8 = 6;
    pub const PASS_FINISH: u8 = 7;
    pub const PASS_ABANDONED: u8 = 8;
    pub const EVENT: u8 = 9;
    pub const VARIABLE: u8 = 10;
    pub const EXPRESSION: u8 = 11;
    pub const CONSTANT: u8 = 12;
    pub const SCOPE: u8 = 13;
}

/// Flags of an instruction.
pub(crate) mod flag {
    pub const VOID: u8 = 1;
    pub const NAMED: u8 = 2;
    pub const CALLEE: u8 = 4;
    /// A type code follows the operands.
    pub const TYPED: u8 = 8;
    /// A predicate follows.
    pub const PREDICATE: u8 = 16;
    /// Scales follow.
    pub const SCALES: u8 = 32;
    /// A description follows.
    pub const DESCRIBES: u8 = 64;
    /// Records follow.
    pub const RECORDS: u8 = 128;
}

/// Where the body of a block stands.
mod body {
    /// Here.
    pub const FOLLOWS: u8 = 0;
    /// Where the block at this address was last written.
    pub const AS_BEFORE: u8 = 1;
}

/// The addresses that the next ones are written relative to; every record begins anew.
#[derive(Clone, Copy, Debug, Default)]
struct Bases {
    value: u64,
    location: u64,
}

/// Folds a distance to a small number: most are multiples of eight, in either direction. Others must fit 62 bits,
/// which distances between addresses of a process do.
fn fold(distance: u64) -> u64 {
    let signed = distance as i64;
    let zigzag = |v: i64| ((v << 1) ^ (v >> 63)) as u64;
    if distance.is_multiple_of(8) { zigzag(signed >> 3) << 1 } else { zigzag(signed) << 1 | 1 }
}

fn unfold(folded: u64) -> u64 {
    let unzigzag = |v: u64| ((v >> 1) as i64) ^ -((v & 1) as i64);
    if folded & 1 == 0 { (unzigzag(folded >> 1) << 3) as u64 } else { unzigzag(folded >> 1) as u64 }
}

/// Appends records to a buffer.
#[derive(Debug, Default)]
pub struct Encoder {
    /// The bytes so far; the owner takes them away.
    pub bytes: Vec<u8>,
    bases: Bases,
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
            (inst.predicate != 0, flag::PREDICATE),
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
        if inst.predicate != 0 {
            self.u8(inst.predicate);
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
        let argument = |d: &mut Self| Some(ArgumentRecord { at: d.reference()?, name: d.text()?, type_code: d.u32()? });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn description(at: u64, kind: VariableKind) -> VariableRecord {
        VariableRecord { kind, at, values: vec![7, 1], variable: 3, expression: 4, location: 9, address: 2, mark: 6 }
    }

    fn sample() -> Vec<Record> {
        let inst = InstructionRecord {
            at: 7,
            opcode: 8,
            is_void: false,
            location: 9,
            name: "x".into(),
            operands: vec![1, 2],
            type_code: 32,
            predicate: 33,
            scales: Some((vec![4, 0], 8)),
            describes: Some(Box::new(description(7, VariableKind::Assign))),
            records: vec![description(64, VariableKind::Value), description(72, VariableKind::Declare)],
            ..Default::default()
        };
        let block = BlockRecord { at: 5, name: "entry".into(), successors: vec![5], decided: 5, instructions: vec![inst] };
        let function = FunctionRecord {
            at: 4,
            name: "f".into(),
            subprogram: 11,
            arguments: vec![ArgumentRecord { at: 3, name: String::new(), type_code: POINTER }],
            blocks: vec![block.into()],
        };
        vec![
            Record::Header { major: 16, library: "libLLVM-16.so.1".into(), losses: vec!["moveAfter".into()] },
            Record::Stack { id: 1, frames: vec![(16, 8)] },
            Record::Location { at: 9, line: 3, column: 1, scope: 2, inlined_at: 0, file: "a.c".into(), subprogram: 2 },
            Record::Variable { at: 3, name: "x".into(), line: 4, scope: 8, subprogram: 2, bits: 32 },
            Record::Scope { at: 8, parent: 2 },
            Record::Expression { at: 4, elements: vec![0x23, u64::MAX] },
            Record::Constant { at: 5, width: 8, kind: ConstantKind::Integer(255) },
            Record::Constant { at: 6, width: POINTER, kind: ConstantKind::Null },
            Record::Snapshot { id: 1, function },
            Record::PassStart { pass: "LICMPass".into(), unit: "f".into(), before: vec![1] },
            Record::Event { kind: EventKind::Replace, inst: 7, other: 8, stack: 1 },
            Record::PassFinish { after: vec![1] },
            Record::PassAbandoned,
            Record::Refused("no".into()),
        ]
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
        sample().iter().for_each(|r| encoder.record(r));
        let read: Vec<Record> = Decoder::new(&encoder.bytes).unwrap().collect();
        assert_eq!(read, sample());
    }

    #[test]
    fn a_stream_cut_anywhere_gives_a_prefix_of_its_records() {
        let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
        sample().iter().for_each(|r| encoder.record(r));
        for end in MAGIC.len()..encoder.bytes.len() {
            let read: Vec<Record> = Decoder::new(&encoder.bytes[..end]).unwrap().collect();
            assert!(read.len() < sample().len() && read == sample()[..read.len()], "cut at {end}");
        }
    }

    #[test]
    fn distances_of_any_size_and_alignment_come_back() {
        for distance in [
            0u64,
            1,
            7,
            8,
            24,
            1 << 40,
            u64::MAX,
            0u64.wrapping_sub(64),
            0x7fff_ffff_ffff_fff8,
            1 << 63,
            (1 << 47) + 1,
            0u64.wrapping_sub((1 << 47) + 1),
            0x5555_1234_5679,
        ] {
            assert_eq!(unfold(fold(distance)), distance, "{distance:#x}");
        }
    }

    /// The head of a snapshot of a function with so many blocks.
    fn head(encoder: &mut Encoder, id: u32, blocks: u32) {
        encoder.snapshot(id);
        encoder.address(8);
        encoder.text(b"");
        encoder.u64(0);
        encoder.u32(0);
        let place = encoder.count();
        encoder.counted(place, blocks);
    }

    #[test]
    fn a_block_that_did_not_change_is_told_by_its_address() {
        let block = |at| Arc::new(BlockRecord { at, name: "b".into(), successors: vec![64], ..Default::default() });
        let function = |blocks| FunctionRecord { at: 8, blocks, ..Default::default() };
        let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
        encoder.record(&Record::Snapshot { id: 1, function: function(vec![block(64), block(32)]) });
        head(&mut encoder, 2, 2);
        for at in [32, 64] {
            encoder.repeat_block(at);
        }
        let read: Vec<Record> = Decoder::new(&encoder.bytes).unwrap().collect();
        assert_eq!(read[1], Record::Snapshot { id: 2, function: function(vec![block(32), block(64)]) });
    }

    #[test]
    fn a_block_listed_twice_or_never_written_ends_the_stream() {
        let block = Arc::new(BlockRecord { at: 64, ..Default::default() });
        let mut encoder = Encoder { bytes: MAGIC.to_vec(), ..Encoder::default() };
        encoder.record(&Record::Snapshot { id: 1, function: FunctionRecord { blocks: vec![block.clone(), block], ..Default::default() } });
        assert_eq!(Decoder::new(&encoder.bytes).unwrap().count(), 0);
        encoder.bytes.truncate(MAGIC.len());
        head(&mut encoder, 1, 1);
        encoder.repeat_block(64);
        assert_eq!(Decoder::new(&encoder.bytes).unwrap().count(), 0);
    }

    #[test]
    fn another_format_is_not_read() {
        assert!(Decoder::new(b"TLHOOK9\n").is_none());
    }
}
