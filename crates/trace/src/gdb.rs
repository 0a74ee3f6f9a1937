//! The gdb engine: `step`, from main to its return, by a Python tracer inside gdb.

use crate::debugger;
use crate::{Engine, Placements, TraceError, TraceRequest, TraceSummary};
use std::path::Path;
use trueline_model::{EngineKind, LineKey, StepSink};
use trueline_toolchain::{Job, Tool, ToolKind, find_tool};

pub(crate) const TRACER: &str = include_str!("tracers/gdb.py");

/// gdb, found once and used for every trace.
#[derive(Clone, Debug)]
pub struct GdbEngine {
    kind: EngineKind,
    tool: Tool,
}

impl GdbEngine {
    /// Finds gdb on PATH.
    pub fn find() -> Result<Self, TraceError> {
        Self::of(EngineKind::Gdb)
    }

    /// Finds the one that an engine's name asks for, the host's or a fetched one.
    pub fn of(kind: EngineKind) -> Result<Self, TraceError> {
        Ok(Self { kind, tool: find_tool(ToolKind::Gdb, kind.program().as_deref())? })
    }

    /// Uses the gdb that was found already.
    pub fn with(tool: Tool) -> Self {
        Self { kind: EngineKind::Gdb, tool }
    }

    /// gdb's version.
    pub fn version(&self) -> &str {
        &self.tool.version
    }
}

impl Engine for GdbEngine {
    fn kind(&self) -> EngineKind {
        self.kind
    }

    fn trace(&self, request: &TraceRequest, sink: &mut dyn StepSink) -> Result<TraceSummary, TraceError> {
        // Before the binary is read; the tracer then keeps the libraries from being looked up there.
        let directories = request.search.debug_dirs.iter().map(|d| d.display().to_string()).collect::<Vec<_>>().join(":");
        let directories = format!("set debug-file-directory {directories}");
        let command = |job: Job, script: &Path| {
            with_tracer(job, script).arg("-iex").arg(&directories).arg("--args").arg(&request.binary).args(&request.launch.args)
        };
        debugger::run(self.kind, &self.tool, TRACER, command, request, sink)
    }

    fn places(&self, request: &TraceRequest, lines: &[LineKey]) -> Result<Placements, TraceError> {
        debugger::places(self.kind, &self.tool, TRACER, with_tracer, request, lines)
    }
}

/// gdb with a tracer, and with nothing that a user or a binary could bring along.
pub(crate) fn with_tracer(job: Job, script: &Path) -> Job {
    job.args(["-nx", "-nh", "-batch", "-iex", "set auto-load off", "-iex", "set auto-load safe-path /nonexistent"])
        .args(["-iex", "set debuginfod enabled off", "-iex", "set debug-file-directory /nonexistent"])
        .arg("-x")
        .arg(script)
}
