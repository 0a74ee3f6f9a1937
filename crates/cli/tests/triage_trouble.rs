//! What `trueline triage` and `trueline toolchains` say when a finding, a compiler or a toolchain is not what it was.

mod common;

use common::{have, json, trueline};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler that is gcc-12 with a body of our own in front.
fn script(path: &Path, body: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{body}\nexec gcc-12 \"$@\"\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A store with a line violation of the merged returns, found with a compiler that can be changed afterwards.
fn store(dir: &Path) -> (PathBuf, PathBuf) {
    let (corpus, compiler, db) = (dir.join("corpus"), dir.join("gcc-of-test"), dir.join("hunt.db"));
    std::fs::create_dir(&corpus).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/merged-return.c");
    std::fs::copy(program, corpus.join("merged-return.c")).unwrap();
    script(&compiler, "");
    let generator = format!("corpus:{}", corpus.display());
    let args = ["hunt", "--cc", compiler.to_str().unwrap(), "--opt=-Og", "--generator", &generator, "--db", db.to_str().unwrap()];
    let output = trueline(&[&args[..], &["--jobs", "1", "--confirm", "none", "--no-report", "--invariant", "line"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (db, compiler)
}

#[test]
fn a_finding_that_is_gone_or_flaky_is_said_to_be_so() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (db, compiler) = store(dir.path());
    let ask = || json(&trueline(&["triage", "--db", db.to_str().unwrap(), "--versions", "none", "--no-readers", "--json"]));
    // Every second compilation is one without optimization.
    let count = dir.path().join("count");
    let every_second = format!("echo >> '{0}'\n[ $(($(wc -l < '{0}') % 2)) = 0 ] && set -- \"$@\" -O0", count.display());
    script(&compiler, &format!("case \"$*\" in *-Og*) {every_second} ;; esac"));
    let document = ask();
    let note = document["notes"][0].as_str().unwrap_or_default().to_owned();
    assert!(note.contains("flaky, it showed") && note.contains("out of 5"), "{document:#}");
    script(&compiler, "set -- \"$@\" -O0");
    let document = ask();
    assert!(document["notes"][0].as_str().unwrap_or_default().contains("no longer shows it"), "{document:#}");
    assert_eq!(document["findings"][0]["state"], "not-reproducible");
    // The finding itself stays in the store, and shows again when the compiler is what it was.
    script(&compiler, "");
    assert_eq!(ask()["findings"][0]["state"], "shows");
}

#[test]
fn a_version_that_cannot_compile_the_program_is_told_with_its_reason() {
    if !have(&["gcc-12"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("gcc-broken");
    script(
        &broken,
        "case \"$1\" in --version) echo 'gcc-9 (x) 9.9.9'; echo 'Free Software Foundation'; exit ;; esac\necho 'error: no such thing' >&2; exit 1",
    );
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/merged-return.c");
    let args = ["triage", program.to_str().unwrap(), "--cc", "gcc-12", "--opt=-O2", "--only", "line", "--no-readers", "--json"];
    let document = json(&trueline(&[&args[..], &["--versions", broken.to_str().unwrap()]].concat()));
    let finding = &document["findings"][0];
    assert_eq!(finding["fingerprint"]["gcc 9.9.9"], "unbuildable", "{document:#}");
    assert!(finding["unbuildable"]["gcc 9.9.9"].as_str().unwrap_or_default().contains("no such thing"), "{document:#}");
}

#[test]
fn a_reducer_that_is_missing_or_dies_is_named() {
    if !have(&["gcc-12", "clang-16"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/merged-return.c");
    let out = dir.path().join("small.c");
    let args =
        ["reduce", program.to_str().unwrap(), "--cc", "gcc-12", "--opt=-Og", "--any-pass", "-o", out.to_str().unwrap(), "--tool", "cvise"];
    let fake = dir.path().join("bin");
    std::fs::create_dir(&fake).unwrap();
    let run = |path: String| Command::new(env!("CARGO_BIN_EXE_trueline")).args(args).env("PATH", path).output().unwrap();
    // A cvise that says its version and then dies.
    std::fs::write(
        fake.join("cvise"),
        "#!/bin/sh\ncase \"$1\" in --version) echo 'cvise 2.7.0' ;; *) echo 'out of luck'; exit 7 ;; esac\n",
    )
    .unwrap();
    std::fs::set_permissions(fake.join("cvise"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let died = run(format!("{}:{}", fake.display(), std::env::var("PATH").unwrap()));
    let said = String::from_utf8_lossy(&died.stderr).into_owned();
    assert_eq!(died.status.code(), Some(2), "{said}");
    assert!(said.contains("cvise") && said.contains("out of luck"), "{said}");
}

#[test]
fn fetched_toolchains_are_listed_and_removed_and_the_hosts_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("clang-99");
    std::fs::create_dir_all(root.join("usr/bin")).unwrap();
    std::fs::create_dir_all(dir.path().join("bin")).unwrap();
    std::fs::write(root.join("manifest"), "suite=nowhere\nversion=1:99.0\n").unwrap();
    let program = root.join("usr/bin/clang-99");
    std::fs::write(&program, "#!/bin/sh\necho 'Debian clang version 99.1.2'\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("../clang-99/usr/bin/clang-99", dir.path().join("bin/clang-99")).unwrap();
    let toolchains = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_trueline")).arg("toolchains").args(args).env("TRUELINE_TOOLCHAINS", dir.path()).output().unwrap()
    };
    let fetched = |document: &serde_json::Value| {
        let rows = document["toolchains"].as_array().unwrap().clone();
        rows.into_iter().filter(|row| row["origin"]["from"] == "fetched").collect::<Vec<_>>()
    };
    let listed = fetched(&json(&toolchains(&["list", "--json"])));
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["version"], &listed[0]["origin"]["suite"]), (&"99.1.2".into(), &"nowhere".into()));
    let removed = toolchains(&["remove", "clang-99"]);
    assert!(removed.status.success() && String::from_utf8_lossy(&removed.stdout).contains("removed clang-99"));
    assert!(!root.exists() && !dir.path().join("bin/clang-99").exists());
    assert!(fetched(&json(&toolchains(&["list", "--json"]))).is_empty());
    let again = toolchains(&["remove", "gcc-12"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("not ours to remove"));
}
