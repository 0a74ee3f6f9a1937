//! What the debug information says, decoded once into plain tables: functions and their blocks, variables
//! and their locations, types, line rows, unwinding rows. Everything is owned, addresses are link-time
//! addresses, and nothing here reads a process.

use super::cfi::CfiTable;
use super::line::Row;
use super::op::Op;
use super::policy::lldb_blocks::LldbBlocks;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use trueline_model::{FileName, VarKind};

/// Index of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId(pub u32);

/// Index of a [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockId(pub u32);

/// Index of a [`Var`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct VarId(pub u32);

/// Index of a [`Type`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TypeId(pub u32);

/// Index of a [`Unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UnitId(pub u32);

/// Index of a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(pub u32);

/// Who wrote the debug information; debuggers treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Producer {
    Gcc,
    /// Built on LLVM, and named in a way that gdb knows (`clang …`, as rustc and LLVM's own builds of clang).
    Llvm,
    /// Built on LLVM under a vendor's name (`Debian clang …`), which gdb takes for any other compiler when it steps.
    VendorLlvm,
    Other,
}

/// A compilation unit.
#[derive(Debug)]
pub(crate) struct Unit {
    pub producer: Producer,
    /// Some variable in it has a location list (gdb trusts locations in prologues then, for gcc).
    pub has_loclist: bool,
    /// Some block in it has more than one address range (gdb then keeps an address map of its blocks).
    pub has_split_block: bool,
    /// File-scope variables defined in it, in the order of the debug information.
    pub globals: Vec<VarId>,
    /// Its line rows, in the order of the line program.
    pub rows: Range<usize>,
}

/// A function with code.
#[derive(Debug)]
pub(crate) struct Function {
    pub unit: UnitId,
    pub name: Arc<str>,
    pub ranges: Vec<(u64, u64)>,
    pub block: BlockId,
    pub decl_file: Option<FileId>,
    pub decl_line: u32,
    pub frame_base: Location,
    pub call_sites: Vec<CallSite>,
}

impl Function {
    /// The entry address.
    pub fn entry(&self) -> u64 {
        self.ranges[0].0
    }

    /// End of the range that holds the entry.
    pub fn entry_end(&self) -> u64 {
        self.ranges[0].1
    }
}

/// A call whose arguments the debug information describes.
#[derive(Debug)]
pub(crate) struct CallSite {
    pub return_pc: u64,
    pub is_tail: bool,
    /// It stands in a block or an inlined call of the function, where lldb does not look for it.
    pub is_nested: bool,
    pub target: CallTarget,
    pub params: Vec<CallParam>,
}

/// Who is called.
#[derive(Clone, Debug)]
pub(crate) enum CallTarget {
    /// The debug information does not say.
    Unknown,
    /// The function that starts here.
    Entry(u64),
    /// A function of another unit, by name.
    Named(Arc<str>),
    /// The address that this computes in the caller.
    Computed(Arc<[Op]>),
}

/// The value that a location has at the callee's entry, as the caller can compute it.
#[derive(Debug)]
pub(crate) struct CallParam {
    /// What is described: a register, or a stack slot by its offset from the callee's entry stack pointer.
    pub place: Arc<[Op]>,
    pub value: Arc<[Op]>,
    /// For references from `DW_OP_GNU_parameter_ref`: the parameter's DIE, as an offset in .debug_info.
    pub parameter: Option<usize>,
}

/// What a block is.
#[derive(Debug)]
pub(crate) enum BlockKind {
    Function,
    Lexical,
    Inlined { name: Arc<str>, call_file: Option<FileId>, call_line: u32 },
}

/// A function's body, a lexical block or an inlined call.
#[derive(Debug)]
pub(crate) struct Block {
    pub kind: BlockKind,
    pub function: FunctionId,
    pub parent: Option<BlockId>,
    pub ranges: Vec<(u64, u64)>,
    /// The same with empty ones, which mean something to lldb.
    pub described: Vec<(u64, u64)>,
    pub children: Vec<BlockId>,
    pub vars: Vec<VarId>,
}

