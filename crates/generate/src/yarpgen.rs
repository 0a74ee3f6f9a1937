//! yarpgen, where it is on PATH. It writes several files; they are joined into one, since a program here
//! is one text.

use crate::source::{ProgramSource, SourceError};
use trueline_model::{Language, Origin, Program};
use trueline_toolchain::{Limits, Scratch, Tool, ToolKind, find_tool};

/// The yarpgen that is installed.
#[derive(Debug)]
pub struct Yarpgen {
    tool: Tool,
}

impl Yarpgen {
    /// Finds yarpgen on PATH, or says that it is missing.
    pub fn new() -> Result<Self, SourceError> {
        Ok(Self { tool: find_tool(ToolKind::Yarpgen, None)? })
    }
}

impl ProgramSource for Yarpgen {
    fn name(&self) -> String {
        "yarpgen".to_owned()
    }

    fn program(&self, seed: u64, language: Language) -> Result<Option<Program>, SourceError> {
        if language != Language::C {
            return Ok(None);
        }
        let scratch = Scratch::new().map_err(|source| SourceError::Io { path: std::env::temp_dir(), source })?;
        // Version 2 takes `--std=c`, version 1 `-d` and `-s` only; both take the seed as `-s`.
        let job = self.tool.job().inside(scratch.path()).limits(Limits::seconds(30));
        let seed_flag = format!("--seed={}", seed.max(1));
        let mut outcome = job.clone().args(["--std=c", &seed_flag]).arg(format!("--out-dir={}", scratch.path().display())).run()?;
        if !outcome.success() {
            outcome = job.args(["-s", &seed.max(1).to_string(), "-d"]).arg(scratch.path()).run()?;
        }
        let source = join(scratch.path());
        if source.is_empty() {
            let reason = outcome.stderr_text().lines().next().unwrap_or("it wrote no files").to_owned();
            return Err(SourceError::NoProgram { generator: "yarpgen", seed, reason });
        }
        let origin = Origin::Generated { generator: self.name(), seed };
        Ok(Some(Program { name: format!("yarpgen-{seed}.c"), language, source, origin, cflags: Vec::new() }))
    }
}

/// The header, the functions, then the driver, without the includes of one another.
fn join(dir: &std::path::Path) -> String {
    let mut text = String::new();
    for name in ["init.h", "func.c", "driver.c"] {
        if let Ok(part) = std::fs::read_to_string(dir.join(name)) {
            for line in part.lines().filter(|l| !(l.trim_start().starts_with("#include") && l.contains("init.h"))) {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    if text.contains("main") { text } else { String::new() }
}
