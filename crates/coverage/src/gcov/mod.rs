//! The `gcov` back end: a compiler built with `--coverage`, as in DiWi. Notes and counters are read here,
//! without a gcov process per file; a unit is a source line.
//!
//! Counters are written when the compiler exits, into a directory of each run's own (`GCOV_PREFIX`). A
//! compiler that a signal kills writes none: the stock back end sees such crashes, this one says so.

mod graph;
mod records;

use crate::CoverageError;
use graph::Notes;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use trueline_model::{CodeFunction, CodeMap, Coverage, CoverageSet, Program, SeamError};
use trueline_toolchain::{Compiler, Limits, Scratch};

/// Coverage of a compiler built with gcov.
#[derive(Debug)]
pub struct GcovCoverage {
    compiler: Compiler,
    notes: Vec<(PathBuf, Notes)>,
    map: CodeMap,
    /// The units of a block: (notes file, function, block) to unit numbers.
    units: HashMap<(usize, u32, usize), Vec<u32>>,
    limits: Limits,
}

/// Reads notes and counters as a run would, for the fuzzer: how many blocks ran, `None` for damaged files.
#[doc(hidden)]
pub fn read_gcov_files(notes: &[u8], counters: &[u8]) -> Option<usize> {
    let notes = Notes::read(notes, Path::new("fuzzed.gcno")).ok()?;
    Some(notes.executed(counters, Path::new("fuzzed.gcda")).ok()?.len())
}

impl GcovCoverage {
    /// Reads every `.gcno` under a directory.
    pub fn new(compiler: &Compiler, notes_dir: &Path) -> Result<Self, CoverageError> {
        let mut paths = Vec::new();
        find_notes(notes_dir, &mut paths);
        paths.sort();
        if paths.is_empty() {
            let reason = format!(
                "no .gcno files under {}; build the compiler with --coverage and name its build directory with --notes",
                notes_dir.display()
            );
            return Err(CoverageError::Unmappable { image: compiler.id.path.clone(), reason });
        }
        let mut notes = Vec::new();
        for path in paths {
            let data = std::fs::read(&path).map_err(|source| CoverageError::Read { path: path.clone(), source })?;
            let read = Notes::read(&data, &path)?;
            notes.push((path, read));
        }
        let (map, units) = number_units(&notes);
        Ok(Self { compiler: compiler.clone(), notes, map, units, limits: Limits::seconds(30) })
    }

    /// Sets the limits of one compilation.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Compiles a program and says which lines of the compiler ran.
    pub fn run(&self, program: &Program, flags: &[String]) -> Result<CoverageSet, CoverageError> {
        let scratch = Scratch::new().map_err(|source| CoverageError::Write { path: std::env::temp_dir(), source })?;
        let source = format!("program.{}", program.language.extension());
        scratch.write(&source, &program.source).map_err(|error| CoverageError::Write { path: scratch.join(&source), source: error })?;
        let counters = scratch.join("counters");
        let job = self.compiler.job().args(&program.cflags).args(flags).args(["-c", "-o", "out", &source]);
        let outcome = job.inside(scratch.path()).env("GCOV_PREFIX", &counters).limits(self.limits.clone()).fixed_layout().run()?;
        let mut covered = CoverageSet::default();
        let mut any = false;
        for (index, (path, notes)) in self.notes.iter().enumerate() {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone()).with_extension("gcda");
            let file = counters.join(absolute.strip_prefix("/").unwrap_or(&absolute));
            let Ok(data) = std::fs::read(&file) else { continue };
            any = true;
            for (function, block) in notes.executed(&data, &file)? {
                self.units.get(&(index, function, block)).into_iter().flatten().for_each(|&unit| covered.insert(unit));
            }
        }
        if !any {
            let reason = format!("it wrote no counters (it ended with {:?}); were the notes moved since it was built?", outcome.exit);
            return Err(CoverageError::NotAttached { compiler: self.compiler.id.to_string(), reason });
        }
        Ok(covered)
    }
}

impl Coverage for GcovCoverage {
    fn measure(&self, program: &Program, flags: &[String]) -> Result<CoverageSet, SeamError> {
        self.run(program, flags).map_err(|e| SeamError(e.to_string()))
    }

    fn code_map(&self) -> &CodeMap {
        &self.map
    }
}

fn find_notes(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            find_notes(&path, out);
        } else if path.extension().is_some_and(|ext| ext == "gcno") {
            out.push(path);
        }
    }
}

/// Numbers every source line that some block has, in a fixed order.
#[allow(clippy::type_complexity, reason = "the two halves of one table")]
fn number_units(notes: &[(PathBuf, Notes)]) -> (CodeMap, HashMap<(usize, u32, usize), Vec<u32>>) {
    let mut map = CodeMap::default();
    let mut files: HashMap<String, u32> = HashMap::new();
    let mut functions: HashMap<(String, u32), u32> = HashMap::new();
    let mut lines: HashMap<(u32, u32), u32> = HashMap::new();
    let mut units: HashMap<(usize, u32, usize), Vec<u32>> = HashMap::new();
    for (index, (_, notes)) in notes.iter().enumerate() {
        let mut idents: Vec<u32> = notes.functions.keys().copied().collect();
        idents.sort_unstable();
        for ident in idents {
            let function = &notes.functions[&ident];
            for (number, block) in function.blocks.iter().enumerate() {
                for (file, line) in &block.lines {
                    let file = *files.entry(file.clone()).or_insert_with(|| {
                        map.files.push(file.clone());
                        map.files.len() as u32 - 1
                    });
                    let owner = *functions.entry((function.name.clone(), file)).or_insert_with(|| {
                        map.functions.push(CodeFunction { name: function.name.clone(), file });
                        map.functions.len() as u32 - 1
                    });
                    let unit = *lines.entry((file, *line)).or_insert_with(|| {
                        map.unit_functions.push(owner);
                        map.unit_functions.len() as u32 - 1
                    });
                    units.entry((index, ident, number)).or_default().push(unit);
                }
            }
        }
    }
    (map, units)
}
