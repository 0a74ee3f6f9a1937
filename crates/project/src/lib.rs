//! A user's project, from its build command to pairs of binaries that can be checked.
//!
//! The project's tree is copied, never touched. Each copy is built by the project's own command with wrapped compilers in
//! front of the real ones: the wrapper takes the project's level and stripping away, adds `-g` and the level that is asked
//! for, and writes down what was compiled. The build command runs with the user's rights; nothing here confines it.
//!
//! Deliberately absent: tracing and judging. Whoever has the binaries hands them to `check`.

mod build;
mod error;
mod guilt;
mod mixture;
mod run;
mod shims;
mod system;
mod tree;

pub use build::{BuildRequest, BuiltTree, Choice, build};
pub use error::ProjectError;
pub use guilt::find_guilty;
pub use mixture::Mixer;
pub use run::RunCommand;
pub use shims::{Compilation, ObjectPath};
pub use system::BuildSystem;
