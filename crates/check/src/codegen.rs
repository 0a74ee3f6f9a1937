//! `-g` must not change code: the executable sections with and without it, and gcc's own -fcompare-debug.

use crate::CheckError;
use crate::build::LevelBuild;
use object::{Object, ObjectSection, SectionKind};
use std::path::Path;
use std::sync::Arc;
use trueline_model::{CompilerKind, FileName, Invariant, Line, Program, Violation};
use trueline_toolchain::{BuildError, CompileRequest, DebugInfo};

/// Builds without `-g` beside the build with it and compares; the CPU time goes to `cpu`.
pub(crate) fn compare(with: &LevelBuild<'_>, cpu: &mut std::time::Duration) -> Result<Option<Violation>, CheckError> {
    let compile = again(with, "without-g").debug(DebugInfo::None);
    let without = with.compiler.compile(&compile).map_err(|e| CheckError::of_build(e, with.opt))?;
    *cpu += without.cpu;
    let difference = match difference(&with.binary, &without.binary)? {
        Some(why) => Some(why),
        None => compare_debug(with, cpu)?,
    };
    Ok(difference.map(|why| violation(with.program, &why)))
}

/// The request that made a build, for another file.
fn again(build: &LevelBuild<'_>, name: &str) -> CompileRequest {
    CompileRequest::new(&build.source, build.program.language, build.opt, build.scratch.join(name)).flags(build.flags.iter().cloned())
}

fn violation(program: &Program, why: &str) -> Violation {
    Violation {
        invariant: Invariant::Codegen,
        file: FileName::new(&program.name),
        line: Line(1),
        function: Arc::from(""),
        frames: Vec::new(),
        variable: None,
        value: None,
        expected: Some("the same code with and without -g".into()),
        pc: None,
        why: Some(why.into()),
    }
}

/// The first difference between the executable sections of two binaries, in words.
fn difference(with: &Path, without: &Path) -> Result<Option<String>, CheckError> {
    let (with, without) = (code_of(with)?, code_of(without)?);
    for (name, address, bytes) in &with {
        let Some((_, other_address, other)) = without.iter().find(|(n, ..)| n == name) else {
            return Ok(Some(format!("section {name} exists with -g only")));
        };
        if bytes == other {
            continue;
        }
        let same = bytes.iter().zip(other).take_while(|(a, b)| a == b).count() as u64;
        return Ok(Some(format!(
            "section {name} is {} bytes with -g and {} without, different from {:#x} (with -g) and {:#x} (without) on",
            bytes.len(),
            other.len(),
            address + same,
            other_address + same
        )));
    }
    Ok(None)
}

type Code = Vec<(String, u64, Vec<u8>)>;

fn code_of(binary: &Path) -> Result<Code, CheckError> {
    let data = std::fs::read(binary).map_err(CheckError::io(format!("cannot read {}", binary.display())))?;
    let bad = |e: object::Error| CheckError::BadBinary { binary: binary.to_owned(), reason: e.to_string() };
    let file = object::File::parse(&*data).map_err(bad)?;
    file.sections()
        .filter(|s| s.kind() == SectionKind::Text)
        .map(|s| Ok((s.name().map_err(bad)?.to_owned(), s.address(), s.data().map_err(bad)?.to_vec())))
        .collect()
}

/// gcc compiles twice by itself and compares its final intermediate code, which sees more than the bytes.
fn compare_debug(build: &LevelBuild<'_>, cpu: &mut std::time::Duration) -> Result<Option<String>, CheckError> {
    if build.compiler.id.kind != CompilerKind::Gcc {
        return Ok(None);
    }
    match build.compiler.compile(&again(build, "compare-debug").flags(["-fcompare-debug"])) {
        Ok(compared) => {
            *cpu += compared.cpu;
            Ok(None)
        }
        Err(BuildError::Refused { message, .. }) if message.contains("-fcompare-debug") => {
            Ok(Some(format!("gcc -fcompare-debug: {}", message.lines().next().unwrap_or("failure"))))
        }
        // A refusal for another reason says nothing about debug information.
        Err(BuildError::Refused { .. }) => Ok(None),
        Err(error) => Err(CheckError::of_build(error, build.opt)),
    }
}
