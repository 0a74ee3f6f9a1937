//! The literal definitions: `--strict` reports what the rules would drop.

use crate::harness::load;
use trueline_check::{CheckOptions, Checker, Remembered, Strictness};
use trueline_model::{Invariant, OptLevel};
use trueline_toolchain::find_compiler;

#[test]
fn strict_reports_what_the_rules_drop() {
    let program = load("clean/macros.c");
    let compiler = find_compiler("gcc").unwrap();
    let run = |strictness| {
        let checker = Checker::new(CheckOptions {
            strictness,
            remembered: Remembered::All,
            invariants: vec![Invariant::Scope],
            ..CheckOptions::default()
        })
        .unwrap();
        let reference = checker.reference(&program, &compiler).unwrap();
        checker.check(&program, &reference, &compiler, OptLevel::O1, &[]).unwrap()
    };
    let (filtered, literal) = (run(Strictness::Filtered), run(Strictness::Literal));
    assert!(filtered.violations.is_empty(), "{:#?}", filtered.violations);
    assert!(literal.dropped.is_empty());
    assert!(!filtered.dropped.is_empty(), "no rule had anything to drop: the program is no test of --strict");
    for dropped in &filtered.dropped {
        assert!(literal.violations.iter().any(|v| v.same_as(&dropped.violation)), "{dropped:#?}");
    }
}
