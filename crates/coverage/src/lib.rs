//! Measures which parts of a compiler a compilation runs.
//!
//! Two back ends behind [`trueline_model::Coverage`]: [`StockCoverage`] watches the basic blocks of an
//! unmodified gcc or clang, [`GcovCoverage`] reads the counters of one built for it. Sets of covered units
//! are [`trueline_model::CoverageSet`]s: join, compare, count; a [`trueline_model::CodeMap`] names them.
//!
//! Deliberately absent: what the sets mean (witnesses, ranking, reach are the callers').

mod error;
mod gcc;
mod gcov;
mod hook;
mod image;
mod llvm;
mod mangled;
mod naming;
mod passes;
mod plan;
mod stock;
mod survey;

pub use error::CoverageError;
pub use gcov::GcovCoverage;
#[doc(hidden)]
pub use gcov::read_gcov_files;
pub use stock::StockCoverage;
