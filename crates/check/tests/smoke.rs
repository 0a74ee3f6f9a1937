//! The whole way once: compile, trace, judge.

use trueline_check::{CheckOptions, Checker};
use trueline_model::{EngineKind, Invariant, Language, OptLevel, Origin, Program};
use trueline_toolchain::find_compiler;

fn program(source: &str) -> Program {
    Program {
        name: "program.c".to_owned(),
        language: Language::C,
        source: source.to_owned(),
        origin: Origin::File { path: "program.c".into() },
        cflags: Vec::new(),
    }
}

#[test]
fn gcc_steps_on_a_return_that_never_runs() {
    let program = program("int g_4 = 3, a;\nint *b() {\n  if (g_4)\n    return &g_4;\n  a = 0;\n  return &g_4;\n}\nint main() { b(); }\n");
    let Ok(compiler) = find_compiler("gcc-12") else { return eprintln!("skipped: no gcc-12") };
    let checker = Checker::new(CheckOptions { engine: EngineKind::Gdb, ..CheckOptions::default() }).unwrap();
    let reference = checker.reference(&program, &compiler).unwrap();
    for opt in [OptLevel::Og, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
        let run = checker.check(&program, &reference, &compiler, opt, &[]).unwrap();
        let lines: Vec<_> = run.violations.iter().filter(|v| v.invariant == Invariant::Line).map(|v| v.line.0).collect();
        assert_eq!(lines, [6], "{opt}: {:#?}", run.violations);
        println!("{opt}: {:#?}\ndropped {:#?}", run.violations, run.dropped);
    }
}
