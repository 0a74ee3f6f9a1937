//! `check` on directories: baselines, JUnit and SARIF over all programs, exit codes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of programs as a project has them: two that mislead under gcc 12 -Og, one that is fine, one below.
struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    /// `None` without the compiler that the programs are known to go wrong with.
    fn new() -> Option<Self> {
        let version = Command::new("gcc-12").arg("-dumpfullversion").output();
        if !version.is_ok_and(|v| v.stdout.starts_with(b"12.2")) {
            eprintln!("skipped: no gcc 12.2");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("programs/deep")).unwrap();
        std::fs::create_dir_all(dir.path().join("programs/.hidden")).unwrap();
        let project = Self { dir };
        for (from, to) in [
            ("merged-return.c", "merged-return.c"),
            ("union-parameter.c", "deep/union-parameter.c"),
            ("clean.c", "clean.c"),
            ("clean.c", ".hidden/never-looked-at.c"),
        ] {
            std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(from), project.program(to)).unwrap();
        }
        std::fs::write(project.program("notes.txt"), "no program").unwrap();
        Some(project)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.dir.path().join("programs").join(name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn check(&self, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
        command.args(["check", "programs", "--cc", "gcc-12", "--opt", "-Og", "--invariant", "line,parameter"]);
        command.args(more).current_dir(self.dir.path()).output().unwrap()
    }

    fn edit(&self, name: &str, change: impl FnOnce(String) -> String) {
        let text = std::fs::read_to_string(self.program(name)).unwrap();
        std::fs::write(self.program(name), change(text)).unwrap();
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_directory_is_searched_and_only_what_is_wrong_is_shown() {
    let Some(project) = Project::new() else { return };
    let output = project.check(&[]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("── programs/deep/union-parameter.c") && text.contains("── programs/merged-return.c"), "{text}");
    assert!(!text.contains("clean.c") && !text.contains("never-looked-at"), "{text}");
    assert!(text.contains("3 violations (1 line, 2 parameter) in 3 runs of 3 programs"), "{text}");
}

#[test]
fn known_violations_do_not_fail_and_new_ones_do() {
    let Some(project) = Project::new() else { return };
    let missing = project.check(&["--baseline", "known.json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stdout(&missing).contains("--write-baseline"), "{}", stdout(&missing));

    let written = project.check(&["--baseline", "known.json", "--write-baseline"]);
    assert_eq!(written.status.code(), Some(0), "{}", stdout(&written));
    let baseline: Value = serde_json::from_slice(&std::fs::read(project.path("known.json")).unwrap()).unwrap();
    assert_eq!(baseline["schema"], "trueline.baseline/1");
    assert_eq!(baseline["known"][0]["program"], "programs/deep/union-parameter.c");
    assert_eq!(baseline["known"][2]["build"], "gcc 12 -Og");

    let quiet = project.check(&["--baseline", "known.json"]);
    assert_eq!(quiet.status.code(), Some(0), "{}", stdout(&quiet));
    assert!(stdout(&quiet).contains("0 new violations") && stdout(&quiet).contains("3 known violations"), "{}", stdout(&quiet));

    // Lines added above do not make it new; another program that goes wrong is.
    project.edit("merged-return.c", |text| format!("/* a comment\n   of two lines */\n{text}"));
    std::fs::copy(project.program("merged-return.c"), project.program("another.c")).unwrap();
    let output = project.check(&["--baseline", "known.json", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["baseline"]["known"], 3, "{document:#}");
    let new: Vec<&Value> = document["runs"].as_array().unwrap().iter().filter(|r| r["violations"] != Value::Array(vec![])).collect();
    assert_eq!(new.len(), 1, "{document:#}");
    assert_eq!(new[0]["program"], "programs/another.c");

    // What is mended is said to be, and forgotten by the next writing.
    std::fs::remove_file(project.program("another.c")).unwrap();
    std::fs::copy(project.program("clean.c"), project.program("merged-return.c")).unwrap();
    let mended = project.check(&["--baseline", "known.json"]);
    assert_eq!(mended.status.code(), Some(0), "{}", stdout(&mended));
    assert!(stdout(&mended).contains("1 known no longer there"), "{}", stdout(&mended));
    project.check(&["--baseline", "known.json", "--write-baseline"]);
    let baseline: Value = serde_json::from_slice(&std::fs::read(project.path("known.json")).unwrap()).unwrap();
    assert_eq!(baseline["known"].as_array().unwrap().len(), 2, "{baseline:#}");
}

/// `tests/data/baseline-1.json` was written by the last version whose violations were strings.
#[test]
fn a_baseline_of_an_earlier_version_excuses_what_it_did() {
    let Some(project) = Project::new() else { return };
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/baseline-1.json");
    std::fs::copy(&kept, project.path("known.json")).unwrap();
    let quiet = project.check(&["--baseline", "known.json"]);
    assert_eq!(quiet.status.code(), Some(0), "{}", stdout(&quiet));
    assert!(stdout(&quiet).contains("0 new violations") && stdout(&quiet).contains("3 known violations"), "{}", stdout(&quiet));
    // Written anew it is the same file.
    project.check(&["--baseline", "known.json", "--write-baseline"]);
    assert_eq!(std::fs::read_to_string(project.path("known.json")).unwrap(), std::fs::read_to_string(kept).unwrap());
}

#[test]
fn a_program_that_cannot_be_checked_is_told_and_the_others_go_on() {
    let Some(project) = Project::new() else { return };
    std::fs::write(project.program("broken.c"), "int main(void) { return x; }\n").unwrap();
    let (junit, sarif) = (project.path("report.xml"), project.path("log.sarif"));
    let output = project.check(&["--junit", junit.to_str().unwrap(), "--sarif", sarif.to_str().unwrap()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("broken.c") && text.contains("3 violations") && text.contains("1 build could not be checked"), "{text}");

    let report = std::fs::read_to_string(junit).unwrap();
    assert_eq!(report.matches("<testsuite ").count(), 4, "{report}");
    assert!(report.contains("<error message=\"gcc 12.2.0 does not compile broken.c:") && report.contains("'x' undeclared"), "{report}");
    assert!(report.contains("<testcase name=\"gcc 12.2.0 -Og\" classname=\"programs/merged-return.c\""), "{report}");
    assert!(report.contains("line: merged-return.c:6 is stepped on but never runs</failure>"), "{report}");
    let parse = "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])";
    let parsed = Command::new("python3").args(["-c", parse]).arg(project.path("report.xml")).status();
    assert!(parsed.is_err() || parsed.is_ok_and(|s| s.success()), "not XML:\n{report}");

    let log: Value = serde_json::from_slice(&std::fs::read(sarif).unwrap()).unwrap();
    let uris: Vec<&Value> = log["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        .collect();
    assert_eq!(
        uris,
        ["programs/deep/union-parameter.c", "programs/deep/union-parameter.c", "programs/merged-return.c"],
        "sorted, relative to where the command ran"
    );

    // A baseline may know that, too.
    project.check(&["--baseline", "known.json", "--write-baseline"]);
    let output = project.check(&["--baseline", "known.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).contains("1 build known not to be checkable"), "{}", stdout(&output));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let Some(project) = Project::new() else { return };
    let document = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trueline"));
        command.args(["check", "programs", "--cc", "gcc-12", "--opt=-Og,-O2", "--invariant", "line,parameter", "--json"]);
        let output = command.env("RAYON_NUM_THREADS", threads).current_dir(project.dir.path()).output().unwrap();
        let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
        for run in document["runs"].as_array_mut().unwrap() {
            run["compile_cpu"].take();
            run["trace_cpu"].take();
        }
        document
    };
    assert_eq!(document("1"), document("4"));
}
