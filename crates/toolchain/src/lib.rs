//! Finds, versions and runs every external tool: compilers, debuggers, solvers, reducers and the
//! programs under test. The only crate that spawns a process.
//!
//! Every child runs in a session and process group of its own, under limits on wall clock, CPU, memory
//! and file size, with a scrubbed environment; when a limit is hit the whole group dies, because
//! compilers are drivers and killing a driver alone leaves its `cc1` running.
//!
//! Deliberately absent: any knowledge of what a trace or a pass is.

mod compile;
mod confine;
mod doctor;
mod driver;
mod job;
mod launch;
mod link;
mod network;
mod parts;
mod permission;
mod pipes;
mod private_root;
mod recipes;
mod resident;
mod running;
mod scratch;
mod script;
mod session;
mod shell;
mod slim;
mod tool;
mod usage;

pub use compile::{BuildError, CompileRequest, DebugInfo, crash_message, starvation};
pub use confine::{Confinement, ConfinementSupport, WATCHED_CALLS, confinement_support};
pub use doctor::{Diagnosis, diagnose};
pub use job::{Exit, Job, JobError, Limits, Outcome, Traced};
pub use launch::{Launch, Onlooker};
pub use permission::{Permission, Permissions};
pub use private_root::{FetchOptions, PrivateRootError, PrivateRoots};
pub use resident::{ResidentSupport, resident_support};
pub use scratch::{Scratch, sweep_stale};
pub use shell::quote;
pub use tool::{
    Compiler, Launcher, Tool, ToolError, ToolKind, find_compiler, find_tool, installed_compilers, installed_debuggers, installed_optimizers,
};
pub use usage::cpu_time;
