//! Where programs come from, and which of them may be believed.
//!
//! One trait, [`ProgramSource`]: `weave` (ours, embedded), csmith, yarpgen, or a directory of files. The
//! validity filter, [`Filter`], drops programs whose behaviour the language does not define: their
//! traces could differ by right.
//!
//! Deliberately absent: compiling for a hunt, tracing, judging debug information.

mod corpus;
mod csmith;
mod filter;
mod source;
mod weave;
mod yarpgen;

pub use corpus::Corpus;
pub use csmith::{Csmith, CsmithOptions};
pub use filter::{Filter, Rejection, lints_of, sanitizers_for};
pub use source::{ProgramSource, SourceError, SourceSpec, Weave};
pub use weave::{Dice, weave, weave_swarm, weave_wide};
