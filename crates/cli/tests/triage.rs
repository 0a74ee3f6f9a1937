//! `trueline triage` and `trueline reduce` as a user runs them, with real compilers and debuggers.

mod common;

use common::{have, json, trueline};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of these tests, of the shipped examples, or of the library's own tests.
fn program(name: &str) -> PathBuf {
    let places = ["tests/programs", "../../examples", "../triage/tests/programs"];
    let paths = places.map(|place| Path::new(env!("CARGO_MANIFEST_DIR")).join(place).join(name));
    paths.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no program {name}"))
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
    assert_eq!(document["schema"], "trueline.triage/2");
    let finding = &document["findings"][0];
    assert_eq!(finding["pass"]["role"], "enabling", "{document:#}");
    assert_eq!(finding["pass"]["name"], "tree-profile_estimate");
    assert_eq!(finding["fingerprint"]["gcc 12.2.0"], "tree-profile_estimate");
    assert_eq!(finding["known"]["id"], "gcc-merged-return");
    assert!(finding["pass"]["without"].as_str().unwrap().contains("-fdisable-tree-profile_estimate"));
    assert!(finding["pass"]["compilations"].as_u64().unwrap() <= 80);
}

#[test]
fn a_build_that_aborts_where_the_reference_does_not_is_wrong_code_with_a_pass() {
    if !have(&["gcc-12", "gdb"]) {
        return;
    }
    let path = program("diagonal.c");
    let args = [
        "triage",
        path.to_str().unwrap(),
        "--cc",
        "gcc-12",
        "--opt=-O3",
        "--cflag=-msse4.2",
        "--versions",
        "none",
        "--no-readers",
        "--json",
    ];
    let document = json(&trueline(&args));
    let finding = &document["findings"][0];
    assert_eq!(finding["kind"], "wrong-code", "{document:#}");
    assert!(["guilty", "enabling", "set"].contains(&finding["pass"]["role"].as_str().unwrap()), "{document:#}");
    // The printed commands are what a stranger would run: one program aborts, the other does not.
    let place = tempfile::tempdir().unwrap();
    std::fs::copy(&path, place.path().join("diagonal.c")).unwrap();
    for (command, is_well) in [("with", false), ("without", true)] {
        let line = format!("{} && ./a.out", finding["pass"][command].as_str().unwrap());
        let ended = Command::new("sh").args(["-c", &line]).current_dir(&place).status().unwrap();
        assert_eq!(ended.success(), is_well, "{line}");
    }
}

#[test]
fn a_crash_of_the_vectorizer_is_explained_and_reduced_without_a_main() {
    if !have(&["gcc-12", "gdb"]) {
        return;
    }
    let path = program("vectorizer-crash.c");
    let args = ["triage", path.to_str().unwrap(), "--cc", "gcc-12", "--opt=-O3", "--versions", "none", "--no-readers", "--json"];
    let document = json(&trueline(&args));
    let finding = &document["findings"][0];
    assert_eq!((finding["kind"].as_str(), finding["pass"]["name"].as_str()), (Some("crash"), Some("tree-vect")), "{document:#}");
    let place = tempfile::tempdir().unwrap();
    let small = place.path().join("small.c");
    let args =
        ["reduce", path.to_str().unwrap(), "--cc", "gcc-12", "--opt=-O3", "--any-pass", "--tool", "builtin", "--time", "10", "--json"];
    let reduced = json(&trueline(&[&args[..], &["-o", small.to_str().unwrap()]].concat()));
    assert_eq!((reduced["shows"].as_bool(), reduced["invalid"].is_null()), (Some(true), true), "{reduced:#}");
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
    assert!(finding["known"].is_null(), "the pass alone names no bug");
}

