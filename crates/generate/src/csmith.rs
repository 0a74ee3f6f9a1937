//! csmith, with its checksum runtime built once and without debug information: a debugger would
//! otherwise spend ten thousand steps in the table that every program fills first.

use crate::source::{ProgramSource, SourceError};
use std::path::{Path, PathBuf};
use trueline_model::{Language, Origin, Program};
use trueline_toolchain::{Limits, Tool, ToolKind, find_compiler, find_tool};

/// How large programs become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsmithOptions {
    /// Small functions, few of them: traces of a few thousand steps.
    Bounded,
    /// The options that csmith comes with.
    Default,
}

impl CsmithOptions {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Bounded => &[
                "--max-funcs",
                "5",
                "--max-block-size",
                "4",
                "--max-block-depth",
                "3",
                "--max-expr-complexity",
                "5",
                "--max-array-len-per-dim",
                "4",
                "--max-array-dim",
                "2",
            ],
            Self::Default => &[],
        }
    }
}

/// The csmith that is installed, with its headers.
#[derive(Debug)]
pub struct Csmith {
    tool: Tool,
    options: CsmithOptions,
    cflags: Vec<String>,
    /// Where it runs: it drops a `platform.info` into its working directory.
    dir: PathBuf,
}

impl Csmith {
    /// Finds csmith and its headers and builds the runtime where it is not built yet.
    pub fn new(options: CsmithOptions) -> Result<Self, SourceError> {
        let tool = find_tool(ToolKind::Csmith, None)?;
        let headers = header_dir(&tool.path).ok_or(SourceError::Setup {
            generator: "csmith",
            reason: "its header random_inc.h was not found; install it with `apt-get install libcsmith-dev`".to_owned(),
        })?;
        let runtime = build_runtime(&tool, &headers)?;
        let cflags =
            vec![format!("-I{}", runtime.display()), format!("-I{}", headers.display()), runtime.join("runtime.o").display().to_string()];
        Ok(Self { tool, options, cflags, dir: runtime })
    }
}

fn header_dir(program: &Path) -> Option<PathBuf> {
    let root = program.parent()?.parent()?.join("include");
    let mut candidates = vec![root.join("csmith"), root.clone(), PathBuf::from("/usr/include/csmith")];
    for entry in std::fs::read_dir(&root).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("csmith") {
            candidates.push(entry.path());
        }
    }
    candidates.into_iter().find(|dir| dir.join("random_inc.h").exists())
}

/// Changes whenever one of the two texts below does, so that no stale build is used.
const RUNTIME_REVISION: u32 = 2;

/// What programs include instead of csmith's own header: the same names, declared only.
const HEADER: &str = "\
#ifndef TRUELINE_CSMITH_H
#define TRUELINE_CSMITH_H
#include <string.h>
#include <stdint.h>
#include <stdio.h>
#include <float.h>
#include <math.h>
#define PLATFORM_GENERIC_H
#define __STDC_LIMIT_MACROS
#include \"random_inc.h\"
#ifdef __cplusplus
#define TRUELINE_NAME const char *
extern \"C\" {
#else
#define TRUELINE_NAME char *
#endif
extern uint32_t crc32_context;
void crc32_gentab(void);
void transparent_crc(uint64_t value, TRUELINE_NAME name, int flag);
void transparent_crc_bytes(char *start, int count, TRUELINE_NAME name, int flag);
void platform_main_begin(void);
void platform_main_end(uint32_t crc, int flag);
#ifdef __cplusplus
}
#endif
#endif
";

/// csmith's own header with its functions made external; the system's headers come first, untouched.
const RUNTIME: &str = "\
#include <string.h>
#include <stdint.h>
#include <stdio.h>
#include <float.h>
#include <math.h>
#include <limits.h>
#include <assert.h>
#define static
#include \"csmith.h\"
";

fn build_runtime(tool: &Tool, headers: &Path) -> Result<PathBuf, SourceError> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache"));
    let root = cache.or_else(home).unwrap_or_else(std::env::temp_dir).join("trueline");
    let name = format!("csmith-{}-{RUNTIME_REVISION}", tool.version);
    let dir = root.join(&name);
    if dir.join("runtime.o").exists() {
        return Ok(dir);
    }
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| SourceError::Io { path, source }
    };
    // Built aside and moved into place whole: two hunts may start at the same time.
    std::fs::create_dir_all(&root).map_err(io(&root))?;
    let aside = root.join(format!("{name}.{}", std::process::id()));
    std::fs::create_dir_all(&aside).map_err(io(&aside))?;
    let source = aside.join("runtime.c");
    std::fs::write(&source, RUNTIME).map_err(io(&source))?;
    let cc = find_compiler("gcc").or_else(|_| find_compiler("cc")).or_else(|_| find_compiler("clang"))?;
    let object = aside.join("runtime.o");
    let job = cc.job().args(["-O1", "-w", "-fPIC", "-c", "-I"]).arg(headers).arg(&source).arg("-o").arg(&object);
    let outcome = job.run()?;
    if !outcome.success() {
        let reason = format!("its runtime does not compile: {}", outcome.stderr_text().lines().next().unwrap_or("no message"));
        return Err(SourceError::Setup { generator: "csmith", reason });
    }
    std::fs::write(aside.join("csmith.h"), HEADER).map_err(io(&aside))?;
    if std::fs::rename(&aside, &dir).is_err() {
        let _ = std::fs::remove_dir_all(&aside);
        if !dir.join("runtime.o").exists() {
            let reason = format!("cannot write {}", dir.display());
            return Err(SourceError::Setup { generator: "csmith", reason });
        }
    }
    Ok(dir)
}

impl ProgramSource for Csmith {
    fn name(&self) -> String {
        match self.options {
            CsmithOptions::Bounded => "csmith".to_owned(),
            CsmithOptions::Default => "csmith-default".to_owned(),
        }
    }

    fn program(&self, seed: u64, language: Language) -> Result<Option<Program>, SourceError> {
        // Its C++ is that of 1998, with conversions that later standards and stricter compilers refuse.
        let (tongue, standard): (&[&str], &[&str]) = match language {
            Language::C => (&[], &[]),
            Language::Cpp => (&["--lang-cpp"], &["-std=gnu++98", "-fpermissive"]),
            Language::Rust => return Ok(None),
        };
        // csmith reads 32 bits of seed.
        let job = self.tool.job().args(["--concise", "--no-argc", "--seed", &(seed & 0xffff_ffff).to_string()]);
        let outcome = job.args(tongue).args(self.options.flags()).cwd(&self.dir).limits(Limits::seconds(20)).run()?;
        let source = outcome.stdout_text();
        if !outcome.success() || !source.contains("int main") {
            let reason = outcome.stderr_text().lines().next().unwrap_or("it gave up").to_owned();
            return Err(SourceError::NoProgram { generator: "csmith", seed, reason });
        }
        Ok(Some(Program {
            name: format!("csmith-{seed}.{}", language.extension()),
            language,
            source,
            origin: Origin::Generated { generator: self.name(), seed },
            cflags: self.cflags.iter().cloned().chain(standard.iter().map(|f| (*f).to_owned())).collect(),
        }))
    }

    fn has(&self, _seed: u64, language: Language) -> bool {
        language != Language::Rust
    }
}
