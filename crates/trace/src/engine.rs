//! What every engine takes and gives.
//!
//! # What a step holds, the same for all three engines
//!
//! - `file` is the full path (compilation directory joined, `.` and `..` resolved by name).
//! - `frames` are the frames of functions with debug information in the user's files, innermost first, inlined ones
//!   included, down to and including main. An outer frame's line is that of its call.
//! - `vars` are the variables of the innermost frame's function in every lexical block around the pc, shadowed ones
//!   included, inner blocks first; then file-scope variables defined in the user's files of that compilation unit.
//!   Statics of a function are of kind `Global`, and so are file-scope variables. Declarations without a definition,
//!   enumerators, artificial variables of the compiler and variables of the functions around an inlined one are not listed.
//!
//! # Canonical text of a value
//!
//! - integers of every size, characters, booleans and enumerations: decimal, by the signedness of the type;
//! - pointers, references and functions: `0x` and lower-case hexadecimal; a pointer that has no address
//!   (`DW_OP_implicit_pointer`): `(synthetic pointer)`;
//! - floats: the shortest decimal that reads back in their own width, spelled as Rust's `{:?}` does (`1.0`, `0.1`,
//!   `1e16`, `1e-5`, `inf`, `NaN`); x87 long doubles are rounded to double first;
//! - structures, unions, arrays and vectors: `{a, b}` with every member in order, nested; bit-fields are integers;
//!   padding does not show. A Rust enum is the name of its variant and the variant's members: `Some{5}`, `None{}`. After 256 nodes of the tree (aggregates count too) the text goes on with `...` only;
//! - a part of an aggregate that has no location here is `?`; when no part has one, the whole is `OptimizedOut`.
//!
//! No location at this pc is `OptimizedOut`, and so is an entry value that the caller does not give; a location that
//! cannot be evaluated or read is `Unreadable`.

use crate::Focus;
use crate::Placements;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use trueline_dwarf::{DwarfError, Module, Search};
use trueline_machine::inferior::{Follow, InferiorError, Refusal};
use trueline_model::{Debugger, EngineKind, LineKey, Policy, StepSink};
use trueline_toolchain::{Job, Launch, Limits, Onlooker};

/// Whether variables are evaluated at each stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vars {
    /// Locals, parameters and globals; references and classes of the C++ library as what they stand for.
    All,
    /// The same by their members alone, as they lie in memory.
    Layout,
    /// None: lines and frames only.
    None,
}

/// How often an address may show nothing new before it is no longer stopped at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Patience {
    /// Every stop is made, however long that takes.
    #[default]
    Endless,
    /// After so many visits in a row without anything new. Short traces are made in full all the same.
    Visits(u32),
}

/// Whose stops are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Threads {
    /// Those of the first thread.
    #[default]
    First,
    /// Those of every thread, one after the other: each is followed in a run of its own, while the others run beside it.
    Each,
}

/// One run to be traced.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// The binary.
    pub binary: PathBuf,
    /// How the program is started.
    pub launch: Launch,
    /// Files whose lines count, by base name; empty for every file the debug information names.
    pub user_files: Vec<String>,
    /// How the line table is read; only the native engine has a choice.
    pub policy: Policy,
    /// Whether variables are evaluated.
    pub vars: Vars,
    /// Which process is traced when the program forks, as it may only where that is allowed.
    pub follow: Follow,
    /// Whose stops are looked at; only the native engine has a choice.
    pub threads: Threads,
    /// Stops after which the trace is cut off.
    pub max_steps: u64,
    /// When addresses are given up; only the native engine does, and not under lldb's policy.
    pub patience: Patience,
    /// Which part of the run is looked at; only the native engine has a choice.
    pub focus: Focus,
    /// When the trace ends with what it has; only the native engine looks at the clock.
    pub deadline: Option<Instant>,
    /// Limits of the traced run, the debugger included.
    pub limits: Limits,
    /// Where debug files outside the binary are looked for.
    pub search: Search,
    /// The binary's debug information where somebody has read it already; only the native engine uses it.
    pub debug: Option<Arc<Module>>,
}

