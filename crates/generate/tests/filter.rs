//! The validity filter and the generators with real tools.

use std::time::Duration;
use trueline_generate::{Csmith, CsmithOptions, Filter, ProgramSource, Rejection};
use trueline_model::{Language, Origin, Program};

fn program(source: &str) -> Program {
    let origin = Origin::Generated { generator: "test".to_owned(), seed: 0 };
    Program { name: "t.c".to_owned(), language: Language::C, source: source.to_owned(), origin, cflags: Vec::new() }
}

#[test]
fn undefined_slow_and_unsteady_programs_are_dropped_with_their_reason() {
    let filter = Filter::find().limit(Duration::from_secs(1));
    if filter.judges().is_empty() {
        return println!("skipped: no compiler with sanitizers is installed");
    }
    let judge = |text: &str| filter.judge(&program(text)).unwrap();
    assert_eq!(judge("int main(void) { return 0; }"), None);
    let overflow = judge("int x = 2147483647; int main(void) { x += 1; return 0; }");
    assert!(matches!(&overflow, Some(Rejection::Undefined { message, .. }) if message.contains("overflow")), "{overflow:?}");
    let outside = judge("int a[2]; int main(int c, char **v) { return a[c + 3]; }");
    assert!(matches!(outside, Some(Rejection::Undefined { .. })), "{outside:?}");
    let endless = judge("volatile int x = 1; int main(void) { while (x) ; return 0; }");
    assert!(matches!(endless, Some(Rejection::TooSlow(_))), "{endless:?}");
    let unsteady = judge("#include <stdio.h>\nint main(void) { int x; printf(\"%p\\n\", (void *)&x); return 0; }");
    assert_eq!(unsteady, Some(Rejection::NotDeterministic));
    let broken = judge("int main(void) { return y; }");
    assert!(matches!(broken, Some(Rejection::DoesNotBuild(_))), "{broken:?}");
}

#[test]
fn uninitialised_reads_are_seen_by_msan() {
    let filter = Filter::find();
    if !filter.judges().iter().any(|j| j.contains("MSan")) {
        return println!("skipped: no clang with MSan is installed");
    }
    let text = "int main(int c, char **v) { int a[4]; a[c] = 1; if (a[c + 1]) return 1; return 0; }";
    let rejection = filter.judge(&program(text)).unwrap();
    assert!(matches!(&rejection, Some(Rejection::Undefined { message, .. }) if message.contains("uninit")), "{rejection:?}");
}

#[test]
fn csmith_programs_build_with_the_cached_runtime_and_pass_the_filter() {
    let csmith = match Csmith::new(CsmithOptions::Bounded) {
        Ok(csmith) => csmith,
        Err(e) => return println!("skipped: {e}"),
    };
    let first = csmith.program(7, Language::C).unwrap().unwrap();
    assert_eq!(first, csmith.program(7, Language::C).unwrap().unwrap());
    assert_eq!(csmith.program(7, Language::Rust).unwrap(), None);
    assert_eq!(Filter::find().judge(&first).unwrap(), None);
}
