//! What a compiler of C++ makes up is not held against it: clones of constructors, thunks, closures, landing pads, the hidden
//! variables of bindings and loops, and `this`. Each program is about one of these.

use std::path::{Path, PathBuf};
use trueline_check::{CheckOptions, CheckRun, Checker};
use trueline_model::{Astray, Breach, Invariant, LineEffect, Violation};
use trueline_toolchain::{Job, Limits, Scratch};

const COMPILERS: [&str; 2] = ["g++-12", "clang++-16"];
const PROGRAMS: [&str; 6] = ["clones", "thunks", "lambdas", "unwinding", "bindings", "members"];

fn compiler(name: &str) -> Option<PathBuf> {
    let found = std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: no {name}");
    }
    found
}

fn build(cc: &Path, scratch: &Scratch, program: &str, level: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/cpp").join(format!("{program}.cpp"));
    let output = scratch.join(format!("{program}{level}"));
    let job = Job::new(cc).args(["-std=c++17", "-g", level, "-o"]).arg(&output).arg(&source).limits(Limits::seconds(120));
    let outcome = job.run().unwrap();
    assert!(outcome.success(), "{program}: {}", outcome.stderr_text());
    output
}

fn check(cc: &Path, program: &str, level: &str) -> CheckRun {
    let scratch = Scratch::new().unwrap();
    let (reference, optimized) = (build(cc, &scratch, program, "-O0"), build(cc, &scratch, program, level));
    let run = Checker::new(CheckOptions::default()).unwrap().check_pair(&reference, &optimized, &[]).unwrap();
    assert!(run.reference_steps > 10, "{program}: hardly looked at");
    run
}

/// The function that a line calls whose breakpoint goes astray.
fn callee(violation: &Violation) -> Option<&str> {
    match &violation.breach {
        Breach::Breakpoint(
            Astray::NeverHit { effect: LineEffect::Call { callee }, .. } | Astray::Moved { effect: LineEffect::Call { callee }, .. },
        ) => Some(callee),
        _ => None,
    }
}

#[test]
fn an_unoptimized_build_is_right_beside_itself() {
    for cc in COMPILERS.into_iter().filter_map(compiler) {
        for program in PROGRAMS {
            let run = check(&cc, program, "-O0");
            assert_eq!(run.violations, [], "{}: {program}", cc.display());
        }
    }
}

#[test]
fn no_finding_is_about_what_the_source_does_not_have() {
    for cc in COMPILERS.into_iter().filter_map(compiler) {
        for program in PROGRAMS {
            let run = check(&cc, program, "-O2");
            for violation in &run.violations {
                let name = violation.variable().map_or("", |name| name);
                assert!(!name.starts_with("__") && name != "this" && !name.starts_with('<'), "{program}: {violation:?}");
                // clang describes a thunk as a function, by its symbol.
                let is_thunk = violation.function.starts_with("_Z") || violation.frames.iter().any(|f| f.starts_with("_Z"));
                assert!(!is_thunk, "{program}: {violation:?}");
                let file = violation.file.base();
                assert_eq!(file, format!("{program}.cpp"), "{violation:?}");
            }
        }
    }
}

/// Both clones of a constructor are that constructor: no frame of one stands on a line that is the other's.
#[test]
fn clones_of_a_constructor_are_one_function() {
    for cc in COMPILERS.into_iter().filter_map(compiler) {
        let run = check(&cc, "clones", "-O2");
        let against = |v: &&Violation| v.invariant() == Invariant::SelfContradiction || v.function.contains("Left::");
        let found: Vec<&Violation> = run.violations.iter().filter(against).collect();
        assert!(found.is_empty(), "{}: {found:#?}", cc.display());
        let names: Vec<&str> = run.optimized.stops.iter().flat_map(|s| s.stack.iter()).map(|a| &*a.function).collect();
        assert!(names.contains(&"Left::Left(int)"), "{}: {names:?}", cc.display());
    }
}

/// An exception that goes on leaves from the brace of each function that it passes; the handlers are lines of the source.
#[test]
fn going_on_with_an_exception_is_no_effect_of_a_line() {
    for cc in COMPILERS.into_iter().filter_map(compiler) {
        let run = check(&cc, "unwinding", "-O2");
        let callees: Vec<&str> = run.violations.iter().filter_map(callee).collect();
        assert!(!callees.iter().any(|callee| callee.contains("Unwind")), "{}: {callees:?}", cc.display());
        // g++ puts the handler where no row is a statement: gdb cannot stop at its first line.
        if cc.ends_with("g++-12") {
            assert!(callees.contains(&"__cxa_begin_catch"), "{callees:?}");
        }
    }
}