#[test]
fn the_wrong_update_of_a_guilty_pass_is_in_the_bug_draft() {
    for cc in ["clang-14", "clang-16"] {
        if !have(&[cc]) {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let (path, out) = (program("tail-recursion.c"), dir.path().join("drafts"));
        let args = ["triage", path.to_str().unwrap(), "--cc", cc, "--opt=-O2", "--versions", "none", "--no-readers", "--only", "line"];
        let document = json(&trueline(&[&args[..], &["--json", "--out", out.to_str().unwrap()]].concat()));
        let finding = &document["findings"][0];
        assert_eq!((&finding["pass"]["role"], &finding["pass"]["name"]), (&"guilty".into(), &"TailCallElimPass".into()), "{document:#}");
        assert_eq!(finding["source_files"][0], "llvm/lib/Transforms/Scalar/TailRecursionElimination.cpp");
        // The pass was watched in clang itself, at that execution: it copies the accumulation of line 6 into another case.
        let update = &finding["update"];
        assert_eq!((&update["state"], &update["on_the_line"]), (&"watched".into(), &1.into()), "{document:#}");
        let error = &update["errors"][0];
        assert_eq!((&error["expected"], &error["observed"]), (&"drop".into(), &"preserve".into()), "{document:#}");
        assert_eq!((&error["dst"]["line"], &error["function"]), (&6.into(), &"recursion".into()), "{document:#}");
        let draft = std::fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
        let report = std::fs::read_to_string(draft.join("report.md")).unwrap();
        for part in [
            "## The update inside the pass",
            "expected drop, observed preserve",
            "Drop(",
            "dropLocation",
            "-opt-bisect-limit",
            " program.c -o",
        ] {
            assert!(report.contains(part), "{part}: {report}");
        }
    }
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
    for part in
        ["## Expected", "## Actual", "## Pass", "tree-profile_estimate", ".debug_line rows", "gcc/predict.cc", "trueline isolate program.c"]
    {
        assert!(report.contains(part), "{report}");
    }
    // Two rows share the address: gdb takes the one that is wrong, lldb the other, each by its own rules.
    assert!(report.contains("ambiguous: seen by the gdb reading"), "{report}");
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
fn cvise_reduces_through_the_command_line() {
    if !have(&["gcc-12", "gdb", "clang-16", "cvise"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("big.c"), dir.path().join("small.c"));
    let text = format!("int unused = 4;\n{}", std::fs::read_to_string(program("merged-return.c")).unwrap());
    std::fs::write(&path, &text).unwrap();
    let args = ["reduce", path.to_str().unwrap(), "--cc", "gcc-12", "--opt=-Og", "--only", "line", "--any-pass", "--tool", "cvise"];
    let document = json(&trueline(&[&args[..], &["--time", "20", "-o", out.to_str().unwrap(), "--json"]].concat()));
    assert_eq!((&document["shows"], &document["invalid"]), (&true.into(), &serde_json::Value::Null), "{document:#}");
    assert!(document["lines"].as_u64() <= document["lines_before"].as_u64(), "{document:#}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_draft_with_a_reduced_program_is_about_the_reduced_program() {
    if !have(&["gcc-12", "gdb", "clang-16"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("drafts");
    let path = program("merged-return.c");
    let args = ["triage", path.to_str().unwrap(), "--cc", "gcc-12", "--opt=-O2", "--versions", "none", "--no-readers", "--only", "line"];
    json(&trueline(&[&args[..], &["--json", "--out", out.to_str().unwrap(), "--reduce", "5"]].concat()));
    let draft = std::fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    let report = std::fs::read_to_string(draft.join("report.md")).unwrap();
    assert!(draft.join("reduced.c").is_file() && draft.join("program.c").is_file());
    assert!(report.contains("## Program (`reduced.c`)"), "{report}");
    assert_eq!(std::fs::read_to_string(draft.join("program.c")).unwrap(), std::fs::read_to_string(&path).unwrap());
    let reproduced = Command::new(draft.join("reproduce.sh")).env("CC", "gcc-12").output().unwrap();
    assert!(reproduced.status.success(), "{report}");
    assert!(String::from_utf8_lossy(&reproduced.stdout).contains("reduced.c:"));
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
