//! The searches.

use crate::SeenFailure;
use crate::record::{Base, Bug, Done, bugs, read_program, save};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trueline_coverage::StockCoverage;
use trueline_isolate::{
    FailureJudge, FailureKind, SearchStrategy, Switchboard, WitnessSearch, compiler_switches, diagnose_telling, switch_witnesses,
};
use trueline_model::{Coverage, OptLevel};
use trueline_toolchain::{Limits, cpu_time, find_compiler};

/// Searches once for every bug that has no result of this seed and strategy yet.
pub fn search(bugs_dir: &Path, out: &Path, budget: u64, seed: u64, strategy: &str, only: &[&str]) -> Result<(), SeenFailure> {
    std::fs::create_dir_all(out)?;
    for bug in bugs(bugs_dir)?.iter().filter(|bug| only.is_empty() || only.contains(&bug.file.as_str())) {
        let run = Run { bug, bugs_dir, out, budget: Duration::from_secs(budget), seed, strategy };
        if run.target().join("done.json").exists() {
            continue;
        }
        let started = Instant::now();
        match run.go() {
            Ok(summary) => eprintln!("{} {strategy} {seed}: {summary}, {:.0} s", bug.file, started.elapsed().as_secs_f64()),
            Err(error) => eprintln!("{}: {error}", bug.file),
        }
    }
    Ok(())
}

struct Run<'a> {
    bug: &'a Bug,
    bugs_dir: &'a Path,
    out: &'a Path,
    budget: Duration,
    seed: u64,
    strategy: &'a str,
}

impl Run<'_> {
    fn target(&self) -> PathBuf {
        self.out.join(format!("{}-{}-{}", self.bug.file, self.strategy, self.seed))
    }

    fn go(&self) -> Result<String, SeenFailure> {
        let started = cpu_time();
        let compiler = find_compiler(&self.bug.compiler)?;
        let coverage = StockCoverage::new(&compiler)?.limits(Limits { cpu: Duration::from_secs(6), ..Limits::seconds(90) });
        let original = read_program(&self.bugs_dir.join(&self.bug.file))?;
        let flags = self.bug.flags();
        // The lowest failing level runs the least of the compiler.
        let order = [OptLevel::O0, OptLevel::O1, OptLevel::Os, OptLevel::O2, OptLevel::O3];
        let fails: Vec<OptLevel> = self.bug.fails_at.iter().filter_map(|level| level.parse().ok()).collect();
        let level = order.into_iter().find(|level| fails.contains(level)).ok_or("no failing level")?;
        let (failure, program) = diagnose_telling(&original, &compiler, &[level], &flags, None)?;
        let all_flags = failure.failing.all_flags();
        let (kind, message, telling) = (failure.kind, failure.message.clone(), failure.telling);
        let judge = FailureJudge::new(failure);

        let base_dir = self.out.join(format!("{}-base", self.bug.file));
        let base = match std::fs::read(base_dir.join("base.json")) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(_) => {
                std::fs::create_dir_all(&base_dir)?;
                std::fs::write(base_dir.join("program.c"), &program.source)?;
                save(&base_dir.join("failing.bits"), &coverage.measure(&program, &all_flags)?)?;
                let candidates = compiler_switches(&compiler, &program, &all_flags)?;
                let judge_flags = |extra: &[String]| judge.judge_with(&program, extra);
                // At most a third of the time for switches: the search needs the rest.
                let mut within = || cpu_time() - started < self.budget / 3;
                let board = Switchboard { program: &program, flags: &all_flags, judge: &judge_flags, coverage: &coverage };
                let switches = switch_witnesses(&board, &candidates, &mut within)?;
                for (index, switch) in switches.iter().enumerate() {
                    save(&base_dir.join(format!("switch-{index:04}.bits")), &switch.covered)?;
                }
                for opt in judge.passing_levels(&program)? {
                    let flags: Vec<String> = flags.iter().cloned().chain([opt.flag().to_owned()]).collect();
                    save(&base_dir.join(format!("level{}.bits", opt.flag())), &coverage.measure(&program, &flags)?)?;
                }
                let base = Base {
                    kind: format!("{kind:?}"),
                    level: level.flag().to_owned(),
                    message,
                    telling: format!("{telling:?}"),
                    switches: switches.into_iter().map(|switch| switch.flag).collect(),
                    cpu_seconds: (cpu_time() - started).as_secs_f64(),
                };
                std::fs::write(base_dir.join("base.json"), serde_json::to_vec_pretty(&base)?)?;
                base
            }
        };

        let target = self.target();
        std::fs::create_dir_all(&target)?;
        let begun = cpu_time();
        let left = self.budget.saturating_sub(Duration::from_secs_f64(base.cpu_seconds));
        let mut within = || cpu_time() - begun < left;
        let search = WitnessSearch {
            protect_output: kind == FailureKind::WrongCode,
            strategy: if self.strategy == "random" { SearchStrategy::Random } else { SearchStrategy::Guided },
            seed: self.seed,
            ..WitnessSearch::new(&program, &judge, &coverage, &all_flags)
        };
        let found = search.run(&mut within, &mut |_| {})?;
        for (index, witness) in found.witnesses.iter().enumerate() {
            save(&target.join(format!("witness-{index:04}.bits")), &witness.covered)?;
            std::fs::write(target.join(format!("witness-{index:04}.c")), &witness.program.source)?;
        }
        let done = Done {
            judged: found.judged,
            failing: found.failing_mutants,
            unjudged: found.unjudged,
            order: found.order,
            exhausted: found.exhausted,
            rules: found.witnesses.iter().map(|w| w.rules.iter().map(ToString::to_string).collect()).collect(),
            cpu_seconds: (cpu_time() - begun).as_secs_f64() + base.cpu_seconds,
        };
        std::fs::write(target.join("done.json"), serde_json::to_vec_pretty(&done)?)?;
        Ok(format!("{} witnesses of {}, {} switches", found.witnesses.len(), found.judged, base.switches.len()))
    }
}
