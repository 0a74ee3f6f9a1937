//! A client of the Debug Adapter Protocol that speaks it over pipes, as an editor does.

use serde_json::{Value, json};
use std::io::{BufReader, PipeReader, PipeWriter};
use trueline_debug::dap::wire::{read, serve, write};
use trueline_debug::{ProgramDebugger, ReferenceValues};
use trueline_model::{Language, OptLevel};
use trueline_toolchain::{CompileRequest, Scratch, find_compiler};
use trueline_trace::TraceRequest;

const PROGRAM: &str = r#"#include <stdio.h>
struct point { int x, y; };
static inline __attribute__((always_inline)) int twice(int of) {
    int doubled = of * 2;
    return doubled;
}
__attribute__((noinline)) int add(struct point *p, int times) {
    int total = 0;
    for (int i = 0; i < times; i++)
        total += twice(p->x) + p->y;
    return total;
}
int main(void) {
    struct point p = { 3, 4 };
    int result = add(&p, 2);
    printf("%d\n", result);
    return result == 20 ? 7 : 1;
}
"#;

/// What an editor holds of a conversation.
struct Client {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    asked: i64,
    events: Vec<Value>,
}

impl Client {
    /// Asks, and keeps the events that come before the answer.
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.asked += 1;
        let request = json!({ "seq": self.asked, "type": "request", "command": command, "arguments": arguments });
        write(&mut self.to, &request).unwrap();
        loop {
            let message = read(&mut self.from).unwrap().expect("an answer");
            match message["type"].as_str() {
                Some("event") => self.events.push(message),
                _ => {
                    assert_eq!((&message["request_seq"], &message["command"]), (&json!(self.asked), &json!(command)));
                    return message;
                }
            }
        }
    }

    fn ask_well(&mut self, command: &str, arguments: Value) -> Value {
        let mut response = self.ask(command, arguments);
        assert_eq!(response["success"], true, "{command}: {response}");
        response["body"].take()
    }

    /// The next event of a kind.
    fn wait_for(&mut self, event: &str) -> Value {
        loop {
            if let Some(at) = self.events.iter().position(|e| e["event"] == event) {
                return self.events.drain(..=at).next_back().unwrap()["body"].take();
            }
            let message = read(&mut self.from).unwrap().expect("an event");
            self.events.push(message);
        }
    }

    fn line(&mut self) -> (String, u64) {
        let body = self.ask_well("stackTrace", json!({ "threadId": 1, "levels": 1 }));
        let frame = &body["stackFrames"][0];
        (frame["name"].as_str().unwrap().to_owned(), frame["line"].as_u64().unwrap())
    }

    fn variables(&mut self) -> Vec<Value> {
        let scopes = self.ask_well("scopes", json!({ "frameId": 1 }));
        let references: Vec<Value> = scopes["scopes"].as_array().unwrap().iter().map(|s| s["variablesReference"].clone()).collect();
        let shown = |reference| self.ask_well("variables", json!({ "variablesReference": reference }))["variables"].take();
        references.into_iter().map(shown).flat_map(|of| of.as_array().unwrap().clone()).collect()
    }
}

/// Which build the client looks at.
#[derive(Clone, Copy)]
enum Look {
    /// The program's.
    Plain,
    /// One that starts with another total, beside the program's as its reference.
    Contradicted,
}

fn build(scratch: &Scratch, text: &str) -> TraceRequest {
    let source = scratch.write("add.c", text).unwrap();
    let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("add"));
    TraceRequest::new(find_compiler("gcc").unwrap().compile(&request).unwrap().binary)
}

/// Holds a conversation; the client is told the source's path.
fn converse(look: Look, talk: impl FnOnce(&mut Client, &str)) {
    let (scratch, other) = (Scratch::new().unwrap(), Scratch::new().unwrap());
    let plain = build(&scratch, PROGRAM);
    let contradicted = build(&other, &PROGRAM.replace("int total = 0", "int total = 5"));
    let source = scratch.join("add.c").display().to_string();
    let (from_client, to) = std::io::pipe().unwrap();
    let (from, mut to_client) = std::io::pipe().unwrap();
    std::thread::scope(|scope| {
        // Programs are traced by the thread that starts them.
        let served = scope.spawn(move || {
            let launch = |_: &Value| match look {
                Look::Plain => Ok(ProgramDebugger::new(plain.clone(), None)),
                Look::Contradicted => {
                    Ok(ProgramDebugger::new(contradicted.clone(), Some(ReferenceValues::record(&plain).map_err(|e| e.to_string())?)))
                }
            };
            serve(&mut BufReader::new(from_client), &mut to_client, &launch)
        });
        let mut client = Client { to, from: BufReader::new(from), asked: 0, events: Vec::new() };
        talk(&mut client, &source);
        drop(client);
        served.join().unwrap().unwrap();
    });
}

