//! Runs a build under an engine and hands over what a debugger would show, stop by stop.
//!
//! Three engines, one [`Step`](trueline_model::Step): `native` (our own, on ptrace and DWARF), `gdb` and
//! `lldb`. All of them trace from main to its return, in the user's files only.
//!
//! Deliberately absent: any opinion on whether what was shown is right; that is `oracle`'s.

mod debugger;
mod dialogue;
mod engine;
mod focus;
mod gdb;
mod intern;
mod lldb;
pub mod native;
mod placement;
mod question;
mod spot;

#[doc(hidden)]
pub use debugger::read_tracer_output;
pub use dialogue::Dialogue;
pub use engine::{Engine, Patience, Threads, TraceEnd, TraceError, TraceRequest, TraceSummary, Vars, open_engine};
pub use focus::{Focus, Landmark};
pub use gdb::GdbEngine;
pub use lldb::LldbEngine;
pub use native::NativeEngine;
pub use placement::{Placement, Placements};
pub use question::ask_gdb;
pub use spot::{DebuggerPool, Spot, SpotRequest};
