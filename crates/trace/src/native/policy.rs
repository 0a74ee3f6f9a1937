//! How a debugger would walk through the program: which of the raw stops it would show.
//!
//! The tracer stops on every address where a debugger could change its mind (see [`sites`]) and feeds those
//! [`Position`]s to a [`Stepper`]; the stepper answers whether its debugger would stop there and which inlined
//! calls it would hide at that stop.

pub(crate) mod gdb;
pub(crate) mod gdb_blocks;
pub(crate) mod gdb_breaks;
pub(crate) mod gdb_lines;
pub(crate) mod lldb;
pub(crate) mod lldb_blocks;
pub(crate) mod lldb_breaks;
mod lldb_gait;
pub(crate) mod lldb_lines;
pub(crate) mod sites;
pub(crate) mod standard;

pub(crate) use lldb::Plan;

use super::module::{BlockId, FileId, FunctionId, Module};

/// An activation: canonical frame address and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StackId {
    pub cfa: u64,
    pub function: FunctionId,
}

/// An activation or an inlined call in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FrameId {
    pub stack: StackId,
    /// The innermost inlined call that is visible.
    pub inlined: Option<BlockId>,
}

/// Where the program stands, or would stand if a return had been stopped at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub pc: u64,
    pub stack: StackId,
    /// The activation that called this one, when it is the user's.
    pub caller: Option<StackId>,
    /// Whether the program really stands there.
    pub kind: PositionKind,
}

/// How a position came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PositionKind {
    /// A breakpoint that is really set.
    Real,
    /// A return to this place was deduced afterwards; it cannot be shown any more.
    Returned,
}

/// What a debugger would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Inlined calls that start here and are not entered yet.
    pub hidden: usize,
    pub line: u32,
    pub file: FileId,
}

/// What the tracer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Run,
    Stop(Shown),
}

/// A debugger's way of stepping.
pub(crate) trait Stepper {
    /// The address of the first stop, given main.
    fn first_stop(&self, main: FunctionId) -> u64;
    /// The program arrived at the first stop.
    fn begin(&mut self, position: &Position) -> Verdict;
    /// The program arrived at a position while stepping.
    fn arrive(&mut self, position: &Position) -> Verdict;
    /// After a stop was shown, the user steps again.
    fn step(&mut self, position: &Position) -> Verdict;
    /// The line that an outer frame shows for the address of its call.
    fn line_at(&self, pc: u64) -> Option<(FileId, u32)>;
    /// Counts the changes of the stepping state: while it stays the same, arriving at a place where nothing happened means
    /// nothing again.
    fn generation(&self) -> u64;
    /// Where the tracer has to stop besides line rows.
    fn sites(&self) -> sites::Needs;
    /// All that the next decision depends on besides the position, for policies whose decisions can be worked out ahead.
    fn plan(&self) -> Option<&Plan> {
        None
    }
    /// Goes on as if it had come to `plan` by itself.
    fn follow(&mut self, _plan: &Plan) {}
    /// Goes on as a debugger does that has stepped to `position`, whatever it was doing. False where that depends on the way there.
    fn rejoin(&mut self, _position: &Position) -> bool {
        false
    }
    /// Where it would stop after stepping into a function, for policies that run there without looking at anything else.
    fn landing(&mut self, _function: FunctionId) -> Option<u64> {
        None
    }
    /// The landing that it is on its way to.
    fn awaited(&self) -> Option<u64> {
        None
    }
    /// The activation that it is stepping in, for policies that have one.
    fn activation(&self) -> Option<StackId> {
        None
    }
}

/// Inlined calls at an address, innermost first; under lldb's policy only as far as lldb finds a caller.
pub(crate) fn inlined_at(module: &Module, pc: u64) -> Vec<BlockId> {
    let mut inlined: Vec<BlockId> = module.chain_at(pc).into_iter().filter(|&b| module.block(b).is_inlined()).collect();
    if let Some(lost) = inlined.iter().position(|&b| has_lost_caller(module, b, pc)) {
        inlined.truncate(lost + 1);
    }
    inlined
}

/// True for an inlined call whose caller lldb does not find.
pub(crate) fn has_lost_caller(module: &Module, block: BlockId, pc: u64) -> bool {
    module.lldb_blocks.as_ref().is_some_and(|l| l.range(block, pc).is_none())
}

/// The function around a block, inlined or not: the block of its body and the line that declares it.
pub(crate) fn containing_function(module: &Module, block: BlockId) -> (BlockId, u32) {
    use super::module::BlockKind;
    let mut at = block;
    loop {
        match &module.block(at).kind {
            BlockKind::Inlined { decl_line, .. } => return (at, *decl_line),
            BlockKind::Function => return (at, module.function(module.block(at).function).decl_line),
            BlockKind::Lexical => match module.block(at).parent {
                Some(parent) => at = parent,
                None => return (at, 0),
            },
        }
    }
}

/// Where an inlined block was called from.
pub(crate) fn call_line(module: &Module, block: BlockId) -> Option<(FileId, u32)> {
    match &module.block(block).kind {
        super::module::BlockKind::Inlined { call_file: Some(file), call_line, .. } if *call_line != 0 => Some((*file, *call_line)),
        _ => None,
    }
}
