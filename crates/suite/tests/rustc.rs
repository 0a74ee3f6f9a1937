//! Tests in the format of rustc's tests/debuginfo, written here, put to native, gdb and lldb.

use trueline_model::{EngineKind, OptLevel, Policy};
use trueline_suite::{Asker, Format, TestOutcome, Verdict, agreement, read, run_test, tally};
use trueline_toolchain::{Scratch, find_compiler};

const TEXT: &str = r"//@ compile-flags:-g
//@ gdb-command:run
//@ gdb-command:print count
//@ gdb-check:$1 = 3
//@ gdb-command:print is_set
//@ gdb-check:$2 = true
//@ gdb-command:print pair
//@ gdb-check:$3 = (6, -7)
//@ gdb-command:print point
//@ gdb-check:[...]Point {x: 10, y: 2.5}
//@ gdb-command:print *behind
//@ gdb-check:$5 = 12
//@ gdb-command:print shape
//@ gdb-check:[...]Shape::Round(5)
//@ gdb-command:print/d byte
//@ gdb-check:$7 = 97
//@ gdb-command:whatis count
//@ gdb-check:type = i32
//@ gdb-command:next
//@ gdb-check:let more = count + 1;
//@ gdb-command:continue
//@ gdb-command:print deep
//@ gdb-check:$8 = 42
//@ gdb-command:continue
//@ gdb-command:print deep
//@ gdb-check:$9 = 42

//@ lldb-command:run
//@ lldb-command:v count
//@ lldb-check:[...] 3
//@ lldb-command:v point.x
//@ lldb-check:[...] 10
//@ lldb-command:continue
//@ lldb-command:v deep
//@ lldb-check:(int) deep = 42

struct Point { x: i32, y: f64 }
enum Shape { Round(i32), Square(i64) }

fn main() {
    let count = 3;
    let is_set = true;
    let pair = (6i16, -7i64);
    let point = Point { x: 10, y: 2.5 };
    let value = 11;
    let behind = &value;
    let shape = if std::env::args().count() > 100 { Shape::Square(1) } else { Shape::Round(5) };
    let byte = 97u8;
    stop(); // #break
    let more = count + 1;
    inner(more + 38);
    std::hint::black_box((&pair, &point, behind, is_set, byte));
    if let Shape::Round(n) = shape { std::hint::black_box(n); }
}

fn inner(deep: i32) {
    stop(); // #break
    std::hint::black_box(deep);
}

fn stop() { () }
";

fn put(engines: &[EngineKind]) -> Option<Vec<TestOutcome>> {
    let scratch = Scratch::new().unwrap();
    let file = scratch.write("asked.rs", TEXT).unwrap();
    let Ok(compiler) = find_compiler("rustc") else {
        eprintln!("skipped: rustc is not installed");
        return None;
    };
    let askers: Result<Vec<Asker>, _> = engines.iter().map(|&e| Asker::find(e, Format::Rustc, Policy::Gdb)).collect();
    let Ok(askers) = askers else {
        eprintln!("skipped: gdb or lldb is not installed");
        return None;
    };
    let tests = read(Format::Rustc, &[file], &[]).unwrap();
    Some(tests.iter().map(|t| run_test(t, &compiler, OptLevel::O0, &[], &askers)).collect())
}

fn verdicts<'o>(outcomes: &'o [TestOutcome], engine: &str) -> Vec<(&'o str, &'o Verdict)> {
    let of = |a: &'o trueline_suite::Asked| {
        let outcome = a.outcomes.iter().find(|o| o.engine == engine).unwrap();
        (a.expression.as_str(), &outcome.verdict)
    };
    outcomes[0].asked.iter().map(of).collect()
}

#[test]
fn native_and_gdb_give_one_answer_and_a_wrong_expectation_fails() {
    let Some(outcomes) = put(&[EngineKind::Native, EngineKind::Gdb]) else { return };
    let agreement = agreement(&outcomes);
    assert_eq!((agreement.same, agreement.of), (10, 10), "{outcomes:#?}");
    for engine in ["native", "gdb"] {
        let failed: Vec<&str> = verdicts(&outcomes, engine).into_iter().filter(|v| *v.1 == Verdict::Fail).map(|v| v.0).collect();
        // What the pointer leads to is 11; the second `deep` is asked where the program is over.
        assert_eq!(failed, ["print *behind"], "{engine}");
    }
    let open =
        |engine| verdicts(&outcomes, engine).into_iter().filter(|v| matches!(v.1, Verdict::Unsupported { .. })).map(|v| v.0).collect();
    let (native, gdb): (Vec<&str>, Vec<&str>) = (open("native"), open("gdb"));
    assert_eq!(native, ["whatis count", "print deep"]);
    assert_eq!(gdb, ["print deep", "v count", "v point.x", "v deep"]);
}

#[test]
fn lldb_answers_its_own_questions_and_no_others() {
    let Some(outcomes) = put(&[EngineKind::Native, EngineKind::Lldb]) else { return };
    let lldb = tally(&outcomes, "lldb");
    assert_eq!((lldb.pass, lldb.fail), (3, 0), "{outcomes:#?}");
    let agreement = agreement(&outcomes);
    assert_eq!((agreement.same, agreement.of), (3, 3), "{outcomes:#?}");
}

#[test]
fn a_directory_without_tests_says_what_tests_look_like() {
    let scratch = Scratch::new().unwrap();
    scratch.write("plain.rs", "fn main() {}").unwrap();
    let error = read(Format::Rustc, &[scratch.path().to_owned()], &[]).unwrap_err();
    assert!(error.to_string().contains("gdb-check"), "{error}");
}
