//! The documentation against the tree: nothing missing from the book, no dead link, examples that are what they say.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every page under `docs/`, as a path from there.
fn pages() -> BTreeSet<String> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => walk(&path, found),
                path if path.extension().is_some_and(|e| e == "md") => found.push(path),
                _ => {}
            }
        }
    }
    let (docs, mut found) = (root().join("docs"), Vec::new());
    walk(&docs, &mut found);
    found.into_iter().map(|path| path.strip_prefix(&docs).unwrap().display().to_string()).collect()
}

/// Targets of links and pictures, code left out.
fn links(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = prose.match_indices("](").map(|(at, _)| prose[at + 2..].split([')', ' ']).next().unwrap_or("").to_owned());
        found.extend(targets.filter(|_| !fenced));
    }
    found
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let parts = text.split(fence.as_str()).skip(1);
    parts.map(|part| part.split("\n```").next().unwrap_or("").to_owned() + "\n").collect()
}

#[test]
fn the_book_has_every_page_and_no_other() {
    let listed: BTreeSet<String> = links(&read("docs/SUMMARY.md")).into_iter().collect();
    let pages: BTreeSet<String> = pages().into_iter().filter(|page| page != "SUMMARY.md").collect();
    assert_eq!(listed, pages, "docs/SUMMARY.md on the left, the files on the right");
}

#[test]
fn the_book_builds_a_page_for_every_chapter() {
    let out = tempfile::tempdir().unwrap();
    let mut book = mdbook_driver::MDBook::load(root().join("docs")).unwrap();
    book.config.build.build_dir = out.path().to_owned();
    book.build().unwrap();
    for page in pages().into_iter().filter(|page| page != "SUMMARY.md") {
        let built = out.path().join(&page).with_extension("html");
        let text = std::fs::read_to_string(&built).unwrap_or_else(|e| panic!("{}: {e}", built.display()));
        assert!(text.contains("<main>"), "{page} is empty");
    }
}

#[test]
fn no_link_is_dead() {
    let mut files: Vec<String> = pages().into_iter().map(|page| format!("docs/{page}")).collect();
    files.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"].map(str::to_owned));
    let mut dead = Vec::new();
    for file in files {
        let dir = root().join(&file).parent().unwrap().to_owned();
        for link in links(&read(&file)) {
            let path = link.split('#').next().unwrap_or("");
            if !path.is_empty() && !link.contains("://") && !link.starts_with("mailto:") && !dir.join(path).exists() {
                dead.push(format!("{file}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

#[test]
fn the_diffs_on_extending_apply_to_this_tree() {
    let diffs = blocks(&read("docs/extend.md"), "diff");
    assert_eq!(diffs.len(), 4);
    for diff in diffs {
        let git = Command::new("git")
            .args(["apply", "-p0", "--check", "-"])
            .current_dir(root())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut git) = git else { return println!("skipped: no git") };
        git.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
        let output = git.wait_with_output().unwrap();
        assert!(output.status.success(), "{}\nin the diff:\n{diff}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn every_schema_is_on_the_page_of_formats() {
    let page = read("docs/formats.md");
    for entry in std::fs::read_dir(root().join("docs/schemas")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(page.contains(&format!("](schemas/{name})")), "docs/formats.md does not name {name}");
    }
}

#[test]
fn the_workflow_to_copy_is_the_one_in_the_text() {
    assert_eq!(blocks(&read("docs/ci.md"), "yaml"), [read("examples/github-actions.yml")]);
}

#[test]
fn the_configurations_shown_are_read_and_become_defaults() {
    for (page, level) in [("docs/formats.md", "-Og"), ("README.md", "-Og")] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("trueline.toml"), &blocks(&read(page), "toml")[0]).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_trueline")).args(["hunt", "--help"]).current_dir(dir.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{page}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(&format!("[default: {level}")) && text.contains("[default: gcc-12"), "{page}:\n{text}");
    }
}
