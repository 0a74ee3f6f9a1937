//! The README's tour, run as written: every `$` line of its console blocks must print what stands below it.
//!
//! `TRUELINE_UPDATE=1 cargo test -p trueline --test tour` writes the present output into the README.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Versions the recorded output was made with; with others it may rightly differ.
const RECORDED: [(&str, &str); 5] =
    [("gcc-12", "12.2.0"), ("clang-16", "16.0.6"), ("opt-16", "16.0.6"), ("opt-19", "19.1"), ("gdb", "13.1")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs one line as a reader would, `trueline` being the one just built.
fn run(line: &str, scratch: &Path) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_trueline"));
    let path = format!("{}:{}", binary.parent().expect("a directory").display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(root()).env("PATH", path).env("TOUR", scratch).env("LC_ALL", "C");
    // Names of LLVM's static functions come from packages that not everybody has; the recorded output is without.
    command.env("TRUELINE_LLVM_ARCHIVES", scratch.join("none")).env("TRUELINE_TOOLCHAINS", scratch.join("none"));
    let output = command.output().expect("bash runs");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// What may differ between two runs: times and the names of scratch directories.
fn normalized(text: &str) -> String {
    let word = |word: &str| match word {
        w if w.starts_with("/tmp/") => "SCRATCH".to_owned(),
        w => w.to_owned(),
    };
    let line = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(word).collect();
        for at in 1..words.len() {
            if words[at].trim_end_matches(['.', ',']) == "s" && words[at - 1].parse::<f64>().is_ok() {
                "N".clone_into(&mut words[at - 1]);
            }
        }
        words.join(" ").trim_end().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[test]
fn the_readme_shows_what_the_commands_print() {
    for (tool, version) in RECORDED {
        let banner = Command::new(tool).arg("--version").output();
        if !banner.is_ok_and(|b| String::from_utf8_lossy(&b.stdout).contains(version)) {
            println!("skipped: the tour was recorded with {tool} {version}");
            return;
        }
    }
    let readme = root().join("README.md");
    let text = std::fs::read_to_string(&readme).expect("a README");
    let scratch = trueline_toolchain::Scratch::new().expect("a scratch directory");
    let mut shown = String::new();
    let mut actual = String::new();
    let mut commands = 0;
    let mut inside = false;
    for line in text.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) if line.starts_with("$ ") => {
                commands += 1;
                actual.push_str(line);
                actual.push('\n');
                actual.push_str(&run(&line[2..], scratch.path()));
                if !actual.ends_with('\n') {
                    actual.push('\n');
                }
                shown.push_str(line);
                shown.push('\n');
                continue;
            }
            // Recorded output: compared, not kept.
            (true, line) => {
                shown.push_str(line);
                shown.push('\n');
                continue;
            }
            (false, _) => {}
        }
        shown.push_str(line);
        shown.push('\n');
        actual.push_str(line);
        actual.push('\n');
    }
    assert!(commands >= 10, "the tour has lost its commands");
    if std::env::var_os("TRUELINE_UPDATE").is_some() {
        std::fs::write(&readme, actual).expect("the README is writable");
        return;
    }
    for (at, (was, is)) in normalized(&shown).lines().zip(normalized(&actual).lines()).enumerate() {
        assert_eq!(was, is, "README.md, about line {}: the command prints something else now", at + 1);
    }
    assert_eq!(normalized(&shown).lines().count(), normalized(&actual).lines().count(), "the output has another length now");
}