impl Block {
    /// Where control enters, as gdb 13 sees it: the start of the first range.
    pub fn entry(&self) -> u64 {
        self.ranges.first().map_or(0, |r| r.0)
    }

    pub fn contains(&self, pc: u64) -> bool {
        contains(&self.ranges, pc)
    }

    pub fn is_inlined(&self) -> bool {
        matches!(self.kind, BlockKind::Inlined { .. })
    }
}

fn contains(ranges: &[(u64, u64)], pc: u64) -> bool {
    ranges.iter().any(|&(low, high)| low <= pc && pc < high)
}

/// A variable or parameter.
#[derive(Debug)]
pub(crate) struct Var {
    pub name: Arc<str>,
    pub kind: VarKind,
    pub decl_line: u32,
    pub decl_file: Option<FileId>,
    pub ty: TypeId,
    pub location: Location,
    /// It stands in a block without addresses, or only in the abstract instance of an inlined function: gdb shows such
    /// variables in the block around, lldb does not show them.
    pub is_adopted: bool,
}

/// Where a variable is.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// Nowhere: it was optimized out.
    None,
    /// It always has this value.
    Constant(Arc<[u8]>, ConstantForm),
    /// The same everywhere.
    Everywhere(Arc<[Op]>),
    /// It depends on the program counter.
    List(Arc<[LocationEntry]>),
    /// The debug information cannot be decoded.
    Broken(Arc<str>),
}

/// Where the debug information keeps a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantForm {
    /// With the variable's entry.
    Entry,
    /// In the abbreviation that entries with the same value share (`DW_FORM_implicit_const`).
    Abbreviation,
}

/// One entry of a location list.
#[derive(Clone, Debug)]
pub(crate) struct LocationEntry {
    pub low: u64,
    pub high: u64,
    pub ops: Result<Arc<[Op]>, Arc<str>>,
}

impl Location {
    /// The expression that holds at `pc`. An empty entry counts at the entry address of the function only, as in gdb.
    pub fn at(&self, pc: u64, function_entry: u64) -> Option<Result<&Arc<[Op]>, &Arc<str>>> {
        match self {
            Self::Everywhere(ops) => Some(Ok(ops)),
            Self::List(list) => {
                let here = |e: &&LocationEntry| (e.low <= pc && pc < e.high) || (e.low == e.high && e.low == pc && pc == function_entry);
                list.iter().find(here).map(|e| e.ops.as_ref())
            }
            Self::Broken(reason) => Some(Err(reason)),
            Self::None | Self::Constant(..) => None,
        }
    }
}

/// A type, good enough to print values.
#[derive(Debug)]
pub(crate) struct Type {
    pub kind: TypeKind,
    pub size: u64,
    pub name: Arc<str>,
}

/// What a type is made of.
#[derive(Debug)]
pub(crate) enum TypeKind {
    Signed,
    Unsigned,
    Float,
    Complex,
    Pointer,
    /// Structs and unions: debuggers print the members of both.
    Aggregate(Vec<Field>),
    /// An enum of Rust's: which of its variants is there depends on a discriminant, if there is more than one.
    Enum {
        discriminant: Option<Field>,
        variants: Vec<Variant>,
    },
    Array {
        element: TypeId,
        count: u64,
    },
    /// Not known, or without values (void, incomplete types).
    Opaque,
}

/// A member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub ty: TypeId,
    pub bit_offset: u64,
    pub bit_size: Option<u64>,
}

/// A variant of an enum.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// The discriminant's value; `None` for the variant that is there when no other is.
    pub discriminant: Option<u64>,
    pub name: Arc<str>,
    pub field: Field,
}

