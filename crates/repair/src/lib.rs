//! Repairs the debug headers of optimized binaries: finds how source variables relate to machine state,
//! proves or validates each relation, and writes location lists that say so.
//!
//! The way of the data: an optimized [`image`] and its -O0 reference are read ([`debug`]), run side by
//! side in an emulator built on the [`lift`]er, their moments aligned by what they have stored, relations
//! fitted exactly, proved with a solver, spread over the code, checked and written.

pub mod algebra;
pub mod align;
pub mod cpu;
pub mod debug;
pub mod elf;
pub mod emulate;
pub mod evaluate;
pub mod fit;
pub mod flow;
pub mod generate;
pub mod given;
pub mod hash;
pub mod html;
pub mod image;
pub mod inputs;
pub mod lift;
pub mod matrix;
pub mod mend;
pub mod observe;
pub mod producer;
pub mod prove;
pub mod relation;
pub mod repair;
pub mod report;
pub mod rewrite;
pub mod snapshot;
pub mod solver;
pub mod spread;
pub mod study;
pub mod symbolic;
pub mod term;
pub mod vary;
pub mod verify;
pub mod walk;
pub mod wild;
pub mod written;
