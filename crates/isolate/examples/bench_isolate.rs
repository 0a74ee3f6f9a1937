//! Measures isolation on a set of known compiler bugs: for each bug a search, then every ranking.
//!
//! usage: bench_isolate BUGS-DIR OUT-DIR COMPILER BUDGET-SECONDS SEED guided|random [FILE…]
//!
//! BUGS-DIR holds `bugs.json` and the programs. One directory per bug and run goes to OUT-DIR, with
//! everything the search found (coverage as lists of blocks) and the ranks of the buggy files; what is
//! there already is not done again. `BENCH_CORPUS` may name a directory of passing programs for the
//! comparison with plain spectrum-based ranking.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_coverage::StockCoverage;
use trueline_isolate::{
    Aggregate, FailureJudge, FailureKind, Found, Level, Passing, Report, Search, Strategy, Suspect, SwitchWitness, diagnose, pass_switches,
    rank, reports_diagnostics, switch_witnesses,
};
use trueline_model::{Coverage, CoverageSet, Language, OptLevel, Origin, Program};
use trueline_toolchain::{Compiler, Limits, cpu_time, find_compiler};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [bugs_dir, out, compiler, budget, seed, strategy, only @ ..] = args.as_slice() else {
        return Err("usage: bench_isolate BUGS-DIR OUT-DIR COMPILER BUDGET-SECONDS SEED guided|random [FILE...]".into());
    };
    let compiler = find_compiler(compiler)?;
    let coverage = StockCoverage::new(&compiler)?.limits(Limits { cpu: Duration::from_secs(4), ..Limits::seconds(40) });
    std::fs::create_dir_all(out)?;
    write_map(&coverage, Path::new(out))?;
    let bugs: serde_json::Value = serde_json::from_slice(&std::fs::read(Path::new(bugs_dir).join("bugs.json"))?)?;
    let run = Run {
        compiler,
        coverage,
        budget: Duration::from_secs(budget.parse()?),
        seed: seed.parse()?,
        include: vec![format!("-I{}/../../bench/isolate/include", env!("CARGO_MANIFEST_DIR"))],
        strategy: if strategy == "random" { Strategy::Random } else { Strategy::Guided },
    };
    for bug in bugs.as_array().into_iter().flatten() {
        let file = bug["file"].as_str().unwrap_or_default();
        if !only.is_empty() && !only.iter().any(|name| name == file) {
            continue;
        }
        let target = Path::new(out).join(format!("{file}-{strategy}-{seed}"));
        if target.join("done.json").exists() {
            continue;
        }
        if let Err(error) = run.bug(bug, &Path::new(bugs_dir).join(file), &target) {
            eprintln!("{file}: {error}");
        }
    }
    Ok(())
}

struct Run {
    compiler: Compiler,
    coverage: StockCoverage,
    budget: Duration,
    seed: u64,
    strategy: Strategy,
    include: Vec<String>,
}

impl Run {
    fn bug(&self, bug: &serde_json::Value, path: &Path, target: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(target)?;
        let strings =
            |key: &str| bug[key].as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect::<Vec<_>>();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(path)?;
        let program = Program {
            name: name.clone(),
            language: Language::C,
            source,
            origin: Origin::File { path: path.to_owned() },
            cflags: self.include.clone(),
        };
        let flags: Vec<String> = strings("options").into_iter().filter(|flag| !flag.starts_with("-O")).collect();
        // The lowest failing level runs the least of the compiler.
        let order = [OptLevel::O0, OptLevel::O1, OptLevel::Os, OptLevel::O2, OptLevel::O3];
        let fails: Vec<OptLevel> = strings("gcc12_fails_at").iter().filter_map(|l| l.parse().ok()).collect();
        let level = order.into_iter().find(|l| fails.contains(l)).ok_or("no failing level")?;
        let started = (Instant::now(), cpu_time());
        let failure = diagnose(&program, &self.compiler, &[level], &flags, None)?;
        let all_flags = failure.failing.all_flags();
        let message = failure.message.clone();
        let kind = failure.kind;
        let judge = FailureJudge::new(failure);
        let mut within = || cpu_time() - started.1 < self.budget;
        let candidates = pass_switches(&self.compiler, &program, &all_flags)?;
        let judge_flags = |extra: &[String]| judge.judge_with(&program, extra);
        let before_switches = cpu_time();
        // At most a third of the time for switches: the search needs the rest.
        let mut within_third = || cpu_time() - before_switches < self.budget / 3;
        let switches = switch_witnesses(&program, &all_flags, &candidates, &judge_flags, &self.coverage, &mut within_third)?;
        let switch_cpu = cpu_time() - before_switches;
        let search = Search {
            program: &program,
            judge: &judge,
            coverage: &self.coverage,
            flags: &all_flags,
            protect_output: kind == FailureKind::WrongCode,
            strategy: self.strategy,
            seed: self.seed,
            batch: 4,
            most_witnesses: 2000,
        };
        let found = search.run(&mut within, &mut |_| {})?;
        save(&target.join("failing.bits"), &found.failing)?;
        for (index, witness) in found.witnesses.iter().enumerate() {
            save(&target.join(format!("witness-{index:04}.bits")), &witness.covered)?;
            std::fs::write(target.join(format!("witness-{index:04}.c")), &witness.program.source)?;
        }
        for (index, switch) in switches.iter().enumerate() {
            save(&target.join(format!("switch-{index:04}.bits")), &switch.covered)?;
        }
        let buggy = strings("buggy_files");
        let mut levels = Vec::new();
        for opt in judge.passing_levels(&program)? {
            let flags: Vec<String> = flags.iter().cloned().chain([opt.flag().to_owned()]).collect();
            levels.push(self.coverage.measure(&program, &flags)?);
        }
        let ranks = self.ranks(&found, &switches, &levels, &all_flags, kind == FailureKind::Crash, &buggy)?;
        let document = serde_json::json!({
            "ranks": ranks,
            "file": name, "kind": format!("{kind:?}"), "level": level.flag(), "message": message,
            "buggy_files": bug["buggy_files"], "buggy_functions": bug["buggy_functions"],
            "judged": found.judged, "failing": found.failing_mutants, "unjudged": found.unjudged, "order": found.order, "exhausted": found.exhausted,
            "witnesses": found.witnesses.iter().map(|w| serde_json::json!({ "rules": w.rules, "distance": w.distance })).collect::<Vec<_>>(),
            "switches": switches.iter().map(|s| &s.flag).collect::<Vec<_>>(),
            "switch_cpu_seconds": switch_cpu.as_secs_f64(),
            "cpu_seconds": (cpu_time() - started.1).as_secs_f64(), "wall_seconds": started.0.elapsed().as_secs_f64(),
        });
        std::fs::write(target.join("done.json"), serde_json::to_vec_pretty(&document)?)?;
        eprintln!(
            "{name}: {} witnesses of {}, {} switches, {:?}",
            found.witnesses.len(),
            found.judged,
            switches.len(),
            started.0.elapsed()
        );
        Ok(())
    }
}

