//! The rankings: every method that is compared, from what the searches left.

use crate::SeenFailure;
use crate::record::{Base, Bug, bugs, load, load_all, read_program};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use trueline_coverage::StockCoverage;
use trueline_isolate::{
    Aggregate, Passing, RankLevel, RankingReport, SearchOutcome, Suspect, SwitchWitness, WitnessProgram, bisected_pass, debug_counters,
    ochiai, place, rank, reports_diagnostics,
};
use trueline_model::{CodeFunction, CodeMap, Coverage, CoverageSet, Language, Origin, Program};
use trueline_toolchain::find_compiler;

/// Writes `ranks.json` beside every search's `done.json`.
pub fn rank_all(bugs_dir: &Path, out: &Path) -> Result<(), SeenFailure> {
    let mut open: Option<(String, StockCoverage, Vec<String>)> = None;
    for bug in bugs(bugs_dir)? {
        let base_dir = out.join(format!("{}-base", bug.file));
        if !base_dir.join("base.json").exists() {
            continue;
        }
        if open.as_ref().is_none_or(|(name, _, _)| *name != bug.compiler) {
            let compiler = find_compiler(&bug.compiler)?;
            open = Some((bug.compiler.clone(), StockCoverage::new(&compiler)?, debug_counters(&compiler)?));
        }
        let (_, coverage, counters) = open.as_ref().expect("just opened");
        let measured = Measured::load(&bug, &base_dir, coverage, counters)?;
        for entry in std::fs::read_dir(out)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = name.strip_prefix(&bug.file).is_some_and(|rest| rest.starts_with("-guided-") || rest.starts_with("-random-"));
            if ours && entry.path().join("done.json").exists() {
                let ranks = measured.ranks(&load_all(&entry.path(), "witness-")?);
                let mut document = serde_json::json!({ "file": bug.file, "buggy_files": bug.buggy_files, "ranks": ranks });
                document["guilty_files"] = serde_json::json!(measured.guilty);
                document["strategy"] = name.rsplit('-').nth(1).unwrap_or_default().into();
                std::fs::write(entry.path().join("ranks.json"), serde_json::to_vec_pretty(&document)?)?;
            }
        }
    }
    Ok(())
}

/// Passing programs of one kind.
struct Corpus {
    name: String,
    sets: Vec<CoverageSet>,
}

struct Measured<'a> {
    bug: &'a Bug,
    map: &'a CodeMap,
    crash: bool,
    failing: CoverageSet,
    switches: Vec<SwitchWitness>,
    levels: Vec<CoverageSet>,
    corpora: Vec<Corpus>,
    /// Files of the passes without which the program passes.
    guilty: BTreeSet<String>,
}

