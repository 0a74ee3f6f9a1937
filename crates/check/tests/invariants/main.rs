//! One file per invariant, each with real programs, real compilers and real debuggers.

mod backtrace;
mod breakpoint;
mod clean;
mod codegen;
mod consistency;
mod dwarf;
mod harness;
mod line;
mod literal;
mod lost;
mod parameter;
mod scope;
mod self_contradiction;
mod stale;
mod value;
