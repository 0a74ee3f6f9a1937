//! Bug drafts as their reader uses them: `reproduce.sh` with a compiler and a debugger, for every kind of violation.

mod common;

use common::{have, trueline};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn reproduce(script: &Path) -> Output {
    Command::new("sh").arg(script).env_remove("CC").output().unwrap()
}

#[test]
fn reproduce_scripts_show_violations_of_every_kind_in_a_debugger() {
    if !have(&["gcc-12", "clang-16", "gdb"]) {
        return;
    }
    let cases = [
        ("merged-return.c", "gcc-12", "-O2", "line"),
        ("untaken-call.c", "clang-16", "-O1", "line"),
        ("early-inline.c", "gcc-12", "-O2", "backtrace"),
        ("early-inline.c", "gcc-12", "-O2", "scope"),
        ("union-parameter.c", "gcc-12", "-Og", "parameter"),
        ("sunk-call.c", "gcc-12", "-O1", "value"),
        ("lost-inline.c", "gcc-12", "-O2", "self"),
        ("typed-convert.c", "clang-16", "-O2", "dwarf"),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (name, cc, opt, kind) in cases {
        let out = dir.path().join(format!("{name}-{kind}"));
        let path = example(name);
        let level = format!("--opt={opt}");
        let words = ["triage", path.to_str().unwrap(), "--cc", cc, &level, "--only", kind, "--versions", "none", "--no-readers", "--out"];
        let output = trueline(&[&words[..], &[out.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let draft = std::fs::read_dir(&out).unwrap().next().unwrap_or_else(|| panic!("{name} shows no {kind} violation")).unwrap().path();
        let script = draft.join("reproduce.sh");
        let shown = reproduce(&script);
        let said = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert_eq!(shown.status.code(), Some(0), "{name} {kind}: {said}{}", String::from_utf8_lossy(&shown.stderr));
        assert!(said.contains("expected: ") && said.contains(" says:") && said.contains("The fault shows."), "{name} {kind}: {said}");
        if !["line", "dwarf"].contains(&kind) {
            continue;
        }
        // Without optimization there is nothing wrong, and the script says so.
        let text = std::fs::read_to_string(&script).unwrap();
        let plain = draft.join("plain.sh");
        std::fs::write(&plain, text.replace(&format!("\"$CC\" {opt} -g"), "\"$CC\" -O0 -g")).unwrap();
        let clean = reproduce(&plain);
        assert_eq!(clean.status.code(), Some(1), "{name} {kind}: {}", String::from_utf8_lossy(&clean.stdout));
        // Nothing can be told without a debugger.
        let without = Command::new("sh").arg(&script).env("GDB", "no-such-debugger").env("LLDB", "no-such-debugger").output().unwrap();
        assert_eq!(without.status.code(), Some(2), "{name} {kind}");
    }
}
