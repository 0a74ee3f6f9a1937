//! The rankings: every method that is compared, from what the searches left.

use crate::Failure;
use crate::record::{Base, Bug, bugs, load, load_all};
use std::collections::BTreeSet;
use std::path::Path;
use trueline_coverage::StockCoverage;
use trueline_isolate::{Aggregate, Found, Level, Passing, Report, Suspect, SwitchWitness, Witness, place, rank, reports_diagnostics};
use trueline_model::{CodeFunction, CodeMap, Coverage, CoverageSet, Language, Origin, Program};
use trueline_toolchain::find_compiler;

/// Writes `ranks.json` beside every search's `done.json`.
pub fn rank_all(bugs_dir: &Path, out: &Path) -> Result<(), Failure> {
    let mut open: Option<(String, StockCoverage)> = None;
    for bug in bugs(bugs_dir)? {
        let base_dir = out.join(format!("{}-base", bug.file));
        if !base_dir.join("base.json").exists() {
            continue;
        }
        if open.as_ref().is_none_or(|(name, _)| *name != bug.compiler) {
            open = Some((bug.compiler.clone(), StockCoverage::new(&find_compiler(&bug.compiler)?)?));
        }
        let coverage = &open.as_ref().expect("just opened").1;
        let measured = Measured::load(&bug, &base_dir, coverage)?;
        for entry in std::fs::read_dir(out)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = name.strip_prefix(&bug.file).is_some_and(|rest| rest.starts_with("-guided-") || rest.starts_with("-random-"));
            if ours && entry.path().join("done.json").exists() {
                let ranks = measured.ranks(&load_all(&entry.path(), "witness-")?);
                let mut document = serde_json::json!({ "file": bug.file, "buggy_files": bug.buggy_files, "ranks": ranks });
                document["strategy"] = name.rsplit('-').nth(1).unwrap_or_default().into();
                std::fs::write(entry.path().join("ranks.json"), serde_json::to_vec_pretty(&document)?)?;
            }
        }
    }
    Ok(())
}

struct Measured<'a> {
    bug: &'a Bug,
    map: &'a CodeMap,
    crash: bool,
    failing: CoverageSet,
    switches: Vec<SwitchWitness>,
    levels: Vec<CoverageSet>,
    corpus: Vec<CoverageSet>,
    /// Files of the passes without which the program passes.
    guilty: BTreeSet<String>,
}

impl<'a> Measured<'a> {
    fn load(bug: &'a Bug, dir: &Path, coverage: &'a StockCoverage) -> Result<Self, Failure> {
        let base: Base = serde_json::from_slice(&std::fs::read(dir.join("base.json"))?)?;
        let sets = load_all(dir, "switch-")?;
        let passes = base.switches.iter().filter_map(|flag| flag.strip_prefix("-fdisable-"));
        let guilty = passes.filter_map(|pass| coverage.file_of_pass(pass)).collect();
        let switches = base.switches.iter().zip(sets).map(|(flag, covered)| SwitchWitness { flag: flag.clone(), covered });
        Ok(Self {
            bug,
            map: coverage.code_map(),
            guilty,
            crash: base.kind == "Crash",
            failing: load(&dir.join("failing.bits"))?,
            switches: switches.collect(),
            levels: load_all(dir, "level")?,
            corpus: load_all(dir, "corpus-")?,
        })
    }

