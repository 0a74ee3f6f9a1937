//! What the debug information says, decoded once into plain tables: functions and their blocks, variables
//! and their locations, types, line rows, unwinding rows. Everything is owned, addresses are link-time
//! addresses, and nothing here reads a process. Questions about an address are answered by search, not by walking.

use crate::cfi::CfiTable;
use crate::line::Row;
use crate::{
    Block, BlockId, Bound, DwarfError, Enumerator, FileId, Function, FunctionId, Presence, Spans, Type, TypeId, TypeKind, Unit, UnitId,
    Var, VarId,
};
use crate::{Location, Mapped, Search, Sections, Wanted, WrittenEntry, op::Op};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use trueline_model::{FileName, Line, LineKey};

/// A shared library whose tables stand among those of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedLibrary {
    /// The file that the library was read from.
    pub path: PathBuf,
    /// What was added to the addresses of its own debug information.
    pub slide: u64,
    /// Where it starts, by the program's addresses.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
}

/// Everything about one binary.
#[derive(Debug)]
pub struct Module {
    /// The file that runs.
    pub path: PathBuf,
    /// Where the program starts.
    pub entry: u64,
    /// Lowest and highest address of the image.
    pub image: (u64, u64),
    /// Every file of the line tables, by full path.
    pub files: Vec<FileName>,
    /// The same files by base name: two builds may come from different directories.
    pub base_names: Vec<FileName>,
    /// The units that were wanted.
    pub units: Vec<Unit>,
    /// In the order of the debug information.
    pub functions: Vec<Function>,
    /// Function ranges sorted by address.
    pub by_address: Vec<(u64, u64, FunctionId)>,
    /// Bodies, lexical blocks and inlined calls; outer ones first.
    pub blocks: Vec<Block>,
    /// Variables and parameters, once for each copy of their function.
    pub vars: Vec<Var>,
    /// DIE offsets in .debug_info of variables, for implicit pointers and parameter references; sorted.
    pub var_dies: Vec<(usize, VarId)>,
    /// The types of the variables.
    pub types: Vec<Type>,
    /// Constants of enumerations, where everything is wanted; in the order of the debug information.
    pub enumerators: Vec<Enumerator>,
    /// Arrays whose length is computed, sorted by their types.
    pub bounds: Vec<(TypeId, Bound)>,
    /// Objects without a name, by their DIE offsets in .debug_info: pointers without an address lead to them. Sorted.
    pub nameless: Vec<(usize, Location)>,
    /// Every row of every line program.
    pub rows: Vec<Row>,
    /// How callers' registers are found.
    pub cfi: CfiTable,
    /// Executable sections: address and bytes.
    pub code: Vec<(u64, Vec<u8>)>,
    /// The shared libraries that were read with it. Their addresses are where they are mapped, counted as the binary's own are.
    pub libraries: Vec<MappedLibrary>,
    /// Base address and size of the thread-local image, for `DW_OP_form_tls_address`.
    pub tls: Option<(u64, u64)>,
    /// The files that hold the entries, each with the number of its first.
    pub(crate) info: Vec<(usize, PathBuf)>,
    pub(crate) function_index: Spans<FunctionId>,
    pub(crate) name_index: HashMap<Arc<str>, FunctionId>,
    /// One for each function, made when the function is first asked about.
    pub(crate) block_index: Vec<OnceLock<Spans<BlockId>>>,
    pub(crate) row_index: OnceLock<crate::rows::RowIndex>,
    /// What the file has for each variable, where that was asked for.
    pub(crate) written: HashMap<VarId, Vec<WrittenEntry>>,
}

impl Module {
    /// Reads a binary's debug information, wherever it is.
    pub fn load(binary: &Path, wanted: Wanted<'_>, search: &Search) -> Result<Arc<Self>, DwarfError> {
        Self::load_with(binary, &[], wanted, search)
    }

    /// Reads a binary together with those of its libraries that have debug information of their own.
    pub fn load_with(binary: &Path, libraries: &[Mapped], wanted: Wanted<'_>, search: &Search) -> Result<Arc<Self>, DwarfError> {
        crate::load::load(binary, libraries, wanted, search).map(Arc::new)
    }

