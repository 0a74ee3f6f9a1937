//! A debugger from where a script sits: breakpoints, moves, frames and values, the same for every engine.

use crate::answer::{Said, SaidAnswer};
use crate::script::Place;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use trueline_model::{Debugger, EngineKind, Line, Policy};
use trueline_toolchain::{Limits, Tool};
use trueline_trace::native::{Answer, BreakOn, Gait, Halt, Session};
use trueline_trace::{Dialogue, TraceRequest};

const GDB: &str = concat!(include_str!("gdb_common.py"), include_str!("serve.py"), include_str!("drive_gdb.py"));
const LLDB: &str = concat!(include_str!("serve.py"), include_str!("drive_lldb.py"));

/// How the program moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// To the next breakpoint.
    Go,
    /// To the next line, over calls.
    Over,
    /// To the next line, into calls.
    Into,
    /// Out of the function.
    Out,
}

/// A frame as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeatFrame {
    pub function: String,
    /// The base name of the file.
    pub file: Option<String>,
    pub line: u32,
}

/// Where a move has led.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    At {
        /// Innermost first.
        frames: Vec<SeatFrame>,
        /// The breakpoints that were hit.
        hits: Vec<u32>,
        /// What a real debugger printed.
        text: String,
    },
    /// The program is over, and how.
    Over(String),
}

/// What is seen of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub answer: Answer,
    /// The debugger's own text; the native engine has none.
    pub printed: Option<String>,
    pub type_name: Option<String>,
}

/// Somebody who sits at a debugger. Errors are those of the engine, not of the program.
pub(crate) trait Seat {
    /// Sets a breakpoint; none where there is no code for it.
    fn place(&mut self, place: &Place) -> Result<Option<u32>, String>;
    /// Takes breakpoints out.
    fn delete(&mut self, breakpoints: &[u32]) -> Result<(), String>;
    /// Moves the program; the first move starts it.
    fn go(&mut self, how: Move) -> Result<Stand, String>;
    /// Looks at an expression in the innermost frame, by a command of the debugger's where one is given.
    fn look(&mut self, expression: &str, command: Option<&str>) -> Result<Seen, String>;
    /// Gives a command; none where the engine takes none.
    fn say(&mut self, command: &str) -> Result<Option<String>, String>;
}

/// A seat at the native engine.
pub(crate) struct NativeSeat {
    session: Session,
    file: String,
    breaks: Vec<(u32, BreakOn)>,
    placed: Vec<(u32, Vec<u64>)>,
    next: u32,
}

impl NativeSeat {
    /// Starts the program; it stands before its first instruction.
    pub fn start(policy: Policy, binary: &Path, file: &str, arguments: &[String], seconds: u64) -> Result<Self, String> {
        let mut request = TraceRequest::new(binary);
        request.policy = policy;
        request.limits = Limits::seconds(seconds);
        request.launch.args = arguments.to_vec();
        request.debug = Some(Session::read(&request).map_err(|e| e.to_string())?);
        let session = Session::start(&request).map_err(|e| e.to_string())?;
        Ok(Self { session, file: file.to_owned(), breaks: Vec::new(), placed: Vec::new(), next: 1 })
    }

    fn set(&mut self, number: u32, on: BreakOn) -> Result<bool, String> {
        let addresses = self.session.break_on(&on).map_err(|e| e.to_string())?;
        let is_set = !addresses.is_empty();
        if is_set {
            self.breaks.push((number, on));
            self.placed.push((number, addresses));
        }
        Ok(is_set)
    }
}

impl Seat for NativeSeat {
    fn place(&mut self, place: &Place) -> Result<Option<u32>, String> {
        let on = match place {
            Place::Line(line) => BreakOn::Line(Some(self.file.clone()), Line(*line)),
            Place::Function(name) => BreakOn::Function(name.clone()),
        };
        let number = self.next;
        self.next += 1;
        Ok(self.set(number, on)?.then_some(number))
    }

    fn delete(&mut self, breakpoints: &[u32]) -> Result<(), String> {
        if breakpoints.is_empty() {
            return Ok(());
        }
        self.session.clear_breaks().map_err(|e| e.to_string())?;
        self.placed.clear();
        for (number, on) in std::mem::take(&mut self.breaks) {
            if !breakpoints.contains(&number) {
                self.set(number, on)?;
            }
        }
        Ok(())
    }

