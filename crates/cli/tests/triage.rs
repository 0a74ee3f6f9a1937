//! `trueline triage` and `trueline reduce` as a user runs them, with real compilers and debuggers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

fn trueline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueline")).args(args).output().unwrap()
}

/// True when all of these run here; otherwise says what is missing.
fn have(tools: &[&str]) -> bool {
    tools.iter().all(|tool| {
        let there = Command::new(tool).arg("--version").output().is_ok();
        if !there {
            println!("skipped: no {tool} here");
        }
        there
    })
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn merged_returns_come_out_as_an_enabling_pass_and_as_a_known_bug() {
    if !have(&["gcc-12", "gdb"]) {
        return;
    }
    let path = program("merged-return.c");
    let args =
        ["triage", path.to_str().unwrap(), "--cc", "gcc-12", "--opt=-O2", "--versions", "none", "--no-readers", "--only", "line", "--json"];
    let document = json(&trueline(&args));
    assert_eq!(document["schema"], "trueline.triage/1");
    let finding = &document["findings"][0];
    assert_eq!(finding["pass"]["role"], "enabling", "{document:#}");
    assert_eq!(finding["pass"]["name"], "tree-profile_estimate");
    assert_eq!(finding["fingerprint"]["gcc 12.2.0"], "tree-profile_estimate");
    assert_eq!(finding["known"]["id"], "gcc-merged-return-o2");
    assert!(finding["pass"]["without"].as_str().unwrap().contains("-fdisable-tree-profile_estimate"));
    assert!(finding["pass"]["compilations"].as_u64().unwrap() <= 80);
}

#[test]
fn a_clang_bisection_names_the_guilty_execution_within_its_budget() {
    if !have(&["clang-16", "gdb"]) {
        return;
    }
    let path = program("narrow-parameter.c");
    let args = ["triage", path.to_str().unwrap(), "--cc", "clang-16", "--opt=-O2", "--versions", "none", "--no-readers", "--json"];
    let document = json(&trueline(&args));
    let finding = document["findings"].as_array().unwrap().iter().find(|f| f["kind"] == "parameter").expect("a wrong parameter");
    let pass = &finding["pass"];
    assert_eq!(pass["role"], "guilty", "{document:#}");
    assert_eq!(pass["name"], "X86 DAG->DAG Instruction Selection");
    let executions = pass["of"].as_f64().unwrap();
    assert!(pass["compilations"].as_f64().unwrap() <= 2.0 * executions.log2() + 4.0, "{pass:#}");
    assert!(pass["with"].as_str().unwrap().contains("-opt-bisect-limit="));
}

#[test]
fn the_scripts_of_a_draft_work_as_a_user_would_run_them() {
    if !have(&["gcc-12", "gdb", "clang-16"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = program("merged-return.c");
    let out = dir.path().join("drafts");
    let args = [
        "triage",
        path.to_str().unwrap(),
        "--cc",
        "gcc-12",
        "--opt=-O2",
        "--versions",
        "none",
        "--only",
        "line",
        "--out",
        out.to_str().unwrap(),
    ];
    let output = trueline(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let draft = std::fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(draft.join("report.md")).unwrap();
    for part in ["## Expected", "## Actual", "## Pass", "tree-profile_estimate", ".debug_line rows"] {
        assert!(report.contains(part), "{report}");
    }
    let reproduced = Command::new(draft.join("reproduce.sh")).env("CC", "gcc-12").output().unwrap();
    assert!(reproduced.status.success(), "{}", String::from_utf8_lossy(&reproduced.stderr));
    assert!(String::from_utf8_lossy(&reproduced.stdout).contains("program.c:6"));
    // Another level does not show it: the script says so by its exit code.
    let clean = std::fs::read_to_string(draft.join("reproduce.sh")).unwrap().replace("-O2 -g", "-O0 -g");
    std::fs::write(draft.join("reproduce-o0.sh"), clean).unwrap();
    let status = Command::new("sh").arg(draft.join("reproduce-o0.sh")).env("CC", "gcc-12").output().unwrap().status;
    assert_eq!(status.code(), Some(1));

    let interesting = |dir: &Path| Command::new(draft.join("interesting.sh")).current_dir(dir).output().unwrap().status.success();
    assert!(interesting(&draft));
    let other = dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("program.c"), "int main(void) { return 0; }\n").unwrap();
    assert!(!interesting(&other));
}

#[test]
fn the_built_in_reducer_keeps_the_fault_and_leaves_the_original_alone() {
    if !have(&["gcc-12", "gdb", "clang-16"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("big.c");
    let padding = "typedef int word;\nword unused = 4;\nint table[3] = {1, 2, 3};\nstatic word helper(word x) {\n  if (x > 2)\n    return x + 1;\n  return x;\n}\n";
    let text = format!("{padding}{}", std::fs::read_to_string(program("merged-return.c")).unwrap());
    std::fs::write(&path, &text).unwrap();
    let out = dir.path().join("small.c");
    let args = [
        "reduce",
        path.to_str().unwrap(),
        "--cc",
        "gcc-12",
        "--opt=-Og",
        "--only",
        "line",
        "--any-pass",
        "--tool",
        "builtin",
        "-o",
        out.to_str().unwrap(),
        "--json",
    ];
    let output = trueline(&args);
    if String::from_utf8_lossy(&output.stderr).contains("libclang") {
        return println!("skipped: no libclang here");
    }
    let document = json(&output);
    assert_eq!(document["shows"], true, "{document:#}");
    assert_eq!(document["invalid"], serde_json::Value::Null, "{document:#}");
    assert!(document["lines"].as_u64().unwrap() <= 9, "{}", std::fs::read_to_string(&out).unwrap());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn bad_uses_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let clean = dir.path().join("clean.c");
    std::fs::write(&clean, "int main(void) {\n  return 0;\n}\n").unwrap();
    let clean = clean.to_str().unwrap();
    let output = trueline(&["triage", "7"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--db"));
    let output = trueline(&["reduce", clean, "--cc", "gcc", "-o", clean]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("never changed"));
    if !have(&["gdb"]) {
        return;
    }
    let output = trueline(&["triage", clean, "--cc", "gcc", "--versions", "none"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("shows nothing wrong"));
    let output = trueline(&["reduce", clean, "--cc", "gcc"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to reduce"));
}
