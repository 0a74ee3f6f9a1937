//! The small debugger behind the Debug Adapter Protocol, as editors speak it over two pipes.
//!
//! An adapter takes one request after the other and gives the messages that answer it, so that a session can be replayed. The
//! program runs within the request that moves it: the stop is reported right behind the answer.
//!
//! Deliberately absent: `pause` (nobody listens while the program runs), changing variables, frames further out as a place to
//! look from, members as children of their own (`evaluate` takes paths). What is not known is answered with success = false.

mod shown;
pub mod wire;

use crate::{DebugCommand, ProgramDebugger, Reply, StopPlace};
use serde_json::{Value, json};
use shown::{VariableGroup, frame, variable};
use std::collections::BTreeMap;
use trueline_trace::TraceError;

/// The one thread that is followed.
const THREAD: i64 = 1;

/// Makes a debugger of a `launch` request's arguments; the reason why not otherwise.
pub type Launch<'l> = dyn Fn(&Value) -> Result<ProgramDebugger, String> + 'l;

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// There may be more requests.
    GoesOn,
    /// The client has said goodbye.
    Over,
}

/// One conversation with a client of the protocol.
pub struct Adapter<'l> {
    launch: &'l Launch<'l>,
    debugger: Option<ProgramDebugger>,
    /// Breakpoints on lines, by the path that the client named, and those on functions under no path.
    breaks: BTreeMap<String, Vec<StopPlace>>,
    /// Number of the last message that was sent.
    sent: i64,
}

impl std::fmt::Debug for Adapter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adapter").field("debugger", &self.debugger).finish_non_exhaustive()
    }
}

/// What a request comes to: a body, and events behind it.
struct Done {
    body: Value,
    events: Vec<(&'static str, Value)>,
}

impl Done {
    fn with(body: Value) -> Self {
        Self { body, events: Vec::new() }
    }
}

impl<'l> Adapter<'l> {
    /// A conversation that has not begun.
    pub fn new(launch: &'l Launch<'l>) -> Self {
        Self { launch, debugger: None, breaks: BTreeMap::new(), sent: 0 }
    }

    /// The messages that answer a request, the response first.
    pub fn answer(&mut self, request: &Value) -> (Vec<Value>, Talk) {
        let command = request["command"].as_str().unwrap_or_default();
        let is_over = matches!(command, "disconnect" | "terminate");
        let done = if request["type"] == "request" { self.obey(command, &request["arguments"]) } else { Err("no request".to_owned()) };
        let mut messages = Vec::new();
        let (success, body, events) = match done {
            Ok(Done { body, events }) => (true, body, events),
            // Clients show `error.format`, and those of older versions `message`.
            Err(reason) => (false, json!({ "error": { "id": 1, "format": reason.replace('{', "(").replace('}', ")") } }), Vec::new()),
        };
        let mut response = json!({
            "seq": self.number(), "type": "response", "request_seq": request["seq"], "success": success, "command": command, "body": body
        });
        if !success {
            response["message"] = response["body"]["error"]["format"].clone();
        }
        messages.push(response);
        for (event, body) in events {
            messages.push(json!({ "seq": self.number(), "type": "event", "event": event, "body": body }));
        }
        (messages, if is_over { Talk::Over } else { Talk::GoesOn })
    }

    fn number(&mut self) -> i64 {
        self.sent += 1;
        self.sent
    }

    fn obey(&mut self, command: &str, arguments: &Value) -> Result<Done, String> {
        match command {
            "initialize" => Ok(Done::with(json!({
                "supportsConfigurationDoneRequest": true,
                "supportsFunctionBreakpoints": true,
                "supportsEvaluateForHovers": true,
                "supportsTerminateRequest": true
            }))),
            "launch" => {
                self.debugger = Some((self.launch)(arguments)?);
                Ok(Done { body: Value::Null, events: vec![("initialized", Value::Null)] })
            }
            "setBreakpoints" => self.break_on_lines(arguments),
            "setFunctionBreakpoints" => self.break_on_functions(arguments),
            // Every client asks; there are none to choose from.
            "setExceptionBreakpoints" => Ok(Done::with(json!({ "breakpoints": [] }))),
            "configurationDone" => self.go(&DebugCommand::Run, "entry", Value::Null),
            "threads" => Ok(Done::with(json!({ "threads": [{ "id": THREAD, "name": "main" }] }))),
            "stackTrace" => self.frames(arguments),
            "scopes" => Ok(Done::with(VariableGroup::scopes(arguments["frameId"].as_i64() == Some(shown::INNERMOST)))),
            "variables" => self.variables(arguments),
            "evaluate" => self.evaluate(arguments),
            "continue" => self.go(&DebugCommand::Continue, "step", json!({ "allThreadsContinued": true })),
            "next" => self.go(&DebugCommand::Next(1), "step", Value::Null),
            "stepIn" => self.go(&DebugCommand::Step(1), "step", Value::Null),
            "stepOut" => self.go(&DebugCommand::Finish, "step", Value::Null),
            "disconnect" | "terminate" => {
                self.debugger = None;
                Ok(Done { body: Value::Null, events: vec![("terminated", Value::Null)] })
            }
            _ => Err(format!("`{command}` is not supported")),
        }
    }

