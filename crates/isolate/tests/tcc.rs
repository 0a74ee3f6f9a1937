//! The whole way on tcc with gcov: `TRUELINE_GCOV_TCC_SEEDED` names a build by
//! `scripts/gcov-tcc DIR x86_64-gen.c 's/ll ? 63 : 31/ll ? 63 : 15/'`, whose shifts by 16 and more are wrong.

use trueline_coverage::GcovCoverage;
use trueline_isolate::{Aggregate, FailureJudge, FailureKind, RankLevel, RankingReport, WitnessSearch, diagnose};
use trueline_model::{Coverage, Language, OptLevel, Origin, Program};
use trueline_toolchain::find_compiler;

const SHIFT: &str = "int printf(const char *, ...);
unsigned a = 3, c = 7;
int main(void) {
  unsigned b = a << 17;
  c = c + b;
  printf(\"%u %u\\n\", b, c);
  return 0;
}
";

#[test]
fn a_seeded_bug_of_tccs_code_generator_leads_to_its_file() {
    let Some(tcc) = std::env::var_os("TRUELINE_GCOV_TCC_SEEDED") else {
        return println!("skipped: TRUELINE_GCOV_TCC_SEEDED does not name a seeded build of scripts/gcov-tcc");
    };
    let path = std::path::PathBuf::from(tcc);
    let folder = path.parent().unwrap().to_owned();
    let compiler = find_compiler(&path.to_string_lossy()).unwrap();
    let gcc = find_compiler("gcc").unwrap();
    let coverage = GcovCoverage::new(&compiler, &folder).unwrap();
    let program = Program {
        name: "shift.c".to_owned(),
        language: Language::C,
        source: SHIFT.to_owned(),
        origin: Origin::File { path: "shift.c".into() },
        cflags: Vec::new(),
    };
    // All levels of tcc are one; only another compiler can tell that it is wrong.
    let flags = [format!("-B{}", folder.display())];
    let failure = diagnose(&program, &compiler, &[OptLevel::O0], &flags, Some(&gcc)).unwrap();
    assert_eq!(failure.kind, FailureKind::WrongCode);
    assert_eq!(failure.reference.as_ref().unwrap().compiler, gcc);
    let all_flags = failure.failing.all_flags();
    let judge = FailureJudge::new(failure);
    let run = || {
        let plain = WitnessSearch::new(&program, &judge, &coverage, &all_flags);
        let search = WitnessSearch { protect_output: true, seed: 3, most_witnesses: 4, ..plain };
        let mut batches = 0;
        let mut within = || {
            batches += 1;
            batches <= 12
        };
        search.run(&mut within, &mut |_| {}).unwrap()
    };
    let found = run();
    assert!(!found.witnesses.is_empty());
    let report = RankingReport { found: &found, switches: &[], levels: &[], passing: &[], map: coverage.code_map(), crash: false };
    let ranking = report.ranking(RankLevel::File, Aggregate::Evidence);
    let place = ranking.iter().find(|s| s.file.ends_with("x86_64-gen.c")).unwrap();
    assert!(place.rank <= 2, "{ranking:?}");
    let again: Vec<String> = run().witnesses.into_iter().map(|w| w.program.source).collect();
    let first: Vec<String> = found.witnesses.into_iter().map(|w| w.program.source).collect();
    assert_eq!(first, again, "the same seed finds the same witnesses");
}
