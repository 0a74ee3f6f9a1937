//! The native engine as a small debugger: commands in, replies out. The same commands give the same replies.
//!
//! Deliberately absent: printing (the command line's), anything that changes the program, other threads than the first.

mod command;
pub mod dap;
mod reference;

pub use command::{DebugCommand, StopPlace, parse};
pub use reference::{Mark, ReferenceValues};

use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;
use trueline_model::{FileName, FrameKind, Line, LineKey, Observation, Variable};
use trueline_trace::native::{Answer, BreakOn, Gait, Halt, Session};
use trueline_trace::{TraceError, TraceRequest};

/// A frame as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownFrame {
    /// The function.
    pub function: String,
    /// Whether it was inlined.
    pub inlined: bool,
    /// The file, where the debug information says one.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The link-time address.
    pub pc: u64,
}

/// A variable as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownVariable {
    /// Its name.
    pub name: String,
    /// Its value; none where it has none here.
    pub value: Option<String>,
    /// Why it has none.
    pub absent: Option<String>,
    /// What is wrong with it, by the reference.
    pub mark: Option<Mark>,
}

/// What a command comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub enum Reply {
    /// Breakpoints were set, at these link-time addresses.
    Breakpoints {
        /// In rising order.
        addresses: Vec<u64>,
    },
    /// The program stands.
    Stopped {
        /// At a breakpoint, or after a step.
        breakpoint: bool,
        /// Where.
        at: Option<ShownFrame>,
    },
    /// The program is over.
    Ended {
        /// How.
        how: String,
    },
    /// The frames, innermost first.
    Backtrace {
        /// All of them.
        frames: Vec<ShownFrame>,
    },
    /// Variables.
    Variables {
        /// Innermost block first.
        variables: Vec<ShownVariable>,
    },
    /// The value of an expression.
    Value {
        /// Its text; none where it has none.
        value: Option<String>,
        /// Why it has none.
        absent: Option<String>,
    },
    /// The command could not be done.
    Failed {
        /// Why not.
        reason: String,
    },
    /// The end was asked for.
    Quit,
}

/// A program, and somebody who looks at it.
#[derive(Debug)]
pub struct ProgramDebugger {
    request: TraceRequest,
    breaks: Vec<StopPlace>,
    session: Option<Session>,
    reference: Option<ReferenceValues>,
}

impl ProgramDebugger {
    /// Nothing is read before it is needed.
    pub fn new(request: TraceRequest, reference: Option<ReferenceValues>) -> Self {
        Self { request, breaks: Vec::new(), session: None, reference }
    }

    /// Does what is asked.
    pub fn obey(&mut self, command: &DebugCommand) -> Result<Reply, TraceError> {
        match command {
            DebugCommand::Quit => Ok(Reply::Quit),
            DebugCommand::Break(place) => self.break_at(place),
            DebugCommand::Run => self.run(),
            _ if self.session.is_none() => Ok(Reply::Failed { reason: "the program is not being run; `run` starts it".to_owned() }),
            DebugCommand::Continue => self.go(1, Session::go_on),
            DebugCommand::Step(count) => self.go(*count, |session| session.step(Gait::Into)),
            DebugCommand::Next(count) => self.go(*count, |session| session.step(Gait::Over)),
            DebugCommand::Finish => self.go(1, Session::finish),
            DebugCommand::Backtrace => self.with(|session| {
                let frames = session.backtrace();
                Reply::Backtrace { frames: frames.frames.iter().map(shown).collect() }
            }),
            DebugCommand::Locals => Ok(self.variables(false)),
            DebugCommand::Args => Ok(self.variables(true)),
            DebugCommand::Print(text) => self.with(|session| print(session, text)),
        }
    }

    /// Sets these breakpoints and no others; where each goes, in link-time addresses.
    pub fn replace_breaks(&mut self, places: &[StopPlace]) -> Result<Vec<Vec<u64>>, TraceError> {
        self.read()?;
        if let Some(session) = &mut self.session {
            session.clear_breaks()?;
        }
        self.breaks = places.to_vec();
        let mut found = Vec::new();
        for place in places {
            found.push(match &mut self.session {
                Some(session) => set(session, place)?,
                None => Session::would_break(&self.request, &target(place))?,
            });
        }
        Ok(found)
    }

    fn with(&mut self, look: impl FnOnce(&mut Session) -> Reply) -> Result<Reply, TraceError> {
        Ok(self.session.as_mut().map_or_else(|| Reply::Failed { reason: "the program is not being run".to_owned() }, look))
    }

