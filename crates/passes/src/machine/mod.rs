//! Code generation: what LLVM's machine passes do to the locations of instructions and to the descriptions of variables.
//!
//! The hooks of the optimizer do not reach here, so the compiler's own text of every function in front of and behind each
//! pass is read ([`text`], [`metadata`]), instructions behind the pass are matched with those in front of it ([`matching`]),
//! and both graphs are compared: locations over paths as for the optimizer ([`locations`]), variables by the descriptions
//! that reach each instruction ([`variables`]). Instruction selection has IR on one side and is compared by the variables
//! of its blocks ([`selection`]).
//!
//! Deliberately absent: values in memory, and anything that would need LLVM's data structures rather than its text.

pub mod catalog;
pub mod function;
pub mod locations;
pub mod matching;
pub mod metadata;
pub mod registers;
pub mod report;
pub mod runner;
pub mod selection;
pub mod text;
pub mod variables;

pub use report::judge_dumps;
pub use runner::{Codegen, analyze_codegen};
