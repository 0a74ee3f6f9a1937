//! A binary's debug information as one policy reads it. The tables are `dwarf`'s and shared; what a debugger makes of them
//! is kept beside them.

use super::libraries;
use super::policy::gdb_blocks::GdbBlocks;
use super::policy::lldb_blocks::LldbBlocks;
use crate::TraceRequest;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use trueline_dwarf::op::Op;
use trueline_dwarf::{DwarfError, Mapped, Module as Tables, Search, Wanted};
use trueline_model::{Debugger, Policy};

pub(crate) use trueline_dwarf::{
    BlockId, BlockKind, CallSite, CallTarget, ConstantForm, Field, FileId, Function, FunctionId, Location, Producer, TypeId, TypeKind,
    UnitId, VarId, Variant,
};

/// Debug information under a policy.
#[derive(Debug)]
pub(crate) struct Module {
    tables: Arc<Tables>,
    /// How blocks are found under lldb's policy.
    pub lldb_blocks: Option<LldbBlocks>,
    /// Where blocks are and begin under the policies of gdb 16 and later.
    pub gdb_blocks: Option<GdbBlocks>,
    policy: Policy,
}

impl Module {
    /// Reads a binary.
    pub fn load(binary: &Path, wanted: Wanted<'_>, search: &Search, policy: Policy) -> Result<Self, DwarfError> {
        Ok(Self::new(Tables::load(binary, wanted, search)?, policy))
    }

    /// What a request brings with it, or else its binary's.
    pub fn of(request: &TraceRequest) -> Result<Self, DwarfError> {
        match &request.debug {
            Some(tables) => Ok(Self::new(Arc::clone(tables), request.policy)),
            None => {
                let libraries: Vec<Mapped> = libraries::loaded_libraries(request).unwrap_or_default().iter().map(Mapped::from).collect();
                let tables = Tables::load_with(&request.binary, &libraries, Wanted::new(&request.user_files), &request.search)?;
                Ok(Self::new(tables, request.policy))
            }
        }
    }

    fn new(tables: Arc<Tables>, policy: Policy) -> Self {
        let lldb_blocks = (policy.debugger() == Some(Debugger::Lldb)).then(|| LldbBlocks::new(&tables));
        let gdb_blocks = GdbBlocks::of(&tables, policy);
        Self { tables, lldb_blocks, gdb_blocks, policy }
    }

    /// The expression of a location that holds at an address of a function. In gdb 13 an entry for no addresses counts where the
    /// function is entered; gdb 18 has a use for it only where it looks for a value on entry.
    pub fn in_force<'l>(&self, location: &'l Location, pc: u64, function: FunctionId) -> Option<Result<&'l Arc<[Op]>, &'l Arc<str>>> {
        const NOWHERE: u64 = u64::MAX;
        let entry = if self.policy == Policy::Gdb18 { NOWHERE } else { self.function(function).entry() };
        location.at(pc, entry)
    }

    /// The innermost block at `pc`.
    pub fn block_at(&self, pc: u64) -> Option<BlockId> {
        match (&self.lldb_blocks, &self.gdb_blocks) {
            (Some(lldb), _) => Some(lldb.innermost(self, self.function(self.function_at(pc)?).block, pc)),
            (None, Some(gdb)) => gdb.innermost(self, pc).or_else(|| self.tables.block_at(pc)),
            (None, None) => self.tables.block_at(pc),
        }
    }

    /// Where control enters a block.
    pub fn entry_of(&self, block: BlockId) -> u64 {
        match &self.gdb_blocks {
            Some(gdb) => gdb.entry(block),
            None => self.block(block).entry(),
        }
    }

    /// From the innermost block at `pc` out to the function's.
    pub fn chain_at(&self, pc: u64) -> Vec<BlockId> {
        std::iter::successors(self.block_at(pc), |&b| self.block(b).parent).collect()
    }
}

impl Deref for Module {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}
