//! Two files with the same code must give a debugger the same view at every address, however their debug information is
//! packed: shared (dwz), compressed, split, moved into a file of its own, written in another version of DWARF, or rewritten.
//!
//! Rows, frames, variables, their types and locations are compared on the tables of `dwarf`. What a table does not hold is not
//! compared: macros, names of types nobody has a variable of, `.debug_frame`, indices such as `.debug_names`.
//!
//! Deliberately absent: running anything, any debugger's habits.

mod code;
mod difference;
mod frames;
mod globals;
mod rows;
mod spelling;
mod types;
mod vars;

pub use code::CodeDiffers;
pub use difference::{Aspect, Difference, Entry, Looked, Side, ViewComparison};

use std::path::Path;
use trueline_dwarf::{DwarfError, Module, Search, Wanted};

/// Why two files cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SameError {
    /// One of them cannot be read.
    #[error(transparent)]
    Unreadable(#[from] DwarfError),
    /// Their code is not the same, so that there is nothing to compare.
    #[error(transparent)]
    Code(#[from] CodeDiffers),
}

/// Compares what two files say about the same code.
pub fn compare(a: &Path, b: &Path, search: &Search) -> Result<ViewComparison, SameError> {
    code::require_same(a, b)?;
    let load = |path| Module::load(path, Wanted::Everything, search);
    let (a, b) = (load(a)?, load(b)?);
    Ok(compare_modules(&a, &b))
}

/// Compares two files whose code is known to be the same.
fn compare_modules(a: &Module, b: &Module) -> ViewComparison {
    let mut found = ViewComparison::default();
    rows::compare(a, b, &mut found);
    frames::compare(a, b, &mut found);
    globals::compare(a, b, &mut found);
    found
}
