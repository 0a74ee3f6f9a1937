//! Two real bugs of gcc 12.2, isolated in the distribution's own compiler.

use std::path::Path;
use std::time::Duration;
use trueline_coverage::StockCoverage;
use trueline_isolate::{Aggregate, FailureJudge, FailureKind, RankLevel, RankingReport, WitnessSearch, debug_counters, diagnose};
use trueline_model::{Coverage, Language, OptLevel, Origin, Program};
use trueline_toolchain::{cpu_time, find_compiler};

/// Rank of the buggy file after a few CPU-seconds; `None` when something is missing here.
fn rank_of(file: &str, level: OptLevel, flags: &[&str], buggy: &str) -> Option<usize> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/compiler-bugs");
    let Ok(source) = std::fs::read_to_string(dir.join(file)) else {
        println!("skipped: {} is not here", dir.display());
        return None;
    };
    let compiler = match find_compiler("gcc-12") {
        Ok(compiler) if compiler.id.version.starts_with("12.2") => compiler,
        _ => {
            println!("skipped: no gcc 12.2");
            return None;
        }
    };
    let program =
        Program { name: file.to_owned(), language: Language::C, source, origin: Origin::File { path: dir.join(file) }, cflags: Vec::new() };
    let coverage = StockCoverage::new(&compiler).unwrap();
    let flags: Vec<String> = flags.iter().map(|f| (*f).to_owned()).collect();
    let failure = diagnose(&program, &compiler, &[level], &flags, None).unwrap();
    let all_flags = failure.failing.all_flags();
    let kind = failure.kind;
    let judge = FailureJudge::new(failure);
    let plain = WitnessSearch::new(&program, &judge, &coverage, &all_flags);
    let search = WitnessSearch { protect_output: kind == FailureKind::WrongCode, most_witnesses: 12, ..plain };
    let started = cpu_time();
    let found = search.run(&mut || cpu_time() - started < Duration::from_secs(20), &mut |_| {}).unwrap();
    assert!(!found.witnesses.is_empty());
    let report = RankingReport {
        found: &found,
        switches: &[],
        levels: &[],
        passing: &[],
        map: coverage.code_map(),
        crash: kind == FailureKind::Crash,
    };
    report.ranking(RankLevel::File, Aggregate::Evidence).into_iter().find(|s| s.file == buggy).map(|s| s.rank)
}

#[test]
fn a_crash_of_loop_unswitching_leads_to_its_file() {
    if let Some(rank) = rank_of("pr111917.c", OptLevel::O2, &["-funswitch-loops"], "tree-ssa-loop-unswitch.cc") {
        assert!(rank <= 10, "rank {rank}");
    }
}

#[test]
fn wrong_code_of_tail_merging_leads_to_its_file() {
    let flags = ["-fno-tree-fre", "-fno-delete-dead-exceptions", "-fnon-call-exceptions"];
    if let Some(rank) = rank_of("pr110556.c", OptLevel::Os, &flags, "tree-ssa-tail-merge.cc") {
        assert!(rank <= 20, "rank {rank}");
    }
}

#[test]
fn a_debug_counter_leads_to_the_file_that_asks_it() {
    let Ok(compiler) = find_compiler("gcc-12") else { return println!("skipped: no gcc-12") };
    let coverage = StockCoverage::new(&compiler).unwrap();
    let counters = debug_counters(&compiler).unwrap();
    for (counter, file) in [("store_merging", "gimple-ssa-store-merging.cc"), ("ccp", "tree-ssa-ccp.cc"), ("match", "match.pd")] {
        let place = counters.iter().position(|name| name == counter).unwrap();
        let files = coverage.files_of_counter(place as u32);
        assert!(files.iter().any(|f| f == file), "{counter}: {files:?}");
    }
}
