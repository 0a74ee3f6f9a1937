//! The `stock` back end: the compiler that the user has, unmodified, with one-shot breakpoints on its
//! basic blocks. What it prints and writes is what it would have printed and written anyway.

use crate::gcc::GccHints;
use crate::image::CompilerImage;
use crate::llvm::LlvmHints;
use crate::passes::{counter_users, file_of_function, pass_makers};
use crate::plan::{BreakPlan, cache_dir};
use crate::{CoverageError, hook};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use trueline_model::{CodeMap, CompilerKind, Coverage, CoverageSet, Program, SeamError};
use trueline_toolchain::{Compiler, Exit, Job, Limits, Scratch};

/// Coverage of a stock compiler.
#[derive(Debug)]
pub struct StockCoverage {
    compiler: Compiler,
    hook: PathBuf,
    plans: Vec<BreakPlan>,
    map: CodeMap,
    limits: Limits,
    /// The functions that make gcc's passes; read when first asked for.
    makers: OnceLock<HashMap<String, String>>,
    /// The places that ask gcc's debug counters, likewise.
    counters: OnceLock<HashMap<u32, Vec<u64>>>,
}

/// A compilation that was measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The blocks that ran.
    pub covered: CoverageSet,
    /// How the compiler ended.
    pub exit: Exit,
    /// What it wrote on standard error.
    pub stderr: String,
    /// The assembly (gcc) or object (clang) it wrote, if it did.
    pub output: Option<Vec<u8>>,
    /// The CPU time it took.
    pub cpu: std::time::Duration,
}

impl StockCoverage {
    /// Prepares a compiler; the first time for a build of it this reads all its code.
    pub fn new(compiler: &Compiler) -> Result<Self, CoverageError> {
        Self::with_cache(compiler, &cache_dir())
    }

    /// The same with a cache directory of the caller's choice.
    pub fn with_cache(compiler: &Compiler, cache: &Path) -> Result<Self, CoverageError> {
        let planned = images(compiler)?.into_iter().map(|image| match compiler.id.kind {
            CompilerKind::Gcc => BreakPlan::of_image(&image, cache, |image| Box::new(GccHints::of_image(image))),
            _ => BreakPlan::of_image(&image, cache, |image| Box::new(LlvmHints::of_image(image))),
        });
        // clang is two libraries; the optimizer alone is worth looking into when the front end cannot be named.
        let (plans, refused): (Vec<_>, Vec<_>) = planned.partition(Result::is_ok);
        let plans: Vec<BreakPlan> = plans.into_iter().flatten().collect();
        if let Some(Err(error)) = refused.into_iter().next()
            && plans.is_empty()
        {
            return Err(error);
        }
        let map = join_maps(plans.iter().map(|plan| &plan.map));
        let hook = hook::install(cache)?;
        Ok(Self {
            compiler: compiler.clone(),
            hook,
            plans,
            map,
            limits: Limits::seconds(30),
            makers: OnceLock::new(),
            counters: OnceLock::new(),
        })
    }

    /// Sets the limits of one compilation.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The file that a pass lives in: gcc's by the name in its dumps (`ccp1`, `tree-ccp1`), LLVM's by its class
    /// (`InstCombinePass`). `None` when the binary does not tell.
    pub fn file_of_pass(&self, pass: &str) -> Option<String> {
        let plain = ["tree-", "rtl-", "ipa-"].iter().find_map(|kind| pass.strip_prefix(kind)).unwrap_or(pass);
        let unnumbered = plain.trim_end_matches(|c: char| c.is_ascii_digit());
        let file = match self.compiler.id.kind {
            CompilerKind::Gcc => {
                let makers = self.makers.get_or_init(|| {
                    let image = images(&self.compiler).ok().and_then(|images| CompilerImage::load(images.first()?).ok());
                    image.map(|image| pass_makers(&image)).unwrap_or_default()
                });
                let maker = makers.get(plain).or_else(|| makers.get(unnumbered))?;
                file_of_function(&self.map, |name| name == maker)
            }
            _ => {
                let class = plain.split(['<', ' ']).next().unwrap_or(plain).rsplit("::").next()?;
                let run = format!("llvm::{class}::run");
                file_of_function(&self.map, |name| name == run)
            }
        };
        file.map(str::to_owned)
    }

