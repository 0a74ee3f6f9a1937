//! A debugger that is spoken to: a script of the caller's runs inside gdb or lldb, takes a line of JSON from standard input and
//! answers with one. For whoever needs the answer before the next question is known.
//!
//! Deliberately absent: what is said. The script and its caller know.

use crate::{TraceError, debugger, gdb, lldb};
use serde_json::Value;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trueline_model::{Debugger, EngineKind};
use trueline_toolchain::{Confinement, Job, Limits, Scratch, Tool};

/// A debugger that waits for what is said next.
pub struct Dialogue {
    kind: EngineKind,
    binary: PathBuf,
    questions: Option<std::io::PipeWriter>,
    answers: Receiver<Vec<u8>>,
    pending: Vec<u8>,
    deadline: Instant,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Dialogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialogue").field("kind", &self.kind).field("binary", &self.binary).finish_non_exhaustive()
    }
}

impl Dialogue {
    /// Starts the debugger with a script that may import `shared` (and `gdb_values` in gdb) and reads `shared.QUESTIONS`. Nothing
    /// that a user or a binary could bring along is loaded. `seconds` is for all that is said.
    pub fn start(kind: EngineKind, tool: &Tool, script: &str, binary: &Path, seconds: u64) -> Result<Self, TraceError> {
        let system = |what: &'static str| move |source| TraceError::System { what: what.to_owned(), source };
        let scratch = Scratch::new().map_err(system("cannot make a scratch directory"))?;
        let (reader, writer) = std::io::pipe().map_err(system("cannot make a pipe"))?;
        let limits = Limits { output: usize::MAX, memory: None, ..Limits::seconds(seconds) };
        let job = tool.job().limits(limits).confine(Confinement::traced()).stdin_from(reader);
        let (script, job) = debugger::install(&scratch, script, job).map_err(system("cannot write the script"))?;
        let with: fn(Job, &Path) -> Job = match kind.debugger() {
            Some(Debugger::Lldb) => lldb::with_tracer,
            _ => gdb::with_tracer,
        };
        let job = with(job, &script);
        let (sender, answers) = channel();
        let thread = std::thread::spawn(move || {
            // The receiver hears of the end by the channel's; what was said on the way out is of no use.
            let _ = job.stream(|chunk| match sender.send(chunk.to_vec()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            });
            drop(scratch);
        });
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let (questions, pending) = (Some(writer), Vec::new());
        Ok(Self { kind, binary: binary.to_owned(), questions, answers, pending, deadline, thread: Some(thread) })
    }

    /// Says something and waits for the answer.
    pub fn say(&mut self, what: &Value) -> Result<Value, TraceError> {
        let mut line = serde_json::to_vec(what).expect("plain data");
        line.push(b'\n');
        let written = self.questions.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&line));
        written.map_err(|e| self.failed(format!("it takes no questions: {e}")))?;
        loop {
            while let Some(end) = self.pending.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                // Debuggers echo commands before the script takes over their output.
                if line.first() == Some(&b'{') {
                    return serde_json::from_slice(&line).map_err(|e| self.failed(format!("its answer cannot be read: {e}")));
                }
            }
            match self.answers.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok(chunk) => self.pending.extend_from_slice(&chunk),
                Err(RecvTimeoutError::Timeout) => {
                    self.thread = None; // it hangs; its own limit ends it
                    return Err(self.failed("it does not answer in time".to_owned()));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed("it ended before it answered".to_owned())),
            }
        }
    }

    fn failed(&self, reason: String) -> TraceError {
        TraceError::Debugger { engine: self.kind, binary: self.binary.clone(), reason }
    }
}

impl Drop for Dialogue {
    /// The end of the questions ends the debugger; waiting for it makes its CPU time count.
    fn drop(&mut self) {
        drop(self.questions.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
