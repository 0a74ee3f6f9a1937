//! The tree against its own rules: dependencies somebody uses, crates that use only what stands above them in the table of
//! ARCHITECTURE.md, and pages that fit a screen. Each rule is a pure function, tried on a made-up offender before the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prose is wrapped at this column or before it.
const PROSE: usize = 110;
/// A row of a table cannot be wrapped; past this it needs sideways scrolling on a wide screen.
const TABLE_ROW: usize = 180;
/// Commands and output keep their own lines, within reason.
const CODE: usize = 180;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every file below a directory with this extension, in order; none where there is no such directory.
fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path, extension)),
            path if path.extension().is_some_and(|e| e == extension) => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

/// The directories of the workspace's crates.
fn crates() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("crates")).unwrap().flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.join("Cargo.toml").exists()).collect();
    found.sort();
    found
}

/// The names that a manifest's table lists.
fn listed(manifest: &str, table: &[&str]) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let mut at = Some(&manifest);
    for name in table {
        at = at.and_then(|t| t.get(*name)).and_then(toml::Value::as_table);
    }
    at.map(|t| t.keys().cloned().collect()).unwrap_or_default()
}

/// Whether code names a crate: in a `use`, or in front of `::` where no path leads up to it. Comments do not count.
fn names(code: &str, dependency: &str) -> bool {
    let id = dependency.replace('-', "_");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.lines().map(|line| line.split("//").next().unwrap_or("")).any(|line| {
        line.match_indices(&id).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + id.len()..]);
            let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
            let imported = before.trim_end().ends_with("use") || before.trim_end().ends_with("extern crate");
            whole && !before.ends_with("::") && (after.starts_with("::") || imported)
        })
    })
}

/// The dependencies of a manifest's table that the code does not name.
fn unused(manifest: &str, table: &[&str], code: &str) -> Vec<String> {
    listed(manifest, table).into_iter().filter(|dependency| !names(code, dependency)).collect()
}

#[test]
fn an_unused_dependency_is_seen_and_a_used_one_is_not() {
    let manifest = "[dependencies]\nrand_chacha.workspace = true\nobject.workspace = true\nlibc = \"0.2\"\n";
    let code = "// libc::getpid\nuse rand_chacha;\nlet object = crate::object::of(x);\n";
    assert_eq!(unused(manifest, &["dependencies"], code), ["libc", "object"]);
    assert_eq!(unused(manifest, &["dependencies"], &format!("{code}libc::getpid(); object::File::parse(d);")), [""; 0]);
}

#[test]
fn every_declared_dependency_is_used() {
    let mut idle = Vec::new();
    let mut wanted = BTreeSet::new();
    for dir in crates() {
        let manifest = read(&dir.join("Cargo.toml"));
        let code = |parts: &[&str]| {
            let found = parts.iter().flat_map(|part| files(&dir.join(part), "rs"));
            found.map(|path| read(&path)).collect::<String>()
        };
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        idle.extend(unused(&manifest, &["dependencies"], &code(&["src"])).into_iter().map(|d| format!("{name}: {d}")));
        let tests = code(&["src", "tests", "examples", "benches"]);
        idle.extend(unused(&manifest, &["dev-dependencies"], &tests).into_iter().map(|d| format!("{name}: {d} (tests)")));
        wanted.extend(listed(&manifest, &["dependencies"]).into_iter().chain(listed(&manifest, &["dev-dependencies"])));
    }
    let offered = listed(&read(&root().join("Cargo.toml")), &["workspace", "dependencies"]);
    idle.extend(offered.difference(&wanted).map(|d| format!("workspace: {d}")));
    assert!(idle.is_empty(), "dependencies that nobody uses:\n{}", idle.join("\n"));
}

/// The crates of the table of layers, from the top.
fn rows(page: &str) -> Vec<String> {
    let table = page.lines().skip_while(|line| !line.starts_with("| layer | crate |")).take_while(|line| line.starts_with('|'));
    table.filter_map(|row| row.split('|').nth(2)?.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_owned)).collect()
}

/// The crates that the page calls features, which do not use one another.
fn features(page: &str) -> BTreeSet<String> {
    let sentence = page.split_once("Feature crates (").and_then(|(_, rest)| rest.split_once(')')).expect("a list of the feature crates").0;
    sentence.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// One crate's use of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// What the crate ships with.
    Built,
    /// Its tests and examples only.
    Tested,
}

