//! The tour of docs/projects.md: each project of examples/projects goes from `check --project` to a reduced draft by the line
//! that `check` prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn trueline(args: &[String], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueline")).args(args).current_dir(directory).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn words(line: &str) -> Vec<String> {
    let output = Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Checks a copy of a project, follows the printed line of one invariant, and looks at the draft.
fn follow(project: &str, flags: &str, invariant: &str) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/projects");
    let scratch = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-r").arg(examples.join(project)).arg(scratch.path().join(project)).status().unwrap();
    assert!(copied.success());
    let check = words(&format!("check --project {project} {flags} --invariant {invariant}"));
    let found = trueline(&check, scratch.path());
    let text = said(&found);
    assert_eq!(found.status.code(), Some(1), "{text}");
    let next = text.lines().find_map(|l| l.trim().strip_prefix("next  trueline ")).unwrap_or_else(|| panic!("{text}"));
    let mut triage = words(next);
    triage.extend(["120", "--versions", "none"].map(str::to_owned));
    let output = trueline(&triage, scratch.path());
    assert!(output.status.success(), "{next}: {}", said(&output));
    let drafts: Vec<PathBuf> = std::fs::read_dir(scratch.path().join("drafts")).unwrap().map(|e| e.unwrap().path()).collect();
    let [draft] = drafts.as_slice() else { panic!("{drafts:?}: {}", said(&output)) };
    let extension = if project == "rust" { "rs" } else { project };
    let reduced = std::fs::read_to_string(draft.join(format!("reduced.{extension}"))).unwrap();
    let lines = reduced.lines().filter(|l| !l.trim().is_empty()).count();
    assert!(lines <= 40, "{lines} lines: {reduced}");
    let report = std::fs::read_to_string(draft.join("report.md")).unwrap();
    assert!(report.contains("## Pass") && report.contains(invariant), "{report}");
    let shows = Command::new(draft.join("reproduce.sh")).output().unwrap();
    assert!(shows.status.success() && said(&shows).contains("The fault shows."), "{}", said(&shows));
}

#[test]
fn a_finding_of_the_c_project_becomes_a_draft() {
    follow("c", "--run './prog ready' --cc gcc-12 --opt=-Og", "parameter");
}

#[test]
fn a_finding_of_the_cpp_project_becomes_a_draft() {
    follow("cpp", "--run ./prog --cc g++-12 --opt=-O2", "value");
}

#[test]
fn a_finding_of_the_rust_crate_becomes_a_draft() {
    follow("rust", "--run ./target/debug/tank --cc rustc --opt=-O2", "breakpoint");
}
