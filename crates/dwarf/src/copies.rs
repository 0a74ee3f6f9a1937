//! Functions with code of their own and inlined copies of functions, each with the variables that its own entries describe.

use crate::{Block, BlockId, BlockKind, Function, Module, Presence, VarId};
use std::sync::Arc;

/// A function with code, or a copy of one inlined somewhere.
#[derive(Clone, Copy, Debug)]
pub struct FunctionCopy<'m> {
    module: &'m Module,
    id: BlockId,
    block: &'m Block,
}

/// A variable of a copy.
#[derive(Clone, Copy, Debug)]
pub struct CopiedVar {
    /// Which variable it is.
    pub var: VarId,
    /// The block whose addresses it is in scope at.
    pub block: BlockId,
    /// True when its own block has no code left.
    pub is_codeless: bool,
}

impl Module {
    /// All functions with code and all inlined copies, in the order of the debug information.
    pub fn copies(&self) -> impl Iterator<Item = FunctionCopy<'_>> {
        let is_copy = |b: &Block| !matches!(b.kind, BlockKind::Lexical);
        let copies = self.blocks.iter().enumerate().filter(move |(_, b)| is_copy(b));
        copies.map(|(i, block)| FunctionCopy { module: self, id: BlockId(i as u32), block })
    }
}

impl<'m> FunctionCopy<'m> {
    /// The name of the function that this is a copy of.
    pub fn name(&self) -> &'m Arc<str> {
        match &self.block.kind {
            BlockKind::Inlined { name, .. } => name,
            _ => &self.around().name,
        }
    }

    /// The function with code: this one, or the one that this was inlined into.
    pub fn around(&self) -> &'m Function {
        self.module.function(self.block.function)
    }

    /// Whether it was inlined.
    pub fn is_inlined(&self) -> bool {
        self.block.is_inlined()
    }

    /// The addresses of its code.
    pub fn ranges(&self) -> &'m [(u64, u64)] {
        &self.block.ranges
    }

    /// The variables that its own entries describe, in its blocks too, without those of calls inlined into it.
    pub fn vars(&self) -> Vec<CopiedVar> {
        self.select(|p| matches!(p, Presence::Own | Presence::Codeless | Presence::Gone))
    }

    /// Variables that stand in a block of the function's description which this copy leaves out.
    pub fn left_out(&self) -> Vec<CopiedVar> {
        self.select(|p| p == Presence::InheritedNested)
    }

    fn select(&self, wanted: impl Fn(Presence) -> bool) -> Vec<CopiedVar> {
        let mut found = Vec::new();
        let mut left = vec![self.id];
        while let Some(block) = left.pop() {
            let of = self.module.block(block);
            for &var in of.vars.iter().chain(&of.gone) {
                let presence = self.module.var(var).presence;
                if wanted(presence) {
                    found.push(CopiedVar { var, block, is_codeless: presence != Presence::Own });
                }
            }
            left.extend(of.children.iter().rev().filter(|&&c| matches!(self.module.block(c).kind, BlockKind::Lexical)));
        }
        found
    }
}
