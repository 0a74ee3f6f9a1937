//! Measures which parts of a compiler a compilation runs.

mod error;
mod gcc;
mod hook;
mod image;
mod llvm;
mod mangled;
mod naming;
mod plan;
mod stock;
mod survey;

pub use error::CoverageError;
pub use plan::cache_dir;
pub use stock::{Measurement, StockCoverage};
