//! Builds of two levels that are the same file.

use trueline_check::{CheckOptions, CheckRun, Checker};
use trueline_model::{Invariant, Language, OptLevel, Origin, Program};
use trueline_toolchain::find_compiler;

fn program() -> Program {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/merged-return.c");
    let source = std::fs::read_to_string(path).unwrap();
    Program {
        name: "merged-return.c".to_owned(),
        language: Language::C,
        source,
        origin: Origin::File { path: path.into() },
        cflags: Vec::new(),
    }
}

fn checker(wants_codegen: bool) -> Checker {
    let invariants = Invariant::ALL.into_iter().filter(|i| wants_codegen || *i != Invariant::Codegen).collect();
    Checker::new(CheckOptions { invariants, ..CheckOptions::default() }).unwrap()
}

#[test]
fn a_build_that_is_the_same_file_is_judged_as_the_first_was() {
    let Ok(clang) = find_compiler("clang-16") else { return eprintln!("skipped: no clang-16") };
    let (program, checker) = (program(), checker(false));
    let reference = checker.reference(&program, &clang).unwrap();
    let first = checker.check(&program, &reference, &clang, OptLevel::Og, &[]).unwrap();
    let build = |opt| checker.build(&program, &reference, &clang, opt, &[]).unwrap();
    assert!(checker.is_same_case(&build(OptLevel::O1), &first), "clang's -Og is its -O1");
    let judged = checker.judge_build(&reference, build(OptLevel::O1)).unwrap();
    let taken = build(OptLevel::O1).judged_as(&first);
    let told = |run: &CheckRun| format!("{:?} {:?} {:?} {:?}", run.violations, run.dropped, run.completeness, run.optimized_steps);
    assert_eq!(told(&taken), told(&judged));
    assert!(taken.commands[0].contains("-O1") && first.commands[0].contains("-Og"), "{:?} {:?}", taken.commands, first.commands);
    assert!(taken.binary != first.binary && taken.binary.exists() && first.binary.exists());
}

#[test]
fn builds_that_differ_in_anything_are_judged_by_themselves() {
    let Ok(clang) = find_compiler("clang-16") else { return eprintln!("skipped: no clang-16") };
    let (program, checker) = (program(), checker(false));
    let reference = checker.reference(&program, &clang).unwrap();
    let first = checker.check(&program, &reference, &clang, OptLevel::O1, &[]).unwrap();
    let build = |opt, flags: &[&str]| {
        checker.build(&program, &reference, &clang, opt, &flags.iter().map(|f| (*f).to_owned()).collect::<Vec<_>>()).unwrap()
    };
    assert!(!checker.is_same_case(&build(OptLevel::O1, &["-gdwarf-4"]), &first), "other debug information");
    assert!(!checker.is_same_case(&build(OptLevel::O1, &["-DUNUSED", "-fno-omit-frame-pointer"]), &first), "other code");
    assert!(checker.is_same_case(&build(OptLevel::O1, &["-DUNUSED"]), &first));
    assert!(!checker.is_same_case(&build(OptLevel::O1, &["-ffast-math"]), &first), "other results allowed, and crtfastmath.o in the file");
}

#[test]
fn what_needs_other_compilations_is_not_taken_from_a_twin() {
    let Ok(clang) = find_compiler("clang-16") else { return eprintln!("skipped: no clang-16") };
    let (program, checker) = (program(), checker(true));
    let reference = checker.reference(&program, &clang).unwrap();
    let first = checker.check(&program, &reference, &clang, OptLevel::Og, &[]).unwrap();
    assert!(!checker.is_same_case(&checker.build(&program, &reference, &clang, OptLevel::O1, &[]).unwrap(), &first));
}
