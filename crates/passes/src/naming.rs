//! Names for people: instructions and blocks as LLVM would print them, numbered where they have no name.

use crate::history::Place;
use crate::opcode;
use std::collections::HashMap;
use trueline_llvm_hook::wire::{FunctionRecord, InstructionRecord};

/// Names of one function's values.
#[derive(Debug, Default)]
pub struct Names {
    by_address: HashMap<u64, String>,
}

impl Names {
    /// Names a function as LLVM does: arguments, blocks and results without a name share one counter.
    pub fn of(function: &FunctionRecord) -> Self {
        let mut next = 0;
        let mut by_address = HashMap::new();
        let mut give = |at: u64, name: &str| {
            let text = if name.is_empty() {
                next += 1;
                format!("%{}", next - 1)
            } else {
                format!("%{name}")
            };
            by_address.insert(at, text);
        };
        for argument in &function.arguments {
            give(argument.at, &argument.name);
        }
        for block in &function.blocks {
            give(block.at, &block.name);
            for inst in block.instructions.iter().filter(|i| !i.is_void) {
                give(inst.at, &inst.name);
            }
        }
        Self { by_address }
    }

    /// The name of a block.
    pub fn block(&self, at: u64) -> &str {
        self.by_address.get(&at).map_or("%?", String::as_str)
    }

    /// The name of an argument or a result, if it is one of the function.
    pub fn value(&self, at: u64) -> Option<&str> {
        self.by_address.get(&at).map(String::as_str)
    }

    /// An instruction in short: `%add = add` or `br`.
    pub fn short(&self, inst: &InstructionRecord) -> String {
        let mut text = match self.by_address.get(&inst.at) {
            Some(name) => format!("{name} = {}", opcode::name(inst.opcode)),
            None => opcode::name(inst.opcode).to_owned(),
        };
        if !inst.callee.is_empty() {
            text.push_str(&format!(" @{}", inst.callee));
        }
        text
    }

    /// An instruction with those operands that are instructions or blocks of the function.
    pub fn long(&self, inst: &InstructionRecord) -> String {
        let operands: Vec<&str> = inst.operands.iter().map(|o| self.by_address.get(o).map_or("·", String::as_str)).collect();
        format!("{} {}", self.short(inst), operands.join(", ")).trim_end().to_owned()
    }
}

/// The instruction at a place.
pub fn at(functions: &[std::sync::Arc<FunctionRecord>], place: Place) -> (&FunctionRecord, &InstructionRecord) {
    let function = &functions[place.function];
    (function, &function.blocks[place.block.0 as usize].instructions[place.index])
}
