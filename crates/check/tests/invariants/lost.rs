//! The lost invariant: variables without a location where their value is at hand.

use crate::harness::expect_among;
use trueline_model::Invariant;

#[test]
fn a_variable_that_is_shown_wherever_it_is_handed_on_is_not_lost() {
    expect_among("handed-on.c", &[Invariant::Lost]);
}
