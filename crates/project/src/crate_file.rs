//! A Cargo project without dependencies as one Rust file: its modules are put where they are declared.

use crate::{ProjectError, RunCommand};
use std::fs;
use std::path::{Path, PathBuf};
use trueline_model::{Language, Origin, Program};

/// A crate as one file.
#[derive(Clone, Debug)]
pub struct CrateFile {
    /// The file.
    pub program: Program,
    /// For each of its lines, the line of the crate's file that it is from; 0 for one that no file has.
    origins: Vec<u32>,
}

impl CrateFile {
    /// The line in a file of the crate that a line of the one file is from.
    pub fn origin(&self, line: u32) -> Option<u32> {
        self.origins.get((line as usize).checked_sub(1)?).copied().filter(|&origin| origin > 0)
    }
}

/// The crate that a run's program is of, as one file.
pub fn crate_as_file(project: &Path, run: &RunCommand) -> Result<CrateFile, ProjectError> {
    let refused = |reason: String| ProjectError::NotMerged { command: run.text.clone(), reason };
    let manifest = fs::read_to_string(project.join("Cargo.toml")).map_err(ProjectError::io("cannot read Cargo.toml"))?;
    if let Some(dependency) = first_dependency(&manifest) {
        return Err(refused(format!("it needs another crate ({dependency})")));
    }
    for (path, what) in [("build.rs", "a build script"), ("src/lib.rs", "a library beside its program")] {
        if project.join(path).is_file() {
            return Err(refused(format!("it has {what} ({path})")));
        }
    }
    if !run.args.is_empty() {
        return Err(refused("its run has arguments, which one file would have to be given".to_owned()));
    }
    let name = run.program.file_name().and_then(|n| n.to_str()).unwrap_or("main");
    let places = [format!("src/bin/{name}.rs"), format!("src/bin/{name}/main.rs"), "src/main.rs".to_owned()];
    let main = places.iter().map(|p| project.join(p)).find(|p| p.is_file());
    let main = main.ok_or_else(|| refused("it has neither src/main.rs nor a file of its name in src/bin".to_owned()))?;
    let directory = main.parent().unwrap_or(project).to_owned();
    let lines = inlined(&main, &directory).map_err(refused)?;
    let source = lines.iter().map(|(text, _)| format!("{text}\n")).collect();
    let origins = lines.into_iter().map(|(_, line)| line).collect();
    let name = "merged.rs".to_owned();
    let program = Program { language: Language::Rust, source, origin: Origin::File { path: main }, cflags: Vec::new(), name };
    Ok(CrateFile { program, origins })
}

/// The first crate that a manifest asks for, besides those of tests.
fn first_dependency(manifest: &str) -> Option<String> {
    let mut within = false;
    for line in manifest.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            within = section == "dependencies" || section.ends_with(".dependencies");
            if let Some((_, name)) = section.split_once("dependencies.").filter(|(before, _)| !before.ends_with("dev-")) {
                return Some(name.to_owned());
            }
        } else if within {
            return Some(line.split(['=', ' ', '.']).next().unwrap_or(line).to_owned());
        }
    }
    None
}

/// The lines of a file with its modules in it, and their numbers in their own files; `directory` is where the files of its
/// modules are.
fn inlined(file: &Path, directory: &Path) -> Result<Vec<(String, u32)>, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{} cannot be read: {e}", file.display()))?;
    let mut out = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("#[path") {
            return Err(format!("{} gives a module another path", file.display()));
        }
        match declared_module(line) {
            Some(name) => {
                let within = directory.join(name);
                let places: [PathBuf; 2] = [directory.join(format!("{name}.rs")), within.join("mod.rs")];
                let found = places.iter().find(|p| p.is_file()).ok_or_else(|| format!("the file of module {name} is not there"))?;
                let head = line.trim_end().trim_end_matches(';');
                out.push((format!("{head} {{"), number));
                out.extend(inlined(found, &within)?);
                out.push(("}".to_owned(), 0));
            }
            None => out.push((line.to_owned(), number)),
        }
    }
    Ok(out)
}

/// The module that a line declares to be in another file.
fn declared_module(line: &str) -> Option<&str> {
    let rest = line.trim().strip_suffix(';')?;
    let rest = match rest.strip_prefix("pub(") {
        Some(within) => within.split_once(") ")?.1,
        None => rest.strip_prefix("pub ").unwrap_or(rest),
    };
    let name = rest.strip_prefix("mod ")?.trim();
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_put_where_they_are_declared() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("src/shapes")).unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("Cargo.toml", "[package]\nname = \"tiny\"\n[dependencies]\n[dev-dependencies]\nproptest = \"1\"\n");
        write("src/main.rs", "mod shapes;\nfn main() {\n    shapes::round::draw();\n}\n");
        write("src/shapes.rs", "pub(crate) mod round;\n");
        write("src/shapes/round.rs", "pub fn draw() {}\n");
        let run = RunCommand::parse("./target/debug/tiny").unwrap();
        let file = crate_as_file(dir.path(), &run).unwrap();
        let expected = "mod shapes {\npub(crate) mod round {\npub fn draw() {}\n}\n}\nfn main() {\n    shapes::round::draw();\n}\n";
        assert_eq!(file.program.source, expected);
        let origins: Vec<Option<u32>> = (0..=9).map(|line| file.origin(line)).collect();
        assert_eq!(origins, [None, Some(1), Some(1), Some(1), None, None, Some(2), Some(3), Some(4), None]);
        let said = |text: &str| crate_as_file(dir.path(), &RunCommand::parse(text).unwrap()).unwrap_err().to_string();
        assert!(said("./target/debug/tiny x").contains("arguments"));
        write("Cargo.toml", "[package]\nname = \"tiny\"\n[dependencies]\nserde = \"1\"\n");
        assert!(said("./target/debug/tiny").contains("serde"));
    }
}