    /// The files that ask one of gcc's debug counters, by its place in gcc's own list of them.
    pub fn files_of_counter(&self, counter: u32) -> Vec<String> {
        let Some(plan) = self.plans.first().filter(|_| self.compiler.id.kind == CompilerKind::Gcc) else { return Vec::new() };
        let users = self.counters.get_or_init(|| {
            let image = images(&self.compiler).ok().and_then(|images| CompilerImage::load(images.first()?).ok());
            image.map(|image| counter_users(&image)).unwrap_or_default()
        });
        users.get(&counter).map(|places| plan.files_at(places).into_iter().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// How many blocks are watched.
    pub fn blocks(&self) -> usize {
        self.map.unit_functions.len()
    }

    /// Compiles a program and says which blocks ran, whatever became of the compilation.
    pub fn run(&self, program: &Program, flags: &[String]) -> Result<Measurement, CoverageError> {
        let scratch = Scratch::new().map_err(|source| CoverageError::Write { path: std::env::temp_dir(), source })?;
        let write = |name: &str, content: &[u8]| {
            scratch.write(name, content).map_err(|source| CoverageError::Write { path: scratch.join(name), source })
        };
        let source = program_file(program);
        write(&source, program.source.as_bytes())?;
        let words = self.blocks().div_ceil(64);
        let hits = write("hits", &vec![0; 8 + words * 8])?;
        let outcome = self
            .job(program, flags, &source)
            .cwd(scratch.path())
            .env("LD_PRELOAD", &self.hook)
            .env("TRUELINE_HITS", &hits)
            .env("TRUELINE_BLOCKS", self.plan_list())
            .run()?;
        let bytes = std::fs::read(&hits).map_err(|source| CoverageError::Read { path: hits.clone(), source })?;
        if bytes[0] == 0 {
            let reason =
                format!("the preloaded library found none of its images; {}", outcome.stderr_text().lines().next().unwrap_or("no message"));
            return Err(CoverageError::NotAttached { compiler: self.compiler.id.to_string(), reason });
        }
        let words = bytes[8..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        Ok(Measurement {
            covered: CoverageSet::from_words(words),
            exit: outcome.exit,
            stderr: outcome.stderr_text(),
            output: std::fs::read(scratch.join("out")).ok(),
            cpu: outcome.cpu,
        })
    }

    /// The same compilation without breakpoints, to compare.
    pub fn run_plain(&self, program: &Program, flags: &[String]) -> Result<Measurement, CoverageError> {
        let scratch = Scratch::new().map_err(|source| CoverageError::Write { path: std::env::temp_dir(), source })?;
        let source = program_file(program);
        scratch.write(&source, &program.source).map_err(|error| CoverageError::Write { path: scratch.join(&source), source: error })?;
        let outcome = self.job(program, flags, &source).cwd(scratch.path()).run()?;
        Ok(Measurement {
            covered: CoverageSet::default(),
            exit: outcome.exit,
            stderr: outcome.stderr_text(),
            output: std::fs::read(scratch.join("out")).ok(),
            cpu: outcome.cpu,
        })
    }

    fn job(&self, program: &Program, flags: &[String], source: &str) -> Job {
        let mut job = self.compiler.job().args(&program.cflags).args(flags);
        job = match self.compiler.id.kind {
            // Debian's driver repeats a crashed compilation to see whether it crashes again. Showing the source line
            // runs code that has nothing to do with the crash.
            CompilerKind::Gcc => job.args(["-S", "-fno-report-bug", "-fno-diagnostics-show-caret"]),
            CompilerKind::Clang => job.args(["-c", "-fno-crash-diagnostics", "-fno-caret-diagnostics"]),
            _ => job.arg("-c"),
        };
        // Its temporary files stay in the working directory, whose name must not move the compiler's stack.
        job.args(["-o", "out", source]).env("TMPDIR", ".").limits(self.limits.clone()).fixed_layout()
    }

    fn plan_list(&self) -> String {
        let mut first = 0;
        let entries = self.plans.iter().map(|plan| {
            let entry = format!("{first}={}", plan.stem.display());
            first += plan.blocks;
            entry
        });
        entries.collect::<Vec<_>>().join(":")
    }
}

impl Coverage for StockCoverage {
    fn measure(&self, program: &Program, flags: &[String]) -> Result<CoverageSet, SeamError> {
        self.run(program, flags).map(|m| m.covered).map_err(|e| SeamError(e.to_string()))
    }

    fn code_map(&self) -> &CodeMap {
        &self.map
    }
}

fn program_file(program: &Program) -> String {
    format!("program.{}", program.language.extension())
}

/// The images whose code is the compiler: `cc1` behind gcc's driver, the libraries behind clang's.
fn images(compiler: &Compiler) -> Result<Vec<PathBuf>, CoverageError> {
    let path = &compiler.id.path;
    match compiler.id.kind {
        CompilerKind::Gcc => {
            let outcome = compiler.job().arg("-print-prog-name=cc1").run()?;
            let found = PathBuf::from(outcome.stdout_text().trim());
            if found.is_absolute() {
                return Ok(vec![found]);
            }
            Err(CoverageError::Unmappable { image: path.clone(), reason: "it does not say where its cc1 is".to_owned() })
        }
        _ => {
            let listing = compiler.job().arg("--version").env("LD_TRACE_LOADED_OBJECTS", "1").run()?.stdout_text();
            let library = |line: &str| {
                let (name, rest) = line.trim().split_once(" => ")?;
                let known = name.starts_with("libLLVM") || name.starts_with("libclang-cpp");
                known.then(|| PathBuf::from(rest.split(" (").next().unwrap_or(rest)))
            };
            let libraries: Vec<PathBuf> = listing.lines().filter_map(library).collect();
            let whole = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            Ok(if libraries.is_empty() { vec![whole(path)] } else { libraries.iter().map(whole).collect() })
        }
    }
}

/// Joins the maps of several images into one whose units follow one another.
fn join_maps<'a>(maps: impl Iterator<Item = &'a CodeMap>) -> CodeMap {
    let mut whole = CodeMap::default();
    for map in maps {
        let file_ids: Vec<u32> = map
            .files
            .iter()
            .map(|file| match whole.files.iter().position(|known| known == file) {
                Some(known) => known as u32,
                None => {
                    whole.files.push(file.clone());
                    whole.files.len() as u32 - 1
                }
            })
            .collect();
        let first = whole.functions.len() as u32;
        let renumbered =
            map.functions.iter().map(|f| trueline_model::CodeFunction { name: f.name.clone(), file: file_ids[f.file as usize] });
        whole.functions.extend(renumbered);
        whole.unit_functions.extend(map.unit_functions.iter().map(|function| function + first));
    }
    whole
}
