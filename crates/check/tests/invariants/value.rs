//! Values of locals.

use crate::harness::expect;

#[test]
fn gcc_shows_the_wrong_register_for_a_sunk_call() {
    expect("sunk-call.c");
}
