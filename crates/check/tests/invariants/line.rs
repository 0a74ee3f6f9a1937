//! The line invariant.

use crate::harness::expect;

#[test]
fn gcc_steps_on_a_merged_return_that_never_runs() {
    expect("merged-return.c");
}

#[test]
fn gcc_steps_on_the_exit_not_taken() {
    expect("shared-exit.c");
}

#[test]
fn clang_steps_on_a_recursive_call_that_never_happens() {
    expect("untaken-call.c");
}