    fn break_at(&mut self, place: &StopPlace) -> Result<Reply, TraceError> {
        let mut addresses = match &mut self.session {
            Some(session) => set(session, place)?,
            None => {
                self.read()?;
                Session::would_break(&self.request, &target(place))?
            }
        };
        addresses.sort_unstable();
        addresses.dedup();
        if addresses.is_empty() {
            return Ok(Reply::Failed { reason: "there is no code for it".to_owned() });
        }
        self.breaks.push(place.clone());
        Ok(Reply::Breakpoints { addresses })
    }

    /// Reads the binary, once for all runs.
    fn read(&mut self) -> Result<(), TraceError> {
        if self.request.debug.is_none() {
            self.request.debug = Some(Session::read(&self.request)?);
        }
        Ok(())
    }

    fn run(&mut self) -> Result<Reply, TraceError> {
        self.read()?;
        let mut session = Session::start(&self.request)?;
        for place in &self.breaks {
            set(&mut session, place)?;
        }
        self.session = Some(session);
        self.go(1, Session::go_on)
    }

    fn go(&mut self, count: u32, mut way: impl FnMut(&mut Session) -> Result<Halt, TraceError>) -> Result<Reply, TraceError> {
        let Some(session) = self.session.as_mut() else { return self.run() };
        let mut is_breakpoint = false;
        for _ in 0..count.max(1) {
            match way(session)? {
                Halt::Ended(how) => {
                    self.session = None;
                    return Ok(Reply::Ended { how });
                }
                Halt::At(_) => {
                    is_breakpoint = true;
                    break;
                }
                Halt::Stepped(_) => {}
            }
        }
        let at = session.backtrace().frames.first().map(shown);
        Ok(Reply::Stopped { breakpoint: is_breakpoint, at })
    }

    fn variables(&mut self, params: bool) -> Reply {
        let Some(session) = self.session.as_mut() else { return Reply::Failed { reason: "the program is not being run".to_owned() } };
        let place = session.backtrace().frames.first().and_then(|f| {
            let (file, line) = (f.frame.file.as_ref()?, f.frame.line?);
            Some((LineKey { file: FileName::new(file.base()), line }, Arc::clone(&f.frame.function)))
        });
        let judge = |variable: &Variable| match (&self.reference, &place) {
            (Some(reference), Some((line, function))) => reference.judge(line, function, variable),
            _ => None,
        };
        let variables = session.variables(params);
        Reply::Variables { variables: variables.iter().map(|v| ShownVariable { mark: judge(v), ..plain(v) }).collect() }
    }
}

fn target(place: &StopPlace) -> BreakOn {
    match place {
        StopPlace::Line(file, line) => BreakOn::Line(file.clone(), Line(*line)),
        StopPlace::Function(name) => BreakOn::Function(name.clone()),
        StopPlace::Address(address) => BreakOn::Address(*address),
    }
}

fn set(session: &mut Session, place: &StopPlace) -> Result<Vec<u64>, TraceError> {
    session.break_on(&target(place))
}

fn plain(variable: &Variable) -> ShownVariable {
    let (value, absent) = match &variable.observation {
        Observation::Value(text) => (Some(text.to_string()), None),
        Observation::OptimizedOut => (None, Some("optimized out".to_owned())),
        Observation::Unreadable => (None, Some("unreadable".to_owned())),
        Observation::NotInScope => (None, Some("not in scope".to_owned())),
    };
    ShownVariable { name: variable.name.to_string(), value, absent, mark: None }
}

fn print(session: &mut Session, text: &str) -> Reply {
    let expression = match session.understand(text) {
        Ok(expression) => expression,
        Err(reason) => return Reply::Failed { reason: reason.to_string() },
    };
    let (value, absent) = match session.look(&expression) {
        Answer::Value(text) => (Some(text), None),
        Answer::OptimizedOut => (None, Some("optimized out".to_owned())),
        Answer::NotInScope => (None, Some("no such name here".to_owned())),
        Answer::Unreadable(reason) | Answer::Refused(reason) | Answer::Unsupported(reason) => (None, Some(reason)),
    };
    Reply::Value { value, absent }
}

fn shown(frame: &trueline_trace::native::StackFrame) -> ShownFrame {
    ShownFrame {
        function: frame.frame.function.to_string(),
        inlined: frame.frame.kind == FrameKind::Inlined,
        file: frame.frame.file.as_ref().map(|f| f.as_str().to_owned()),
        line: frame.frame.line.map(|l| l.0),
        pc: frame.pc,
    }
}
