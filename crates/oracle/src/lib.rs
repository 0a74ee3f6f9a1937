//! The invariants: pure functions from two digested traces to violations. Does no I/O.
