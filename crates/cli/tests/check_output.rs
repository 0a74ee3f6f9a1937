//! What `check` and `trace` print, and their exit codes.

mod common;

use common::{have, trueline};
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn example(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).to_string_lossy().into_owned()
}

#[test]
fn a_violation_is_shown_in_its_source_and_exits_with_1() {
    if !have(&["gcc-12"]) {
        return;
    }
    let output = trueline(&["check", &example("merged-return.c"), "--cc", "gcc-12", "--opt", "-Og"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in
        ["gcc 12", "-Og against -O0", "LINE  merged-return.c:6 is stepped on but never runs", "▸", "never executed at -O0", "why", "next"]
    {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    assert!(!text.contains('\x1b'), "colours without a terminal");
}

#[test]
fn json_is_one_document_and_sarif_a_log() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log.sarif");
    let arguments = ["check", &example("merged-return.c"), "--cc", "gcc-12", "--opt=-Og,-O2", "--json", "--explain", "--sarif"];
    let output = trueline(&[&arguments[..], &[log.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(1));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "trueline.check/2");
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        assert_eq!(run["compiler"]["kind"], "gcc");
        assert_eq!(run["violations"][0]["invariant"], "line");
        assert_eq!(run["violations"][0]["line"], 6);
        assert!(run["dropped"].is_array() && run["completeness"]["lines"]["of"].as_u64().unwrap() > 0);
    }
    let log: serde_json::Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "line");
}

#[test]
fn a_clean_program_exits_with_0() {
    let output = trueline(&["check", &example("clean.c"), "--opt=-O1,-O2"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_rust_program_is_checked() {
    if !have(&["rustc"]) {
        return;
    }
    let output = trueline(&["check", &example("clean.rs"), "--opt=-O1,-O2", "--json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(document["runs"][0]["reference_steps"].as_u64().unwrap() > 3, "{text}");
}

#[test]
fn a_pair_of_binaries_built_elsewhere_is_checked() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let build = |level: &str| {
        let path = dir.path().join(format!("program{level}")).to_string_lossy().into_owned();
        let done = Command::new("gcc-12").args(["-w", "-g", level, &example("merged-return.c"), "-o", &path]).status().unwrap();
        assert!(done.success());
        path
    };
    let output = trueline(&["check", "--reference", &build("-O0"), "--optimized", &build("-O1"), "--json", "--", "unused"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{document:#}");
    assert_eq!(document["runs"][0]["violations"][0]["line"], 6);
}

#[test]
fn a_trace_is_json_lines_with_a_header() {
    let output = trueline(&["trace", &example("clean.c"), "--opt", "-O0", "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    assert_eq!(lines.next().unwrap()["schema"], "trueline.trace/1");
    let first = lines.next().unwrap();
    assert_eq!(first["step"], 0);
    assert!(first["line"].is_u64() && first["frames"].is_array() && first["vars"].is_array(), "{first:#}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_without_a_word() {
    if !have(&["gcc-12"]) {
        return;
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_trueline"))
        .args(["check", &example("merged-return.c"), "--cc", "gcc-12", "--opt", "-Og"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_pair_shows_sources_and_addresses_and_its_lies_by_group() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let source = path("merged-return.c");
    std::fs::copy(example("merged-return.c"), &source).unwrap();
    for (level, output) in [("-O0", "a"), ("-Og", "b")] {
        let status = Command::new("gcc-12").args(["-g", level, "-o", &path(output), &source]).status().unwrap();
        assert!(status.success());
    }
    let (a, b, sarif, known, html) = (path("a"), path("b"), path("log.sarif"), path("known.json"), path("html"));
    let pair = ["check", "--reference", &a, "--optimized", &b];
    let output = trueline(&[&pair[..], &["--group-by", "cause", "--sarif", &sarif, "--html", &html]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in ["──", "▸", "never executed at -O0", "at    0x", "on the stack"] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let log: serde_json::Value = serde_json::from_slice(&std::fs::read(&sarif).unwrap()).unwrap();
    let result = &log["runs"][0]["results"][0];
    let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("merged-return.c"), "{uri}");
    assert!(result["partialFingerprints"]["cause/v1"].is_string(), "{result}");
    let page = std::fs::read_to_string(dir.path().join("html/functions/1.html")).unwrap();
    assert!(page.contains("return &#38;g_4;"), "{page}");

    let document = trueline(&[&pair[..], &["--json"]].concat()).stdout;
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    let run = &document["runs"][0];
    let grouped: usize = run["groups"].as_array().unwrap().iter().map(|g| g["violations"].as_array().unwrap().len()).sum();
    assert_eq!(grouped, run["violations"].as_array().unwrap().len());

    let written = trueline(&[&pair[..], &["--group-by", "cause", "--baseline", &known, "--write-baseline"]].concat());
    assert_eq!(written.status.code(), Some(0), "{}", String::from_utf8_lossy(&written.stderr));
    let again = trueline(&[&pair[..], &["--baseline", &known]].concat());
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stdout));
}

#[test]
fn a_budget_and_a_focus_tell_what_share_was_seen() {
    let example = example("clean.c");
    let output = trueline(&["check", &example, "--functions", "main", "--for", "30s", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{document}");
    let note = &document["runs"][0]["notes"][0];
    assert_eq!(note["kind"], "partial", "{document}");
    assert!(note["seen"].as_u64().unwrap() > 0 && note["executed"].as_u64() >= note["seen"].as_u64(), "{note}");
    let refused = trueline(&["check", &example, "--engine", "gdb", "--for", "30s"]);
    assert_eq!(refused.status.code(), Some(2));
}