    fn go(&mut self, how: Move) -> Result<Stand, String> {
        let moved = match how {
            Move::Go => self.session.go_on(),
            Move::Over => self.session.step(Gait::Over),
            Move::Into => self.session.step(Gait::Into),
            Move::Out => self.session.finish(),
        };
        let hits = match moved.map_err(|e| e.to_string())? {
            Halt::Ended(how) => return Ok(Stand::Over(format!("the program {how}"))),
            Halt::At(pc) => self.placed.iter().filter(|p| p.1.contains(&pc)).map(|p| p.0).collect(),
            Halt::Stepped(_) => Vec::new(),
        };
        let frames = self.session.backtrace().frames.into_iter().map(|f| SeatFrame {
            function: f.frame.function.to_string(),
            file: f.frame.file.map(|f| f.base().to_owned()),
            line: f.frame.line.map_or(0, |l| l.0),
        });
        Ok(Stand::At { frames: frames.collect(), hits, text: String::new() })
    }

    fn look(&mut self, expression: &str, _command: Option<&str>) -> Result<Seen, String> {
        let (answer, type_name) = match self.session.understand(expression) {
            Ok(expression) => (self.session.look(&expression), self.session.type_name(&expression)),
            Err(reason) => (Answer::Unsupported(reason.to_string()), None),
        };
        Ok(Seen { answer, printed: None, type_name })
    }

    fn say(&mut self, _command: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// A seat at a real debugger.
pub(crate) struct DebuggerSeat {
    dialogue: Dialogue,
    file: String,
}

#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    frames: Vec<(String, u8, Option<String>, u32)>,
    #[serde(default)]
    hits: Vec<u32>,
    #[serde(default)]
    text: String,
    over: Option<String>,
}

#[derive(Deserialize)]
struct Looked {
    answer: SaidAnswer,
    printed: String,
    #[serde(rename = "type")]
    type_name: Option<String>,
}

impl DebuggerSeat {
    /// Starts the debugger on a program, which does not run yet.
    pub fn start(kind: EngineKind, tool: &Tool, binary: &Path, file: &str, arguments: &[String], seconds: u64) -> Result<Self, String> {
        let script = match kind.debugger() {
            Some(Debugger::Lldb) => LLDB,
            _ => GDB,
        };
        let dialogue = Dialogue::start(kind, tool, script, binary, seconds).map_err(|e| e.to_string())?;
        let mut seat = Self { dialogue, file: file.to_owned() };
        seat.put(&json!(["open", binary, arguments]))?;
        Ok(seat)
    }

    fn put(&mut self, question: &Value) -> Result<Value, String> {
        let answer = self.dialogue.say(question).map_err(|e| e.to_string())?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }
}

impl Seat for DebuggerSeat {
    fn place(&mut self, place: &Place) -> Result<Option<u32>, String> {
        let question = match place {
            Place::Line(line) => json!(["line", self.file, line]),
            Place::Function(name) => json!(["function", name]),
        };
        Ok(self.put(&question)?.get("id").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()))
    }

    fn delete(&mut self, breakpoints: &[u32]) -> Result<(), String> {
        if !breakpoints.is_empty() {
            self.put(&json!(["delete", breakpoints]))?;
        }
        Ok(())
    }

    fn go(&mut self, how: Move) -> Result<Stand, String> {
        let word = match how {
            Move::Go => "go",
            Move::Over => "over",
            Move::Into => "into",
            Move::Out => "out",
        };
        let told: Told = serde_json::from_value(self.put(&json!([word]))?).map_err(|e| e.to_string())?;
        if let Some(how) = told.over {
            return Ok(Stand::Over(how));
        }
        let frames = told.frames.into_iter().map(|(function, _, file, line)| SeatFrame { function, file, line });
        Ok(Stand::At { frames: frames.collect(), hits: told.hits, text: told.text })
    }

    fn look(&mut self, expression: &str, command: Option<&str>) -> Result<Seen, String> {
        let looked: Looked = serde_json::from_value(self.put(&json!(["look", expression, command]))?).map_err(|e| e.to_string())?;
        let answer = match Said::from(looked.answer) {
            Said::There(answer) => answer,
            Said::NotReached(reason) | Said::NotAsked(reason) => Answer::Unsupported(reason),
        };
        Ok(Seen { answer, printed: Some(looked.printed), type_name: looked.type_name })
    }

    fn say(&mut self, command: &str) -> Result<Option<String>, String> {
        let answer = self.put(&json!(["say", command]))?;
        Ok(Some(answer.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()))
    }
}
