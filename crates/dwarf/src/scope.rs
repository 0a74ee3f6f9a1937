//! Units, functions, blocks and call sites, as plain tables. Addresses are link-time addresses.

use crate::op::Op;
use crate::{BlockId, FileId, FunctionId, Location, TypeId, UnitId, VarId};
use std::ops::Range;
use std::sync::Arc;

/// Who wrote the debug information; debuggers treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Producer {
    /// GCC, in any of its languages.
    Gcc,
    /// Built on LLVM, and named in a way that gdb knows (`clang …`, as rustc and LLVM's own builds of clang).
    Llvm,
    /// Built on LLVM under a vendor's name (`Debian clang …`), which gdb takes for any other compiler when it steps.
    VendorLlvm,
    /// Any other, or none named.
    Other,
}

/// A compilation unit.
#[derive(Debug)]
pub struct Unit {
    /// The source file as the compiler was given it.
    pub name: Arc<str>,
    /// The directory it was compiled in.
    pub directory: Arc<str>,
    /// What the compiler says of itself.
    pub made_by: Arc<str>,
    /// Who compiled the unit.
    pub producer: Producer,
    /// Whether one of its types is volatile.
    pub knows_volatile: bool,
    /// Some variable in it has a location list (gdb trusts locations in prologues then, for gcc).
    pub has_loclist: bool,
    /// Some block in it has more than one address range (gdb then keeps an address map of its blocks).
    pub has_split_block: bool,
    /// File-scope variables defined in it, in the order of the debug information.
    pub globals: Vec<VarId>,
    /// The files that its line program names.
    pub files: Vec<FileId>,
    /// Its line rows, in the order of the line program.
    pub rows: Range<usize>,
}

/// What may be passed to a function beyond its named parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoreArguments {
    /// Nothing but the parameters with names.
    None,
    /// Anything: `...` in C.
    Any,
}

/// A function with code.
#[derive(Debug)]
pub struct Function {
    /// The unit it stands in.
    pub unit: UnitId,
    /// The function around it, for GNU C's nested functions.
    pub within: Option<FunctionId>,
    /// Its name as debuggers show it.
    pub name: Arc<str>,
    /// Where its code is; the first holds the entry.
    pub ranges: Vec<(u64, u64)>,
    /// The block of its body.
    pub block: BlockId,
    /// The file that declares it.
    pub decl_file: Option<FileId>,
    /// The line of its declaration, 0 when unknown.
    pub decl_line: u32,
    /// The type of what it returns, if it returns something.
    pub result: Option<TypeId>,
    /// What may be passed beyond the parameters that have names.
    pub more: MoreArguments,
    /// What its variables at fixed offsets are measured from.
    pub frame_base: Location,
    /// The calls in it that the debug information describes.
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
pub struct CallSite {
    /// The address after the call.
    pub return_pc: u64,
    /// The call is a jump that does not come back.
    pub is_tail: bool,
    /// It stands in a block or an inlined call of the function, where lldb does not look for it.
    pub is_nested: bool,
    /// Who is called there.
    pub target: CallTarget,
    /// What the callee's places hold at its entry.
    pub params: Vec<CallParam>,
}

/// Who is called.
#[derive(Clone, Debug)]
pub enum CallTarget {
    /// The debug information does not say.
    Unknown,
    /// The function that starts here.
    Entry(u64),
    /// A function of another unit, by name.
    Named(Arc<str>),
    /// A function that is also inlined, by name: the call refers to the description that all its copies share, which has
    /// no address. gdb does not look further.
    Shared(Arc<str>),
    /// The address that this computes in the caller.
    Computed(Arc<[Op]>),
}

/// The value that a location has at the callee's entry, as the caller can compute it.
#[derive(Debug)]
pub struct CallParam {
    /// What is described: a register, or a stack slot by its offset from the callee's entry stack pointer; empty for a
    /// parameter that the callee does not take any more.
    pub place: Arc<[Op]>,
    /// The value, computed in the caller's frame.
    pub value: Arc<[Op]>,
    /// For references from `DW_OP_GNU_parameter_ref`: the parameter's DIE, as an offset in .debug_info.
    pub parameter: Option<usize>,
}

/// What a block is.
#[derive(Debug)]
pub enum BlockKind {
    /// The body of a function.
    Function,
    /// A block in braces.
    Lexical,
    /// A call that was inlined.
    Inlined {
        /// The function that was called.
        name: Arc<str>,
        /// The file that declares it.
        decl_file: Option<FileId>,
        /// The file of the call.
        call_file: Option<FileId>,
        /// The line of the call, 0 when unknown.
        call_line: u32,
        /// The line that declares the function that was called, 0 when unknown.
        decl_line: u32,
    },
}

/// A function's body, a lexical block or an inlined call.
#[derive(Debug)]
pub struct Block {
    /// What the block is.
    pub kind: BlockKind,
    /// The function with code that it is part of.
    pub function: FunctionId,
    /// The block around it.
    pub parent: Option<BlockId>,
    /// The addresses that it holds.
    pub ranges: Vec<(u64, u64)>,
    /// The same with empty ones, which mean something to lldb.
    pub described: Vec<(u64, u64)>,
    /// Its `DW_AT_entry_pc`, where it has one. gcc's may be an address that no range holds.
    pub entry_pc: Option<u64>,
    /// The blocks directly inside, in the order of the debug information.
    pub children: Vec<BlockId>,
    /// The variables that a debugger shows in it.
    pub vars: Vec<VarId>,
    /// Variables of blocks inside it whose ranges are all empty; no debugger shows them.
    pub gone: Vec<VarId>,
    /// Names that it declares as those of variables defined elsewhere.
    pub declared: Vec<Arc<str>>,
    /// Its entry, as an offset in .debug_info; none when only the symbol table knows it.
    pub die: Option<usize>,
}

impl Block {
    /// Where control enters, as gdb 13 sees it: the start of the first range.
    pub fn entry(&self) -> u64 {
        self.ranges.first().map_or(0, |r| r.0)
    }

    /// Whether the block holds an address.
    pub fn contains(&self, pc: u64) -> bool {
        self.ranges.iter().any(|&(low, high)| low <= pc && pc < high)
    }

    /// Whether it is an inlined call.
    pub fn is_inlined(&self) -> bool {
        matches!(self.kind, BlockKind::Inlined { .. })
    }
}
