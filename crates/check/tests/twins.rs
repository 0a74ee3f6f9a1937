//! Builds of two levels that are the same file.

use trueline_check::{CheckOptions, CheckRun, Checker, LevelBuild, Reference, Remembered};
use trueline_model::{Invariant, Language, OptLevel, Origin, Program};
use trueline_toolchain::{Compiler, find_compiler};

/// A program, clang, and the reference that its levels are judged against.
struct Bench {
    program: Program,
    clang: Compiler,
    checker: Checker,
    reference: Reference,
}

impl Bench {
    /// `None` where there is no clang 16.
    fn new(invariants: Vec<Invariant>) -> Option<Self> {
        let Ok(clang) = find_compiler("clang-16") else {
            eprintln!("skipped: no clang-16");
            return None;
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/merged-return.c");
        let program = Program {
            name: "merged-return.c".to_owned(),
            language: Language::C,
            source: std::fs::read_to_string(path).unwrap(),
            origin: Origin::File { path: path.into() },
            cflags: Vec::new(),
        };
        let checker = Checker::new(CheckOptions { invariants, remembered: Remembered::All, ..CheckOptions::default() }).unwrap();
        let reference = checker.reference(&program, &clang).unwrap();
        Some(Self { program, clang, checker, reference })
    }

    fn build(&self, opt: OptLevel, flags: &[&str]) -> LevelBuild<'_> {
        let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
        self.checker.build(&self.program, &self.reference, &self.clang, opt, &flags).unwrap()
    }

    fn judge(&self, build: LevelBuild<'_>) -> CheckRun {
        self.checker.judge_build(&self.reference, build).unwrap()
    }
}

fn without_codegen() -> Vec<Invariant> {
    Invariant::usual().filter(|i| *i != Invariant::Codegen).collect()
}

#[test]
fn a_build_that_is_the_same_file_is_judged_as_the_first_was() {
    let Some(bench) = Bench::new(without_codegen()) else { return };
    let first = bench.judge(bench.build(OptLevel::Og, &[]));
    assert!(bench.checker.is_same_case(&bench.build(OptLevel::O1, &[]), &first), "clang's -Og is its -O1");
    let judged = bench.judge(bench.build(OptLevel::O1, &[]));
    let taken = bench.build(OptLevel::O1, &[]).judged_as(&first);
    let told = |run: &CheckRun| format!("{:?} {:?} {:?} {:?}", run.violations, run.dropped, run.completeness, run.optimized_steps);
    assert_eq!(told(&taken), told(&judged));
    assert!(taken.commands[0].contains("-O1") && first.commands[0].contains("-Og"), "{:?} {:?}", taken.commands, first.commands);
    assert!(taken.binary != first.binary && taken.binary.exists() && first.binary.exists());
}

#[test]
fn builds_that_differ_in_anything_are_judged_by_themselves() {
    let Some(bench) = Bench::new(without_codegen()) else { return };
    let first = bench.judge(bench.build(OptLevel::O1, &[]));
    let is_same = |flags: &[&str]| bench.checker.is_same_case(&bench.build(OptLevel::O1, flags), &first);
    assert!(!is_same(&["-gdwarf-4"]), "other debug information");
    assert!(!is_same(&["-DUNUSED", "-fno-omit-frame-pointer"]), "other code");
    assert!(is_same(&["-DUNUSED"]));
    assert!(!is_same(&["-ffast-math"]), "other results allowed, and crtfastmath.o in the file");
}

#[test]
fn what_needs_other_compilations_is_not_taken_from_a_twin() {
    let Some(bench) = Bench::new(Invariant::ALL.to_vec()) else { return };
    let first = bench.judge(bench.build(OptLevel::Og, &[]));
    assert!(!bench.checker.is_same_case(&bench.build(OptLevel::O1, &[]), &first));
}
