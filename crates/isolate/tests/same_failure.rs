//! What counts as the same failure, as passing, and as a program that can be looked into at all; with a compiler that is gcc but for
//! programs with certain words in them.

use std::os::unix::fs::PermissionsExt;
use trueline_isolate::{FailureJudge, FailureKind, ProgramExtent, diagnose};
use trueline_model::{Interesting, Language, OptLevel, Origin, Program, StillShows};
use trueline_toolchain::{Compiler, find_compiler};

/// At -O2 it crashes on CRASH_HERE and, somewhere else, on CRASH_THERE, and makes MISCOMPILED programs return 7.
const COMPILER: &str = r#"#!/bin/bash
case "$*" in *--version*|*-v) exec gcc --version;; esac
more=
case " $* " in *" -O2 "*)
    grep -q CRASH_HERE program.c && { echo "program.c:$RANDOM:1: internal compiler error: in fold_one, at fold.cc:12" >&2; exit 1; }
    grep -q CRASH_THERE program.c && { echo "program.c:9:1: internal compiler error: in expand_two, at expr.cc:7" >&2; exit 1; }
    grep -q MISCOMPILED program.c && more=-DRESULT=7
esac
exec gcc $more "$@"
"#;

struct Stub {
    compiler: Compiler,
    _dir: tempfile::TempDir,
}

fn stub() -> Option<Stub> {
    if find_compiler("gcc").is_err() {
        println!("skipped: no gcc");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gcc-stub");
    std::fs::write(&path, COMPILER).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    Some(Stub { compiler: find_compiler(path.to_str().unwrap()).unwrap(), _dir: dir })
}

fn program(source: &str) -> Program {
    let origin = Origin::File { path: "program.c".into() };
    Program { name: "program.c".to_owned(), language: Language::C, source: source.to_owned(), origin, cflags: Vec::new() }
}

fn returning(word: &str, result: &str) -> Program {
    program(&format!("/* {word} */\n#ifndef RESULT\n#define RESULT {result}\n#endif\nint main(void) {{ return RESULT; }}\n"))
}

#[test]
fn a_crash_somewhere_else_is_neither_the_failure_nor_a_pass() {
    let Some(stub) = stub() else { return };
    let failure = diagnose(&returning("CRASH_HERE", "0"), &stub.compiler, &[OptLevel::O2], &[], None).unwrap();
    assert_eq!(failure.kind, FailureKind::Crash);
    let judge = FailureJudge::new(failure);
    assert_eq!(judge.judge(&returning("CRASH_HERE", "1")).unwrap(), StillShows::Yes);
    assert_eq!(judge.judge(&returning("CRASH_THERE", "0")).unwrap(), StillShows::Unjudged);
    assert_eq!(judge.judge(&returning("calm", "0")).unwrap(), StillShows::No);
}

#[test]
fn a_given_program_counts_when_it_compiles_and_runs_as_the_reference_runs_it() {
    let Some(stub) = stub() else { return };
    let failure = diagnose(&returning("MISCOMPILED", "0"), &stub.compiler, &[OptLevel::O2], &[], None).unwrap();
    assert_eq!(failure.kind, FailureKind::WrongCode);
    let judge = FailureJudge::new(failure);
    assert!(judge.passes(&returning("calm", "3")).unwrap(), "another exit code than the failing program's is no fault");
    assert!(!judge.passes(&returning("MISCOMPILED", "0")).unwrap());
    assert!(!judge.passes(&returning("CRASH_HERE", "0")).unwrap());
    assert!(!judge.passes(&program("int main(void) { return undeclared; }\n")).unwrap());
    assert!(!judge.passes(&program("int only_a_function(void) { return 1; }\n")).unwrap(), "nothing ran, so nothing is known");
}

#[test]
fn a_program_that_does_not_link_alone_is_compiled_only() {
    let Some(stub) = stub() else { return };
    let source = "extern int elsewhere(void);\nint main(void) { return elsewhere(); } /* CRASH_HERE */\n";
    let failure = diagnose(&program(source), &stub.compiler, &[OptLevel::O2], &[], None).unwrap();
    assert_eq!((failure.kind, failure.extent), (FailureKind::Crash, ProgramExtent::Compiled));
    let judge = FailureJudge::new(failure);
    assert_eq!(judge.judge(&program(source)).unwrap(), StillShows::Yes);
    assert_eq!(judge.judge(&program(&source.replace("CRASH_HERE", "calm"))).unwrap(), StillShows::No);
}
