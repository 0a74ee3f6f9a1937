//! Small programs that must stay clean at every level of gcc and clang.

use crate::harness::expect;

macro_rules! clean {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            expect(concat!("clean/", stringify!($name), ".c"));
        })*
    };
}

clean!(straight, calls, recursion, branches, structures, strings, globals, switches, pointers, macros, gotos);
