//! Values of parameters.

use crate::harness::expect;

#[test]
fn gcc_leaves_a_union_parameter_in_a_register_it_reuses() {
    expect("union-parameter.c");
}
