//! The backtrace invariant.

use crate::harness::expect;

#[test]
fn gcc_shows_an_inlined_function_before_it_is_called() {
    expect("early-inline.c");
}
