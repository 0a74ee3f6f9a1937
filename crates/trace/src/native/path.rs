//! Ways from main to an activation, numbered, so that what is known of one is found again when the program comes the same
//! way a second time.

use super::module::FunctionId;
use std::collections::HashMap;

/// Number of a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PathId(u64);

/// Ways remembered at a time: a tree walked by recursion has as many as it has nodes.
const MOST_WAYS: usize = 1 << 20;

/// The ways seen so far.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    steps: HashMap<(PathId, u64, FunctionId), PathId>,
    last: u64,
}

impl Paths {
    /// The way that goes on from `outer` with a call that returns to `return_pc` and led into `function`. The default
    /// stands for main alone. A way that was forgotten gets a new number.
    pub fn call(&mut self, outer: PathId, return_pc: u64, function: FunctionId) -> PathId {
        if self.steps.len() >= MOST_WAYS {
            self.steps.clear();
        }
        *self.steps.entry((outer, return_pc, function)).or_insert_with(|| {
            self.last += 1;
            PathId(self.last)
        })
    }
}
