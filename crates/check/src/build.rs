//! A build that is still to be judged. Compilers often make the same file at two levels (clang's `-Og` is its `-O1`);
//! what was found out about one of them then holds for the other.

use crate::{CheckError, CheckRun};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trueline_model::{Language, OptLevel, Program};
use trueline_oracle::FloatMath;
use trueline_toolchain::{BuildError, CompileRequest, Compiler, DebugInfo, Limits, Scratch};

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
    pub(crate) max_rss: u64,
    pub(crate) scratch: Arc<Scratch>,
}

/// What a compilation took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildCost {
    /// CPU time of the compiler.
    pub cpu: Duration,
    /// Its largest resident set in bytes.
    pub max_rss: u64,
}

impl LevelBuild<'_> {
    /// What it took to compile.
    pub fn cost(&self) -> BuildCost {
        BuildCost { cpu: self.cpu, max_rss: self.max_rss }
    }

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

/// How far a program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildExtent {
    /// To a program that runs.
    Program,
    /// To an object; all that is needed to crash a compiler.
    Object,
}

/// One compilation of a program.
#[derive(Clone, Debug)]
pub struct Compilation<'a> {
    /// What is compiled.
    pub program: &'a Program,
    /// By whom.
    pub compiler: &'a Compiler,
    /// The level.
    pub opt: OptLevel,
    /// Every flag but the level.
    pub flags: &'a [String],
    /// How far.
    pub extent: BuildExtent,
    /// With or without debug information.
    pub debug: DebugInfo,
    /// The name of the file that is made.
    pub output: String,
    /// Limits of the compiler; its usual ones where not given.
    pub limits: Option<Limits>,
}

/// What a compilation made.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The file.
    pub binary: PathBuf,
    /// CPU time of the compiler.
    pub cpu: Duration,
    /// Its largest resident set in bytes.
    pub max_rss: u64,
    /// The command, with bare file names.
    pub command: String,
    /// What the compiler printed on standard error.
    pub log: String,
}

impl Compilation<'_> {
    fn request(&self, source: &Path, scratch: &Scratch) -> CompileRequest {
        let request = CompileRequest::new(source, self.program.language, self.opt, scratch.join(&self.output));
        let mut request = request.flags(self.flags.iter().cloned()).debug(self.debug);
        if self.extent == BuildExtent::Object && self.program.language != Language::Rust {
            request = request.flags(["-c"]);
        }
        if let Some(limits) = &self.limits {
            request.limits = limits.clone();
        }
        request
    }

    /// The command, with bare file names; empty when the compiler cannot be asked for it.
    pub fn command(&self, source: &Path, scratch: &Scratch) -> String {
        let job = self.compiler.compile_job(&self.request(source, scratch));
        job.map(|job| bare(&job.command_line(), source, scratch)).unwrap_or_default()
    }

    /// Compiles `source`, which holds the program, into `scratch`.
    pub fn run(&self, source: &Path, scratch: &Scratch) -> Result<Compiled, BuildError> {
        let build = self.compiler.compile(&self.request(source, scratch))?;
        let command = bare(&build.command, source, scratch);
        Ok(Compiled { binary: build.binary, cpu: build.cpu, max_rss: build.max_rss, command, log: build.stderr })
    }
}

/// A text without the directories that exist for one compilation only.
fn bare(text: &str, source: &Path, scratch: &Scratch) -> String {
    let places = source.parent().into_iter().chain([scratch.path()]);
    places.fold(text.to_owned(), |text, dir| text.replace(&format!("{}/", dir.display()), ""))
}

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
    let output = format!("build{opt}");
    let (extent, debug) = (BuildExtent::Program, DebugInfo::Full);
    let compilation = Compilation { program, compiler, opt, flags, extent, debug, output, limits: None };
    compilation.run(source, scratch).map_err(|e| CheckError::of_build(e, opt))
}

/// False also when one of them cannot be read: then the build is judged by itself, and says what is wrong.
fn have_same_bytes(a: &Path, b: &Path) -> bool {
    let size = |path: &Path| std::fs::metadata(path).map(|m| m.len()).ok();
    // Sizes differ nearly always, and cost less than the bytes.
    size(a) == size(b) && matches!((std::fs::read(a), std::fs::read(b)), (Ok(a), Ok(b)) if a == b)
}
