//! `trueline ledger`: causes that are looked for again.

mod common;

use common::trueline;
use std::path::Path;

/// Two returns of one value, of which gcc 12 keeps one: the debugger shows the first, which does not run.
const PROGRAM: &str = include_str!("../../../examples/merged-return.c");

fn entry(dir: &Path, versions: &str, line: u32) {
    let entry = dir.join("gcc-merged-return");
    std::fs::create_dir_all(&entry).unwrap();
    let bug = format!(
        r#"title = "Two returns become one"
component = "gcc"
pass = "tree-profile_estimate"
severity = "wrong-line"
status = "unreported"
findings = 1
[shows]
invariant = "line"
line = {line}
shown = "line {line}"
truth = "the other return"
[versions]
{versions}
"#
    );
    for (name, text) in [("bug.toml", bug.as_str()), ("report.md", "# Two returns\n"), ("reproduce.sh", "exit 0\n"), ("program.c", PROGRAM)]
    {
        std::fs::write(entry.join(name), text).unwrap();
    }
}

/// The compiler as entries write it.
fn version() -> String {
    let output = std::process::Command::new("gcc-12").arg("-dumpfullversion").output().unwrap();
    format!("gcc {}", String::from_utf8(output.stdout).unwrap().trim())
}

fn wrong_line() -> u32 {
    let output = trueline(&["check", concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/merged-return.c"), "--cc", "gcc-12", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let violations = document["runs"][0]["violations"].as_array().unwrap();
    violations.iter().find(|v| v["invariant"] == "line").unwrap()["line"].as_u64().unwrap() as u32
}

#[test]
fn an_entry_shows_is_gone_or_changed_and_what_contradicts_the_ledger_fails() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().to_str().unwrap();
    let (line, version) = (wrong_line(), version());
    let verify = || {
        let output = trueline(&["ledger", "verify", ledger, "--cc", "gcc-12"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };

    entry(dir.path(), &format!("\"{version}\" = [\"-O2\"]"), line);
    let (code, said) = verify();
    assert!(code == Some(0) && said.contains("-O2    shows"), "{said}");

    entry(dir.path(), &format!("\"{version}\" = [\"-O2\"]"), 1);
    let (code, said) = verify();
    assert!(code == Some(1) && said.contains(&format!("changed: now on line {line}")), "{said}");

    entry(dir.path(), &format!("\"{version}\" = []\n\"gcc 99.0.0\" = [\"-O2\"]"), line);
    let (code, said) = verify();
    assert!(code == Some(1) && said.contains("shows  (the ledger has it as absent)"), "{said}");

    entry(dir.path(), "\"gcc 99.0.0\" = [\"-O2\"]", line);
    let (code, said) = verify();
    assert!(code == Some(0) && said.contains("(not in the ledger)"), "{said}");
}

/// An entry that no invariant speaks of, with a script that answers by the variable it is given.
fn asked(dir: &Path, component: &str, versions: &str, script: &str) {
    entry(dir, versions, 3);
    let entry = dir.join("gcc-merged-return");
    let bug = std::fs::read_to_string(entry.join("bug.toml")).unwrap();
    let bug = bug.replace("invariant = \"line\"\n", "").replace("component = \"gcc\"", &format!("component = \"{component}\""));
    std::fs::write(entry.join("bug.toml"), bug).unwrap();
    std::fs::write(entry.join("reproduce.sh"), script).unwrap();
}

#[test]
fn what_no_invariant_speaks_of_is_asked_of_the_entrys_script_with_the_compiler_level_and_debugger() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().to_str().unwrap();
    let gdb = std::process::Command::new("gdb").arg("--version").output().unwrap();
    let banner = String::from_utf8(gdb.stdout).unwrap();
    let gdb = format!("gdb {}", banner.lines().next().unwrap().rsplit(' ').next().unwrap());
    let verify = |flag: &str, tool: &str| {
        let output = trueline(&["ledger", "verify", ledger, flag, tool]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr))
    };
    let levels = format!("\"{}\" = [\"-O2\"]\n\"{gdb}\" = [\"-O2\"]", version());

    asked(dir.path(), "gcc", &levels, "case $CC$LEVEL in */gcc-12-O2) exit 0;; esac\nexit 2\n");
    let (code, said) = verify("--cc", "gcc-12");
    assert!(code == Some(0) && said.contains("-O2    shows"), "{said}");

    asked(dir.path(), "gcc", &levels, "exit 1\n");
    let (code, said) = verify("--cc", "gcc-12");
    assert!(code == Some(1) && said.contains("gone  (the ledger has it as shown)"), "{said}");

    asked(dir.path(), "gdb", &levels, "case $GDB in */gdb) exit 0;; esac\nexit 2\n");
    let (code, said) = verify("--debugger", "gdb");
    assert!(code == Some(0) && said.contains("-O2    shows"), "{said}");

    asked(dir.path(), "gdb", &levels, "echo no display >&2\nexit 2\n");
    let (code, said) = verify("--debugger", "gdb");
    assert!(code == Some(2) && said.contains("reproduce.sh cannot tell: no display"), "{said}");
}

#[test]
fn a_ledger_without_entries_or_compilers_is_no_clean_result() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = dir.path().to_str().unwrap();
    let refused = |cc: &str| {
        let output = trueline(&["ledger", "verify", ledger, "--cc", cc]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused("gcc-12").contains("has no entries"));
    entry(dir.path(), "\"gcc 12.2.0\" = [\"-O2\"]", 3);
    assert!(refused("clang-16").contains("no compiler or debugger of their families"));
}

#[test]
fn the_page_has_every_cause_of_our_own_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ledger");
    let output = trueline(&["ledger", "html", own, "--out", dir.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(dir.path().join("index.html")).unwrap();
    for entry in std::fs::read_dir(own).unwrap().flatten().filter(|e| e.path().join("bug.toml").is_file()) {
        let name = entry.file_name().into_string().unwrap();
        assert!(page.contains(&format!("id=\"{name}\"")), "{name} is not on the page");
    }
}
