//! The compilers that profile: a clang whose MemorySanitizer works here, and a gcc beside it where there is one.

use crate::env::MAX_VALUES;
use crate::refusal::MutateError;
use std::path::{Path, PathBuf};
use trueline_toolchain::{Compiler, Limits, Scratch, find_compiler};

/// A clang with MemorySanitizer, and our runtime compiled for it.
#[derive(Debug)]
pub(crate) struct Profiler {
    pub(crate) compiler: Compiler,
    pub(crate) runtime: PathBuf,
    pub(crate) symbolizer: Option<PathBuf>,
    /// Evaluates in another order: arguments from the last to the first.
    pub(crate) gcc: Option<Compiler>,
    // Holds the runtime's object file.
    _scratch: Scratch,
}

/// The flags of gcc's profiling build, which no sanitizer watches.
pub(crate) const PLAIN_FLAGS: [&str; 3] = ["-O0", "-w", "-fno-inline"];

/// The flags of a profiling build. Line tables let a report of MemorySanitizer name its line.
pub(crate) const FLAGS: [&str; 10] = [
    "-O0",
    "-w",
    "-gline-tables-only",
    "-fsanitize=memory",
    "-fno-sanitize-recover=all",
    "-fno-inline",
    // Old liberties that gcc still takes, and that test-suites are full of.
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=implicit-int",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-function-pointer-types",
];

/// Versions looked for by name.
const MIN_CLANG: u32 = 11;
const MAX_CLANG: u32 = 30;

impl Profiler {
    /// Finds one: the compiler asked for, or the newest clang that can link a sanitized program.
    pub(crate) fn find(wanted: Option<&str>) -> Result<Self, MutateError> {
        if let Some(name) = wanted {
            let compiler = find_compiler(name)?;
            return Self::try_with(&compiler)
                .map_err(|why| MutateError::NoSanitizer(format!("{} cannot build with it ({why})", compiler.id)));
        }
        // By name, newest first, rather than by listing what is installed: asking every compiler for its
        // version costs more than a profile.
        let names = (MIN_CLANG..=MAX_CLANG).rev().map(|n| format!("clang-{n}")).chain(["clang".to_owned()]);
        let mut reason = "no clang is installed".to_owned();
        for compiler in names.filter_map(|name| find_compiler(&name).ok()) {
            match Self::try_with(&compiler) {
                Ok(profiler) => return Ok(profiler),
                Err(why) => reason = format!("{} cannot build with it ({why})", compiler.id),
            }
        }
        Err(MutateError::NoSanitizer(reason))
    }

    fn try_with(compiler: &Compiler) -> Result<Self, String> {
        let scratch = Scratch::new().map_err(|e| e.to_string())?;
        let source = scratch.write("runtime.c", include_str!("../runtime/profile.c")).map_err(|e| e.to_string())?;
        let empty = scratch.write("empty.c", "int main(void) { return 0; }\n").map_err(|e| e.to_string())?;
        let runtime = scratch.join("runtime.o");
        let probe = scratch.join("probe");
        let compile =
            compiler.job().args(["-O2", "-w", "-c"]).arg(format!("-DMAX_VALUES={MAX_VALUES}")).arg(&source).arg("-o").arg(&runtime);
        let link = compiler.job().args(FLAGS).arg(&empty).arg(&runtime).arg("-o").arg(&probe);
        for job in [compile, link] {
            let outcome = job.limits(Limits::seconds(60)).run().map_err(|e| e.to_string())?;
            if !outcome.success() {
                return Err(outcome.stderr_text().lines().next().unwrap_or("no reason given").to_owned());
            }
        }
        let limits = Limits { memory: None, ..Limits::seconds(20) };
        let run = trueline_toolchain::Job::new(&probe).limits(limits).run().map_err(|e| e.to_string())?;
        if !run.success() {
            return Err("a sanitized program does not run here".to_owned());
        }
        let gcc = find_compiler("gcc").or_else(|_| find_compiler("gcc-12")).ok();
        Ok(Self { symbolizer: symbolizer(&compiler.id.path), compiler: compiler.clone(), runtime, gcc, _scratch: scratch })
    }
}

/// The symbolizer beside a clang, which makes reports name lines.
fn symbolizer(clang: &Path) -> Option<PathBuf> {
    let real = clang.canonicalize().ok()?;
    Some(real.parent()?.join("llvm-symbolizer")).filter(|p| p.exists())
}
