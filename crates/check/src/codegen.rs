//! `-g` must not change code: the executable sections with and without it, and gcc's own -fcompare-debug.

use crate::CheckError;
use object::{Object, ObjectSection, SectionKind};
use std::path::Path;
use std::sync::Arc;
use trueline_model::{CompilerKind, FileName, Invariant, Line, OptLevel, Program, Violation};
use trueline_toolchain::{BuildError, CompileRequest, Compiler, DebugInfo, Scratch};

/// What to compare.
pub(crate) struct Request<'a> {
    pub program: &'a Program,
    pub source: &'a Path,
    pub compiler: &'a Compiler,
    pub opt: OptLevel,
    pub flags: &'a [String],
    /// The build with debug information.
    pub binary: &'a Path,
}

/// Builds without `-g` into `scratch` and compares; the CPU time goes to `cpu`.
pub(crate) fn compare(request: &Request<'_>, scratch: &Scratch, cpu: &mut std::time::Duration) -> Result<Option<Violation>, CheckError> {
    let output = scratch.join("without-g");
    let compile = CompileRequest::new(request.source, request.program.language, request.opt, &output)
        .flags(request.flags.iter().cloned())
        .debug(DebugInfo::None);
    let build = request.compiler.compile(&compile).map_err(|e| CheckError::build(e, request.opt))?;
    *cpu += build.cpu;
    let difference = match difference(request.binary, &build.binary)? {
        Some(why) => Some(why),
        None => compare_debug(request, scratch, cpu)?,
    };
    Ok(difference.map(|why| violation(request.program, &why)))
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
fn compare_debug(request: &Request<'_>, scratch: &Scratch, cpu: &mut std::time::Duration) -> Result<Option<String>, CheckError> {
    if request.compiler.id.kind != CompilerKind::Gcc {
        return Ok(None);
    }
    let compile = CompileRequest::new(request.source, request.program.language, request.opt, scratch.join("compare-debug"))
        .flags(request.flags.iter().cloned())
        .flags(["-fcompare-debug"]);
    match request.compiler.compile(&compile) {
        Ok(build) => {
            *cpu += build.cpu;
            Ok(None)
        }
        Err(BuildError::Refused { message, .. }) if message.contains("-fcompare-debug") => {
            Ok(Some(format!("gcc -fcompare-debug: {}", message.lines().next().unwrap_or("failure"))))
        }
        // A refusal for another reason says nothing about debug information.
        Err(BuildError::Refused { .. }) => Ok(None),
        Err(error) => Err(CheckError::build(error, request.opt)),
    }
}
