//! `; RUN: trueline passes %s` under LLVM's own test runner.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// LLVM's lit: on PATH, or where Debian's llvm-NN-tools put it.
fn lit() -> Option<Command> {
    let debian = (13..30).map(|n| PathBuf::from(format!("/usr/lib/llvm-{n}/build/utils/lit/lit.py"))).find(|p| p.is_file());
    if let Some(script) = debian {
        let mut command = Command::new("python3");
        command.arg(script);
        return Some(command);
    }
    Command::new("lit").arg("--version").output().is_ok_and(|o| o.status.success()).then(|| Command::new("lit"))
}

fn run(opt: &str) -> Option<Output> {
    if Command::new(opt).arg("--version").output().is_err() {
        println!("skipped: no {opt}");
        return None;
    }
    let Some(mut command) = lit() else {
        println!("skipped: no lit");
        return None;
    };
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/lit");
    command.arg("-v").arg(format!("--param=trueline={}", env!("CARGO_BIN_EXE_trueline"))).arg(format!("--param=opt={opt}")).arg(suite);
    command.output().ok()
}

#[test]
fn a_wrong_update_fails_the_test() {
    let Some(output) = run("opt-16") else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("FAIL: debug locations :: tail-recursion.ll"), "{text}");
    assert!(text.contains("INCORRECT TailCallElimPass"), "the report is in the log:\n{text}");
}

#[test]
fn a_right_update_passes_the_test() {
    let Some(output) = run("opt-19") else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("PASS: debug locations :: tail-recursion.ll"), "{text}");
}
