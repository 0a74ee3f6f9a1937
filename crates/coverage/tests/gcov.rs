//! The gcov back end on a small program built with coverage, and on tcc when `TRUELINE_GCOV_TCC` names a
//! build of `scripts/gcov-tcc`.

use trueline_coverage::GcovCoverage;
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

/// Counts `x`s and `y`s of its last argument's file; stands for a compiler.
const COUNTER: &str = r#"#include <stdio.h>
static int xs, ys;
static void count(int c) {
  if (c == 'x')
    xs++;
  else if (c == 'y')
    ys++;
}
int main(int argc, char **argv) {
  FILE *in = fopen(argv[argc - 1], "r");
  for (int c; (c = fgetc(in)) != EOF;)
    count(c);
  return xs + ys > 100;
}
"#;

#[test]
fn lines_that_ran_are_told_from_lines_that_did_not() {
    let Ok(gcc) = find_compiler("gcc") else { return println!("skipped: no gcc") };
    let scratch = Scratch::new().unwrap();
    scratch.write("counter.c", COUNTER).unwrap();
    let built = gcc.job().args(["--coverage", "-O0", "counter.c", "-o", "counter"]).cwd(scratch.path()).run().unwrap();
    assert!(built.success(), "{}", built.stderr_text());
    let id = CompilerId { path: scratch.join("counter"), kind: CompilerKind::Other, version: "1.0".to_owned() };
    let coverage = GcovCoverage::new(&Compiler { id, launcher: Launcher::default() }, scratch.path()).unwrap();
    let map = coverage.code_map();
    assert_eq!(map.files, ["counter.c"]);
    let with = |text: &str| coverage.run(&program(text), &[]).unwrap();
    let (none, x, both) = (with("...\n"), with("x\n"), with("xy\n"));
    // `xs++` is one line, `else if` and `ys++` two more; what is not an x reaches the `else if`.
    assert_eq!(x.difference(&none).len(), 1);
    assert_eq!(both.difference(&x).len(), 1);
    assert!(both.iter().all(|unit| map.file_of(unit).is_some()));
    assert_eq!(with("x\n"), x, "two runs differ");
    assert_ne!(x, CoverageSet::default());
}

#[test]
fn tcc_covers_its_own_files() {
    let Some(tcc) = std::env::var_os("TRUELINE_GCOV_TCC") else {
        return println!("skipped: TRUELINE_GCOV_TCC does not name a build of scripts/gcov-tcc");
    };
    let path = std::path::PathBuf::from(tcc);
    let folder = path.parent().unwrap().to_owned();
    let compiler = find_compiler(&path.to_string_lossy()).unwrap();
    let coverage = GcovCoverage::new(&compiler, &folder).unwrap();
    let flags = [format!("-B{}", folder.display())];
    let plain = coverage.run(&program("int main(void) { return 0; }\n"), &flags).unwrap();
    let float = coverage.run(&program("double d; int main(void) { return d * 2 > 1; }\n"), &flags).unwrap();
    let new = float.difference(&plain);
    let files: Vec<&str> =
        new.iter().filter_map(|u| coverage.code_map().file_of(u)).map(|f| coverage.code_map().files[f as usize].as_str()).collect();
    assert!(files.iter().any(|f| f.ends_with("tccgen.c")), "{files:?}");
    assert!(files.iter().any(|f| f.ends_with("x86_64-gen.c")), "{files:?}");
}
