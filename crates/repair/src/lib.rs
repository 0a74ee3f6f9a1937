//! Repairs the debug headers of optimized binaries: finds how source variables relate to machine state,
//! proves or validates each relation, and writes location lists that say so.
//!
//! The way of the data: an optimized image and its -O0 reference are read ([`debug`]), run side by side in
//! the emulator of `trueline-machine`, their moments aligned by what they have stored, relations
//! fitted exactly, proved with a solver, spread over the code, checked and written.

mod align;
pub mod debug;
mod description;
mod elf;
pub mod evaluate;
mod fit;
pub mod flow;
mod generate;
pub mod given;
pub mod html;
pub mod inputs;
pub mod mend;
pub mod note;
pub mod observe;
pub mod producer;
mod prove;
pub mod relation;
pub mod repair;
pub mod report;
pub mod rewrite;
pub mod snapshot;
pub mod spread;
mod study;
mod vary;
pub mod verify;
mod walk;
mod wild;
pub mod written;
