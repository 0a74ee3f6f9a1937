//! A build that is still to be judged. Compilers often make the same file at two levels (clang's `-Og` is its `-O1`);
//! what was found out about one of them then holds for the other.

use crate::{CheckError, CheckRun};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trueline_model::{OptLevel, Program};
use trueline_oracle::FloatMath;
use trueline_toolchain::{CompileRequest, Compiler, Scratch};

/// A program compiled at a level, not judged yet.
pub struct LevelBuild<'a> {
    pub(crate) program: &'a Program,
    pub(crate) compiler: &'a Compiler,
    pub(crate) opt: OptLevel,
    /// Relaxed where the level or a flag allows other results.
    pub(crate) float_math: FloatMath,
    /// Every flag but the level.
    pub(crate) flags: Vec<String>,
    pub(crate) source: PathBuf,
    pub(crate) binary: PathBuf,
    pub(crate) command: String,
    pub(crate) cpu: Duration,
    pub(crate) scratch: Arc<Scratch>,
}

impl LevelBuild<'_> {
    /// Whether an earlier build is the same file and was judged by the same standard.
    pub(crate) fn is_same_as(&self, earlier: &CheckRun) -> bool {
        self.float_math == earlier.float_math && have_same_bytes(&self.binary, &earlier.binary)
    }

    /// The judgement of such an earlier build, as this one's.
    pub fn judged_as(self, earlier: &CheckRun) -> CheckRun {
        CheckRun {
            compile_cpu: self.cpu,
            trace_cpu: Duration::ZERO,
            commands: vec![self.command],
            binary: self.binary,
            scratch: Some(self.scratch),
            ..earlier.clone()
        }
    }
}

/// A binary, the CPU time it took and the command.
pub(crate) type Compiled = (PathBuf, Duration, String);

/// Compiles into `scratch`; writes the source first where it does not stand yet.
pub(crate) fn compile(
    program: &Program,
    compiler: &Compiler,
    opt: OptLevel,
    flags: &[String],
    source: &Path,
    scratch: &Scratch,
) -> Result<Compiled, CheckError> {
    if !source.exists() {
        std::fs::write(source, &program.source).map_err(CheckError::io(format!("cannot write {}", program.name)))?;
    }
    let output = scratch.join(format!("build{opt}"));
    let request = CompileRequest::new(source, program.language, opt, output).flags(flags.iter().cloned());
    let build = compiler.compile(&request).map_err(|e| CheckError::build(e, opt))?;
    let places = source.parent().into_iter().chain([scratch.path()]);
    let command = places.fold(build.command, |command, dir| command.replace(&format!("{}/", dir.display()), ""));
    Ok((build.binary, build.cpu, command))
}

/// False also when one of them cannot be read: then the build is judged by itself, and says what is wrong.
fn have_same_bytes(a: &Path, b: &Path) -> bool {
    let size = |path: &Path| std::fs::metadata(path).map(|m| m.len()).ok();
    // Sizes differ nearly always, and cost less than the bytes.
    size(a) == size(b) && matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
}
