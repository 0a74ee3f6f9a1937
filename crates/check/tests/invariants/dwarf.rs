//! Ill-formed debug information.

use crate::harness::expect;

#[test]
fn clang_mixes_typed_and_untyped_operands() {
    expect("typed-convert.c");
}
