//! `isolate` from the outside: bad input with a message that says what to do, and the kinds of failure that
//! need a real compiler to be shown.

mod common;

use common::have;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct TestPlace {
    dir: tempfile::TempDir,
}

impl TestPlace {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

fn isolate(file: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueline")).arg("isolate").arg(file).args(args).output().unwrap()
}

fn refused(file: &Path, args: &[&str], expected: &[&str]) {
    let output = isolate(file, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty());
    for text in expected {
        assert!(stderr.contains(text), "`{text}` is not in: {stderr}");
    }
}

#[test]
fn what_cannot_be_isolated_is_refused_with_what_to_do_next() {
    if !have(&["gcc-12"]) {
        return;
    }
    let place = TestPlace::new();
    let gcc = ["--target", "gcc-12", "--opt", "-O1", "--budget", "5s"];
    let missing = place.dir.path().join("missing.c");
    refused(&missing, &gcc, &["cannot read", "missing.c"]);
    refused(&place.write("a.rs", "fn main() {}\n"), &gcc, &["is not a C program"]);
    refused(&place.write("error.c", "int main(void) { return x; }\n"), &gcc, &["does not compile", "undeclared"]);
    refused(&place.write("fine.c", "int main(void) { return 0; }\n"), &gcc, &["does not fail", "--opt", "--cflag"]);
    let aborts = place.write("aborts.c", "int main(void) { __builtin_abort (); }\n");
    refused(&aborts, &gcc, &["fails at every level and on every compiler", "a bug of the program"]);
    refused(&aborts, &["--target", "no-such-compiler"], &["no-such-compiler"]);
    refused(&aborts, &["--target", "gcc-12", "--budget", "5 parsecs"], &["is not a time"]);
    refused(&aborts, &["--target", "gcc-12", "--triage", missing.to_str().unwrap()], &["cannot read"]);
    let passless = place.write("triage.json", "{\"findings\":[]}");
    refused(&aborts, &["--target", "gcc-12", "--triage", passless.to_str().unwrap()], &["names no guilty pass"]);
}

#[test]
fn a_compiler_that_is_no_gcc_or_clang_says_what_its_binary_lacks() {
    if !have(&["tcc"]) {
        return;
    }
    let place = TestPlace::new();
    let file = place.write("fine.c", "int main(void) { return 0; }\n");
    refused(&file, &["--target", "tcc"], &["cannot map", "--coverage gcov"]);
}

/// Breaks a debug-information invariant at -Og (see examples/README.md).
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

#[test]
fn a_debug_information_failure_is_isolated_and_the_guilty_passs_file_shown() {
    if !have(&["gcc-12"]) {
        return;
    }
    let args = ["--target", "gcc-12", "--opt", "-Og", "--failure", "debug-info", "--budget", "12s", "--guilty-pass", "ccp1", "--json"];
    let output = isolate(&example("union-parameter.c"), &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["failure"]["kind"], "debug-info");
    assert!(document["failure"]["message"].as_str().unwrap().contains("violation at union-parameter.c"));
    assert!(!document["ranking"].as_array().unwrap().is_empty());
    assert_eq!(document["guilty_passes"][0]["file"], "tree-ssa-ccp.cc");
}

/// clang 16 and later unroll the innermost loop without end at -O3.
const ENDLESS: &str = "int outer, inner;
short spin (void)
{
  volatile unsigned char seen = 2;
  int left = 1;
  outer = 0;
  for (; outer < 3; outer++)
    {
      inner = 0;
      for (; inner < 10; inner++)
        do
          {
            left -= 3;
            seen;
          }
        while (left > 2);
    }
  for (;;)
    ;
}
int main (void) { return 0; }
";

#[test]
fn a_compiler_that_does_not_end_is_stopped_and_isolated() {
    if !have(&["clang-16"]) {
        return;
    }
    let place = TestPlace::new();
    let file = place.write("endless.c", ENDLESS);
    let output = isolate(&file, &["--target", "clang-16", "--opt", "-O3", "--budget", "12s", "--no-switches", "--json"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("cannot map") {
        return println!("skipped: {stderr}");
    }
    assert!(output.status.success(), "{stderr}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["failure"]["kind"], "hang");
    assert!(!document["ranking"].as_array().unwrap().is_empty());
}

/// gcc 12 that claims to have crashed after every compilation, at every level and for every program.
const ALWAYS_CRASHES: &str = r#"#!/bin/sh
gcc-12 "$@"
status=$?
case "$*" in
*.c*)
    echo "program.c:1:1: internal compiler error: in every_program, at stub.cc:1" >&2
    exit 1
    ;;
esac
exit $status
"#;

#[test]
fn a_program_that_fails_with_every_mutation_is_refused_and_what_was_found_is_kept() {
    if !have(&["gcc-12"]) {
        return;
    }
    let place = TestPlace::new();
    let stub = place.write("gcc-stub", ALWAYS_CRASHES);
    std::fs::set_permissions(&stub, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = place.write("sum.c", "int sum (int a, int b) { return a + b; }\nint main (void) { return sum (1, -1); }\n");
    let args = ["--target", stub.to_str().unwrap(), "--opt", "-O1", "--budget", "4s", "--json"];
    let output = isolate(&file, &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for text in ["fails with every mutation", "still fail", "--passing"] {
        assert!(stderr.contains(text), "`{text}` is not in: {stderr}");
    }
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["failure"]["kind"], "crash");
    assert!(document["failure"]["message"].as_str().unwrap().contains("every_program"));
    let mutants = &document["mutants"];
    assert!(mutants["judged"].as_u64().unwrap() > 0);
    assert_eq!(mutants["judged"], mutants["failing"]);
    assert_eq!(document["ranking"], serde_json::json!([]));
}

/// gcc that crashes on a macro of the header beside the program, at -O2.
const CRASHES_ON_MACRO: &str = r#"#!/bin/bash
case "$*" in *--version*|*-v) exec gcc-12 --version;; esac
gcc-12 "$@"
status=$?
case " $* " in *" -O2 "*)
    gcc-12 -E "${@/#out/-}" 2>/dev/null | grep -q "a + b" && { echo "program.c:1:1: internal compiler error: in add, at add.cc:1" >&2; exit 1; };;
esac
exit $status
"#;

#[test]
fn a_bug_that_needs_a_header_is_isolated_with_programs_that_pass_beside_it() {
    if !have(&["gcc-12"]) {
        return;
    }
    let place = TestPlace::new();
    let stub = place.write("gcc-stub", CRASHES_ON_MACRO);
    std::fs::set_permissions(&stub, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for dir in ["include", "tests"] {
        std::fs::create_dir(place.dir.path().join(dir)).unwrap();
    }
    place.write("include/add.h", "#define ADD(a, b) (a + b)\n");
    place.write("tests/good.c", "int main(void) { return 0; }\n");
    place.write("tests/bad.c", "int main(void) { return missing; }\n");
    place.write("tests/worse.c", "int f(int a, int b) { return a + b; }\nint main(void) { return 0; }\n");
    let file =
        place.write("needs.c", "#include <add.h>\nint a, b;\nint main(void) { int c = 3; if (a < c) c = c + 1; return ADD(a, b) + c; }\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
    command.current_dir(place.dir.path()).arg("isolate").arg(&file).args(["--target", stub.to_str().unwrap(), "--opt", "-O2"]);
    command.args(["--cflag=-Iinclude", "--budget", "6s", "--no-switches", "--passing", "tests", "--json"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    assert_eq!(document["failure"]["kind"], "crash", "{stderr}");
    assert_eq!(document["given"], serde_json::json!({ "passing": 1, "refused": 2, "left": 0 }));
    assert!(document["mutants"]["judged"].as_u64().unwrap() > 0, "{document:#}");
}
