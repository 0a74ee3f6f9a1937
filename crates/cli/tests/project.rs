//! A project's `trueline.toml`: what it sets, what it leaves alone, and what works in spite of it.

use std::path::Path;
use std::process::{Command, Output};

const CONFIG: &str = "cc = [\"gcc-12\", \"clang-16\"]\nopt = [\"-Og\", \"-O2\"]\ndb = \"campaign.db\"\n";
const PROGRAM: &str = "int g = 3;\nint main(void) {\n  int a = g;\n  return a - 3;\n}\n";

fn project(config: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("trueline.toml"), config).unwrap();
    std::fs::write(dir.path().join("a.c"), PROGRAM).unwrap();
    dir
}

fn trueline(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueline")).args(args).current_dir(dir).output().unwrap()
}

fn both(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_program_that_is_named_needs_no_database_of_the_project() {
    let dir = project(CONFIG);
    let output = trueline(dir.path(), &["triage", "a.c", "--versions", "none", "--no-readers"]);
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let output = trueline(dir.path(), &["triage", "7"]);
    assert!(output.status.code() == Some(2) && both(&output).contains("campaign.db"), "{}", both(&output));
}

#[test]
fn a_command_that_takes_one_compiler_takes_the_first_of_the_project() {
    let dir = project(CONFIG);
    let output = trueline(dir.path(), &["trace", "a.c"]);
    assert!(output.status.success() && both(&output).contains("a.c:4"), "{}", both(&output));
    let output = trueline(dir.path(), &["trace", "a.c", "--cc", "gcc-12,clang-16"]);
    assert!(output.status.code() == Some(2) && both(&output).contains("--cc"), "{}", both(&output));
}

#[test]
fn a_rust_program_of_a_project_of_c_compilers_is_checked_with_rustc() {
    let dir = project("cc = [\"gcc-12\"]\nopt = [\"-O2\"]\n");
    std::fs::write(dir.path().join("b.rs"), "fn main() {\n    let a = std::process::id();\n    assert!(a > 0);\n}\n").unwrap();
    let output = trueline(dir.path(), &["check", "b.rs"]);
    assert!(both(&output).contains("rustc"), "{}", both(&output));
    let output = trueline(dir.path(), &["check", "b.rs", "--cc", "gcc-12"]);
    assert!(output.status.code() == Some(2) && both(&output).contains("choose another compiler"), "{}", both(&output));
}

#[test]
fn a_mistake_in_the_file_keeps_nobody_from_help_and_doctor() {
    let dir = project("compiler = \"gcc\"\n");
    for args in [&["--help"][..], &["check", "--help"], &["--version"], &["doctor"]] {
        let output = trueline(dir.path(), args);
        assert!(output.status.success(), "{args:?}: {}", both(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains("compiler"), "{args:?} warns: {}", both(&output));
    }
    let output = trueline(dir.path(), &["check", "a.c"]);
    assert!(output.status.code() == Some(2) && both(&output).contains("compiler"), "{}", both(&output));
}

#[test]
fn a_merge_of_what_cannot_be_read_makes_no_database() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("corrupt.db"), vec![7u8; 4096]).unwrap();
    for input in ["absent.db", "corrupt.db"] {
        let output = trueline(dir.path(), &["merge", "out.db", input]);
        assert!(output.status.code() == Some(2) && both(&output).contains(input), "{}", both(&output));
        assert!(!dir.path().join("out.db").exists(), "{input}");
    }
}
