//! Runs a program and compares what is reported with what its `// expect:` lines say.
//!
//! `// expect: COMPILER LEVELS ENGINES: INVARIANT LINE [VARIABLE][; …]` names everything that must be reported, and
//! nothing else may be. `clean` alone stands for no report at every level of both compilers.

use std::path::{Path, PathBuf};
use trueline_check::{CheckOptions, Checker, Remembered};
use trueline_model::{EngineKind, Invariant, Language, OptLevel, Origin, Program};
use trueline_toolchain::find_compiler;

/// One `// expect:` line.
struct Expectation {
    compiler: String,
    levels: Vec<OptLevel>,
    engines: Vec<EngineKind>,
    reports: Vec<String>,
}

/// The shipped examples are tests too; what is of interest to tests alone stands beside them.
fn path_of(name: &str) -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = crate_dir.join("tests/programs").join(name);
    if own.exists() { own } else { crate_dir.join("../../examples").join(name) }
}

/// A program of the test directory.
pub fn load(name: &str) -> Program {
    let path = path_of(name);
    let source = std::fs::read_to_string(&path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let language = if name.ends_with(".rs") { Language::Rust } else { Language::C };
    Program { name, language, source, origin: Origin::File { path }, cflags: Vec::new() }
}

fn expectations(source: &str) -> Vec<Expectation> {
    let parse = |line: &str| {
        if line.trim() == "clean" {
            let levels = vec![OptLevel::Og, OptLevel::O1, OptLevel::O2, OptLevel::O3, OptLevel::Os, OptLevel::Oz];
            let engines = vec![EngineKind::Native];
            let of =
                |c: &str| Expectation { compiler: c.to_owned(), levels: levels.clone(), engines: engines.clone(), reports: Vec::new() };
            return vec![of("gcc-12"), of("clang-16")];
        }
        let (head, reports) = line.split_once(": ").unwrap();
        let words: Vec<&str> = head.split_whitespace().collect();
        let reports = reports.split(';').map(|r| r.trim().to_owned()).filter(|r| r != "clean").collect();
        let levels = words[1].split(',').map(|l| l.parse().unwrap()).collect();
        let engines = words[2].split(',').map(|e| e.parse().unwrap()).collect();
        vec![Expectation { compiler: words[0].to_owned(), levels, engines, reports }]
    };
    source.lines().filter_map(|l| l.strip_prefix("// expect: ")).flat_map(parse).collect()
}

/// Checks every expectation of a program about what is looked for usually.
pub fn expect(name: &str) {
    expect_among(name, &Invariant::usual().filter(|i| *i != Invariant::Codegen).collect::<Vec<_>>());
}

/// Checks every expectation of a program about some invariants.
pub fn expect_among(name: &str, invariants: &[Invariant]) {
    let program = load(name);
    let expectations = expectations(&program.source);
    assert!(!expectations.is_empty(), "{name} expects nothing");
    for expectation in expectations {
        let Ok(compiler) = find_compiler(&expectation.compiler) else {
            eprintln!("{name}: skipped, no {}", expectation.compiler);
            continue;
        };
        for engine in expectation.engines {
            let options = CheckOptions { engine, invariants: invariants.to_vec(), remembered: Remembered::All, ..CheckOptions::default() };
            let checker = match Checker::new(options) {
                Ok(checker) => checker,
                Err(e) => {
                    eprintln!("{name}: {engine} skipped: {e}");
                    continue;
                }
            };
            let reference = checker.reference(&program, &compiler).unwrap();
            for level in &expectation.levels {
                let run = checker.check(&program, &reference, &compiler, *level, &[]).unwrap();
                let spell = |v: &trueline_model::Violation| {
                    let variable = v.variable().map(|v| format!(" {v}")).unwrap_or_default();
                    format!("{} {}{variable}", v.invariant(), v.line)
                };
                let reported: Vec<String> = run.violations.iter().map(spell).collect();
                let build = format!("{name} with {} {level} in {engine}", expectation.compiler);
                assert_eq!(reported, expectation.reports, "{build}: {:#?}\ndropped: {:#?}", run.violations, run.dropped);
            }
        }
    }
}

/// Checks that no value of a program counts as one of another moment, with both compilers at the usual levels.
pub fn silent(name: &str) {
    let program = load(name);
    let checker = Checker::new(CheckOptions { invariants: vec![Invariant::Stale], ..CheckOptions::default() }).unwrap();
    for compiler in ["gcc-12", "clang-16"].iter().filter_map(|name| find_compiler(name).ok()) {
        let reference = checker.reference(&program, &compiler).unwrap();
        for level in [OptLevel::O1, OptLevel::O2, OptLevel::O3] {
            let run = checker.check(&program, &reference, &compiler, level, &[]).unwrap();
            assert!(run.violations.is_empty(), "{name} with {} {level}: {:#?}", compiler.id, run.violations);
        }
    }
}
