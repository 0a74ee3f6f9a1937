//! C++ programs under the native engine: classes of the library as text, references, base classes, and the layout of all.

use trueline_model::{Language, Observation, OptLevel, Step, Trace};
use trueline_toolchain::{CompileRequest, Limits, Scratch, find_compiler};
use trueline_trace::{Engine, NativeEngine, TraceRequest, Vars};

const LIBRARY: &str = r#"#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>
struct Base { int left = 3; };
struct Derived : Base { short right = 4; };
static int look(const std::string &text, int &number, Derived object) {
  number += (int)text.size() + object.left;
  return number;
}
int main() {
  std::string small = "a \"b\"";
  std::string large(300, 'x');
  std::vector<int> list = {3, 1, 4};
  std::vector<std::string> words = {"one", "two"};
  std::map<short, long> sorted = {{1, 10}, {2, 20}};
  std::unordered_map<int, std::string> table = {{7, "seven"}};
  std::optional<int> full = 5, empty;
  std::unique_ptr<int> owner = std::make_unique<int>(6), nobody;
  int number = 1;
  int got = look(small, number, Derived());
  auto check = [got](int wanted) {
    int differs = got != wanted;
    return differs;
  };
  return check(9);
}
"#;

/// The stops of the program, compiled by the C++ driver of a compiler; `None`, with a printed reason, without that compiler.
fn steps(cc: &str, vars: Vars) -> Option<Vec<Step>> {
    let Ok(compiler) = find_compiler(cc) else {
        println!("skipped: no {cc}");
        return None;
    };
    let scratch = Scratch::new().unwrap();
    let source = scratch.write("library.cpp", LIBRARY).unwrap();
    let compile = CompileRequest::new(source, Language::Cpp, OptLevel::O0, scratch.join("library")).flags(["-std=c++17"]);
    let mut request = TraceRequest::new(compiler.compile(&compile).unwrap().binary);
    request.user_files = vec!["library.cpp".into()];
    request.limits = Limits::seconds(300);
    request.vars = vars;
    let mut trace = Trace::default();
    NativeEngine.trace(&request, &mut trace).unwrap();
    Some(trace.steps)
}

/// What a variable shows at the last stop on a line.
fn shown(steps: &[Step], line: u32, name: &str) -> String {
    let step = steps.iter().rev().find(|s| s.line.is_some_and(|l| l.0 == line)).unwrap_or_else(|| panic!("no stop on line {line}"));
    match &step.vars.iter().find(|v| &*v.name == name).unwrap_or_else(|| panic!("no {name}")).observation {
        Observation::Value(text) => text.to_string(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn classes_of_the_library_show_what_they_hold_and_references_what_they_refer_to() {
    for cc in ["g++-12", "clang++-16"] {
        let Some(steps) = steps(cc, Vars::All) else { continue };
        for (name, text) in [
            ("small", r#""a \"b\"""#),
            ("list", "{3, 1, 4}"),
            ("words", r#"{"one", "two"}"#),
            ("sorted", "{1: 10, 2: 20}"),
            ("table", r#"{7: "seven"}"#),
            ("full", "5"),
            ("empty", "nullopt"),
            ("owner", "*6"),
            ("nobody", "nullptr"),
        ] {
            assert_eq!(shown(&steps, 28, name), text, "{cc} {name}");
        }
        assert_eq!(shown(&steps, 28, "large"), format!("\"{}\"...", "x".repeat(200)), "{cc}");
        // The reference shows what it refers to at each stop, not what it referred to first.
        assert_eq!((shown(&steps, 10, "number"), shown(&steps, 11, "number")), ("1".to_owned(), "9".to_owned()), "{cc}");
        assert_eq!(shown(&steps, 11, "text"), r#""a \"b\"""#, "{cc}");
        assert_eq!(shown(&steps, 11, "object"), "{{3}, 4}", "{cc}");
    }
}

#[test]
fn the_layout_is_shown_to_those_who_ask_for_it() {
    let Some(steps) = steps("g++-12", Vars::Layout) else { return };
    assert!(shown(&steps, 11, "number").starts_with("0x"));
    // The allocator, which is the base of the pointer's holder, the pointer, the length, and the characters in place.
    let small = shown(&steps, 28, "small");
    assert!(small.starts_with("{{{{}}, 0x") && small.contains(", 5, {{97, 32, 34, 98, 34, 0"), "{small}");
}

#[test]
fn a_lambda_is_a_function_of_its_own_class_with_its_own_variables() {
    for cc in ["g++-12", "clang++-16"] {
        let Some(steps) = steps(cc, Vars::All) else { continue };
        let inside: Vec<&Step> = steps.iter().filter(|s| s.line.is_some_and(|l| l.0 == 26)).collect();
        assert!(!inside.is_empty(), "{cc}");
        for step in inside {
            assert!(step.frames[0].function.contains("operator()(int)"), "{cc}: {}", step.frames[0].function);
            assert_eq!(&*step.frames[1].function, "main", "{cc}");
        }
        assert_eq!((shown(&steps, 26, "differs"), shown(&steps, 26, "wanted")), ("0".to_owned(), "9".to_owned()), "{cc}");
    }
}
