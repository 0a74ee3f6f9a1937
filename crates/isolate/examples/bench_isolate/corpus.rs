//! Passing programs for the comparison with plain spectrum-based ranking: a generator's, or a developer test-suite.

use crate::SeenFailure;
use crate::record::{Base, bugs, read_program, save};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use trueline_coverage::StockCoverage;
use trueline_model::CoverageSet;
use trueline_toolchain::{Exit, Limits, find_compiler};

/// Measures `count` programs of a directory under the flags of every bug that was searched and has no such corpus yet.
pub fn measure(bugs_dir: &Path, out: &Path, name: &str, dir: &Path, count: usize) -> Result<(), SeenFailure> {
    let programs = chosen(dir, count)?;
    let mut open: Option<(String, StockCoverage)> = None;
    // Many bugs are compiled with the same flags.
    let mut measured: HashMap<(String, Vec<String>), Vec<CoverageSet>> = HashMap::new();
    for bug in bugs(bugs_dir)? {
        let base_dir = out.join(format!("{}-base", bug.file));
        let done = base_dir.join(format!("corpus-{name}.done"));
        let Ok(bytes) = std::fs::read(base_dir.join("base.json")) else { continue };
        if done.exists() {
            continue;
        }
        let base: Base = serde_json::from_slice(&bytes)?;
        let flags: Vec<String> = bug.flags().into_iter().chain([base.level]).collect();
        if open.as_ref().is_none_or(|(name, _)| *name != bug.compiler) {
            let coverage = StockCoverage::new(&find_compiler(&bug.compiler)?)?;
            open = Some((bug.compiler.clone(), coverage.limits(Limits::seconds(30))));
        }
        let coverage = &open.as_ref().expect("just opened").1;
        let key = (bug.compiler.clone(), flags.clone());
        if !measured.contains_key(&key) {
            measured.insert(key.clone(), measure_all(coverage, &programs, &flags)?);
        }
        for (index, set) in measured[&key].iter().enumerate() {
            save(&base_dir.join(format!("corpus-{name}-{index:04}.bits")), set)?;
        }
        std::fs::write(done, measured[&key].len().to_string())?;
    }
    Ok(())
}

/// Programs evenly spaced over the names in a directory.
fn chosen(dir: &Path, count: usize) -> Result<Vec<PathBuf>, SeenFailure> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "c"));
    files.sort();
    let count = count.min(files.len());
    Ok((0..count).map(|index| files[index * files.len() / count].clone()).collect())
}

/// What the programs cover that compile with these flags.
fn measure_all(coverage: &StockCoverage, programs: &[PathBuf], flags: &[String]) -> Result<Vec<CoverageSet>, SeenFailure> {
    let mut sets = Vec::new();
    for path in programs {
        let measurement = coverage.run(&read_program(path)?, flags)?;
        if measurement.exit == Exit::Code(0) {
            sets.push(measurement.covered);
        }
    }
    Ok(sets)
}
