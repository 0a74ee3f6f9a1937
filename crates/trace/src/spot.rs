//! Debuggers that stay: each is started once and asked about one binary after the other, at single addresses.
//!
//! Starting gdb costs a tenth of a second and lldb half of one; reading what they have to say about an address of a
//! binary costs a few thousandths. That is how every finding of a campaign can be shown to both.
//!
//! Deliberately absent: stepping. What a debugger shows on its way is an [`Engine`](crate::Engine)'s.

use crate::debugger::{self, Reader, Target};
use crate::{TraceError, Vars, gdb, lldb};
use parking_lot::Mutex;
use serde::Serialize;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trueline_dwarf::Search;
use trueline_model::{Debugger, EngineKind, Trace};
use trueline_toolchain::{Confinement, Launch, Limits, Scratch, Tool, ToolKind, find_tool};

/// Questions to one process before it is replaced: debuggers keep what they have read.
const QUESTIONS: u32 = 200;

/// How long an answer may take. The programs asked about have run to their end before.
const PATIENCE: Duration = Duration::from_secs(60);

/// An address to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Spot(
    /// The link-time address.
    pub u64,
    /// At how many visits of the running program to stop there. With none the debugger is asked what it reads there without
    /// running anything: the line, the inlined functions and the names in scope, but no values and no callers.
    pub u32,
);

/// One question.
#[derive(Clone, Copy, Debug)]
pub struct SpotRequest<'a> {
    /// The binary.
    pub binary: &'a Path,
    /// How the program is started.
    pub launch: &'a Launch,
    /// Files whose lines count, by base name.
    pub user_files: &'a [String],
    /// Where debug files outside the binary are looked for.
    pub search: &'a Search,
    /// Where to look.
    pub spots: &'a [Spot],
}

#[derive(Serialize)]
struct SpotMessage<'a> {
    #[serde(flatten)]
    target: Target<'a>,
    spots: &'a [Spot],
}

/// Processes of one debugger, as many as threads ask at the same time.
pub struct DebuggerPool {
    kind: EngineKind,
    tool: Tool,
    idle: Mutex<Vec<Session>>,
}

/// One running debugger.
struct Session {
    questions: Option<std::io::PipeWriter>,
    answers: Receiver<Vec<u8>>,
    asked: u32,
    thread: Option<JoinHandle<()>>,
}

impl DebuggerPool {
    /// Finds the debugger; starts nothing yet. `None` for the native engine, which needs no such help.
    pub fn find(kind: EngineKind) -> Result<Option<Self>, TraceError> {
        let family = match kind.debugger() {
            None => return Ok(None),
            Some(Debugger::Gdb) => ToolKind::Gdb,
            Some(Debugger::Lldb) => ToolKind::Lldb,
        };
        let tool = find_tool(family, kind.program().as_deref())?;
        Ok(Some(Self { kind, tool, idle: Mutex::default() }))
    }

    /// What the debugger shows at the spots: no step, one or several for each.
    pub fn look(&self, request: &SpotRequest<'_>) -> Result<Trace, TraceError> {
        trueline_dwarf::Module::look_for(request.binary, request.search)?;
        let rested = self.idle.lock().pop();
        // One that has waited too long may have come to its limits: a new one is asked again.
        if let Some(session) = rested
            && let Ok(answer) = self.put(session, request)
        {
            return Ok(answer);
        }
        self.put(self.start()?, request)
    }

    fn put(&self, mut session: Session, request: &SpotRequest<'_>) -> Result<Trace, TraceError> {
        let answer = session.ask(self.kind, request)?;
        // A session that failed may be in any state and is not kept.
        if session.asked < QUESTIONS {
            self.idle.lock().push(session);
        }
        Ok(answer)
    }

    /// Ends the processes that wait for questions; their CPU time counts as that of children from then on.
    pub fn dismiss(&self) {
        self.idle.lock().clear();
    }

    fn start(&self) -> Result<Session, TraceError> {
        let system = |what: &'static str| move |source| TraceError::System { what: what.to_owned(), source };
        let scratch = Scratch::new().map_err(system("cannot make a scratch directory"))?;
        let (source, command): (&str, fn(trueline_toolchain::Job, &Path) -> trueline_toolchain::Job) = match self.kind.debugger() {
            Some(Debugger::Lldb) => (lldb::TRACER, lldb::with_tracer),
            _ => (gdb::TRACER, gdb::with_tracer),
        };
        let (reader, writer) = std::io::pipe().map_err(system("cannot make a pipe"))?;
        let limits = Limits { output: usize::MAX, memory: None, ..Limits::seconds(3600) };
        let job = self.tool.job().env(debugger::CONFIG, r#"{"resident":true}"#).limits(limits).confine(Confinement::traced());
        let (script, job) = debugger::install(&scratch, source, job).map_err(system("cannot write the tracer"))?;
        let job = command(job.stdin_from(reader), &script);
        let (sender, answers) = channel();
        let thread = std::thread::spawn(move || {
            // The receiver hears of the end by the channel's; what was said on the way out is of no use.
            let _ = job.stream(|chunk| match sender.send(chunk.to_vec()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            });
            drop(scratch);
        });
        Ok(Session { questions: Some(writer), answers, asked: 0, thread: Some(thread) })
    }
}

impl Session {
    fn ask(&mut self, kind: EngineKind, request: &SpotRequest<'_>) -> Result<Trace, TraceError> {
        self.asked += 1;
        let SpotRequest { binary, launch, user_files, search, spots } = *request;
        let failed = |reason: String| TraceError::Debugger { engine: kind, binary: binary.to_owned(), reason };
        let question = SpotMessage { target: Target::new(binary, launch, user_files, search, Vars::All)?, spots };
        let mut line = serde_json::to_vec(&question).expect("plain data");
        line.push(b'\n');
        let pipe = self.questions.as_mut().expect("open until dropped");
        pipe.write_all(&line).map_err(|e| failed(format!("it takes no questions: {e}")))?;
        let mut trace = Trace::default();
        let mut reader = Reader::new(&mut trace);
        let deadline = Instant::now() + PATIENCE;
        while !reader.is_over() {
            match self.answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(chunk) => drop(reader.feed(&chunk)),
                Err(RecvTimeoutError::Timeout) => {
                    self.thread = None; // it hangs; its own limit ends it
                    return Err(failed(format!("no answer within {} s", PATIENCE.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(failed("it ended in the middle of an answer".to_owned())),
            }
        }
        match reader.complaint() {
            None => Ok(trace),
            Some(reason) => Err(failed(reason)),
        }
    }
}

impl Drop for Session {
    /// The end of the questions ends the debugger; waiting for it makes its CPU time count.
    fn drop(&mut self) {
        drop(self.questions.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
