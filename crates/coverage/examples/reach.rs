//! Compares how much of a compiler two sets of programs reach.
//!
//! usage: reach COMPILER FLAGS DIR-A DIR-B
//!
//! Compiles every `.c` file of both directories with COMPILER and FLAGS (one word, split at blanks), joins
//! what each set covers, and prints one JSON document: blocks, functions and files of either set, and what
//! only one of them reaches, by file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trueline_coverage::StockCoverage;
use trueline_model::{CodeMap, Coverage, CoverageSet, Language, Origin, Program};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [compiler, flags, a, b] = args.as_slice() else {
        return Err("usage: reach COMPILER FLAGS DIR-A DIR-B".into());
    };
    let coverage = StockCoverage::new(&trueline_toolchain::find_compiler(compiler)?)?;
    let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
    let (set_a, programs_a) = reach(&coverage, &flags, Path::new(a))?;
    let (set_b, programs_b) = reach(&coverage, &flags, Path::new(b))?;
    let map = coverage.code_map();
    let summary = |set: &CoverageSet, programs: usize| serde_json::json!({ "programs": programs, "blocks": set.len(), "functions": functions(set, map), "files": by_file(set, map).len() });
    let document = serde_json::json!({
        "compiler": compiler,
        "flags": flags,
        "watched_blocks": coverage.blocks(),
        "a": summary(&set_a, programs_a),
        "b": summary(&set_b, programs_b),
        "only_a": by_file(&set_a.difference(&set_b), map),
        "only_b": by_file(&set_b.difference(&set_a), map),
        "jaccard_distance": set_a.distance(&set_b),
    });
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}

fn reach(coverage: &StockCoverage, flags: &[String], dir: &Path) -> Result<(CoverageSet, usize), Box<dyn std::error::Error>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "c"));
    files.sort();
    let mut all = CoverageSet::default();
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(path)?;
        let program = Program { name, language: Language::C, source, origin: Origin::File { path: path.clone() }, cflags: Vec::new() };
        all.union_with(&coverage.measure(&program, flags)?);
    }
    Ok((all, files.len()))
}

fn functions(set: &CoverageSet, map: &CodeMap) -> usize {
    let mut seen: Vec<u32> = set.iter().map(|unit| map.unit_functions[unit as usize]).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

fn by_file<'m>(set: &CoverageSet, map: &'m CodeMap) -> BTreeMap<&'m str, usize> {
    let mut counts = BTreeMap::new();
    for file in set.iter().filter_map(|unit| map.file_of(unit)) {
        *counts.entry(map.files[file as usize].as_str()).or_default() += 1;
    }
    counts
}
