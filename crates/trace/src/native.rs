//! The native engine: our own reader of DWARF and driver of ptrace.
//!
//! It exists for speed, and as a third reader of the same debug information, so that a compiler's fault and a debugger's
//! can be told apart. The program is stopped on every address where a debugger could change its mind; a policy then
//! says which of those stops its debugger would have shown.
//!
//! Deliberately absent: languages other than C, C++ and Rust.

mod coverage;
mod eval;
mod facts;
mod frame;
mod glide;
mod libraries;
mod library;
mod module;
mod moments;
mod observable;
mod path;
mod places;
mod policy;
mod retire;
mod session;
mod stack;
mod tailcall;
mod tracer;
mod value;
mod watch;

pub use coverage::{LineCoverage, executed_lines};
pub use facts::{Facts, FunctionExtent, LineRow, LocationFact, Scope, ScopeKind};
pub use libraries::{LoadedLibrary, loaded_libraries, spans as library_spans};
pub use moments::{CallNote, Moment, MomentPlan, Moments, record_moments};
pub use places::places;
pub use session::{Answer, Backtrace, BreakOn, Expression, Gait, Halt, NotUnderstood, Session, StackFrame};

use crate::{Engine, Threads, TraceEnd, TraceError, TraceRequest, TraceSummary};
use std::time::Duration;
use trueline_dwarf::{cfi, line, op};
use trueline_model::{EngineKind, StepSink};

/// The native engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeEngine;

impl Engine for NativeEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::Native
    }

    fn trace(&self, request: &TraceRequest, sink: &mut dyn StepSink) -> Result<TraceSummary, TraceError> {
        let started = thread_cpu();
        let module = module::Module::of(request)?;
        let mut run = tracer::Tracer::launch(&module, request, 0)?.run(sink)?;
        let mut followed = 0;
        while request.threads == Threads::Each && followed < run.threads.min(MOST_THREADS) && run.end == TraceEnd::Finished {
            followed += 1;
            let rest = TraceRequest { max_steps: request.max_steps - run.steps, ..request.clone() };
            run.add(tracer::Tracer::launch(&module, &rest, followed)?.run(sink)?);
        }
        Ok(TraceSummary {
            end: run.end,
            steps: run.steps,
            cpu: thread_cpu().saturating_sub(started) + run.program_cpu,
            refusals: run.refusals,
            threads: run.threads,
            followed,
            addresses: run.addresses.len() as u64,
            given_up: run.given_up.len() as u64,
        })
    }
}

/// Threads that are followed of one program, each in a run of its own.
pub const MOST_THREADS: u32 = 32;

/// CPU time of the calling thread.
fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime writes one value, to a place on this stack.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