    /// Reads all units of sections that somebody else has read from a file, and keeps the expressions of variables as they
    /// are written. Code, unwinding rows and symbols are left to whoever has the file.
    pub fn of_sections(sections: &Sections<'_>) -> Result<Arc<Self>, DwarfError> {
        crate::load::read_sections(sections).map(Arc::new)
    }

    /// The expressions that the file has for a variable, in its order; empty unless the module is one [of
    /// sections](Self::of_sections).
    pub fn written(&self, var: VarId) -> &[WrittenEntry] {
        self.written.get(&var).map_or(&[], Vec::as_slice)
    }

    /// The library that an address is in, with the address as the library's own debug information has it.
    pub fn library_at(&self, pc: u64) -> Option<(&MappedLibrary, u64)> {
        let library = self.libraries.iter().find(|l| (l.start..l.end).contains(&pc))?;
        Some((library, pc.wrapping_sub(library.slide)))
    }

    /// Complains unless a binary is an x86-64 executable whose debug information can be found.
    pub fn look_for(binary: &Path, search: &Search) -> Result<(), DwarfError> {
        crate::load::find(binary, search)
    }

    /// Whether every unit that was read is one of those wanted.
    pub fn holds_only(&self, wanted: Wanted<'_>) -> bool {
        self.units.iter().all(|u| u.files.iter().any(|&f| wanted.accepts(self.file(f))))
    }

    /// The function of a number.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// The block of a number.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    /// The variable of a number.
    pub fn var(&self, id: VarId) -> &Var {
        &self.vars[id.0 as usize]
    }

    /// The type of a number.
    pub fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// How long an array is whose length is computed.
    pub fn bound(&self, id: TypeId) -> Option<&Bound> {
        self.bounds.binary_search_by_key(&id, |b| b.0).ok().map(|at| &self.bounds[at].1)
    }

    /// Where the object of an entry is, named or not.
    pub fn location_of(&self, die: usize) -> Option<&Location> {
        let named = self.var_dies.binary_search_by_key(&die, |v| v.0).ok().map(|at| &self.var(self.var_dies[at].1).location);
        named.or_else(|| self.nameless.binary_search_by_key(&die, |n| n.0).ok().map(|at| &self.nameless[at].1))
    }

    /// The unit of a number.
    pub fn unit(&self, id: UnitId) -> &Unit {
        &self.units[id.0 as usize]
    }

    /// The full path of a file.
    pub fn file(&self, id: FileId) -> &FileName {
        &self.files[id.0 as usize]
    }

    /// The file that holds an entry, and the entry's offset there.
    pub fn place_of(&self, die: usize) -> (&Path, usize) {
        let after = self.info.partition_point(|f| f.0 <= die);
        self.info[..after].last().map_or((&*self.path, die), |(start, file)| (&**file, die - start))
    }

    /// The function whose code is at `pc`.
    pub fn function_at(&self, pc: u64) -> Option<FunctionId> {
        self.function_index.at(pc)
    }

    /// The function of this full name; the first of several.
    pub fn function_named(&self, name: &str) -> Option<FunctionId> {
        self.name_index.get(name).copied()
    }

    /// Where the user's program starts: `main`, in the outermost module if there are several, or Go's `main.main`.
    pub fn main(&self) -> Option<FunctionId> {
        let in_module = || {
            let is_it = |f: &Function| f.name.rsplit("::").next() == Some("main");
            let found = (0..self.functions.len()).filter(|&i| is_it(&self.functions[i]));
            found.min_by_key(|&i| self.functions[i].name.matches("::").count()).map(|i| FunctionId(i as u32))
        };
        self.function_named("main").or_else(in_module).or_else(|| self.function_named("main.main"))
    }

    /// The innermost block at `pc`.
    pub fn block_at(&self, pc: u64) -> Option<BlockId> {
        self.function_at(pc).map(|function| self.block_in(function, pc))
    }

