//! The programs that `isolate` reads: the failing one with its flags, and a directory of passing ones.

use super::Args;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use trueline_explain::{FailingCase, PassingPrograms, passing_programs};
use trueline_model::{Coverage, Language, Origin, Program, SeamError};
use trueline_toolchain::cpu_time;

pub fn read_program(args: &Args, text_flags: &[String]) -> anyhow::Result<Program> {
    let path = &args.file;
    if Language::of_path(path) == Some(Language::Cpp) {
        bail!(
            "{}: isolate makes witness programs by rules over C tokens, which do not hold for C++; it takes .c and .i files",
            path.display()
        );
    }
    if Language::of_path(path) != Some(Language::C) {
        bail!("{} is not a C program; isolate mutates C only", path.display());
    }
    let source = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = std::fs::canonicalize(path).ok().and_then(|p| p.parent().map(Path::to_owned)).unwrap_or_default();
    // Mutants are compiled elsewhere: what the program includes is still beside it.
    let beside = source.contains("#include \"").then(|| format!("-I{}", folder.display()));
    let cflags = text_flags.iter().cloned().chain(beside).collect();
    Ok(Program { name, language: Language::C, source, origin: Origin::File { path: path.clone() }, cflags })
}

/// The programs of a directory that pass: they get a quarter of the budget, and a dozen of them are tried in any case.
pub fn given_programs(args: &Args, case: &FailingCase, coverage: &dyn Coverage) -> anyhow::Result<PassingPrograms> {
    let Some(dir) = &args.passing else { return Ok(PassingPrograms::default()) };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?.flatten().map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "c"));
    files.sort();
    let folder = std::fs::canonicalize(dir).unwrap_or_else(|_| dir.clone());
    let read = |index: usize| {
        let path = &files[index];
        let bytes = std::fs::read(path).map_err(|e| SeamError(format!("cannot read {}: {e}", path.display())))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let cflags = vec![format!("-I{}", folder.display())];
        let source = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Program { name, language: Language::C, source, origin: Origin::File { path: path.clone() }, cflags })
    };
    let begun = cpu_time();
    let mut within = || cpu_time() - begun < args.budget / 4;
    let given = passing_programs(case, coverage, files.len(), args.seed, &read, &mut within)?;
    if given.covered.is_empty() {
        bail!(
            "no program in {} compiles and passes with {} ({} tried); name a directory of .c files that do",
            dir.display(),
            case.setting.compiler.id,
            given.refused.len()
        );
    }
    Ok(given)
}

/// Parts flags into those that say what the text means, for every compiler and parser, and those for the compiler under test.
/// Directories are made absolute: programs are compiled elsewhere.
pub fn parted(cflags: &[String]) -> (Vec<String>, Vec<String>) {
    const DIRECTORIES: [&str; 5] = ["-isystem", "-iquote", "-idirafter", "-include", "-I"];
    const WORDS: [&str; 6] = ["-D", "-U", "-std=", "-ansi", "-funsigned-char", "-fsigned-char"];
    let absolute = |path: &str| std::fs::canonicalize(path).map_or_else(|_| path.to_owned(), |p| p.display().to_string());
    let (mut text, mut others) = (Vec::new(), Vec::new());
    let mut flags = cflags.iter();
    while let Some(flag) = flags.next() {
        if let Some(kind) = DIRECTORIES.into_iter().find(|kind| flag.starts_with(kind)) {
            let path = match flag[kind.len()..].trim_start() {
                "" => flags.next().map(String::as_str),
                path => Some(path),
            };
            text.extend(path.map(|path| format!("{kind}{}", absolute(path))));
        } else if WORDS.iter().any(|word| flag.starts_with(word)) {
            text.push(flag.clone());
        } else {
            others.push(flag.clone());
        }
    }
    (text, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_about_the_text_are_for_everybody_and_their_directories_absolute() {
        let flags: Vec<String> = ["-Isrc", "-I", "src", "-fno-tree-vrp", "-DX=1", "-include", "Cargo.toml"].map(str::to_owned).to_vec();
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let src = format!("-I{}", here.join("src").display());
        let (text, others) = parted(&flags);
        assert_eq!(text, [src.clone(), src, "-DX=1".to_owned(), format!("-include{}", here.join("Cargo.toml").display())]);
        assert_eq!(others, ["-fno-tree-vrp"]);
    }
}
