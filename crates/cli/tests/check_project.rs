//! `check --project`: small projects of ours, from their own build command to what is wrong in them.

use std::path::Path;
use std::process::{Command, Output};

/// gcc 12 at -Og says that `u` is in the register that the loop counts in.
const FOLD: &str = "#include \"fold.h\"\nlong fold(int a, int b, union narrow u, signed char *p) {\n  long kept[3];\n  int i;\n  for (i = 0; i < 3; i++)\n    kept[i] = -4;\n  return kept[1];\n}\n";
const HEADER: &str = "union narrow { unsigned whole; };\nlong fold(int a, int b, union narrow u, signed char *p);\n";
const MAIN: &str = "#include <stdio.h>\n#include \"fold.h\"\nlong g[4];\nsigned char byte;\nint main(int argc, char **argv) {\n  union narrow u = {77};\n  FILE *f = fopen(argc > 1 ? argv[1] : \"out.txt\", \"w\");\n  if (!f)\n    return 9;\n  fclose(f);\n  g[0] = fold(1, 28, u, &byte);\n  return 0;\n}\n";
const MAKEFILE: &str = "prog: src/main.o src/fold.o\n\t$(CC) -s -o $@ $^\n%.o: %.c\n\t$(CC) -O3 -Wall -c -o $@ $<\n";

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("src")).unwrap();
    for (name, text) in [("Makefile", MAKEFILE), ("src/main.c", MAIN), ("src/fold.c", FOLD), ("src/fold.h", HEADER)] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn check(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
    command.args(["check", "--project"]).arg(dir).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_lie_in_a_project_of_two_files_is_found_by_its_own_build() {
    let dir = project();
    let output = check(dir.path(), &["--run", "./prog", "--cc", "gcc-12", "--opt=-Og", "--invariant", "parameter", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &document["runs"][0];
    assert_eq!((run["program"].as_str(), run["opt"].as_str()), (Some("./prog"), Some("-Og")), "{run}");
    let violations = run["violations"].as_array().unwrap();
    assert!(violations.iter().any(|v| v["variable"] == "u" && v["file"] == "fold.c"), "{run}");
    let left = std::fs::read_dir(dir.path()).unwrap().count() + std::fs::read_dir(dir.path().join("src")).unwrap().count();
    assert_eq!(left, 5, "the user's tree is as it was");
}

#[test]
fn a_projects_own_file_says_how_it_is_built_and_run() {
    let dir = project();
    let config = "cc = [\"gcc-12\"]\nopt = [\"-Og\"]\n[project]\nbuild = \"make prog\"\nrun = [\"./prog\"]\n";
    std::fs::write(dir.path().join("trueline.toml"), config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
    let output = command.args(["check", "--project", ".", "--invariant", "parameter"]).current_dir(dir.path()).output().unwrap();
    assert!(output.status.code() == Some(1) && said(&output).contains("fold.c:6"), "{}", said(&output));
}

#[test]
fn every_run_is_checked_and_works_in_a_copy_of_the_tree() {
    let dir = project();
    let output = check(dir.path(), &["--run", "./prog", "--run", "./prog src/made.txt", "--cc", "gcc-12", "--opt=-O1", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    let programs: Vec<&str> = document["runs"].as_array().unwrap().iter().filter_map(|r| r["program"].as_str()).collect();
    assert_eq!(programs, ["./prog", "./prog src/made.txt"]);
    for run in document["runs"].as_array().unwrap() {
        assert!(run["error"].is_null() && run["reference_steps"].as_u64() > Some(5), "{run}");
    }
    assert!(!dir.path().join("out.txt").exists() && !dir.path().join("src/made.txt").exists());
}

#[test]
fn a_build_that_fails_or_strips_is_told_with_its_own_words() {
    let dir = project();
    let failed = check(dir.path(), &["--build", "echo the library is missing >&2; exit 7", "--run", "./prog"]);
    assert_eq!(failed.status.code(), Some(2), "{}", said(&failed));
    assert!(said(&failed).contains("exit code 7") && said(&failed).contains("the library is missing"), "{}", said(&failed));
    let stripped = check(dir.path(), &["--build", "make && strip prog", "--run", "./prog", "--cc", "gcc-12"]);
    assert!(stripped.status.code() == Some(2) && said(&stripped).contains("strips ./prog"), "{}", said(&stripped));
    let missing = check(dir.path(), &["--run", "./program", "--cc", "gcc-12"]);
    assert!(missing.status.code() == Some(2) && said(&missing).contains("./prog"), "{}", said(&missing));
    let nowhere = check(Path::new("no-such-directory"), &["--run", "./prog"]);
    assert!(nowhere.status.code() == Some(2) && said(&nowhere).contains("no-such-directory"), "{}", said(&nowhere));
    let bare = check(dir.path(), &[]);
    assert!(bare.status.code() == Some(2) && said(&bare).contains("--run"), "{}", said(&bare));
}

#[test]
fn a_baseline_of_a_project_survives_lines_that_move() {
    let dir = project();
    let known = dir.path().join("known.json");
    let flags = ["--run", "./prog", "--cc", "gcc-12", "--opt=-Og", "--invariant", "parameter", "--baseline", known.to_str().unwrap()];
    let written = check(dir.path(), &[&flags[..], &["--write-baseline"]].concat());
    assert!(written.status.success(), "{}", said(&written));
    let moved = format!("// A line.\n\n{FOLD}");
    std::fs::write(dir.path().join("src/fold.c"), moved).unwrap();
    let again = check(dir.path(), &flags);
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
    let another = FOLD.replace("    kept[i] = -4;", "    kept[i] = -5;");
    std::fs::write(dir.path().join("src/fold.c"), another).unwrap();
    let new = check(dir.path(), &flags);
    assert_eq!(new.status.code(), Some(1), "the line is another one: {}", said(&new));
}

#[test]
fn a_run_that_differs_each_time_or_never_ends_is_no_fault_of_the_compiler() {
    let dir = project();
    let clock = "#include <stdio.h>\n#include <time.h>\nint main(int argc, char **argv) {\n  struct timespec t;\n  clock_gettime(CLOCK_REALTIME, &t);\n  printf(\"%ld\\n\", t.tv_nsec);\n  while (argc > 1)\n    ;\n  return 0;\n}\n";
    std::fs::write(dir.path().join("src/main.c"), clock).unwrap();
    let differs = check(dir.path(), &["--run", "./prog", "--cc", "gcc-12"]);
    let note = "something else each time: 1 lines of its output were not compared";
    assert!(differs.status.code() == Some(0) && said(&differs).contains(note), "{}", said(&differs));
    let endless = check(dir.path(), &["--run", "./prog x", "--cc", "gcc-12", "--time-limit", "3"]);
    let text = said(&endless);
    assert!(endless.status.code() == Some(2) && text.contains("`./prog x`") && text.contains("did not finish within 3 s"), "{text}");
    let left = std::fs::read_dir(dir.path()).unwrap().count() + std::fs::read_dir(dir.path().join("src")).unwrap().count();
    assert_eq!(left, 5, "the user's tree is as it was");
}

#[test]
fn a_finding_of_a_project_leads_to_its_unit_and_pass() {
    let dir = project();
    let found = check(dir.path(), &["--run", "./prog", "--cc", "gcc-12", "--opt=-Og", "--invariant", "parameter"]);
    assert!(said(&found).contains("trueline triage --project"), "{}", said(&found));
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
    command.args(["triage", "--project"]).arg(dir.path()).args([
        "--run",
        "./prog",
        "--cc",
        "gcc-12",
        "--opt=-Og",
        "--only",
        "parameter",
        "--line",
        "7",
        "--json",
    ]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = &document["findings"][0];
    assert_eq!(finding["sources"], serde_json::json!(["src/fold.c"]), "{document}");
    assert!(finding["links"].as_u64() <= Some(4) && finding["pass"]["evidence"].is_string(), "{document}");
    assert_eq!(finding["mixing"], "replay", "{document}");
}

/// What a build calls the system's is not the user's, unless he says so.
#[test]
fn headers_that_the_build_takes_from_a_system_directory_are_not_judged() {
    let dir = project();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("vendor")).unwrap();
    // All of fold.c becomes a header of somebody else's.
    std::fs::write(at("vendor/fold_body.h"), FOLD).unwrap();
    std::fs::write(at("src/fold.c"), "#include <fold_body.h>\n").unwrap();
    std::fs::write(at("Makefile"), MAKEFILE.replace("-c -o", "-isystem vendor -Isrc -c -o")).unwrap();
    let flags = ["--run", "./prog", "--cc", "gcc-12", "--opt=-Og", "--invariant", "parameter"];
    let output = check(dir.path(), &flags);
    assert!(output.status.code() == Some(0) && said(&output).contains("0 violations"), "{}", said(&output));
    let output = check(dir.path(), &[&flags[..], &["--user", "*/vendor/*"]].concat());
    assert!(output.status.code() == Some(1) && said(&output).contains("fold_body.h:6"), "{}", said(&output));
}

/// One file has no other file to read, and says so.
#[test]
fn a_run_that_reads_a_file_is_told_as_the_reason_why_there_is_no_draft() {
    let dir = project();
    std::fs::write(dir.path().join("src/main.c"), MAIN.replace("\"w\"", "\"r\"")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
    command.args(["triage", "--project"]).arg(dir.path()).arg("--out").arg(dir.path().join("drafts"));
    command.args(["--run", "./prog Makefile", "--cc", "gcc-12", "--opt=-Og", "--only", "parameter", "--line", "7", "--no-readers"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("src/fold.c") && text.contains("the run reads Makefile, which is no part of the one file"), "{text}");
}