    /// The innermost block of a function at `pc`, which is one of its addresses.
    pub fn block_in(&self, function: FunctionId, pc: u64) -> BlockId {
        let index = self.block_index[function.0 as usize].get_or_init(|| self.index_blocks(function));
        index.at(pc).unwrap_or_else(|| self.function(function).block)
    }

    /// Of the blocks inside one, the first that holds an address is the one it is in.
    fn index_blocks(&self, function: FunctionId) -> Spans<BlockId> {
        let mut spans = Vec::new();
        let body = self.function(function).block;
        let everywhere: Rc<[(u64, u64)]> = Rc::from([(0, u64::MAX)]);
        let mut left = vec![(body, everywhere)];
        // The block taken last of those that hold an address wins: an outer one before those inside it, of these the last first.
        while let Some((id, around)) = left.pop() {
            let block = self.block(id);
            let ranges = if id == body { around } else { intersect(&around, &block.ranges).into() };
            spans.extend(ranges.iter().map(|&(low, high)| (low, high, id)));
            left.extend(block.children.iter().map(|&child| (child, Rc::clone(&ranges))));
        }
        Spans::new(spans)
    }

    /// From the innermost block at `pc` out to the function's.
    pub fn chain_at(&self, pc: u64) -> Vec<BlockId> {
        std::iter::successors(self.block_at(pc), |&b| self.block(b).parent).collect()
    }

    /// The code at a link-time address, to the end of its section.
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
                TypeKind::Pointer | TypeKind::Reference(_) | TypeKind::Library { .. } => true,
                _ if depth > 16 => true,
                TypeKind::Aggregate(fields) => fields.iter().any(|f| go(module, f.ty, depth + 1)),
                TypeKind::Enum { variants, .. } => variants.iter().any(|v| go(module, v.field.ty, depth + 1)),
                TypeKind::Array { element, .. } => go(module, *element, depth + 1),
                _ => false,
            }
        }
        go(self, id, 0)
    }

    /// True when what is shown of the type lies in part behind its own bytes.
    pub fn looks_behind(&self, id: TypeId) -> bool {
        fn go(module: &Module, id: TypeId, depth: u32) -> bool {
            match &module.ty(id).kind {
                TypeKind::Reference(_) | TypeKind::Library { .. } => true,
                _ if depth > 16 => true,
                TypeKind::Aggregate(fields) => fields.iter().any(|f| go(module, f.ty, depth + 1)),
                TypeKind::Enum { variants, .. } => variants.iter().any(|v| go(module, v.field.ty, depth + 1)),
                TypeKind::Array { element, .. } => go(module, *element, depth + 1),
                _ => false,
            }
        }
        go(self, id, 0)
    }

    /// A line by its file's base name.
    pub fn line_key(&self, file: FileId, line: u32) -> Option<LineKey> {
        (line != 0).then(|| LineKey { file: self.base_names[file.0 as usize].clone(), line: Line(line) })
    }

    /// Where the debug information itself marks a variable's value as not given yet: name, declaration line, addresses.
    pub fn uninitialised(&self) -> Vec<(Arc<str>, u32, (u64, u64))> {
        let marked = |ops: &[Op]| ops.iter().any(|op| matches!(op, Op::Uninitialised));
        let mut found = Vec::new();
        for var in self.vars.iter().filter(|v| v.presence != Presence::Gone) {
            let ranges: Vec<(u64, u64)> = match &var.location {
                Location::Everywhere(ops) if marked(ops) => vec![(0, u64::MAX)],
                Location::List(list) => list.iter().filter(|e| e.ops.as_ref().is_ok_and(|o| marked(o))).map(|e| (e.low, e.high)).collect(),
                _ => Vec::new(),
            };
            found.extend(ranges.into_iter().map(|r| (Arc::clone(&var.name), var.decl_line, r)));
        }
        found
    }
}

/// What two lists of ranges have in common; the first is sorted and its ranges do not overlap, and so is the answer.
fn intersect(sorted: &[(u64, u64)], others: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for &(low, high) in others {
        let first = sorted.partition_point(|r| r.1 <= low);
        found.extend(sorted[first..].iter().take_while(|r| r.0 < high).map(|r| (r.0.max(low), r.1.min(high))));
    }
    crate::join_ranges(found)
}