/// What in the uses goes against the table: crates without a row, uses of a lower row, features that use one another.
fn against_the_table(page: &str, uses: &BTreeMap<String, Vec<(String, Use)>>) -> Vec<String> {
    let (rows, features) = (rows(page), features(page));
    let place = |name: &str| rows.iter().position(|row| row == name);
    let mut wrong = Vec::new();
    for (name, used) in uses {
        let Some(own) = place(name) else {
            wrong.push(format!("{name} has no row"));
            continue;
        };
        for (other, how) in used {
            if place(other).is_some_and(|theirs| theirs >= own) {
                wrong.push(format!("{name} uses {other}, whose row is not above its own"));
            }
            if *how == Use::Built && features.contains(name) && features.contains(other) {
                wrong.push(format!("{name} and {other} are both features"));
            }
        }
    }
    wrong
}

#[test]
fn a_crate_without_a_row_and_a_use_of_a_lower_row_are_seen() {
    let page = "Feature crates (`b`, `c`) do not use one another.\n\n| layer | crate | job |\n|---|---|---|\n| one | `a` | x |\n| | `b` | x |\n| | `c` | x |\n";
    let uses = |list: &[(&str, &str, Use)]| {
        let mut uses: BTreeMap<String, Vec<(String, Use)>> = BTreeMap::new();
        list.iter().for_each(|(from, to, how)| uses.entry((*from).to_owned()).or_default().push(((*to).to_owned(), *how)));
        against_the_table(page, &uses)
    };
    assert_eq!(uses(&[("b", "a", Use::Built), ("c", "a", Use::Built), ("c", "b", Use::Tested)]), [""; 0]);
    assert_eq!(uses(&[("a", "b", Use::Built)]), ["a uses b, whose row is not above its own"]);
    assert_eq!(uses(&[("c", "b", Use::Built)]), ["c and b are both features"]);
    assert_eq!(uses(&[("d", "a", Use::Built)]), ["d has no row"]);
}

#[test]
fn a_crate_uses_only_crates_of_rows_above_its_own() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo).args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root()).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // A crate is called by its directory, which is its name without the prefix; the command line's package has the project's name.
    let short = |package: &str| package.strip_prefix("trueline-").or((package == "trueline").then_some("cli")).map(str::to_owned);
    let mut uses = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let used = package["dependencies"].as_array().unwrap().iter().filter_map(|dependency| {
            let how = if dependency["kind"] == "dev" { Use::Tested } else { Use::Built };
            Some((short(dependency["name"].as_str()?)?, how))
        });
        uses.insert(short(package["name"].as_str().unwrap()).unwrap(), used.collect());
    }
    assert_eq!(uses.len(), crates().len());
    let page = read(&root().join("ARCHITECTURE.md"));
    let gone: Vec<String> = rows(&page).into_iter().filter(|row| !uses.contains_key(row)).collect();
    assert!(gone.is_empty(), "rows of ARCHITECTURE.md without a crate: {gone:?}");
    let wrong = against_the_table(&page, &uses);
    assert!(wrong.is_empty(), "against the table of ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

/// What a line of a page is, which decides how long it may be.
fn limit(line: &str, fenced: bool) -> usize {
    match line {
        _ if fenced || line.starts_with("    ") => CODE,
        _ if line.trim_start().starts_with('|') => TABLE_ROW,
        _ => PROSE,
    }
}

/// Lines of a page that are too wide, with their numbers. Diffs of the tree are as wide as the tree's code.
fn too_wide(text: &str) -> Vec<(usize, usize)> {
    let mut fence = None;
    let mut wide = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language) };
        }
        let columns = line.chars().count();
        // A link cannot be broken: a line that is one word wide is as narrow as it gets.
        let one_word = line.split_whitespace().filter(|word| *word != "-").count() == 1;
        if columns > limit(line, fence.is_some()) && fence != Some("diff") && !one_word {
            wide.push((number + 1, columns));
        }
    }
    wide
}

#[test]
fn a_wide_line_is_seen_and_wide_code_is_not() {
    let page = format!("{}\n```diff\n+{}\n```\n| {} |\n", "word ".repeat(23), "x ".repeat(100), "cell ".repeat(30));
    assert_eq!(too_wide(&page), [(1, 115)]);
    assert_eq!(too_wide(&format!("| {} |", "cell ".repeat(40))), [(1, 204)]);
    assert_eq!(too_wide(&format!("```\n{}\n```", "x ".repeat(95))), [(2, 190)]);
}

#[test]
fn pages_fit_a_screen() {
    let mut pages = files(&root().join("docs"), "md");
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"].map(|page| root().join(page)));
    assert!(pages.len() > 40, "the pages are not where they were: {pages:?}");
    let told = |page: &PathBuf| {
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        too_wide(&read(page)).into_iter().map(move |(line, columns)| format!("{name}:{line}: {columns} columns")).collect::<Vec<_>>()
    };
    let wide: Vec<String> = pages.iter().flat_map(told).collect();
    assert!(wide.is_empty(), "lines that need wrapping (prose {PROSE}, tables {TABLE_ROW}, code {CODE}):\n{}", wide.join("\n"));
}
