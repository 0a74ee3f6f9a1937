//! Many files: directories are walked, files run in parallel, what cannot be read is told and passed over.

use crate::report::{FileReport, ProblemKind};
use crate::runner::{Options, PassStage, analyze_file};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How the names of files end that a stage can be tried on.
fn extensions(stage: PassStage) -> &'static [&'static str] {
    match stage {
        PassStage::Optimizer => &["ll", "bc", "c", "i", "cpp", "cc", "cxx", "C", "ii", "rs"],
        PassStage::CodeGeneration => &["ll", "bc", "mir", "c", "i", "cpp", "cc", "cxx", "C", "ii"],
    }
}

/// Files to analyse, and entries that could not be read.
#[derive(Debug, Default)]
pub struct Batch {
    /// The files to analyse, sorted by path.
    pub files: Vec<PathBuf>,
    /// What could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Batch {
    /// Collects files: those named, and those below directories that the stage can be tried on, except those in
    /// directories called `Inputs`, which tests read but do not run.
    pub fn collect(inputs: &[PathBuf], stage: PassStage) -> Self {
        let mut batch = Self::default();
        for input in inputs {
            match std::fs::metadata(input) {
                Ok(data) if data.is_dir() => batch.walk(input, stage),
                Ok(_) => batch.files.push(input.clone()),
                Err(error) => batch.unreadable.push((input.clone(), error.to_string())),
            }
        }
        batch.files.sort();
        batch.files.dedup();
        batch
    }

    fn walk(&mut self, directory: &Path, stage: PassStage) {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => return self.unreadable.push((directory.to_owned(), error.to_string())),
        };
        for entry in entries {
            let path = match entry {
                Ok(entry) => entry.path(),
                Err(error) => {
                    self.unreadable.push((directory.to_owned(), error.to_string()));
                    continue;
                }
            };
            // Links are not followed into directories: a link to a parent would never end.
            let is_dir = path.symlink_metadata().is_ok_and(|m| m.is_dir());
            if is_dir && path.file_name().is_some_and(|n| n != "Inputs") {
                self.walk(&path, stage);
            } else if !is_dir && path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions(stage).contains(&e)) {
                self.files.push(path);
            }
        }
    }

    /// Analyses all files; `progress` is told how many are done.
    pub fn run(&self, options: &Options, progress: impl Fn(usize, usize) + Sync) -> Vec<FileReport> {
        let done = AtomicUsize::new(0);
        let mut reports: Vec<FileReport> = self
            .files
            .par_iter()
            .map(|file| {
                let report = analyze_file(file, options);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, self.files.len());
                report
            })
            .collect();
        for (path, reason) in &self.unreadable {
            let mut report = FileReport::new(path, &options.opt.path.display().to_string());
            report.problem(ProblemKind::Unreadable, format!("{} cannot be read: {reason}", path.display()));
            reports.push(report);
        }
        reports
    }
}
