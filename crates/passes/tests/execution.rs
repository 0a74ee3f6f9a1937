//! Executions of passes that a stock clang logs, watched in clang itself: those of the code generator over IR, and what
//! became of the line that a breakpoint misses.

use std::path::Path;
use trueline_model::OptLevel;
use trueline_passes::{
    ErrorKind, Execution, LineInQuestion, Manipulation, Operation, Rule, UpdateError, Watched, analyze_execution, find_hook,
};
use trueline_toolchain::{Compiler, Limits, Scratch, find_compiler};

/// The conversion of line 8, which one arm runs, goes to the load of line 5.
const WIDENED: &str = "int g;\nlong wide[16];\nvoid other(void);\nvoid f(int c) {\n  int v = g;\n  other();\n  if (c)\n    \
                       wide[(unsigned)v] = 1;\n}\n";

/// The store of line 6 says the same in each round and goes in front of the loop.
const HOISTED: &str = "int g;\nvolatile int sink;\nvoid f(int n) {\n  int i = 0;\n  do {\n    g = 255;\n    sink = i;\n    \
                       i += 1;\n  } while (i < n);\n}\n";

/// The newest clangs that are here: code generation has other names in each.
fn compilers() -> Vec<Compiler> {
    let found: Vec<Compiler> = ["clang-16", "clang-19", "clang-22"].into_iter().filter_map(|name| find_compiler(name).ok()).collect();
    if found.is_empty() || find_hook().is_err() {
        eprintln!("skipped: no clang, or no library of hooks");
        return Vec::new();
    }
    found
}

/// The executions of a clang's passes on `f`: number, name and unit.
fn executions(compiler: &Compiler, source: &Path, scratch: &Scratch) -> Vec<(u64, String, String)> {
    let job = compiler.job().args(["-O2", "-g", "-w", "-c", "-mllvm", "-opt-bisect-limit=-1"]).arg(source);
    let outcome = job.arg("-o").arg(scratch.join("a.o")).limits(Limits::seconds(60)).run().unwrap();
    let read = |line: &str| {
        let (number, rest) = line.strip_prefix("BISECT: running pass (")?.split_once(") ")?;
        let (name, unit) = rest.split_once(" on ")?;
        let unit = unit.strip_prefix("function ").unwrap_or(unit).trim_matches(['(', ')']);
        Some((number.parse().ok()?, name.to_owned(), unit.to_owned()))
    };
    outcome.stderr_text().lines().filter_map(read).collect()
}

/// The errors of all executions of the passes of these names, with what is known of the line.
fn errors(compiler: &Compiler, text: &str, names: &[&str], class: &str, line: LineInQuestion) -> Vec<UpdateError> {
    let scratch = Scratch::new().unwrap();
    let source = scratch.write(Path::new("a.c"), text).unwrap();
    let mut errors = Vec::new();
    let frames = ["f".to_owned()];
    for (number, _, unit) in executions(compiler, &source, &scratch).iter().filter(|(_, name, _)| names.contains(&name.as_str())) {
        let execution = Execution {
            compiler,
            source: &source,
            opt: OptLevel::O2,
            cflags: &[],
            pass: class,
            number: *number,
            function: Some(unit),
            variable: None,
            shown: None,
            frames: &frames,
            line,
        };
        if let Watched::Judged { errors: found, .. } = analyze_execution(&execution).unwrap() {
            errors.extend(found);
        }
    }
    errors
}

#[test]
fn a_conversion_that_code_generation_hoists_with_its_line_is_seen_in_clang() {
    for compiler in compilers() {
        let found = errors(&compiler, WIDENED, &["CodeGen Prepare", "codegenprepare"], "CodeGenPreparePass", LineInQuestion::None);
        let [error] = found.as_slice() else { panic!("{:?}: {found:#?}", compiler.id) };
        assert_eq!((error.kind, error.expected, error.manipulation), (ErrorKind::Incorrect, Operation::Drop, Manipulation::Move));
        assert_eq!((error.dst.line, error.function.as_str()), (Some(8), "f"));
        assert!(error.dst.text.ends_with("zext"), "{}", error.dst.text);
    }
}

#[test]
fn a_store_that_rightly_lost_its_line_is_told_where_its_breakpoint_fails() {
    for compiler in compilers() {
        let about = |line| errors(&compiler, HOISTED, &["LICMPass", "licm"], "LICMPass", line);
        let found = about(LineInQuestion::Missed(6));
        let told: Vec<_> = found.iter().filter(|e| e.hidden_by == Some(Rule::LineElsewhere)).collect();
        assert!(!told.is_empty() && told.iter().all(|e| e.srcs[0].line == Some(6)), "{:?}: {found:#?}", compiler.id);
        assert_eq!((told[0].observed, told[0].dst.text.as_str()), (Operation::Drop, "store"));
        assert!(about(LineInQuestion::Shown(6)).iter().all(|e| e.hidden_by != Some(Rule::LineElsewhere)), "it is what the guide asks for");
    }
}