    fn debugger(&mut self) -> Result<&mut ProgramDebugger, String> {
        self.debugger.as_mut().ok_or_else(|| "nothing was launched".to_owned())
    }

    fn ask(&mut self, command: &DebugCommand) -> Result<Reply, String> {
        match self.debugger()?.obey(command).map_err(|e: TraceError| e.to_string())? {
            Reply::Failed { reason } => Err(reason),
            reply => Ok(reply),
        }
    }

    fn break_on_lines(&mut self, arguments: &Value) -> Result<Done, String> {
        let path = arguments["source"]["path"].as_str().or(arguments["source"]["name"].as_str()).ok_or("no source was named")?;
        let lines: Vec<u64> = arguments["breakpoints"].as_array().into_iter().flatten().filter_map(|b| b["line"].as_u64()).collect();
        let place = |&line: &u64| StopPlace::Line(Some(path.to_owned()), u32::try_from(line).unwrap_or(u32::MAX));
        let source = arguments["source"].clone();
        let shown = |index: usize| json!({ "line": lines[index], "source": source });
        self.set(path, lines.iter().map(place).collect(), &shown)
    }

    fn break_on_functions(&mut self, arguments: &Value) -> Result<Done, String> {
        let names = arguments["breakpoints"].as_array().into_iter().flatten().filter_map(|b| b["name"].as_str());
        self.set("", names.map(|name| StopPlace::Function(name.to_owned())).collect(), &|_| json!({}))
    }

    /// Sets the breakpoints of one source; those of the others stay.
    fn set(&mut self, key: &str, places: Vec<StopPlace>, shown: &dyn Fn(usize) -> Value) -> Result<Done, String> {
        let count = places.len();
        self.breaks.insert(key.to_owned(), places);
        let before: usize = self.breaks.range(..key.to_owned()).map(|(_, of)| of.len()).sum();
        let all: Vec<StopPlace> = self.breaks.values().flatten().cloned().collect();
        let found = self.debugger()?.replace_breaks(&all).map_err(|e| e.to_string())?;
        let breakpoints = found[before..before + count].iter().enumerate().map(|(index, addresses)| {
            let mut breakpoint = shown(index);
            breakpoint["verified"] = json!(!addresses.is_empty());
            match addresses.first() {
                Some(address) => breakpoint["instructionReference"] = json!(format!("{address:#x}")),
                None => breakpoint["message"] = json!("there is no code for it"),
            }
            breakpoint
        });
        Ok(Done::with(json!({ "breakpoints": breakpoints.collect::<Vec<_>>() })))
    }

    /// Moves the program and says where it came to.
    fn go(&mut self, command: &DebugCommand, otherwise: &str, body: Value) -> Result<Done, String> {
        let events = match self.ask(command)? {
            Reply::Stopped { breakpoint, .. } => {
                let reason = if breakpoint { "breakpoint" } else { otherwise };
                vec![("stopped", json!({ "reason": reason, "threadId": THREAD, "allThreadsStopped": true }))]
            }
            Reply::Ended { how } => {
                let mut events = vec![("output", json!({ "category": "console", "output": format!("the program {how}\n") }))];
                let code = how.strip_prefix("exited with code ").and_then(|code| code.parse::<i64>().ok());
                events.extend(code.map(|code| ("exited", json!({ "exitCode": code }))));
                events.push(("terminated", Value::Null));
                events
            }
            other => return Err(format!("an unexpected reply: {other:?}")),
        };
        Ok(Done { body, events })
    }

    fn frames(&mut self, arguments: &Value) -> Result<Done, String> {
        let Reply::Backtrace { frames } = self.ask(&DebugCommand::Backtrace)? else { return Err("no frames".to_owned()) };
        let from = arguments["startFrame"].as_u64().unwrap_or(0) as usize;
        let most = arguments["levels"].as_u64().filter(|&n| n > 0).map_or(usize::MAX, |n| n as usize);
        let shown: Vec<Value> = (1..).zip(&frames).skip(from).take(most).map(|(id, of)| frame(id, of)).collect();
        Ok(Done::with(json!({ "stackFrames": shown, "totalFrames": frames.len() })))
    }

    fn variables(&mut self, arguments: &Value) -> Result<Done, String> {
        let group = arguments["variablesReference"].as_i64().and_then(VariableGroup::of_number).ok_or("there is nothing behind it")?;
        let Reply::Variables { variables } = self.ask(&group.command())? else { return Err("no variables".to_owned()) };
        Ok(Done::with(json!({ "variables": variables.iter().map(variable).collect::<Vec<_>>() })))
    }

    fn evaluate(&mut self, arguments: &Value) -> Result<Done, String> {
        let text = arguments["expression"].as_str().unwrap_or_default();
        if arguments["frameId"].as_i64().is_some_and(|frame| frame != shown::INNERMOST) {
            return Err("only the innermost frame can be looked at".to_owned());
        }
        match self.ask(&DebugCommand::Print(text.to_owned()))? {
            Reply::Value { value: Some(value), .. } => Ok(Done::with(json!({ "result": value, "variablesReference": 0 }))),
            Reply::Value { absent, .. } => Err(format!("<{}>", absent.as_deref().unwrap_or("no value"))),
            other => Err(format!("an unexpected reply: {other:?}")),
        }
    }
}
