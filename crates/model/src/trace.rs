//! What a debugger showed: one [`Step`] per stop, in order.
//!
//! A trace of a million steps never sits in memory: engines push steps into a [`StepSink`], and only
//! consumers that want everything (the `trace` command's small outputs, tests) collect a [`Trace`].

use crate::{EngineKind, FileName, Line, LineKey, Policy};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a reader learned of one variable at one stop.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state", content = "value")]
pub enum Observation {
    /// A value, in the canonical text form: decimal integers (characters and booleans too), hexadecimal
    /// `0x…` for pointers, shortest round-trip decimal for floats, `{a, b}` for aggregates.
    Value(Arc<str>),
    /// The debug information says it has no location here.
    OptimizedOut,
    /// A location was given but could not be read or evaluated.
    Unreadable,
    /// The variable is known to the function but not visible here.
    NotInScope,
}

/// What a variable is to its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VarKind {
    /// Declared in a block.
    Local,
    /// A formal parameter.
    Param,
    /// Declared at file scope, or static in a function.
    Global,
}

/// Which variable: never the name alone. Two inlined copies of a function have the same key on purpose:
/// they are the same source variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VarKey {
    /// The function it belongs to; empty for globals.
    pub function: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The line of its declaration, 0 when the debug information has none.
    pub decl_line: u32,
}

/// One variable at one stop.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// What it is to its function.
    pub kind: VarKind,
    /// The line of its declaration, 0 when the debug information has none.
    pub decl_line: u32,
    /// Its type as C (or Rust) spells it, empty when the reader does not say.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub type_name: Arc<str>,
    /// True when the type is a pointer or holds one: such values differ between runs by right.
    #[serde(default)]
    pub holds_pointer: bool,
    /// What the reader learned.
    #[serde(flatten)]
    pub observation: Observation,
}

/// Whether a frame has a real activation on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FrameKind {
    /// A call was executed.
    Real,
    /// The debug information says that the code was inlined from there.
    Inlined,
}

/// One frame of a backtrace, innermost first in a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Frame {
    /// The function's name.
    pub function: Arc<str>,
    /// Real or inlined.
    pub kind: FrameKind,
    /// File of the frame's current line (for outer frames: of the call).
    pub file: Option<FileName>,
    /// The frame's current line (for outer frames: of the call).
    pub line: Option<Line>,
}

/// One stop of a debugger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Step {
    /// Counted from 0.
    pub step: u64,
    /// File of the stop, `None` where the debug information has no line.
    pub file: Option<FileName>,
    /// Line of the stop, `None` where the debug information has no line.
    pub line: Option<Line>,
    /// Program counter as a link-time address (load bias removed).
    pub pc: u64,
    /// The backtrace, innermost frame first, down to main, user code only.
    pub frames: Arc<[Frame]>,
    /// Every variable visible in the innermost frame, and the globals.
    pub vars: Vec<Variable>,
}

impl Step {
    /// The stop's line as a key, when it has one.
    pub fn key(&self) -> Option<LineKey> {
        Some(LineKey { file: self.file.clone()?, line: self.line? })
    }

    /// The innermost function's name, empty when the trace has no frame.
    pub fn function(&self) -> &str {
        self.frames.first().map_or("", |f| &f.function)
    }
}

/// What precedes the steps of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TraceHeader {
    /// `trueline.trace/1`.
    pub schema: String,
    /// Who traced.
    pub engine: EngineKind,
    /// Whose habits a native trace was read with.
    pub policy: Option<Policy>,
    /// The traced binary, as given.
    pub binary: String,
}

/// How much a sink learned from what it was told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum News {
    /// Nothing that it did not know.
    #[default]
    Nothing,
    /// Values that it had not seen, or a way of calls among functions that it had seen together.
    Values,
    /// An address, or functions that it had not seen active together there.
    Frames,
}

/// Which static variables of fixed addresses a sink wants at each stop. At the first stop at an address it hears of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statics {
    /// All that are visible.
    All,
    /// Those of a moderate size that are not as they were when they were last handed over.
    Changed,
    /// None: what memory holds at a fixed address is no claim of the debug information.
    None,
}

/// Takes steps as an engine makes them. Returning `Break` ends the trace early, in good order.
pub trait StepSink {
    /// One stop.
    fn step(&mut self, step: Step) -> ControlFlow<()>;

    /// Whether [`StepSink::pass`] is of use; engines that can tell then do.
    fn wants_passes(&self) -> bool {
        false
    }

    /// The run came to the code of `lines` with these frames active, whether or not a debugger would have stopped there. Told once
    /// for each address and each way to it.
    fn pass(&mut self, _lines: &[LineKey], _frames: &Arc<[Frame]>) {}

    /// What the last step or pass told. An engine may stop no more at addresses that tell nothing new.
    fn news(&self) -> News {
        News::Frames
    }

    /// Which static variables are wanted; engines may hand over more.
    fn statics(&self) -> Statics {
        Statics::All
    }

    /// From now on an address of these lines, in code of these functions, is no longer stopped at.
    fn give_up(&mut self, _lines: &[LineKey], _functions: &[Arc<str>]) {}

    /// Whether [`StepSink::call`] and [`StepSink::stand`] are of use; engines that can tell then do.
    fn wants_calls(&self) -> bool {
        false
    }

    /// A function was called: the frames at its first instruction, its own real one and those around it, innermost first.
    /// Numbers rise from call to call; main has no caller.
    fn call(&mut self, _call: CallId, _caller: Option<CallId>, _frames: &[Frame]) {}

    /// The steps that follow are in this call, in it or in what was inlined into it.
    fn stand(&mut self, _call: CallId) {}
}

/// One call of a function that has code of its own, counted in the order of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u32);

/// A whole trace in memory, for small programs and tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The stops in order.
    pub steps: Vec<Step>,
}

impl StepSink for Trace {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        self.steps.push(step);
        ControlFlow::Continue(())
    }
}
