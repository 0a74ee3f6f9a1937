//! Checking many programs: which ones, with which compilers, and what is kept of each.

use super::baseline::Baseline;
use super::json::{Failure, RunDocument};
use super::sources::Sources;
use super::{html, text};
use crate::input::{BuildFlags, SOURCES, read_program};
use crate::style::Style;
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use trueline_check::{CheckError, CheckRun, Checker, GroupBy, Reference};
use trueline_model::{EngineKind, Language, OptLevel, Policy, Program, Violation};
use trueline_report::FunctionPage;
use trueline_toolchain::{Compiler, quote};

/// How results are shown.
pub struct CheckView {
    /// The engine that traced the builds.
    pub engine: EngineKind,
    /// How the native engine read.
    pub policy: Option<Policy>,
    /// Whether dropped candidates are listed.
    pub explain: bool,
    /// Whether to print colours or none.
    pub style: Style,
    /// What violations are put together by, where somebody said so.
    pub group_by: Option<GroupBy>,
    /// The most groups that are printed; 0 for all.
    pub limit: usize,
    /// Whether pages of functions are wanted.
    pub html: bool,
}

/// One build that was checked, or why it could not be.
pub struct BuildRow {
    /// The compiler, if we compiled.
    pub compiler: Option<Compiler>,
    /// The level, if we compiled.
    pub opt: Option<OptLevel>,
    /// What came of it; what the baseline knows is taken out.
    pub result: Result<CheckRun, CheckError>,
    /// Violations that the baseline knows.
    pub known: Vec<Violation>,
    /// How many of them it knows by their cause.
    pub known_by_cause: usize,
    /// True when the baseline knows that this build cannot be checked.
    pub excused: bool,
    /// Index of the -O0 side.
    pub reference: Option<usize>,
}

/// What a program was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedSubject {
    /// A file of source.
    File,
    /// Somebody built it elsewhere.
    Pair,
    /// A project, by its own build.
    Project,
}

/// One program with all its traces: short-lived.
pub struct CheckedProgram {
    /// The path of the program.
    pub program: String,
    /// What it was built from.
    pub subject: CheckedSubject,
    /// What `trueline triage` is told to look at, as a shell takes it.
    pub target: String,
    /// The texts of its files, as far as we have them.
    pub sources: Sources,
    /// The -O0 sides, one per compiler.
    pub references: Vec<Reference>,
    /// The builds with what they showed.
    pub rows: Vec<BuildRow>,
}

/// What is kept of a program.
pub struct Checked {
    /// The path of the program.
    pub program: String,
    /// The report for people.
    pub text: String,
    /// The builds, as the JSON document has them.
    pub runs: Vec<RunDocument>,
    /// The text of each violation's source line, by file and line, for the baseline.
    pub lines: BTreeMap<(String, u32), String>,
    /// Pages of functions, if they are wanted.
    pub pages: Vec<FunctionPage>,
}

impl Checked {
    /// Builds that could not be checked and that nobody knew of.
    pub fn failures(&self) -> impl Iterator<Item = (&RunDocument, &Failure)> {
        self.runs.iter().filter_map(|run| run.error.as_ref().filter(|e| !e.known).map(|e| (run, e)))
    }

    /// Whether there is anything that the baseline does not excuse.
    pub fn is_noteworthy(&self) -> bool {
        self.failures().next().is_some() || self.runs.iter().any(|run| !run.violations.is_empty())
    }

    /// What is kept of a program: its report, without the traces.
    pub fn of(mut outcome: CheckedProgram, baseline: Option<&Baseline>, view: &CheckView) -> Self {
        let sources = std::mem::take(&mut outcome.sources);
        let text_of = |v: &Violation| sources.line(&v.file, v.line.0).map(|text| text.trim().to_owned());
        if let Some(baseline) = baseline {
            baseline.excuse(&outcome.program, &mut outcome.rows, &text_of);
        }
        let all = outcome.rows.iter().filter_map(|row| row.result.as_ref().ok()).flat_map(|run| &run.violations);
        let lines = all.filter_map(|v| Some(((v.file.base().to_owned(), v.line.0), text_of(v)?))).collect();
        outcome.sources = sources;
        let runs: Vec<RunDocument> = outcome.rows.iter().map(|row| RunDocument::of(&outcome, row, view)).collect();
        let pages = |(row, run): (&BuildRow, &RunDocument)| html::pages(&outcome, row, &run.groups);
        let pages = if view.html { outcome.rows.iter().zip(&runs).flat_map(pages).collect() } else { Vec::new() };
        Self { text: text::program(&outcome, view), program: outcome.program, runs, lines, pages }
    }
}

/// The programs that the arguments name: files as they are, directories searched. Sorted, each once.
pub fn collect(inputs: &[PathBuf], languages: &dyn Fn(Language) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for input in inputs {
        if !input.is_dir() {
            programs.push(input.clone());
            continue;
        }
        let mut found = Vec::new();
        search(input, languages, &mut found)?;
        if found.is_empty() {
            bail!("no {SOURCES} program that the compilers take is in {}", input.display());
        }
        found.sort();
        programs.extend(found);
    }
    let mut seen = BTreeSet::new();
    programs.retain(|program| seen.insert(program.clone()));
    Ok(programs)
}

