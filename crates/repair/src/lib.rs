//! Repairs the debug headers of optimized binaries: finds how source variables relate to machine state,
//! proves or validates each relation, and writes location lists that say so.
//!
//! The way of the data: an optimized [`image`] and its -O0 reference are read ([`debug`]), run side by
//! side in an emulator built on the [`lift`]er, their moments aligned by what they have stored, relations
//! fitted exactly, proved with a solver, spread over the code, checked and written.

pub mod algebra;
pub mod cpu;
pub mod debug;
pub mod image;
pub mod lift;
