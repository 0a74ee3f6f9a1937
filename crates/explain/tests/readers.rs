//! The panel of readers on real builds: looking at an address and stepping through the build lead to one verdict.

use std::path::Path;
use trueline_check::{CheckOptions, Checker};
use trueline_explain::{ReaderQuestion, Readers, is_confirmed, verdict};
use trueline_model::{EngineKind, Invariant, Language, OptLevel, Origin, Policy, Program, Reader, Reading, Verdict};
use trueline_toolchain::{ToolKind, find_compiler, find_tool};

fn example(name: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let source = std::fs::read_to_string(&path).unwrap();
    Program { name: name.to_owned(), language: Language::C, source, origin: Origin::File { path }, cflags: Vec::new() }
}

/// The answers about the first violation of an invariant, from the spot and from stepping; `None` without the tools.
fn answers(name: &str, cc: &str, opt: OptLevel, invariant: Invariant) -> Option<[Vec<Reading>; 2]> {
    let (Ok(compiler), Ok(_), Ok(_)) = (find_compiler(cc), find_tool(ToolKind::Gdb, None), find_tool(ToolKind::Lldb, None)) else {
        eprintln!("skipped: {cc}, gdb or lldb is missing");
        return None;
    };
    let program = example(name);
    let options = CheckOptions { invariants: [invariant].into_iter().collect(), ..CheckOptions::default() };
    let checker = Checker::new(options.clone()).unwrap();
    let reference = checker.reference(&program, &compiler).unwrap();
    let run = checker.check(&program, &reference, &compiler, opt, &[]).unwrap();
    let violation = run.violations.first().unwrap_or_else(|| panic!("{name} shows no {invariant} violation with {cc}"));
    let readers = Readers::beside(&options);
    let of_program = readers.of_program(&reference);
    let build = of_program.of_build(&run, &program.name, vec![ReaderQuestion { violation, class: "a class".to_owned() }]);
    let found = [build.at_the_spot(0), build.step_through(0)];
    readers.dismiss();
    Some(found)
}

fn sees(readings: &[Reading], reader: Reader) -> Option<bool> {
    readings.iter().find(|r| r.reader == reader)?.sees
}

#[test]
fn a_row_that_gdb_alone_reads_is_ambiguous_however_the_readers_are_asked() {
    let Some(both) = answers("merged-return.c", "gcc-12", OptLevel::Og, Invariant::Line) else { return };
    for readings in &both {
        assert_eq!(sees(readings, Reader::Gdb), Some(true), "{readings:?}");
        assert_eq!(sees(readings, Reader::Lldb), Some(false), "{readings:?}");
        // The readers disagree, so that everybody is asked.
        assert_eq!(readings.len(), 5, "{readings:?}");
        assert_eq!(verdict(readings).map(|(verdict, _)| verdict), Some(Verdict::Ambiguous));
        assert!(is_confirmed(readings, EngineKind::Native));
    }
}

#[test]
fn a_value_of_another_moment_is_seen_by_every_reader_that_is_asked_at_its_address() {
    let Some(both) = answers("stale-value.c", "clang-16", OptLevel::O1, Invariant::Stale) else { return };
    for readings in &both {
        for debugger in [Reader::Gdb, Reader::Lldb] {
            let reading = readings.iter().find(|r| r.reader == debugger).unwrap();
            assert_eq!(reading.sees, Some(true), "{readings:?}");
            // The debugger's own words, from a run of the program.
            assert_eq!(reading.detail.as_deref(), Some("line 5 in main: a = 0"), "{readings:?}");
        }
        assert_eq!(verdict(readings).map(|(verdict, _)| verdict), Some(Verdict::Compiler), "{readings:?}");
    }
}

#[test]
fn each_reader_answers_once_and_the_one_that_screens_first() {
    let Some([_, stepped]) = answers("merged-return.c", "gcc-12", OptLevel::Og, Invariant::Line) else { return };
    let readers: Vec<Reader> = stepped.iter().map(|r| r.reader).collect();
    let native = Reader::Native;
    assert_eq!(readers, [native(Policy::Gdb), native(Policy::Lldb), native(Policy::Standard), Reader::Gdb, Reader::Lldb]);
    assert!(stepped.iter().all(|r| r.detail.is_some() && r.reason.is_none()), "{stepped:?}");
}

#[test]
fn a_violation_that_no_debugger_shows_is_not_confirmed_unless_none_was_asked() {
    let native = Reading::answer(Reader::Native(Policy::Gdb), true, String::new());
    let gdb = |sees| Reading::answer(Reader::Gdb, sees, String::new());
    let unasked = Reading::unasked(Reader::Gdb, "no debugger".to_owned());
    assert!(!is_confirmed(&[native.clone(), gdb(false)], EngineKind::Native));
    assert!(is_confirmed(&[native.clone(), gdb(true)], EngineKind::Native));
    assert!(is_confirmed(&[native.clone(), unasked], EngineKind::Native));
    assert!(is_confirmed(&[native, gdb(false)], EngineKind::Gdb));
}
