//! One trace alone.

use crate::harness::expect;

#[test]
fn gcc_loses_the_frame_of_an_inlined_line() {
    expect("lost-inline.c");
}
