//! Rust programs under the native engine: enums, structures, slices and options, alone and against gdb.

use std::path::PathBuf;
use trueline_model::{Language, Observation, OptLevel, Step, Trace};
use trueline_toolchain::{CompileRequest, Limits, Scratch, find_compiler};
use trueline_trace::{Engine, GdbEngine, NativeEngine, TraceRequest};

const SHAPES: &str = "#[derive(Clone, Copy)]
struct Point {
    x: i32,
    y: i16,
}

enum Shape {
    Empty,
    Circle(u32),
    Rect { w: u16, h: u16 },
}

#[inline(never)]
fn area(shape: &Shape, scale: u32) -> u32 {
    match shape {
        Shape::Empty => 0,
        Shape::Circle(r) => 3 * r * r * scale,
        Shape::Rect { w, h } => u32::from(*w) * u32::from(*h) * scale,
    }
}

#[inline(never)]
fn shift(p: Point, by: Option<i32>) -> Point {
    let moved = Point { x: p.x + by.unwrap_or(1), y: p.y - 1 };
    moved
}

fn main() {
    let circle = Shape::Circle(4);
    let rect = Shape::Rect { w: 3, h: 5 };
    let nothing = Shape::Empty;
    let words = [\"one\", \"three\"];
    let sum = area(&circle, 2) + area(&rect, 2) + area(&nothing, 2);
    let point = shift(Point { x: 7, y: -2 }, None);
    let again = shift(point, Some(5));
    let total = sum as i32 + again.x + i32::from(again.y) + words.len() as i32;
    let flag: Option<bool> = if total > 3 { Some(true) } else { None };
    std::process::exit(i32::from(flag == Some(false)));
}
";

fn build(scratch: &Scratch, opt: OptLevel) -> Option<TraceRequest> {
    let Ok(compiler) = find_compiler("rustc") else {
        println!("skipped: no rustc");
        return None;
    };
    let source: PathBuf = scratch.write("shapes.rs", SHAPES).unwrap();
    let request = CompileRequest::new(&source, Language::Rust, opt, scratch.join(format!("shapes{}", opt.flag())));
    let mut request = TraceRequest::new(compiler.compile(&request).unwrap().binary);
    request.user_files = vec!["shapes.rs".into()];
    request.limits = Limits::seconds(120);
    Some(request)
}

fn trace(engine: &dyn Engine, request: &TraceRequest) -> Vec<Step> {
    let mut trace = Trace::default();
    engine.trace(request, &mut trace).unwrap();
    trace.steps
}

/// Every value that a variable of a function is shown with.
fn values(steps: &[Step], function: &str, name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for step in steps.iter().filter(|s| &*s.frames[0].function == function) {
        for variable in step.vars.iter().filter(|v| &*v.name == name) {
            if let Observation::Value(text) = &variable.observation
                && !found.contains(&text.to_string())
            {
                found.push(text.to_string());
            }
        }
    }
    found
}

#[test]
fn enums_show_their_variant_and_functions_their_path() {
    let scratch = Scratch::new().unwrap();
    let Some(request) = build(&scratch, OptLevel::O0) else { return };
    let steps = trace(&NativeEngine, &request);
    let has = |function: &str, name: &str, value: &str| {
        let found = values(&steps, function, name);
        assert!(found.iter().any(|v| v == value), "{name} is never {value}: {found:?}");
    };
    has("shapes::main", "circle", "Circle{4}");
    has("shapes::main", "rect", "Rect{3, 5}");
    has("shapes::main", "nothing", "Empty{}");
    has("shapes::main", "again", "{13, -4}");
    has("shapes::main", "flag", "Some{1}");
    has("shapes::shift", "by", "None{}");
    has("shapes::shift", "by", "Some{5}");
    has("shapes::area", "scale", "2");
}

#[test]
fn stops_and_values_are_those_of_gdb() {
    let scratch = Scratch::new().unwrap();
    let Ok(gdb) = GdbEngine::find() else {
        println!("skipped: no gdb");
        return;
    };
    let Some(request) = build(&scratch, OptLevel::O0) else { return };
    let (ours, theirs) = (trace(&NativeEngine, &request), trace(&gdb, &request));
    let place = |s: &Step| (s.line, s.frames.clone());
    assert_eq!(ours.iter().map(place).collect::<Vec<_>>(), theirs.iter().map(place).collect::<Vec<_>>());
    let mut compared = 0;
    for (our, their) in ours.iter().zip(&theirs) {
        for variable in their.vars.iter().filter(|v| !v.holds_pointer) {
            let twin = our.vars.iter().find(|v| v.name == variable.name && v.decl_line == variable.decl_line);
            let twin = twin.unwrap_or_else(|| panic!("{} is not shown on line {:?}", variable.name, our.line));
            // Before its first assignment a variable shows what the stack holds.
            if our.line.is_some_and(|l| l.0 > variable.decl_line) {
                assert_eq!(twin.observation, variable.observation, "{} on line {:?}", variable.name, our.line);
                compared += 1;
            }
        }
    }
    assert!(compared > 40, "only {compared} values compared");
}

#[test]
fn optimized_builds_are_traced_too() {
    let scratch = Scratch::new().unwrap();
    for opt in [OptLevel::O1, OptLevel::O2, OptLevel::Os] {
        let Some(request) = build(&scratch, opt) else { return };
        let steps = trace(&NativeEngine, &request);
        let ends: Vec<&str> = steps.iter().filter_map(|s| s.frames.last()).map(|f| &*f.function).collect();
        assert!(!ends.is_empty() && ends.iter().all(|f| *f == "shapes::main"), "{opt}: {ends:?}");
        if let Ok(gdb) = GdbEngine::find() {
            let place = |s: &Step| (s.line, s.frames.clone());
            let theirs = trace(&gdb, &request);
            assert_eq!(steps.iter().map(place).collect::<Vec<_>>(), theirs.iter().map(place).collect::<Vec<_>>(), "{opt}");
        }
    }
}
