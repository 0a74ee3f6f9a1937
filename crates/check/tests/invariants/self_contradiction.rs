//! The -O0 trace alone against the source: a row that the assembler was told lies in another function.

use crate::harness::load;
use trueline_check::{CheckOptions, Checker, Note};
use trueline_model::{Breach, Contradiction, Invariant, Line, OptLevel, Program, Violation};
use trueline_toolchain::find_compiler;

/// The program with a row on a line, by an order to the assembler in the middle of `mine`.
fn with_row(line: Option<u32>) -> Program {
    let mut program = load("astray-row.c");
    // Conditional text has no plain extent, so that the order stands there or not.
    let order = line.map(|line| format!("  __asm__ volatile(\".loc 1 {line}\\n\\tnop\");\n")).unwrap_or_default();
    let start = program.source.find("#ifdef ROW").unwrap();
    let end = program.source.find("#endif\n").unwrap() + "#endif\n".len();
    program.source.replace_range(start..end, &order);
    program
}

/// What `self` reports at a level, and the notes.
fn reported(program: &Program, compiler: &str, level: OptLevel) -> Option<(Vec<Violation>, Vec<Note>)> {
    let compiler = find_compiler(compiler).ok()?;
    // In DWARF 4 both compilers call the program file 1.
    let cflags = vec!["-gdwarf-4".to_owned()];
    let checker = Checker::new(CheckOptions { cflags, invariants: vec![Invariant::SelfContradiction], ..CheckOptions::default() }).unwrap();
    let reference = checker.reference(program, &compiler).unwrap();
    let run = checker.check(program, &reference, &compiler, level, &[]).unwrap();
    Some((run.violations, run.notes))
}

fn says_so(notes: &[Note]) -> bool {
    notes.iter().any(|n| matches!(n, Note::ReferenceContradicts { .. }))
}

#[test]
fn a_row_of_another_function_contradicts_the_source_at_o0_too() {
    // `mine` has the lines 7 to 13; 4 is a line of `other`, and 40 is behind the text.
    for (compiler, row) in ["gcc-12", "clang-16"].into_iter().flat_map(|c| [(c, 4), (c, 40)]) {
        let Some((violations, notes)) = reported(&with_row(Some(row)), compiler, OptLevel::O0) else { continue };
        let [violation] = &*violations else { panic!("{compiler} {row}: {violations:#?}") };
        assert_eq!((&*violation.function, violation.line), ("mine", Line(row)), "{compiler}");
        let Breach::SelfContradiction(Contradiction::Frame { depth: 0, first, .. }) = &violation.breach else { panic!("{violation:?}") };
        assert_eq!(*first, Line(7), "{compiler}");
        assert!(says_so(&notes), "{compiler}: {notes:?}");
        let (_, notes) = reported(&with_row(Some(row)), compiler, OptLevel::O1).unwrap();
        assert!(says_so(&notes), "{compiler}: a check at another level says what its reference is worth: {notes:?}");
    }
}

#[test]
fn rows_within_the_function_and_programs_as_compiled_contradict_nothing() {
    for compiler in ["gcc-12", "clang-16"] {
        for program in [with_row(Some(9)), with_row(None), load("astray-row.c")] {
            let Some((violations, notes)) = reported(&program, compiler, OptLevel::O0) else { continue };
            assert!(violations.is_empty() && !says_so(&notes), "{compiler}: {violations:#?} {notes:?}");
        }
    }
}

#[test]
fn macros_of_other_functions_and_calls_that_are_always_inlined_contradict_nothing() {
    for compiler in ["gcc-12", "clang-16"] {
        let Some((violations, notes)) = reported(&load("clean/macro-of-another-body.c"), compiler, OptLevel::O0) else { continue };
        assert!(violations.is_empty() && !says_so(&notes), "{compiler}: {violations:#?} {notes:?}");
    }
}
