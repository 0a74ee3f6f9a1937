//! `-g` must not change code: the executable sections with and without it, and gcc's own -fcompare-debug.

use crate::CheckError;
use crate::build::LevelBuild;
use object::{Object, ObjectSection, SectionKind};
use std::path::Path;
use std::sync::Arc;
use trueline_model::{Breach, CodeDifference, CodeExtent, CompilerKind, FileName, Line, Program, Violation};
use trueline_toolchain::{BuildError, CompileRequest, DebugInfo};

/// Builds without `-g` beside the build with it and compares; the CPU time goes to `cpu`.
pub(crate) fn compare(with: &LevelBuild<'_>, cpu: &mut std::time::Duration) -> Result<Option<Violation>, CheckError> {
    let compile = again(with, "without-g").debug(DebugInfo::None);
    let without = with.compiler.compile(&compile).map_err(|e| CheckError::of_build(e, with.opt))?;
    *cpu += without.cpu;
    let difference = match difference(&with.binary, &without.binary)? {
        Some(difference) => Some(difference),
        None => compare_debug(with, cpu)?,
    };
    Ok(difference.map(|difference| violation(with.program, difference)))
}

/// The request that made a build, for another file.
pub(crate) fn again(build: &LevelBuild<'_>, name: &str) -> CompileRequest {
    CompileRequest::new(&build.source, build.program.language, build.opt, build.scratch.join(name)).flags(build.flags.iter().cloned())
}

/// Whether two builds have the same code at the same addresses.
pub(crate) fn is_same_code(a: &Path, b: &Path) -> bool {
    matches!((code_of(a), code_of(b)), (Ok(a), Ok(b)) if a == b)
}

fn violation(program: &Program, difference: CodeDifference) -> Violation {
    Violation {
        file: FileName::new(&program.name),
        line: Line(1),
        function: Arc::from(""),
        frames: Vec::new(),
        pc: None,
        breach: Breach::Codegen(difference),
    }
}

/// The first difference between the executable sections of two binaries.
fn difference(with: &Path, without: &Path) -> Result<Option<CodeDifference>, CheckError> {
    let (with, without) = (code_of(with)?, code_of(without)?);
    for (name, address, bytes) in &with {
        let Some((_, other_address, other)) = without.iter().find(|(n, ..)| n == name) else {
            return Ok(Some(CodeDifference::ExtraSection { section: name.as_str().into() }));
        };
        if bytes == other {
            continue;
        }
        let same = bytes.iter().zip(other).take_while(|(a, b)| a == b).count() as u64;
        let extent = |bytes: &[u8], address: u64| CodeExtent { size: bytes.len() as u64, differs_at: address + same };
        let (with, without) = (extent(bytes, *address), extent(other, *other_address));
        return Ok(Some(CodeDifference::Bytes { section: name.as_str().into(), with, without }));
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
fn compare_debug(build: &LevelBuild<'_>, cpu: &mut std::time::Duration) -> Result<Option<CodeDifference>, CheckError> {
    if build.compiler.id.kind != CompilerKind::Gcc {
        return Ok(None);
    }
    match build.compiler.compile(&again(build, "compare-debug").flags(["-fcompare-debug"])) {
        Ok(compared) => {
            *cpu += compared.cpu;
            Ok(None)
        }
        Err(BuildError::Refused { message, .. }) if message.contains("-fcompare-debug") => {
            Ok(Some(CodeDifference::CompareDebug { message: message.lines().next().unwrap_or("failure").into() }))
        }
        // A refusal for another reason says nothing about debug information.
        Err(BuildError::Refused { .. }) => Ok(None),
        Err(error) => Err(CheckError::of_build(error, build.opt)),
    }
}
