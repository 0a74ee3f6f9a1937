//! The rules: each drops one kind of candidate that is known not to be a fault of the debug information.
//! One file per rule, with its reason and a test; `docs/rules.md` explains them to users.

mod already_told;
mod begins_later;
#[cfg(test)]
pub(crate) mod bench;
mod block_without_code;
mod brace_line;
mod differs_between_runs;
mod early_unseen;
mod empty_location;
mod executed_row;
mod file_scope;
mod fixed_home;
mod given_up;
mod hit_at_other_times;
mod inherited_block;
mod intermediate_value;
mod library_line;
mod line_early;
mod line_late;
mod line_zero;
mod macro_temporary;
mod made_later;
mod marked_uninitialised;
mod merged_code;
mod moved_in_function;
mod no_reference_row;
mod no_reference_stop;
mod other_side;
mod other_visit;
mod own_line;
mod recursion_lost;
mod relaxed_floats;
mod same_block;
mod same_line_function;
mod shown_in_caller;
mod speculated;
mod too_many_values;
mod unconfirmed;
mod uninitialised;
mod unknown_variable;
mod unreadable_reference;
mod visible_on_line;

pub use already_told::RULE as ALREADY_TOLD;
pub(crate) use already_told::is_told;
pub use given_up::RULE as GIVEN_UP;
pub use same_block::RULE as SAME_BLOCK;
pub(crate) use same_block::Told;

use crate::case::{Candidate, Case};
use trueline_model::Invariant;

/// A named filter.
pub struct Rule {
    /// Its name, as `--explain` and the documentation spell it.
    pub name: &'static str,
    /// The invariants whose candidates it looks at.
    pub invariants: &'static [Invariant],
    /// Why such a candidate is no fault, in one sentence.
    pub reason: &'static str,
    drop: fn(&Candidate, &Case<'_>) -> bool,
}

impl Rule {
    /// True when it drops the candidate.
    pub fn drops(&self, candidate: &Candidate, case: &Case<'_>) -> bool {
        self.invariants.contains(&candidate.violation.invariant()) && (self.drop)(candidate, case)
    }
}

/// Every rule, in the order they are asked: those that ask the witness come last, because asking costs a run.
pub const RULES: &[Rule] = &[
    differs_between_runs::RULE,
    executed_row::RULE,
    no_reference_row::RULE,
    line_zero::RULE,
    no_reference_stop::RULE,
    hit_at_other_times::RULE,
    moved_in_function::RULE,
    shown_in_caller::RULE,
    merged_code::RULE,
    same_line_function::RULE,
    visible_on_line::RULE,
    own_line::RULE,
    library_line::RULE,
    file_scope::RULE,
    brace_line::RULE,
    block_without_code::RULE,
    inherited_block::RULE,
    macro_temporary::RULE,
    unknown_variable::RULE,
    unreadable_reference::RULE,
    fixed_home::RULE,
    relaxed_floats::RULE,
    marked_uninitialised::RULE,
    empty_location::RULE,
    recursion_lost::RULE,
    speculated::RULE,
    other_visit::RULE,
    line_early::RULE,
    line_late::RULE,
    early_unseen::RULE,
    other_side::RULE,
    made_later::RULE,
    begins_later::RULE,
    too_many_values::RULE,
    given_up::RULE,
    unconfirmed::RULE,
    intermediate_value::RULE,
    uninitialised::RULE,
];
