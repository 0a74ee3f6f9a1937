//! Finds wrong debug-location updates in LLVM passes by watching an unmodified `opt` through preloaded
//! hooks, after the control-flow conformance analysis of Huang, Liang, Su and Zhang, "Robustifying Debug
//! Information Updates in LLVM via Control-Flow Conformance Analysis" (PLDI 2025).
//!
//! The order of work: [`observation`] reads what the hooks saw, [`history`] follows each instruction
//! through a pass, [`pairs`] finds destinations and sources (the paper's algorithm 1), [`flow`] and
//! [`judge`] decide which update each needed (2) and compare (3), [`rules`] leave out what LLVM's own
//! guide allows, [`report`] groups by the place in LLVM.
//!
//! Code generation works on another representation that the hooks do not see: [`machine`] reads LLVM's own text of it. So does
//! `gcc` of a stock gcc's passes, as far as its dumps go.
//!
//! Deliberately absent: changing LLVM or the IR.

mod archive;
pub mod batch;
mod execution;
pub mod flow;
mod gcc;
pub mod history;
pub mod judge;
pub mod line;
pub mod lit;
pub mod machine;
pub mod naming;
pub mod observation;
pub mod opcode;
pub mod page;
pub mod pairs;
pub mod picture;
mod provenance;
pub mod report;
pub mod rules;
pub mod runner;
pub mod site;
mod skeleton;
mod transfer;
pub mod variables;

pub use batch::Batch;
pub use execution::{Execution, LineInQuestion, Watched, analyze_execution, is_code_generation};
pub use gcc::{GccExecution, analyze_gcc_pass};
pub use judge::{ErrorKind, Operation};
pub use pairs::Manipulation;
pub use report::{Detail, FileReport, Grouping, Problem, ProblemKind, Report, UpdateError, Watch};
pub use rules::Rule;
pub use runner::{Options, PassStage, SetupError, analyze_file, analyze_module, find_hook};
pub use variables::{Certainty, VariableError, VariableErrorKind, VariableRule};
