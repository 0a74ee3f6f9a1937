//! What passes of a stock gcc lose, on a real program.

use std::path::Path;
use trueline_model::OptLevel;
use trueline_passes::{GccExecution, VariableErrorKind, Watched, analyze_gcc_pass};
use trueline_toolchain::{Scratch, find_compiler};

/// The inner loop's `j = 0` is moved in front of its test, and the constant propagation leaves no value of it there.
const LOOPS: &str = "int use(int);\nint a[4];\nint f(void)\n{\n  int i, j;\n  for (i = 0; i < 4; i++)\n    for (j = 0; j < 4; j++)\n      \
                     a[i] += use(j);\n  return i;\n}\n";

fn watch(pass: &str, text: &str) -> Option<Watched> {
    let Ok(compiler) = find_compiler("gcc-12") else {
        eprintln!("skipped: gcc-12 is not installed");
        return None;
    };
    let scratch = Scratch::new().unwrap();
    let source = scratch.write(Path::new("loops.c"), text).unwrap();
    Some(analyze_gcc_pass(&GccExecution { compiler: &compiler, source: &source, opt: OptLevel::O2, cflags: &[], pass }))
}

#[test]
fn a_number_that_constant_propagation_takes_from_a_variable_is_named_with_its_file() {
    let Some(Watched::Judged { pairs, errors, variables, .. }) = watch("tree-ccp1", LOOPS) else { return };
    assert!(pairs > 10, "{pairs} statements");
    assert!(errors.is_empty(), "{errors:#?}");
    let [lost] = variables.as_slice() else { panic!("{variables:#?}") };
    assert_eq!((lost.kind, lost.variable.as_str(), lost.function.as_str(), lost.line), (VariableErrorKind::Lost, "j", "f", 7));
    assert!(lost.skeleton.contains("gcc/tree-ssa-ccp.cc"), "{}", lost.skeleton);
}

#[test]
fn instructions_of_rtl_are_compared_by_their_uid() {
    for pass in ["rtl-combine", "rtl-sched2"] {
        let Some(watched) = watch(pass, LOOPS) else { return };
        assert!(matches!(watched, Watched::Judged { pairs, .. } if pairs > 10), "{pass}: {watched:?}");
    }
}

#[test]
fn what_gcc_prints_no_statements_of_is_told() {
    for (pass, text, reason) in
        [("ipa-inline", LOOPS, "only tree and rtl"), ("tree-nothing1", LOOPS, "did not run"), ("tree-ccp1", "int f( {", "failed")]
    {
        let Some(watched) = watch(pass, text) else { return };
        assert!(matches!(&watched, Watched::Unwatched(told) if told.contains(reason)), "{pass}: {watched:?}");
    }
}
