//! The scope invariant; `early-inline.c` in `backtrace` is another of its programs.

use crate::harness::expect;

#[test]
fn gcc_shows_a_loop_counter_after_its_loop() {
    expect("hoisted-counter.c");
}

#[test]
fn a_block_that_gdb_inherits_from_a_description_is_not_reported() {
    expect("early-block.c");
}