    fn ranks(&self, witnesses: &[CoverageSet]) -> serde_json::Value {
        let program = Program {
            name: self.bug.file.clone(),
            language: Language::C,
            source: String::new(),
            origin: Origin::File { path: self.bug.file.clone().into() },
            cflags: Vec::new(),
        };
        let witness =
            |covered: &CoverageSet| Witness { program: program.clone(), rules: Vec::new(), covered: covered.clone(), distance: 0.0 };
        let found = Found { failing: self.failing.clone(), witnesses: witnesses.iter().map(witness).collect(), ..Found::default() };
        let report = |switches| Report { found: &found, switches, levels: &self.levels, passing: &[], map: self.map, crash: self.crash };
        let whole = report(&self.switches);
        let mut ranks = serde_json::json!({
            "default": self.of(&whole.ranking(Level::File, Aggregate::Evidence)),
            "witnesses, evidence": self.of(&report(&[]).ranking(Level::File, Aggregate::Evidence)),
            "witnesses, mean (DiWi's formula)": self.of(&self.spectrum(witnesses, Aggregate::Mean)),
            "switches alone, evidence": self.of(&self.spectrum(&self.switched(), Aggregate::Evidence)),
            "switches alone, mean": self.of(&self.spectrum(&self.switched(), Aggregate::Mean)),
        });
        ranks["guilty pass mapped to its file"] = serde_json::json!(self.of(&self.guilty_files()));
        if !self.corpus.is_empty() {
            ranks["csmith corpus, mean per file"] = serde_json::json!(self.of(&self.spectrum(&self.corpus, Aggregate::Mean)));
            ranks["csmith corpus, whole files"] = serde_json::json!(self.of(&self.whole_files()));
        }
        if let Some(place) = self.function_rank(&whole.ranking(Level::Function, Aggregate::Evidence)) {
            ranks["functions"] = serde_json::json!([place]);
        }
        ranks
    }

    fn switched(&self) -> Vec<CoverageSet> {
        self.switches.iter().map(|s| s.covered.clone()).collect()
    }

    /// The files of guilty passes first, all others after them.
    fn guilty_files(&self) -> Vec<Suspect> {
        let mut all = self.spectrum(&[], Aggregate::Mean);
        all.iter_mut().for_each(|suspect| suspect.score = if self.guilty.contains(&suspect.file) { 1.0 } else { 0.0 });
        place(all)
    }

    fn excluded(&self, file: &str) -> bool {
        self.crash && reports_diagnostics(file)
    }

    fn spectrum(&self, sets: &[CoverageSet], aggregate: Aggregate) -> Vec<Suspect> {
        let passing: Vec<Passing<'_>> = sets.iter().map(|covered| Passing { covered, weight: 1.0 }).collect();
        rank(&self.failing, &passing, self.map, Level::File, aggregate, |file| self.excluded(file))
    }

    /// Without blocks a file is either run or not.
    fn whole_files(&self) -> Vec<Suspect> {
        let files = |set: &CoverageSet| set.iter().filter_map(|unit| self.map.file_of(unit)).collect::<CoverageSet>();
        let count = self.map.files.len() as u32;
        let map = CodeMap {
            files: self.map.files.clone(),
            functions: (0..count).map(|file| CodeFunction { name: String::new(), file }).collect(),
            unit_functions: (0..count).collect(),
        };
        let sets: Vec<CoverageSet> = self.corpus.iter().map(files).collect();
        let passing: Vec<Passing<'_>> = sets.iter().map(|covered| Passing { covered, weight: 1.0 }).collect();
        rank(&files(&self.failing), &passing, &map, Level::File, Aggregate::Mean, |file| self.excluded(file))
    }

    /// Ranks of the buggy files, best first; one that the failing compilation never ran comes after everything.
    fn of(&self, ranking: &[Suspect]) -> Vec<usize> {
        let place = |file: &String| ranking.iter().find(|s| s.file == *file).map(|s| s.rank);
        let mut ranks: Vec<usize> = self.bug.buggy_files.iter().filter_map(place).collect();
        ranks.sort_unstable();
        if ranks.is_empty() { vec![self.map.files.len()] } else { ranks }
    }

    /// The best rank of a buggy function, if the binary names any of them.
    fn function_rank(&self, ranking: &[Suspect]) -> Option<usize> {
        let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
        let buggy: Vec<(&String, String)> =
            self.bug.buggy_functions.iter().flatten().flat_map(|(file, names)| names.iter().map(move |name| (file, last(name)))).collect();
        let is_buggy =
            |s: &&Suspect| buggy.iter().any(|(file, name)| **file == s.file && s.function.as_deref().map(last).as_ref() == Some(name));
        ranking.iter().find(is_buggy).map(|s| s.rank)
    }
}
