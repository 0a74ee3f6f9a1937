//! Variables and where they are, as plain tables.

use crate::op::Op;
use crate::{FileId, TypeId};
use std::sync::Arc;
use trueline_model::VarKind;

/// A variable or parameter, one for each copy of its function.
#[derive(Debug)]
pub struct Var {
    /// Its name in the source.
    pub name: Arc<str>,
    /// Local, parameter or global.
    pub kind: VarKind,
    /// The line of its declaration, 0 when unknown.
    pub decl_line: u32,
    /// The file of its declaration.
    pub decl_file: Option<FileId>,
    /// The type of its value.
    pub ty: TypeId,
    /// Where its value is.
    pub location: Location,
    /// Its entry, as an offset in .debug_info.
    pub die: usize,
    /// How it comes to be in its block.
    pub presence: Presence,
    /// The compiler made it up; the source has no such variable.
    pub is_artificial: bool,
}

/// How a variable comes to be in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its entry stands there.
    Own,
    /// Its entry stands in a block without code, whose variables gdb shows in the block around.
    Codeless,
    /// Only the function's abstract instance has it, and there it stands in the function's body.
    Inherited,
    /// Only the function's abstract instance has it, and there it stands in a block inside.
    InheritedNested,
    /// Its entry stands in a block whose ranges are all empty; no debugger shows it.
    Gone,
}

impl Var {
    /// True for variables that gdb shows in a block that their entry does not stand in, and lldb does not show. Parameters
    /// that only the abstract instance has are shown by both.
    pub fn is_adopted(&self) -> bool {
        match self.presence {
            Presence::Own => false,
            Presence::Codeless | Presence::InheritedNested | Presence::Gone => true,
            Presence::Inherited => self.kind != VarKind::Param,
        }
    }
}

/// Where a variable is.
#[derive(Clone, Debug)]
pub enum Location {
    /// Nowhere: it was optimized out.
    None,
    /// It always has this value.
    Constant(Arc<[u8]>, ConstantForm),
    /// The same wherever the variable is in scope.
    Everywhere(Arc<[Op]>),
    /// It depends on the program counter.
    List(Arc<[LocationEntry]>),
    /// The debug information cannot be decoded.
    Broken(Arc<str>),
}

/// Where the debug information keeps a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantForm {
    /// With the variable's entry.
    Entry,
    /// In the abbreviation that entries with the same value share (`DW_FORM_implicit_const`).
    Abbreviation,
}

/// One entry of a location list.
#[derive(Clone, Debug)]
pub struct LocationEntry {
    /// The first address that it holds at.
    pub low: u64,
    /// The first address that it no longer holds at.
    pub high: u64,
    /// The expression, or what is wrong with it.
    pub ops: Result<Arc<[Op]>, Arc<str>>,
}

/// Where a variable is for a range of addresses, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenEntry {
    /// The addresses it holds at; none for an expression that holds wherever the variable is in scope.
    pub range: Option<(u64, u64)>,
    /// The bytes of the expression.
    pub bytes: Vec<u8>,
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
