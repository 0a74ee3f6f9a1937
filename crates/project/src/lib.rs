//! A user's project, from its build command to pairs of binaries that can be checked.
//!
//! The project's tree is copied, never touched. Each copy is built by the project's own command with wrapped compilers in
//! front of the real ones: the wrapper takes the project's level and stripping away, adds `-g` and the level that is asked
//! for, and writes down what was compiled. The build command runs with the user's rights; nothing here confines it.
//!
//! Deliberately absent: tracing and judging. Whoever has the binaries hands them to `check`.

mod build;
mod calls;
mod crate_file;
mod error;
mod functions;
mod guilt;
mod identity;
mod merge;
mod mixture;
mod names;
mod recipe;
mod replay;
mod run;
mod shims;
mod system;
mod tree;
mod unit;

pub use build::{BuildRequest, BuiltTree, CompilerChoice, build};
pub use calls::{ObjectPath, ToolCall};
pub use crate_file::{CrateFile, crate_as_file};
pub use error::ProjectError;
pub use functions::{UnitFunction, UnitFunctions};
pub use guilt::find_guilty;
pub use identity::{identity_of, input_number};
pub use merge::{Merged, Rest, merge};
pub use mixture::{Anew, Mixed, Mixing, MixtureMaker};
pub use replay::ReplayedObject;
pub use run::{RunCommand, has_debug_information};
pub use system::BuildSystem;