#[test]
fn an_editor_breaks_steps_looks_and_says_goodbye() {
    converse(Look::Plain, |client, source| {
        let can = client.ask_well("initialize", json!({ "adapterID": "trueline" }));
        assert_eq!(can["supportsConfigurationDoneRequest"], true);
        client.ask_well("launch", json!({}));
        client.wait_for("initialized");
        let set =
            client.ask_well("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": [{ "line": 11 }, { "line": 900 }] }));
        let verified: Vec<&Value> = set["breakpoints"].as_array().unwrap().iter().map(|b| &b["verified"]).collect();
        assert_eq!(verified, [true, false]);
        client.ask_well("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "add" }] }));
        client.ask_well("configurationDone", json!({}));
        assert_eq!(client.wait_for("stopped")["reason"], "breakpoint");
        assert_eq!(client.line(), ("add".to_owned(), 8));
        client.ask_well("next", json!({ "threadId": 1 }));
        assert_eq!(client.wait_for("stopped")["reason"], "step");
        assert_eq!(client.line(), ("add".to_owned(), 9));
        let body = client.ask_well("stackTrace", json!({ "threadId": 1 }));
        assert_eq!((&body["totalFrames"], &body["stackFrames"][1]["name"]), (&json!(2), &json!("main")));
        assert_eq!(body["stackFrames"][0]["source"]["path"], *source);
        let shown = client.variables();
        let value = |name: &str| shown.iter().find(|v| v["name"] == name).map(|v| v["value"].clone());
        assert_eq!((value("total"), value("times")), (Some(json!("0")), Some(json!("2"))));
        assert_eq!(client.ask_well("evaluate", json!({ "expression": "p->y * 2", "frameId": 1 }))["result"], "8");
        // The function's breakpoint goes, the line's stays.
        client.ask_well("setFunctionBreakpoints", json!({ "breakpoints": [] }));
        client.ask_well("continue", json!({ "threadId": 1 }));
        client.wait_for("stopped");
        assert_eq!(client.line(), ("add".to_owned(), 11));
        client.ask_well("stepOut", json!({ "threadId": 1 }));
        client.wait_for("stopped");
        assert_eq!(client.line(), ("main".to_owned(), 15));
        client.ask_well("continue", json!({ "threadId": 1 }));
        assert_eq!(client.wait_for("exited")["exitCode"], 7);
        client.wait_for("terminated");
        client.ask_well("disconnect", json!({}));
    });
}

#[test]
fn what_is_not_supported_or_makes_no_sense_is_refused_and_the_talk_goes_on() {
    converse(Look::Plain, |client, source| {
        client.ask_well("initialize", json!({}));
        for (command, arguments) in [
            ("setBreakpoints", json!({ "source": { "path": source }, "breakpoints": [] })),
            ("continue", json!({})),
            ("pause", json!({ "threadId": 1 })),
            ("fly", Value::Null),
            ("variables", json!({ "variablesReference": 99 })),
        ] {
            let response = client.ask(command, arguments);
            assert_eq!(response["success"], false, "{response}");
            assert!(response["message"].as_str().is_some_and(|m| !m.is_empty()), "{response}");
        }
        client.ask_well("launch", json!({}));
        client.ask_well("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "add" }] }));
        client.ask_well("configurationDone", json!({}));
        assert_eq!(client.ask("evaluate", json!({ "expression": "nothing" }))["success"], false);
        assert_eq!(client.ask("evaluate", json!({ "expression": "p->x", "frameId": 2 }))["success"], false);
        assert_eq!(client.ask_well("scopes", json!({ "frameId": 2 }))["scopes"], json!([]));
        client.ask_well("disconnect", json!({}));
    });
}

#[test]
fn what_the_reference_contradicts_is_marked_for_the_editor() {
    converse(Look::Contradicted, |client, _| {
        client.ask_well("initialize", json!({}));
        client.ask_well("launch", json!({}));
        client.ask_well("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "add" }] }));
        client.ask_well("configurationDone", json!({}));
        client.wait_for("stopped");
        client.ask_well("next", json!({ "threadId": 1 }));
        client.wait_for("stopped");
        assert_eq!(client.line(), ("add".to_owned(), 9));
        let shown = client.variables();
        let of = |name: &str| shown.iter().find(|v| v["name"] == name).unwrap_or_else(|| panic!("{name}: {shown:?}"));
        assert!(of("total")["value"].as_str().unwrap().starts_with("5  ! source has 0"), "{}", of("total"));
        assert_eq!(of("total")["presentationHint"]["attributes"], json!(["readOnly", "notTheSources"]));
        assert_eq!((&of("times")["value"], &of("times")["presentationHint"]["attributes"]), (&json!("2"), &json!(["readOnly"])));
        client.ask_well("disconnect", json!({}));
    });
}
