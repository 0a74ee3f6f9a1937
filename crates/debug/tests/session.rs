//! A real program at a real stop: what people ask a debugger, and what it must answer.

use trueline_debug::{DebugCommand, Mark, ProgramDebugger, ReferenceValues, Reply, StopPlace, parse};
use trueline_model::{Language, OptLevel};
use trueline_toolchain::{CompileRequest, Scratch, find_compiler};
use trueline_trace::TraceRequest;

const PROGRAM: &str = r#"#include <stdio.h>
struct node { int value; struct node *next; };
static inline __attribute__((always_inline)) int twice(int of) {
    int doubled = of * 2;
    return doubled;
}
__attribute__((noinline)) int sum(struct node *list, int limit) {
    int total = 0;
    for (struct node *n = list; n; n = n->next) {
        int here = n->value;
        if (here < limit)
            total += twice(here);
    }
    return total;
}
int main(void) {
    struct node b = { 5, 0 }, a = { 3, &b };
    int result = sum(&a, 10);
    printf("%d\n", result);
    return result != 16;
}
"#;

struct Bench {
    scratch: Scratch,
}

impl Bench {
    fn new() -> Self {
        Self { scratch: Scratch::new().unwrap() }
    }

    fn build(&self, level: OptLevel, name: &str) -> TraceRequest {
        let source = self.scratch.write("list.c", PROGRAM).unwrap();
        let request = CompileRequest::new(source, Language::C, level, self.scratch.join(name));
        TraceRequest::new(find_compiler("gcc").unwrap().compile(&request).unwrap().binary)
    }
}

fn ask(debugger: &mut ProgramDebugger, lines: &[&str]) -> Vec<Reply> {
    lines.iter().map(|line| debugger.obey(&parse(line).unwrap().unwrap()).unwrap()).collect()
}

fn line(reply: &Reply) -> (String, u32) {
    match reply {
        Reply::Stopped { at: Some(frame), .. } => (frame.function.clone(), frame.line.unwrap()),
        other => panic!("{other:?}"),
    }
}

fn value(reply: &Reply) -> &str {
    match reply {
        Reply::Value { value: Some(value), .. } => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn breakpoints_steps_frames_and_values_without_optimization() {
    let bench = Bench::new();
    let mut debugger = ProgramDebugger::new(bench.build(OptLevel::O0, "list.O0"), None);
    let replies =
        ask(&mut debugger, &["break sum", "run", "next", "next", "next", "next", "print list->next->value", "print limit * 2", "bt"]);
    assert!(matches!(&replies[0], Reply::Breakpoints { addresses } if addresses.len() == 1));
    assert_eq!(line(&replies[1]), ("sum".to_owned(), 8));
    assert_eq!(line(&replies[2]), ("sum".to_owned(), 9));
    assert_eq!(line(&replies[5]), ("sum".to_owned(), 12));
    assert_eq!((value(&replies[6]), value(&replies[7])), ("5", "20"));
    let Reply::Backtrace { frames } = &replies[8] else { panic!("{:?}", replies[8]) };
    let names: Vec<(&str, Option<u32>)> = frames.iter().map(|f| (f.function.as_str(), f.line)).collect();
    assert_eq!(names, [("sum", Some(12)), ("main", Some(18))]);
    let replies = ask(&mut debugger, &["step", "finish", "info locals", "finish", "continue"]);
    assert_eq!(line(&replies[0]).0, "twice");
    assert_eq!(line(&replies[1]).0, "sum");
    let Reply::Variables { variables } = &replies[2] else { panic!("{:?}", replies[2]) };
    assert!(variables.iter().any(|v| v.name == "here" && v.value.as_deref() == Some("3")), "{variables:?}");
    assert_eq!(line(&replies[3]), ("main".to_owned(), 18));
    assert_eq!(replies[4], Reply::Ended { how: "exited with code 0".to_owned() });
}

#[test]
fn the_same_commands_give_the_same_replies() {
    let bench = Bench::new();
    let request = bench.build(OptLevel::O2, "list.O2");
    let script = ["break list.c:10", "run", "info locals", "info args", "step", "step", "bt", "print &total", "continue", "continue"];
    let first = ask(&mut ProgramDebugger::new(request.clone(), None), &script);
    assert_eq!(first, ask(&mut ProgramDebugger::new(request, None), &script));
}

#[test]
fn what_is_asked_too_early_or_of_nothing_is_refused_in_words() {
    let bench = Bench::new();
    let mut debugger = ProgramDebugger::new(bench.build(OptLevel::O0, "list.O0"), None);
    for command in [DebugCommand::Continue, DebugCommand::Locals, DebugCommand::Break(StopPlace::Function("nowhere".into()))] {
        assert!(matches!(debugger.obey(&command).unwrap(), Reply::Failed { .. }), "{command:?}");
    }
}

#[test]
fn a_build_without_optimization_contradicts_itself_nowhere() {
    let bench = Bench::new();
    let request = bench.build(OptLevel::O0, "list.O0");
    let reference = ReferenceValues::record(&request).unwrap();
    assert!(reference.is_whole);
    let mut debugger = ProgramDebugger::new(request, Some(reference));
    let mut stops = ask(&mut debugger, &["break main", "run"]);
    let mut seen = 0;
    while let Some(Reply::Stopped { .. }) = stops.last() {
        let Reply::Variables { variables } = debugger.obey(&DebugCommand::Locals).unwrap() else { panic!("no variables") };
        seen += variables.len();
        let marked: Vec<_> = variables.iter().filter(|v| v.mark.is_some()).collect();
        assert!(marked.is_empty(), "{:?}: {marked:?}", stops.last());
        stops.push(debugger.obey(&DebugCommand::Step(1)).unwrap());
    }
    assert!(seen > 20, "only {seen} variables were seen");
}

#[test]
fn lost_variables_are_marked_with_what_the_source_has() {
    let bench = Bench::new();
    let reference = ReferenceValues::record(&bench.build(OptLevel::O0, "list.O0")).unwrap();
    let mut debugger = ProgramDebugger::new(bench.build(OptLevel::O2, "list.O2"), Some(reference));
    let replies = ask(&mut debugger, &["break 19", "run", "info locals"]);
    let Reply::Variables { variables } = &replies[2] else { panic!("{:?}", replies[2]) };
    let judged = variables.iter().filter(|v| v.name == "result");
    for v in judged {
        match (&v.value, &v.mark) {
            (Some(value), None) => assert_eq!(value, "16"),
            (None, Some(Mark::Lost { source })) => assert_eq!(source, &["16"]),
            other => panic!("{other:?}"),
        }
    }
    assert!(variables.iter().any(|v| v.name == "result"));
}