/// Everything about one binary.
#[derive(Debug)]
pub(crate) struct Module {
    pub path: PathBuf,
    pub entry: u64,
    /// Lowest and highest address of the image.
    pub image: (u64, u64),
    pub files: Vec<FileName>,
    pub units: Vec<Unit>,
    /// In the order of the debug information.
    pub functions: Vec<Function>,
    /// Function ranges sorted by address.
    pub by_address: Vec<(u64, u64, FunctionId)>,
    pub blocks: Vec<Block>,
    pub vars: Vec<Var>,
    /// DIE offsets in .debug_info of variables, for implicit pointers and parameter references; sorted.
    pub var_dies: Vec<(usize, VarId)>,
    pub types: Vec<Type>,
    /// Every row of every line program.
    pub rows: Vec<Row>,
    pub cfi: CfiTable,
    /// Executable sections: address and bytes.
    pub code: Vec<(u64, Vec<u8>)>,
    /// Base address and size of the thread-local image, for `DW_OP_form_tls_address`.
    pub tls: Option<(u64, u64)>,
    /// How blocks are found under lldb's policy.
    pub lldb_blocks: Option<LldbBlocks>,
}

impl Module {
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    pub fn var(&self, id: VarId) -> &Var {
        &self.vars[id.0 as usize]
    }

    pub fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    pub fn unit(&self, id: UnitId) -> &Unit {
        &self.units[id.0 as usize]
    }

    pub fn file(&self, id: FileId) -> &FileName {
        &self.files[id.0 as usize]
    }

    /// The function whose code is at `pc`.
    pub fn function_at(&self, pc: u64) -> Option<FunctionId> {
        let after = self.by_address.partition_point(|r| r.0 <= pc);
        self.by_address[..after].iter().rev().take(4).find(|r| pc < r.1).map(|r| r.2)
    }

    /// The function called `name`, in the outermost module if there are several.
    pub fn function_named(&self, name: &str) -> Option<FunctionId> {
        let is_it = |f: &Function| f.name.rsplit("::").next() == Some(name);
        let found = (0..self.functions.len()).filter(|&i| is_it(&self.functions[i]));
        found.min_by_key(|&i| self.functions[i].name.matches("::").count()).map(|i| FunctionId(i as u32))
    }

    /// The innermost block at `pc`.
    pub fn block_at(&self, pc: u64) -> Option<BlockId> {
        let mut block = self.function(self.function_at(pc)?).block;
        if let Some(lldb) = &self.lldb_blocks {
            return Some(lldb.innermost(self, block, pc));
        }
        loop {
            match self.block(block).children.iter().find(|&&c| self.block(c).contains(pc)) {
                Some(&child) => block = child,
                None => return Some(block),
            }
        }
    }

    /// From the innermost block at `pc` out to the function's.
    pub fn chain_at(&self, pc: u64) -> Vec<BlockId> {
        std::iter::successors(self.block_at(pc), |&b| self.block(b).parent).collect()
    }

    /// The code bytes at an address.
    pub fn code_at(&self, address: u64) -> Option<&[u8]> {
        let (start, bytes) = self.code.iter().find(|(start, bytes)| *start <= address && address - start < bytes.len() as u64)?;
        bytes.get((address - start) as usize..)
    }

    /// True when `inner` is `outer` or nested in it.
    pub fn is_within(&self, inner: BlockId, outer: BlockId) -> bool {
        std::iter::successors(Some(inner), |&b| self.block(b).parent).any(|b| b == outer)
    }

    /// True when the type is a pointer or holds one.
    pub fn holds_pointer(&self, id: TypeId) -> bool {
        fn go(module: &Module, id: TypeId, depth: u32) -> bool {
            match &module.ty(id).kind {
                TypeKind::Pointer => true,
                _ if depth > 16 => true,
                TypeKind::Aggregate(fields) => fields.iter().any(|f| go(module, f.ty, depth + 1)),
                TypeKind::Enum { variants, .. } => variants.iter().any(|v| go(module, v.field.ty, depth + 1)),
                TypeKind::Array { element, .. } => go(module, *element, depth + 1),
                _ => false,
            }
        }
        go(self, id, 0)
    }
}