impl<'a> Measured<'a> {
    fn load(bug: &'a Bug, dir: &Path, coverage: &'a StockCoverage, counters: &[String]) -> Result<Self, SeenFailure> {
        let base: Base = serde_json::from_slice(&std::fs::read(dir.join("base.json"))?)?;
        let sets = load_all(dir, "switch-")?;
        let passes = base.switches.iter().filter_map(|flag| switched_pass(bug, &base, dir, flag));
        let mut guilty: BTreeSet<String> = passes.filter_map(|pass| coverage.file_of_pass(&pass)).collect();
        guilty.extend(base.switches.iter().flat_map(|flag| counter_files(counters, coverage, flag)));
        let switches = base.switches.iter().zip(sets).map(|(flag, covered)| SwitchWitness { flag: flag.clone(), covered });
        let mut corpora = Vec::new();
        for entry in std::fs::read_dir(dir)?.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            if let Some(name) = file.strip_prefix("corpus-").and_then(|rest| rest.strip_suffix(".done")) {
                corpora.push(Corpus { name: name.to_owned(), sets: load_all(dir, &format!("corpus-{name}-"))? });
            }
        }
        Ok(Self {
            bug,
            map: coverage.code_map(),
            guilty,
            crash: base.kind == "Crash",
            failing: load(&dir.join("failing.bits"))?,
            switches: switches.collect(),
            levels: load_all(dir, "level")?,
            corpora,
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
            |covered: &CoverageSet| WitnessProgram { program: program.clone(), rules: Vec::new(), covered: covered.clone(), distance: 0.0 };
        let found =
            SearchOutcome { failing: self.failing.clone(), witnesses: witnesses.iter().map(witness).collect(), ..SearchOutcome::default() };
        let whole =
            RankingReport { found: &found, switches: &self.switches, levels: &self.levels, passing: &[], map: self.map, crash: self.crash };
        let files = |report: RankingReport<'_>| self.of(&report.ranking(RankLevel::File, Aggregate::Evidence));
        let default = whole.ranking(RankLevel::File, Aggregate::Evidence);
        let mut ranks = serde_json::json!({
            "default": self.of(&default),
            "default without switches": files(RankingReport { switches: &[], ..whole }),
            "default without levels": files(RankingReport { levels: &[], ..whole }),
            "witnesses alone, evidence": files(RankingReport { switches: &[], levels: &[], ..whole }),
            "witnesses alone, mean (DiWi's formula)": self.of(&self.spectrum(witnesses, Aggregate::Mean)),
            "switches alone": self.of(&self.spectrum(&self.switched(), Aggregate::Independent)),
            "default, blocks as independent": self.of(&whole.ranking(RankLevel::File, Aggregate::Independent)),
            "guilty pass mapped to its file": self.of(&self.guilty_files(None)),
            "guilty pass's file before the default": self.of(&self.guilty_files(Some(&default))),
        });
        for Corpus { name, sets } in self.corpora.iter().filter(|corpus| !corpus.sets.is_empty()) {
            let mut add = |method: &str, places: Vec<usize>| ranks[method] = serde_json::json!(places);
            add(&format!("{name} programs, mean per file"), self.of(&self.spectrum(sets, Aggregate::Mean)));
            add(&format!("{name} programs, evidence per file"), self.of(&self.spectrum(sets, Aggregate::Evidence)));
            add(&format!("{name} programs, most suspect block"), self.of(&self.most_suspect_block(sets)));
            add(&format!("{name} programs, files as units"), self.of(&self.whole_files(sets)));
            add(&format!("default and {name} programs as witnesses"), files(RankingReport { passing: sets, ..whole }));
        }
        if let Some(place) = self.function_rank(&whole.ranking(RankLevel::Function, Aggregate::Evidence)) {
            ranks["functions"] = serde_json::json!([place]);
        }
        ranks
    }

    fn switched(&self) -> Vec<CoverageSet> {
        self.switches.iter().map(|s| s.covered.clone()).collect()
    }

    /// The files of guilty passes first, all others after them: in the order of another ranking, or as equals.
    fn guilty_files(&self, others: Option<&[Suspect]>) -> Vec<Suspect> {
        let mut all = others.map_or_else(|| self.spectrum(&[], Aggregate::Mean), <[Suspect]>::to_vec);
        let best = all.iter().map(|suspect| suspect.score.abs()).fold(0.0, f64::max);
        for suspect in &mut all {
            let kept = if others.is_some() { suspect.score } else { 0.0 };
            suspect.score = kept + if self.guilty.contains(&suspect.file) { 2.0 * best + 1.0 } else { 0.0 };
        }
        place(all)
    }

    fn excluded(&self, file: &str) -> bool {
        self.crash && reports_diagnostics(file)
    }

    fn spectrum(&self, sets: &[CoverageSet], aggregate: Aggregate) -> Vec<Suspect> {
        let passing: Vec<Passing<'_>> = sets.iter().map(|covered| Passing { covered, weight: 1.0 }).collect();
        rank(&self.failing, &passing, self.map, RankLevel::File, aggregate, |file| self.excluded(file))
    }

    /// Nothing is gathered: a file ranks where its most suspect block does.
    fn most_suspect_block(&self, sets: &[CoverageSet]) -> Vec<Suspect> {
        let mut all = self.spectrum(&[], Aggregate::Mean);
        let mut best = vec![0.0f64; self.map.files.len()];
        for unit in self.failing.iter() {
            if let Some(file) = self.map.file_of(unit) {
                let run_by = sets.iter().filter(|set| set.contains(unit)).count();
                best[file as usize] = best[file as usize].max(ochiai(run_by as f64));
            }
        }
        let scores: HashMap<&String, f64> = self.map.files.iter().zip(best).collect();
        all.iter_mut().for_each(|suspect| suspect.score = scores.get(&suspect.file).copied().unwrap_or_default());
        place(all)
    }

    /// Without blocks a file is either run or not.
    fn whole_files(&self, sets: &[CoverageSet]) -> Vec<Suspect> {
        let files = |set: &CoverageSet| set.iter().filter_map(|unit| self.map.file_of(unit)).collect::<CoverageSet>();
        let count = self.map.files.len() as u32;
        let map = CodeMap {
            files: self.map.files.clone(),
            functions: (0..count).map(|file| CodeFunction { name: String::new(), file }).collect(),
            unit_functions: (0..count).collect(),
        };
        let sets: Vec<CoverageSet> = sets.iter().map(files).collect();
        let passing: Vec<Passing<'_>> = sets.iter().map(|covered| Passing { covered, weight: 1.0 }).collect();
        rank(&files(&self.failing), &passing, &map, RankLevel::File, Aggregate::Mean, |file| self.excluded(file))
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

/// The pass that a switch stops: the one that it names, or the one at which LLVM's dial stands.
fn switched_pass(bug: &Bug, base: &Base, dir: &Path, flag: &str) -> Option<String> {
    if let Some(pass) = flag.strip_prefix("-fdisable-") {
        return Some(pass.to_owned());
    }
    let limit: u64 = flag.strip_prefix("-mllvm -opt-bisect-limit=")?.parse().ok()?;
    let flags: Vec<String> = bug.flags().into_iter().chain([base.level.clone()]).collect();
    bisected_pass(&find_compiler(&bug.compiler).ok()?, &read_program(&dir.join("program.c")).ok()?, &flags, limit + 1)
}

/// The files that ask the debug counter of a switch.
fn counter_files(counters: &[String], coverage: &StockCoverage, flag: &str) -> Vec<String> {
    let name = flag.strip_prefix("-fdbg-cnt=").and_then(|rest| rest.split_once(':')).map(|(name, _)| name);
    let place = name.and_then(|name| counters.iter().position(|counter| counter == name));
    place.map(|place| coverage.files_of_counter(place as u32)).unwrap_or_default()
}