fn search(dir: &Path, languages: &dyn Fn(Language) -> bool, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot = || format!("cannot read the directory {}", dir.display());
    for entry in std::fs::read_dir(dir).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Links to directories are not followed: they may lead back up.
        match entry.file_type().with_context(cannot)? {
            _ if hidden => {}
            kind if kind.is_dir() => search(&path, languages, found)?,
            _ if path.is_file() && Language::of_path(&path).is_some_and(languages) => found.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// Checks every program of the inputs at every level with every compiler, in parallel; the order of the results is
/// that of the programs.
pub fn check_all(
    checker: &Checker,
    inputs: &[PathBuf],
    build: &BuildFlags,
    baseline: Option<&Baseline>,
    view: &CheckView,
) -> anyhow::Result<Vec<Checked>> {
    let (c, cpp, rust) = match Language::ALL.map(|language| build.compilers_that_take(language)) {
        [Err(error), Err(_), Err(_)] => return Err(error),
        [c, cpp, rust] => (c, cpp, rust),
    };
    let compilers = |language| match language {
        Language::C => &c,
        Language::Cpp => &cpp,
        Language::Rust => &rust,
    };
    let takes = |language| compilers(language).is_ok();
    let paths = collect(inputs, &takes)?;
    let progress = progress(paths.len());
    let check = |path: &PathBuf| {
        let program = read_program(path)?;
        let compilers = match compilers(program.language) {
            Ok(compilers) => compilers,
            // The error that names this program's language.
            Err(_) => &build.compilers(program.language)?,
        };
        let (references, rows) = check_levels(checker, &program, compilers, &build.levels());
        let own = program.own_text();
        let sources = Sources::of_program(path, own.file, &own.text);
        // What `triage` needs to compile it again.
        let target = build.cflags.iter().fold(quote(path), |target, flag| format!("{target} {}", quote(format!("--cflag={flag}"))));
        let outcome =
            CheckedProgram { program: path.display().to_string(), subject: CheckedSubject::File, target, sources, references, rows };
        let checked = Checked::of(outcome, baseline, view);
        progress.inc(1);
        anyhow::Ok(checked)
    };
    let checked = paths.par_iter().map(check).collect();
    progress.finish_and_clear();
    checked
}

/// A bar on a terminal when there is more than one program; invisible otherwise.
fn progress(programs: usize) -> ProgressBar {
    if programs < 2 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} programs · {eta} left");
    ProgressBar::new(programs as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn check_levels(checker: &Checker, program: &Program, compilers: &[Compiler], levels: &[OptLevel]) -> (Vec<Reference>, Vec<BuildRow>) {
    let made: Vec<Result<Reference, CheckError>> = compilers.par_iter().map(|c| checker.reference(program, c)).collect();
    let (mut references, mut rows, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    for (compiler, made) in compilers.iter().zip(made) {
        match made {
            Ok(reference) => {
                wanted.extend(levels.iter().map(|opt| (compiler, references.len(), *opt)));
                references.push(reference);
            }
            Err(error) => rows.push(BuildRow::new(Some(compiler.clone()), Some(OptLevel::O0), Err(error), None)),
        }
    }
    let checked = wanted.into_par_iter().map(|(compiler, index, opt)| {
        let result = checker.check(program, &references[index], compiler, opt, &[]);
        BuildRow::new(Some(compiler.clone()), Some(opt), result, Some(index))
    });
    rows.extend(checked.collect::<Vec<_>>());
    (references, rows)
}

impl BuildRow {
    /// A build and what came of it, before the baseline is asked.
    pub fn new(compiler: Option<Compiler>, opt: Option<OptLevel>, result: Result<CheckRun, CheckError>, reference: Option<usize>) -> Self {
        Self { compiler, opt, result, known: Vec::new(), known_by_cause: 0, excused: false, reference }
    }

    /// The texts of the files that the violations of a binary are in, where its debug information says that they are.
    pub fn sources(&self) -> Sources {
        let Ok(run) = &self.result else { return Sources::default() };
        let named: BTreeSet<&str> = run.violations.iter().map(|v| v.file.base()).collect();
        Sources::of_binary(&run.debug, &named)
    }
}

/// Checks a pair of binaries built elsewhere.
pub fn check_pair(
    checker: &Checker,
    reference: &Path,
    optimized: &Path,
    args: &[String],
    baseline: Option<&Baseline>,
    view: &CheckView,
) -> anyhow::Result<Checked> {
    let reference = checker.reference_pair(reference, args)?;
    let row = BuildRow::new(None, None, checker.check_against(&reference, optimized), Some(0));
    let sources = row.sources();
    let outcome = CheckedProgram {
        program: optimized.display().to_string(),
        subject: CheckedSubject::Pair,
        target: quote(optimized),
        sources,
        references: vec![reference],
        rows: vec![row],
    };
    Ok(Checked::of(outcome, baseline, view))
}
