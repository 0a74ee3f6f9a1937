//! The breakpoint invariant: lines whose breakpoint goes astray, and what optimizers may do to one.

use crate::harness::{expect, load};
use trueline_check::{CheckOptions, Checker};
use trueline_model::{Invariant, OptLevel};
use trueline_toolchain::{CompileRequest, Scratch, find_compiler};

#[test]
fn gdb_moves_a_breakpoint_behind_the_loop_that_it_is_set_in() {
    expect("moved-behind-loop.c");
}

#[test]
fn breakpoints_of_rust_lines_that_stay_are_hit() {
    expect("breaks.rs");
}

#[test]
fn two_lines_that_became_one_store_are_silent() {
    expect("merged-store.c");
}

#[test]
fn a_build_compared_with_itself_has_no_breakpoint_astray_and_nothing_lost() {
    let invariants = vec![Invariant::Breakpoint, Invariant::Lost];
    let checker = Checker::new(CheckOptions { invariants, ..CheckOptions::default() }).unwrap();
    for name in ["clean/calls.c", "clean/globals.c", "moved-behind-loop.c"] {
        let program = load(name);
        for cc in ["gcc-12", "clang-16"] {
            let Ok(compiler) = find_compiler(cc) else { continue };
            for level in [OptLevel::O1, OptLevel::O3] {
                let scratch = Scratch::new().unwrap();
                let source = scratch.write(&program.name, &program.source).unwrap();
                let request = CompileRequest::new(&source, program.language, level, scratch.join("build"));
                let build = compiler.compile(&request).unwrap();
                let reference = checker.reference_pair(&build.binary, &[]).unwrap();
                let run = checker.check_against(&reference, &build.binary).unwrap();
                assert!(run.violations.is_empty() && run.notes.is_empty(), "{name} {cc} {level}: {:#?} {:?}", run.violations, run.notes);
            }
        }
    }
}