impl TraceRequest {
    /// A request with gdb's policy, all variables, a million steps and two minutes.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self {
            binary: binary.into(),
            launch: Launch::default(),
            user_files: Vec::new(),
            policy: Policy::Gdb,
            vars: Vars::All,
            follow: Follow::Parent,
            threads: Threads::First,
            max_steps: 1_000_000,
            patience: Patience::Endless,
            focus: Focus::default(),
            deadline: None,
            limits: Limits::seconds(120),
            search: Search::default(),
            debug: None,
        }
    }
}

impl TraceRequest {
    /// The run, for those who trace it themselves.
    pub(crate) fn job(&self) -> Result<Job, TraceError> {
        let prepared = self.launch.job(&self.binary, Onlooker::Tracer, &self.limits);
        prepared.map_err(|source| TraceError::System { what: "cannot prepare the run".into(), source })
    }
}

/// How a trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceEnd {
    /// Main returned (or the program exited).
    Finished,
    /// The step limit was reached.
    CutOff,
    /// The sink had seen enough.
    Stopped,
    /// The deadline came first.
    OutOfTime,
}

/// What is known after a trace.
#[derive(Clone, Debug)]
pub struct TraceSummary {
    /// How it ended.
    pub end: TraceEnd,
    /// Stops made.
    pub steps: u64,
    /// CPU time spent, traced program and debugger included.
    pub cpu: std::time::Duration,
    /// System calls that the confinement refused, as far as the engine noticed.
    pub refusals: Vec<Refusal>,
    /// Threads that were started beside the first, as far as the engine noticed.
    pub threads: u32,
    /// Those among them whose stops were looked at.
    pub followed: u32,
    /// Addresses of the user's code that the engine looked at, each once.
    pub addresses: u64,
    /// Those among them that it stopped looking at before the end.
    pub given_up: u64,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The binary cannot be traced at all.
    #[error("cannot trace {binary}: {reason}", binary = binary.display())]
    BadBinary {
        /// The binary.
        binary: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The program does not come to an end by itself, or does what it has no permission for.
    #[error("the program in {binary} {reason}", binary = binary.display())]
    BadProgram {
        /// The binary.
        binary: PathBuf,
        /// What it did: "crashed with signal 11 at line 7", "did not finish within 120 s"…
        reason: String,
    },
    /// The debugger is missing or broken.
    #[error(transparent)]
    Tool(#[from] trueline_toolchain::ToolError),
    /// The debugger failed in the middle.
    #[error("{engine} failed on {binary}: {reason}", binary = binary.display())]
    Debugger {
        /// Which.
        engine: EngineKind,
        /// The binary.
        binary: PathBuf,
        /// What it said.
        reason: String,
    },
    /// A process could not be run.
    #[error(transparent)]
    Job(#[from] trueline_toolchain::JobError),
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl From<InferiorError> for TraceError {
    fn from(error: InferiorError) -> Self {
        match error {
            InferiorError::BadProgram { binary, reason } => Self::BadProgram { binary, reason },
            InferiorError::Job(error) => Self::Job(error),
            InferiorError::System { what, source } => Self::System { what, source },
        }
    }
}

impl From<DwarfError> for TraceError {
    fn from(DwarfError { binary, reason }: DwarfError) -> Self {
        Self::BadBinary { binary, reason }
    }
}

/// A way to trace.
pub trait Engine: Sync {
    /// Which one.
    fn kind(&self) -> EngineKind;

    /// Traces one run, pushing each stop into `sink`.
    fn trace(&self, request: &TraceRequest, sink: &mut dyn StepSink) -> Result<TraceSummary, TraceError>;

    /// Where breakpoints on lines of the request's binary go; nothing is run. An engine without an opinion of its own goes
    /// by the request's policy.
    fn places(&self, request: &TraceRequest, lines: &[LineKey]) -> Result<Placements, TraceError> {
        crate::native::places(request, lines)
    }
}

/// An engine by its kind; finds the debugger it needs.
pub fn open_engine(kind: EngineKind) -> Result<Box<dyn Engine + Send + Sync>, TraceError> {
    Ok(match kind.debugger() {
        None => Box::new(crate::NativeEngine),
        Some(Debugger::Gdb) => Box::new(crate::GdbEngine::of(kind)?),
        Some(Debugger::Lldb) => Box::new(crate::LldbEngine::of(kind)?),
    })
}
