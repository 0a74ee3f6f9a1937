//! x86-64 machine code as something that can be run, reasoned about and asked questions of.
//!
//! An [`image`] is an ELF file as the loader would map it. One [`lift`]er says what each instruction does,
//! written against the [`algebra::Machine`] trait; [`cpu`] fills that with numbers ([`emulate`] runs whole
//! functions), [`symbolic`] with [`term`]s that a [`solver`] can be asked about. [`matrix`] solves exact linear
//! equations. [`inferior`] is the real thing: a process under ptrace.
//!
//! Deliberately absent: debug information, source programs, and what a caller wants to show with all this.

pub mod algebra;
pub mod cpu;
pub mod emulate;
mod hash;
pub mod image;
pub mod inferior;
pub mod library;
pub mod lift;
pub mod matrix;
pub mod solver;
pub mod symbolic;
pub mod term;
