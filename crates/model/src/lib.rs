//! The types that every part of Trueline speaks: programs, builds, traces, violations, findings.
//!
//! Deliberately absent: any I/O, any process, any judgement. A type lives here when two crates that
//! must not know one another exchange it; everything else stays with its owner.

mod compiler;
mod coverage;
mod engine;
mod explanation;
mod finding;
mod preprocessed;
mod program;
mod seam;
mod source;
mod trace;
mod violation;
pub mod wording;

pub use compiler::{CompilerId, CompilerKind, OptLevel, ParseOptLevelError};
pub use coverage::{CodeFunction, CodeMap, Coverage, CoverageSet};
pub use engine::{Debugger, EngineKind, Policy};
pub use explanation::{BlamedPass, Explanation, ExplanationState, KnownAs, MissingUpdate, WatchState, WatchedUpdates};
pub use finding::{Fault, Finding, FindingId, Fingerprint, FingerprintEntry, PassName, PassRole, Reader, Reading, Resource, Verdict};
pub use preprocessed::OwnText;
pub use program::{Language, Origin, ParseLanguageError, Program};
pub use seam::{Interesting, Recoverability, SeamError, StillShows, Validity};
pub use source::{FileName, Line, LineKey};
pub use trace::{CallId, Frame, FrameKind, News, Observation, Statics, Step, StepSink, Trace, TraceHeader, VarKey, VarKind, Variable};
pub use violation::*;
