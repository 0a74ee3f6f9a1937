//! `-g` and the generated code.

use crate::harness::load;
use std::os::unix::fs::PermissionsExt;
use trueline_check::{CheckOptions, Checker};
use trueline_model::{Breach, CodeDifference, Invariant, OptLevel};
use trueline_toolchain::{Scratch, find_compiler};

fn violations(compiler: &trueline_toolchain::Compiler) -> Vec<trueline_model::Violation> {
    let program = load("clean/calls.c");
    let checker = Checker::new(CheckOptions { invariants: vec![Invariant::Codegen], ..CheckOptions::default() }).unwrap();
    let reference = checker.reference(&program, compiler).unwrap();
    checker.check(&program, &reference, compiler, OptLevel::O2, &[]).unwrap().violations
}

#[test]
fn gcc_and_clang_generate_the_same_code_with_debug_information() {
    for name in ["gcc", "clang-16"] {
        match find_compiler(name) {
            Ok(compiler) => assert!(violations(&compiler).is_empty(), "{name}"),
            Err(e) => eprintln!("skipped: {e}"),
        }
    }
}

#[test]
fn a_compiler_whose_g_changes_code_is_caught() {
    let scratch = Scratch::new().unwrap();
    let script =
        "#!/bin/sh\ncase \" $* \" in *' -g '*) exec gcc -O1 \"$@\" -fno-inline -falign-functions=64 ;; *) exec gcc \"$@\" ;; esac\n";
    let path = scratch.write("faulty-gcc", script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = violations(&find_compiler(path.to_str().unwrap()).unwrap());
    assert_eq!(found.len(), 1, "{found:#?}");
    let Breach::Codegen(CodeDifference::Bytes { section, with, without }) = &found[0].breach else { panic!("{found:#?}") };
    assert_eq!(&**section, ".text");
    assert!(with.differs_at > 0 && without.differs_at > 0, "{found:#?}");
}
