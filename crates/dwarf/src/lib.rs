//! Debug information of a binary, read once and indexed by address.
//!
//! ```no_run
//! # fn demonstrate() -> Result<(), trueline_dwarf::DwarfError> {
//! use trueline_dwarf::{Module, Search, Wanted};
//! let module = Module::load("a.out".as_ref(), Wanted::All, &Search::default())?; // an Arc: everybody borrows from this one
//! let function = module.function_at(0x1139).map(|f| module.function(f));
//! # Ok(()) }
//! ```
//!
//! Scopes are built the way gdb builds them, because that is what people see. Deliberately absent: a running process,
//! the evaluation of expressions, any debugger's habits (`trace`); writing (`repair`).

pub mod cfi;
mod copies;
mod elf;
mod error;
mod excerpt;
mod ids;
pub mod line;
mod load;
mod module;
pub mod op;
mod ranges;
mod rows;
mod scope;
mod spans;
mod spell;
mod types;
mod variable;

pub use copies::{CopiedVar, FunctionCopy};
pub use elf::DynamicLinks;
pub use error::DwarfError;
pub use excerpt::Excerpt;
pub use ids::{BlockId, FileId, FunctionId, TypeId, UnitId, VarId};
pub use load::{Mapped, Search, Sections, Wanted, is_languages_own};
pub use module::{MappedLibrary, Module};
pub use ranges::join_ranges;
pub use scope::{Block, BlockKind, CallParam, CallSite, CallTarget, Function, MoreArguments, Producer, Unit};
pub use spans::Spans;
pub use spell::{spell, spell_constant};
pub use types::{Bound, BoundValue, Container, Enumerator, EnumeratorHome, Field, Type, TypeKind, Variant};
pub use variable::{ConstantForm, Location, LocationEntry, Presence, Var, WrittenEntry};
