//! Where programs come from, and which of them may be believed.
//!
//! Deliberately absent: compiling for a hunt, tracing, judging debug information.

mod weave;

pub use weave::weave;
