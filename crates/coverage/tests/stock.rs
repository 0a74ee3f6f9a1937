//! The stock back end on the gcc that is installed.

use trueline_coverage::StockCoverage;
use trueline_model::{CompilerId, CompilerKind, Coverage, CoverageSet, Language, Origin, Program};
use trueline_toolchain::{Compiler, Launcher, Scratch, find_compiler};

fn program(source: &str) -> Program {
    Program {
        name: "a.c".to_owned(),
        language: Language::C,
        source: source.to_owned(),
        origin: Origin::File { path: "a.c".into() },
        cflags: Vec::new(),
    }
}

const LOOP: &str = "int a[64], b[64];\nint main(void) { for (int i = 0; i < 64; i++) a[i] += b[i] * 3; return a[5]; }\n";

fn files(coverage: &StockCoverage, set: &CoverageSet) -> Vec<String> {
    let map = coverage.code_map();
    let mut seen: Vec<u32> = set.iter().filter_map(|unit| map.file_of(unit)).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.into_iter().map(|file| map.files[file as usize].clone()).collect()
}

#[test]
fn watching_changes_nothing_repeats_itself_and_sees_the_passes_that_run() {
    let Ok(compiler) = find_compiler("gcc-12") else { return println!("skipped: no gcc-12") };
    let coverage = StockCoverage::new(&compiler).unwrap();
    assert!(coverage.blocks() > 500_000, "{}", coverage.blocks());
    let flags = ["-O3".to_owned()];
    let plain = coverage.run_plain(&program(LOOP), &flags).unwrap();
    let (first, second) = (coverage.run(&program(LOOP), &flags).unwrap(), coverage.run(&program(LOOP), &flags).unwrap());
    assert!(plain.output.is_some());
    assert_eq!(plain.output, first.output, "the compiler writes something else when watched");
    assert_eq!(first.covered, second.covered, "coverage differs between two runs");
    let optimized = files(&coverage, &first.covered);
    let zero = coverage.run(&program(LOOP), &["-O0".to_owned()]).unwrap();
    let unoptimized = files(&coverage, &zero.covered);
    assert!(optimized.iter().any(|f| f == "tree-vect-loop.cc"), "{optimized:?}");
    assert!(zero.covered.len() < first.covered.len());
    let parser = |files: &[String]| files.iter().any(|f| f == "c/c-parser.cc");
    assert!(parser(&optimized) && parser(&unoptimized));
}

#[test]
fn a_static_binary_is_refused_with_the_reason() {
    let scratch = Scratch::new().unwrap();
    let Ok(gcc) = find_compiler("gcc") else { return println!("skipped: no gcc") };
    let source = scratch.write("a.c", "int main(void) { return 0; }\n").unwrap();
    let binary = scratch.join("a");
    let built = gcc.job().arg("-static").arg(&source).arg("-o").arg(&binary).run().unwrap();
    if !built.success() {
        return println!("skipped: no static C library");
    }
    let id = CompilerId { path: binary, kind: CompilerKind::Other, version: "1.0".to_owned() };
    let error = StockCoverage::with_cache(&Compiler { id, launcher: Launcher::default() }, scratch.path()).unwrap_err().to_string();
    assert!(error.contains("statically"), "{error}");
}

#[test]
fn a_binary_that_names_no_files_is_refused_with_the_reason() {
    let scratch = Scratch::new().unwrap();
    let Ok(gcc) = find_compiler("gcc") else { return println!("skipped: no gcc") };
    let source = scratch.write("a.c", "int main(void) { return 0; }\n").unwrap();
    let binary = scratch.join("a");
    assert!(gcc.job().args(["-s", "-Wl,--build-id"]).arg(&source).arg("-o").arg(&binary).run().unwrap().success());
    let id = CompilerId { path: binary, kind: CompilerKind::Other, version: "1.0".to_owned() };
    let error = StockCoverage::with_cache(&Compiler { id, launcher: Launcher::default() }, scratch.path()).unwrap_err().to_string();
    assert!(error.contains("name source files") && error.contains("gcov"), "{error}");
}

#[test]
fn the_binary_tells_which_file_a_pass_lives_in() {
    let Ok(compiler) = find_compiler("gcc-12") else { return println!("skipped: no gcc-12") };
    let coverage = StockCoverage::new(&compiler).unwrap();
    let expected =
        [("ccp1", "tree-ssa-ccp.cc"), ("tree-vect", "tree-vectorizer.cc"), ("rtl-cse1", "cse.cc"), ("ipa-modref", "ipa-modref.cc")];
    for (pass, file) in expected {
        assert_eq!(coverage.file_of_pass(pass).as_deref(), Some(file), "{pass}");
    }
    assert_eq!(coverage.file_of_pass("no-such-pass"), None);
}

#[test]
fn clang_writes_the_same_object_when_watched() {
    let Ok(compiler) = find_compiler("clang-14") else { return println!("skipped: no clang-14") };
    // Needs llvm-14-dev, whose static libraries name the files.
    let coverage = match StockCoverage::new(&compiler) {
        Ok(coverage) => coverage,
        Err(error) => return println!("skipped: {error}"),
    };
    let flags = ["-O2".to_owned()];
    let (plain, watched) = (coverage.run_plain(&program(LOOP), &flags).unwrap(), coverage.run(&program(LOOP), &flags).unwrap());
    assert!(plain.output.is_some());
    assert_eq!(plain.output, watched.output, "{}", watched.stderr);
    assert!(files(&coverage, &watched.covered).iter().any(|f| f == "LoopVectorize.cpp"));
    assert_eq!(coverage.file_of_pass("GVNPass").as_deref(), Some("GVN.cpp"));
}
