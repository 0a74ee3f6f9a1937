//! The activations of the user's functions, followed from stop to stop instead of unwound at each: a new one is seen at
//! a function's entry, and returns are deduced from the canonical frame address at the next stop.

use super::module::{FunctionId, Module};
use super::path::{PathId, Paths};
use super::policy::StackId;
use trueline_model::CallId;

/// One call of a function that has not returned.
#[derive(Debug)]
pub(crate) struct Activation {
    pub id: StackId,
    /// Link-time address it returns to.
    pub return_pc: u64,
    /// Where the activation below it waits: the same address, unless code lies between that is not stopped in; `None` when that
    /// code cannot be unwound.
    pub called_from: Option<u64>,
    /// How the program came here from main.
    pub path: PathId,
    /// Its number among all calls of the run.
    pub call: CallId,
}

/// How a function was entered: what its caller left on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    /// Link-time address it returns to.
    pub return_pc: u64,
    /// The canonical frame address of the activation it returns to, where that follows from the unwinding rules at the call.
    pub caller_cfa: Option<u64>,
}

/// An activation as it is found in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwound {
    pub id: StackId,
    /// Link-time address it returns to.
    pub return_pc: u64,
    /// Where the next one that is stopped in waits.
    pub called_from: u64,
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
    /// The number of the last call.
    pub last_call: CallId,
    paths: Paths,
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
    /// activation is gone. `entered` looks at what the caller left on the stack and is asked at function entries only. `through`
    /// finds the innermost of the activations that is still there behind a caller which is none of them, and where it waits.
    pub fn update(
        &mut self,
        module: &Module,
        id: StackId,
        is_entry: bool,
        entered: impl FnOnce() -> Option<Entered>,
        through: impl FnOnce(&[Activation]) -> Option<(usize, u64)>,
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
            self.become_top(id);
            return Change::Here;
        }
        // The entry was not seen (code reached without a call): treat it as a new activation.
        let Some(Entered { return_pc: to, caller_cfa }) = entered() else { return Change::Foreign };
        let top = self.activations.last().expect("not empty");
        if top.id.cfa == id.cfa {
            if top.return_pc == to {
                // A loop to the entry, or a tail call.
                self.become_top(id);
                let call = self.next_call();
                self.activations.last_mut().expect("not empty").call = call;
                self.changes += 1;
                return Change::Here;
            }
            // The same place on the stack, called from elsewhere: the other one has returned.
            self.pop(&mut returned);
        }
        let Some(caller) = module.function_at(to.wrapping_sub(1)) else {
            self.foreign_below = Some(id.cfa);
            self.changes += 1;
            return Change::Foreign;
        };
        self.leave_siblings(caller, caller_cfa, &mut returned);
        let mut called_from = Some(to);
        if self.top().is_some_and(|top| top.id.function != caller) {
            let found = through(&self.activations);
            while found.is_some_and(|(depth, _)| self.activations.len() > depth + 1) {
                self.pop(&mut returned);
            }
            called_from = found.map(|f| f.1);
        }
        self.changes += 1;
        let outer = self.top().map_or_else(PathId::default, |top| top.path);
        let path = self.paths.call(outer, called_from.unwrap_or(to), id.function);
        let call = self.next_call();
        self.activations.push(Activation { id, return_pc: to, called_from, path, call });
        Change::Here
    }

    fn next_call(&mut self) -> CallId {
        self.last_call = CallId(self.last_call.0.saturating_add(1));
        self.last_call
    }

    /// The top activation goes on as `id`, without a call.
    fn become_top(&mut self, id: StackId) {
        let outer = self.activations.len().checked_sub(2).map_or_else(PathId::default, |i| self.activations[i].path);
        if let Some(top) = self.activations.last_mut()
            && top.id != id
        {
            top.id = id;
            top.path = self.paths.call(outer, top.called_from.unwrap_or(top.return_pc), id.function);
        }
    }

    /// Takes out activations that returned before the call that was just made. Arguments on the stack put the callee below
    /// a sibling that was called, and came back, while they were worked out, so that addresses alone do not tell.
    fn leave_siblings(&mut self, caller: FunctionId, caller_cfa: Option<u64>, returned: &mut impl FnMut(&Self, u64)) {
        let keep = match caller_cfa {
            Some(cfa) => self.activations.iter().rposition(|a| a.id.cfa >= cfa),
            None => self.activations.iter().rposition(|a| a.id.function == caller),
        };
        while keep.is_some_and(|keep| self.activations.len() > keep + 1) {
            self.pop(returned);
        }
    }

    fn pop(&mut self, returned: &mut impl FnMut(&Self, u64)) {
        if let Some(gone) = self.activations.pop() {
            self.changes += 1;
            returned(self, gone.return_pc);
        }
    }

    /// Where the return addresses of all activations are and what they must be, `bias` added: as long as memory agrees, no
    /// return and no call was missed.
    pub fn witnesses(&self, bias: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.activations.iter().skip(1).map(move |a| (a.id.cfa.wrapping_sub(8), a.return_pc.wrapping_add(bias)))
    }

    /// The activations after main are these, outermost first, each with where it returns to. Nobody is told of calls and returns.
    pub fn replace(&mut self, chain: &[Unwound]) {
        let kept = self.activations.iter().skip(1).zip(chain).take_while(|(a, u)| a.id == u.id && a.return_pc == u.return_pc).count();
        self.activations.truncate(kept + 1);
        self.foreign_below = None;
        self.changes += 1;
        for &Unwound { id, return_pc, called_from } in &chain[kept..] {
            let outer = self.top().map_or_else(PathId::default, |top| top.path);
            let path = self.paths.call(outer, called_from, id.function);
            let call = self.next_call();
            self.activations.push(Activation { id, return_pc, called_from: Some(called_from), path, call });
        }
    }

    /// Everything below an address was called by foreign code.
    pub fn lose(&mut self, below: u64) {
        self.activations.retain(|a| a.id.cfa > below);
        self.foreign_below = Some(below);
        self.changes += 1;
    }

    /// Whether what is at `cfa` was called by foreign code.
    pub fn is_foreign(&self, cfa: u64) -> bool {
        self.foreign_below.is_some_and(|limit| cfa <= limit)
    }

    /// A stack with main alone on it.
    pub fn begin(function: FunctionId, cfa: u64, return_pc: u64) -> Self {
        let (path, call) = (PathId::default(), CallId::default());
        let main = Activation { id: StackId { cfa, function }, return_pc, called_from: Some(return_pc), path, call };
        Self { activations: vec![main], ..Self::default() }
    }
}
