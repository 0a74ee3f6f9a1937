//! The reference build: the same source at -O0, with compiler and flags as the DWARF names them.

use crate::debug::ImageInfo;
use std::path::{Path, PathBuf};
use trueline_machine::image::{Image, ImageError, ImageKind};
use trueline_toolchain::{Compiler, Limits, ToolError, find_compiler};

/// Why there is no reference build.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The binary cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The compiler is missing.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// It does not compile.
    #[error("{command} failed:\n{message}\nGive the source with --source and its flags with --cflag, or an -O0 build with --reference")]
    Compile {
        /// The command that failed.
        command: String,
        /// What the compiler said.
        message: String,
    },
    /// The compiler is not known.
    #[error("the DWARF names the producer `{0}`, which is neither gcc nor clang; give --cc or --reference")]
    Producer(String),
    /// The source is not there.
    #[error("the source {0} is not there; give --source or --reference")]
    Source(String),
    /// The compiler could not be started.
    #[error(transparent)]
    Job(#[from] trueline_toolchain::JobError),
}

/// The compiler a producer string stands for.
pub fn compiler_of(producer: &str) -> Option<String> {
    if let Some(at) = producer.find("clang version ") {
        let major: String = producer[at + 14..].chars().take_while(char::is_ascii_digit).collect();
        return Some(format!("clang-{major}"));
    }
    let rest = producer.strip_prefix("GNU C")?;
    let version = rest.split_whitespace().nth(1)?;
    Some(format!("gcc-{}", version.split('.').next()?))
}

/// Flags of a producer string that change what the program means, optimization left out.
pub fn flags_of(producer: &str) -> Vec<String> {
    const WORDS: [&str; 4] = ["-fwrapv", "-fsigned-char", "-funsigned-char", "-fno-strict-aliasing"];
    let keep = |w: &&str| ["-std=", "-D", "-I", "-m"].iter().any(|p| w.starts_with(p)) || WORDS.contains(w);
    producer.split_whitespace().filter(keep).filter(|w| !w.starts_with("-mtune") && !w.starts_with("-march")).map(str::to_owned).collect()
}

fn find(spec: &str) -> Result<Compiler, ToolError> {
    // A distribution may have the compiler without its version in the name.
    find_compiler(spec).or_else(|e| find_compiler(spec.split('-').next().unwrap_or(spec)).map_err(|_| e))
}

/// Builds the reference and says how.
pub fn build_reference(
    image: &Image,
    source: Option<&Path>,
    cc: Option<&str>,
    flags: &[String],
    dir: &Path,
) -> Result<(PathBuf, String), ReferenceError> {
    let info = ImageInfo::read(image)?;
    let units: Vec<_> = info.units.iter().filter(|u| !u.name.is_empty() && !u.producer.starts_with("GNU AS")).collect();
    let producer = units.first().map(|u| u.producer.clone()).unwrap_or_default();
    let compiler = match cc {
        Some(cc) => find_compiler(cc)?,
        None => find(&compiler_of(&producer).ok_or_else(|| ReferenceError::Producer(producer.clone()))?)?,
    };
    let sources: Vec<PathBuf> = match source {
        Some(s) => vec![s.to_owned()],
        None => units.iter().map(|u| Path::new(&u.comp_dir).join(&u.name)).collect(),
    };
    if let Some(missing) = sources.iter().find(|s| !s.exists()) {
        return Err(ReferenceError::Source(missing.display().to_string()));
    }
    let output = dir.join("reference");
    let mut job = compiler.job().args(["-O0", "-g", "-w"]);
    job = job.args(flags_of(&producer)).args(flags);
    match image.kind {
        ImageKind::Relocatable => job = job.arg("-c"),
        ImageKind::Movable if crate::snapshot::elf_entry(image).0 == 0 => job = job.args(["-shared", "-fPIC"]),
        _ => {}
    }
    job = job.args(&sources).arg("-o").arg(&output).arg("-lm").limits(Limits::seconds(60));
    if let Some(unit) = units.first().filter(|u| source.is_none() && Path::new(&u.comp_dir).is_dir()) {
        job = job.cwd(&unit.comp_dir);
    }
    let outcome = job.run()?;
    if !outcome.success() || !output.exists() {
        let message = outcome.stderr_text().lines().take(8).collect::<Vec<_>>().join("\n");
        return Err(ReferenceError::Compile { command: job.command_line(), message });
    }
    Ok((output, job.command_line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn producers_name_their_compiler_and_flags() {
        let gcc = "GNU C17 12.2.0 -msse4.2 -mtune=generic -march=x86-64 -g -O3 -fwrapv";
        assert_eq!(compiler_of(gcc).as_deref(), Some("gcc-12"));
        assert_eq!(flags_of(gcc), ["-msse4.2", "-fwrapv"]);
        assert_eq!(compiler_of("Debian clang version 16.0.6 (15~deb12u1)").as_deref(), Some("clang-16"));
        assert_eq!(compiler_of("rustc version 1.95.0"), None);
    }
}
