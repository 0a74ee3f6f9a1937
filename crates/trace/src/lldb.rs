//! The lldb engine: step-in through the SB API, by a Python tracer inside lldb.
//!
//! The tracer is imported by lldb's own interpreter: Debian's python module for lldb cannot be loaded
//! from outside without the development package.

use crate::debugger;
use crate::{Engine, Placements, TraceError, TraceRequest, TraceSummary};
use std::path::Path;
use trueline_model::{EngineKind, LineKey, StepSink};
use trueline_toolchain::{Job, Tool, ToolKind, find_tool};

pub(crate) const TRACER: &str = include_str!("tracers/lldb.py");

/// lldb, found once and used for every trace.
#[derive(Clone, Debug)]
pub struct LldbEngine {
    kind: EngineKind,
    tool: Tool,
}

impl LldbEngine {
    /// Finds lldb (or the newest lldb-N) on PATH.
    pub fn find() -> Result<Self, TraceError> {
        Self::of(EngineKind::Lldb)
    }

    /// Finds the one that an engine's name asks for, the host's or a fetched one.
    pub fn of(kind: EngineKind) -> Result<Self, TraceError> {
        Ok(Self { kind, tool: find_tool(ToolKind::Lldb, kind.program().as_deref())? })
    }

    /// Uses the lldb that was found already.
    pub fn with(tool: Tool) -> Self {
        Self { kind: EngineKind::Lldb, tool }
    }

    /// The version that lldb gives of itself.
    pub fn version(&self) -> &str {
        &self.tool.version
    }
}

impl Engine for LldbEngine {
    fn kind(&self) -> EngineKind {
        self.kind
    }

    fn trace(&self, request: &TraceRequest, sink: &mut dyn StepSink) -> Result<TraceSummary, TraceError> {
        debugger::run(self.kind, &self.tool, TRACER, with_tracer, request, sink)
    }

    fn places(&self, request: &TraceRequest, lines: &[LineKey]) -> Result<Placements, TraceError> {
        debugger::places(self.kind, &self.tool, TRACER, with_tracer, request, lines)
    }
}

/// lldb with a tracer, and with nothing that a user or a binary could bring along.
pub(crate) fn with_tracer(job: Job, script: &Path) -> Job {
    let import = format!("command script import {}", script.display());
    // Each lldb-server asks the shell script lsb_release twice which system this is, a fifth of what a short program costs; it
    // ends at once when it finds no tools. lldb itself starts nothing by name.
    let job = job.env("PATH", "/nonexistent");
    job.args(["--no-lldbinit", "--batch", "-O", "settings set target.load-script-from-symbol-file false", "-o"]).arg(import)
}
