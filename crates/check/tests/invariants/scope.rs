//! The scope invariant; `early-inline.c` in `backtrace` is another of its programs.

use crate::harness::expect;

#[test]
fn gcc_shows_a_loop_counter_after_its_loop() {
    expect("hoisted-counter.c");
}

#[test]
fn gcc_shows_a_loop_counter_before_its_loop() {
    expect("early-block.c");
}
