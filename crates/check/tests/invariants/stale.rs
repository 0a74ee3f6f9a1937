//! Values of another moment.

use crate::harness::{expect_among, load, silent};
use trueline_check::{CheckOptions, Checker, Remembered};
use trueline_model::{Breach, Invariant, OptLevel, Timing, Violation};
use trueline_toolchain::{Compiler, find_compiler};

/// Checks the expectations of a program, with all that is looked for usually beside the moments.
fn expect(name: &str) {
    let usual = Invariant::usual().filter(|i| *i != Invariant::Codegen);
    expect_among(name, &usual.chain([Invariant::Stale]).collect::<Vec<_>>());
}

#[test]
fn an_assignment_that_went_with_its_call_is_missed_on_the_line_after_it() {
    expect("stale/escaped.c");
}

#[test]
fn an_assignment_of_an_inlined_call_is_missed_by_one_version_only() {
    expect("stale/inlined_call.c");
}

#[test]
fn each_variable_is_stale_from_its_own_assignment_on() {
    expect("stale/two_calls.c");
}

#[test]
fn one_member_of_a_structure_is_stale_and_the_other_is_not() {
    expect("stale/element.c");
}

#[test]
fn a_sum_that_the_vectorizer_lost_shows_as_before_the_loop() {
    expect("stale/vectorized.c");
}

#[test]
fn assignments_of_two_branches_are_missed_where_the_branches_meet() {
    expect("stale/branches.c");
}

fn clang() -> Option<Compiler> {
    find_compiler("clang-16").inspect_err(|_| eprintln!("skipped: no clang-16")).ok()
}

fn checker() -> Checker {
    Checker::new(CheckOptions { invariants: vec![Invariant::Stale], ..CheckOptions::default() }).unwrap()
}

#[test]
fn a_report_says_what_should_be_since_when_and_by_which_location() {
    let Some(clang) = clang() else { return };
    let (program, checker) = (load("stale/two_calls.c"), checker());
    let reference = checker.reference(&program, &clang).unwrap();
    let run = checker.check(&program, &reference, &clang, OptLevel::O1, &[]).unwrap();
    let Breach::Stale(stale) = &run.violations[0].breach else { panic!("{:#?}", run.violations) };
    assert_eq!((&*stale.variable, &*stale.value), ("a", "4"));
    assert_eq!(stale.expected.first.iter().map(|v| &**v).collect::<Vec<_>>(), ["7"]);
    let assignment = stale.assignment.unwrap();
    assert_eq!((assignment.line.0, assignment.shown), (9, Timing::Late));
    let location = stale.location.as_ref().unwrap();
    assert!(location.low < location.high && location.instructions > 1 && location.lines > 1, "{location:?}");
    assert_eq!(&*location.expression, "reg5");
}

/// The rules that drop a candidate about a variable on a line.
fn rules_for(name: &str, line: u32, variable: &str) -> Option<Vec<&'static str>> {
    let clang = clang()?;
    let options = CheckOptions { invariants: vec![Invariant::Stale], remembered: Remembered::All, ..CheckOptions::default() };
    let (program, checker) = (load(name), Checker::new(options).unwrap());
    let reference = checker.reference(&program, &clang).unwrap();
    let run = checker.check(&program, &reference, &clang, OptLevel::O1, &[]).unwrap();
    let is_it = |v: &Violation| v.line.0 == line && v.variable().is_some_and(|name| **name == *variable);
    Some(run.dropped.iter().filter(|d| is_it(&d.violation)).map(|d| d.rule).collect())
}

#[test]
fn a_line_that_runs_ahead_of_its_condition_is_left_alone_for_that() {
    if let Some(rules) = rules_for("reordered/ahead_of_condition.c", 11, "huff") {
        assert_eq!(rules, ["speculated"]);
    }
}

#[test]
fn in_a_loop_an_assignment_behind_its_line_is_told_from_the_one_of_the_time_before() {
    // clang 22 runs line 9 after lines 10 to 12.
    let Ok(clang) = find_compiler("clang-22") else {
        eprintln!("skipped: no clang-22");
        return;
    };
    let (program, checker) = (load("reordered/ahead_of_condition.c"), checker());
    let reference = checker.reference(&program, &clang).unwrap();
    let run = checker.check(&program, &reference, &clang, OptLevel::O1, &[]).unwrap();
    assert!(run.violations.is_empty(), "{:#?}", run.violations);
}

#[test]
fn an_assignment_under_the_line_of_its_test_is_left_alone_for_that() {
    if let Some(rules) = rules_for("reordered/combined_test.c", 8, "left") {
        assert_eq!(rules, ["made-later"]);
    }
}

#[test]
fn a_build_compared_with_itself_has_nothing_stale() {
    let names = [
        "stale/two_calls.c",
        "stale/vectorized.c",
        "reordered/ahead_of_condition.c",
        "reordered/inlined.c",
        "reordered/recursive.c",
        "reordered/unrolled.c",
    ];
    for compiler in ["gcc-12", "clang-16"].iter().filter_map(|name| find_compiler(name).ok()) {
        for name in names {
            let (program, checker) = (load(name), checker());
            let reference = checker.reference(&program, &compiler).unwrap();
            let same = checker.check(&program, &reference, &compiler, OptLevel::O0, &[]).unwrap();
            assert!(same.violations.is_empty(), "{name} {compiler:?}: {:#?}", same.violations);
            for level in [OptLevel::O1, OptLevel::O2, OptLevel::O3] {
                let build = checker.check(&program, &reference, &compiler, level, &[]).unwrap();
                let itself = checker.check_pair(&build.binary, &build.binary, &[]).unwrap();
                assert!(itself.violations.is_empty(), "{name} {level}: {:#?}", itself.violations);
            }
        }
    }
}

macro_rules! silent {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            silent(concat!("reordered/", stringify!($name), ".c"));
        })*
    };
}

/// Reordering that languages and debug information allow.
mod reordered {
    use super::silent;

    silent!(
        ahead_of_condition,
        combined_test,
        conditional_move,
        dead_store,
        hoisted_argument,
        hoisted_load,
        inlined,
        merged_stores,
        nested,
        printed,
        recursive,
        scheduled,
        sunk_store,
        switched,
        unrolled,
        vectorized
    );
}
