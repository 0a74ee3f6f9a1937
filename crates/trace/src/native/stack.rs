//! The activations of the user's functions, followed from stop to stop instead of unwound at each: a new one is seen at
//! a function's entry, and returns are deduced from the canonical frame address at the next stop.

use super::module::{FunctionId, Module};
use super::policy::StackId;
use std::sync::Arc;
use trueline_model::Frame;

/// One activation.
#[derive(Debug)]
pub(crate) struct Activation {
    pub id: StackId,
    /// Link-time address it returns to.
    pub return_pc: u64,
    /// Backtraces built for this activation, by address and hidden inlined calls.
    pub shown: Vec<(u64, usize, Arc<[Frame]>)>,
}

/// What changed between two stops.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing, or a call: go on with the position.
    Here,
    /// The stop is in code called from code that is not the user's, or in main's caller.
    Foreign,
}

/// All activations, main first.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    pub activations: Vec<Activation>,
    /// Counts pushes, pops and replacements.
    pub changes: u64,
    /// Activations below this address were called by foreign code.
    foreign_below: Option<u64>,
}

impl Stack {
    pub fn top(&self) -> Option<&Activation> {
        self.activations.last()
    }

    /// The activation that called the top one.
    pub fn caller(&self) -> Option<StackId> {
        let n = self.activations.len();
        n.checked_sub(2).map(|i| self.activations[i].id)
    }

    /// Brings the stack up to date with a stop. `returned` is told of each return that happened on the way, after the
    /// activation is gone. `return_pc` reads the return address and is asked at function entries only.
    pub fn update(
        &mut self,
        module: &Module,
        id: StackId,
        is_entry: bool,
        return_pc: impl FnOnce() -> Option<u64>,
        mut returned: impl FnMut(&Self, u64),
    ) -> Change {
        if let Some(limit) = self.foreign_below {
            if id.cfa <= limit {
                return Change::Foreign;
            }
            self.foreign_below = None;
            self.changes += 1;
        }
        while self.activations.len() > 1 && self.activations.last().is_some_and(|a| a.id.cfa < id.cfa) {
            self.pop(&mut returned);
        }
        let Some(top) = self.activations.last() else { return Change::Foreign };
        if top.id == id && !is_entry {
            return Change::Here;
        }
        if !is_entry && top.id.cfa == id.cfa {
            // Another part of the same activation, such as a shared tail.
            self.activations.last_mut().expect("not empty").id = id;
            return Change::Here;
        }
        // The entry was not seen (code reached without a call): treat it as a new activation.
        let Some(to) = return_pc() else { return Change::Foreign };
        let top = self.activations.last().expect("not empty");
        if top.id.cfa == id.cfa {
            if top.return_pc == to {
                // A loop to the entry, or a tail call.
                let last = self.activations.last_mut().expect("not empty");
                if last.id != id {
                    last.shown.clear();
                }
                last.id = id;
                self.changes += 1;
                return Change::Here;
            }
            // The same place on the stack, called from elsewhere: the other one has returned.
            self.pop(&mut returned);
        }
        if module.function_at(to.wrapping_sub(1)).is_none() {
            self.foreign_below = Some(id.cfa);
            self.changes += 1;
            return Change::Foreign;
        }
        self.changes += 1;
        self.activations.push(Activation { id, return_pc: to, shown: Vec::new() });
        Change::Here
    }

    fn pop(&mut self, returned: &mut impl FnMut(&Self, u64)) {
        if let Some(gone) = self.activations.pop() {
            self.changes += 1;
            returned(self, gone.return_pc);
        }
    }

    /// Starts with main.
    pub fn begin(function: FunctionId, cfa: u64, return_pc: u64) -> Self {
        let main = Activation { id: StackId { cfa, function }, return_pc, shown: Vec::new() };
        Self { activations: vec![main], changes: 0, foreign_below: None }
    }
}
