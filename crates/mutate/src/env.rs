//! Environments: which values the integers in scope were seen to have at a program point.

use crate::numbers::KnownNumbers;
use trueline_ctree::{Access, IntType, VariableReach};

/// Distinct values that are listed at most; more are an interval with a congruence. It also bounds the products that speculative
/// execution forms.
pub(crate) const MAX_VALUES: usize = 16;

/// An integer in scope and the values it was seen to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvSlot {
    /// How to write it.
    pub path: String,
    /// The type it is declared with.
    pub ty: IntType,
    /// Width, when it is a bit-field.
    pub width: Option<u32>,
    /// Whether it may be assigned to.
    pub access: Access,
    /// Whose it is: the function's or the program's.
    pub reach: VariableReach,
    /// The values, never empty.
    pub values: KnownNumbers,
}

/// The environment of a program point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// The integers that were initialized on every visit, and had the same values in every run.
    pub slots: Vec<EnvSlot>,
}

impl Env {
    /// True when nothing is known.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Replaces the values of one integer.
    pub(crate) fn set(&mut self, path: &str, values: KnownNumbers) {
        if let Some(slot) = self.slots.iter_mut().find(|s| s.path == path) {
            slot.values = values;
        }
    }
}
