//! `check`: compile a program at -O0 and at a level, trace both builds, judge the optimized one.
//!
//! ```no_run
//! # fn demonstrate(program: trueline_model::Program) -> Result<(), trueline_check::CheckError> {
//! use trueline_check::{CheckOptions, Checker};
//! let compiler = trueline_toolchain::find_compiler("gcc")?;
//! let checker = Checker::new(CheckOptions::default())?;
//! let reference = checker.reference(&program, &compiler)?; // once per program and compiler
//! let run = checker.check(&program, &reference, &compiler, trueline_model::OptLevel::O2, &[])?;
//! println!("{} violations", run.violations.len());
//! # Ok(()) }
//! ```
//!
//! Deliberately absent: what an invariant is (`oracle`), how a debugger steps (`trace`), printing (`cli`).

mod build;
mod checker;
mod code;
mod codegen;
mod declared;
mod effects;
mod error;
mod facts;
mod group;
mod leaves;
mod libraries;
mod line_code;
mod made;
mod moments;
mod note;
mod ownership;
mod plain;
mod returns;
mod settings;
mod shape;
mod steady;
mod thin;
mod witness;

/// Reads a build's debug information as a check would, for the fuzzer: how many addresses have rows.
#[doc(hidden)]
pub fn read_debug_info(binary: &std::path::Path) -> Option<usize> {
    let module = trueline_dwarf::Module::load(binary, trueline_dwarf::Wanted::All, &trueline_dwarf::Search::default()).ok()?;
    facts::of_reference(
        &module,
        std::collections::BTreeSet::new(),
        &trueline_oracle::SourceFacts::default(),
        &declared::Declarations::default(),
    );
    Some(facts::of_optimized(&module).rows_at.len())
}

pub use build::{BuildCost, BuildExtent, Compilation, Compiled, LevelBuild};
pub use checker::{CheckOptions, CheckRun, Checker, Reference, Repeat};
pub use code::PlainBuild;
pub use error::CheckError;
pub use group::{Cause, Group, GroupBy, cause_of, group_for_report};
pub use moments::MomentCount;
pub use note::{LEAST_SEEN, LibraryGap, Note};
pub use ownership::Ownership;
pub use plain::Behaviour;
pub use trueline_oracle::{Completeness, Dropped, Remembered, Strictness};