impl Run {
    /// Ranks of the buggy files under every method that is compared.
    fn ranks(
        &self,
        found: &Found,
        switches: &[SwitchWitness],
        levels: &[CoverageSet],
        flags: &[String],
        crash: bool,
        buggy: &[String],
    ) -> Result<serde_json::Value, Failure> {
        let map = self.coverage.code_map();
        let excluded = |file: &str| crash && reports_diagnostics(file);
        let of = |ranking: &[Suspect]| {
            let place = |file: &String| ranking.iter().find(|s| s.file == *file).map(|s| s.rank);
            let mut ranks: Vec<usize> = buggy.iter().filter_map(place).collect();
            ranks.sort_unstable();
            // A buggy file that the failing compilation never ran comes after everything.
            if ranks.is_empty() { vec![map.files.len()] } else { ranks }
        };
        let report = Report { found, switches, levels, passing: &[], map, crash };
        let spectrum = |sets: &[CoverageSet], aggregate| {
            let passing: Vec<Passing<'_>> = sets.iter().map(|covered| Passing { covered, weight: 1.0 }).collect();
            of(&rank(&found.failing, &passing, map, Level::File, aggregate, excluded))
        };
        let switched: Vec<CoverageSet> = switches.iter().map(|s| s.covered.clone()).collect();
        let corpus = self.corpus(flags)?;
        // Without the gathering over blocks a file is either run or not.
        let files = |set: &CoverageSet| set.iter().filter_map(|unit| map.file_of(unit)).collect::<CoverageSet>();
        let whole = trueline_model::CodeMap {
            files: map.files.clone(),
            functions: (0..map.files.len() as u32).map(|file| trueline_model::CodeFunction { name: String::new(), file }).collect(),
            unit_functions: (0..map.files.len() as u32).collect(),
        };
        let sets: Vec<CoverageSet> = corpus.iter().map(files).collect();
        let passing: Vec<Passing<'_>> = sets.iter().map(|covered| Passing { covered, weight: 1.0 }).collect();
        let by_file = of(&rank(&files(&found.failing), &passing, &whole, Level::File, Aggregate::Mean, excluded));
        Ok(serde_json::json!({
            "default": of(&report.ranking(Level::File, Aggregate::Evidence)),
            "mean": of(&report.ranking(Level::File, Aggregate::Mean)),
            "guilty_pass": spectrum(&switched, Aggregate::Mean),
            "guilty_pass_evidence": spectrum(&switched, Aggregate::Evidence),
            "corpus_blocks": if corpus.is_empty() { serde_json::Value::Null } else { serde_json::json!(spectrum(&corpus, Aggregate::Mean)) },
            "corpus_files": if corpus.is_empty() { serde_json::Value::Null } else { serde_json::json!(by_file) },
        }))
    }

    fn corpus(&self, flags: &[String]) -> Result<Vec<CoverageSet>, Failure> {
        let Some(dir) = std::env::var_os("BENCH_CORPUS") else { return Ok(Vec::new()) };
        let mut files: Vec<PathBuf> = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|ext| ext == "c"));
        files.sort();
        let mut sets = Vec::new();
        for path in files {
            let source = std::fs::read_to_string(&path)?;
            let program =
                Program { name: "corpus.c".to_owned(), language: Language::C, source, origin: Origin::File { path }, cflags: Vec::new() };
            sets.push(self.coverage.measure(&program, flags)?);
        }
        Ok(sets)
    }
}

fn save(path: &PathBuf, set: &CoverageSet) -> std::io::Result<()> {
    let bytes: Vec<u8> = set.iter().flat_map(u32::to_le_bytes).collect();
    std::fs::write(path, bytes)
}

fn write_map(coverage: &StockCoverage, out: &Path) -> Result<(), Failure> {
    let map = coverage.code_map();
    std::fs::write(out.join("map.json"), serde_json::to_vec(&serde_json::json!({ "files": map.files, "functions": map.functions }))?)?;
    let bytes: Vec<u8> = map.unit_functions.iter().flat_map(|f| f.to_le_bytes()).collect();
    std::fs::write(out.join("units.bin"), bytes)?;
    Ok(())
}
