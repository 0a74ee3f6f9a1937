//! The record format between the preloaded library and its reader: a magic number, then tagged records. Numbers
//! are written with as many bytes as they need, addresses as the distance from a neighbour, and a block that is as it
//! was last time is not written again: what a record costs the watched process is mostly the copying of its bytes. A file that ends in the middle of a record (the process
//! crashed) is read up to there.

mod codes;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use codes::flag;
pub use decode::Decoder;
pub use encode::Encoder;
use std::sync::Arc;

/// First bytes of every stream; the digit is the format's version.
pub const MAGIC: &[u8; 8] = b"TLHOOK5\n";

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
    /// True when an attribute says in which range it is.
    pub is_ranged: bool,
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
    /// LLVM-C number of the predicate of an `icmp` or `fcmp`.
    pub predicate: u8,
    /// What makes its result poison, or is known of it: bits of [`known`].
    pub known: u8,
    /// Of a `getelementptr`, what each index is multiplied with and the bytes that fields add, where these are known.
    pub scales: Option<(Vec<u64>, u64)>,
    /// What a call of `llvm.dbg.*` describes.
    pub describes: Option<Box<VariableRecord>>,
    /// The debug records in front of it.
    pub records: Vec<VariableRecord>,
}

/// What an instruction says of its result beyond its opcode. The lower bits are those that LLVM keeps in the value.
pub mod known {
    /// Unsigned overflow, a remainder, a negative operand, a common bit or operands of different signs make it poison:
    /// `nuw`, `exact`, `nneg`, `disjoint` and `samesign`.
    pub const FIRST: u8 = 1;
    /// Signed overflow makes it poison: `nsw`.
    pub const SIGNED: u8 = 2;
    /// Metadata says in which range it is.
    pub const RANGED: u8 = 128;
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
