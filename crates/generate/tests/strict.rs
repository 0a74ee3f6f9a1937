//! The strict validity filter of reducers.

use trueline_generate::Filter;
use trueline_model::{Language, Origin, Program};
use trueline_toolchain::find_compiler;

#[test]
fn an_uninitialized_value_that_the_optimizer_would_hide_is_not_valid() {
    if find_compiler("clang-16").is_err() {
        return println!("skipped: no clang-16 here");
    }
    let source = "__attribute__((noinline)) unsigned char pick(int p) {\n  unsigned char v;\n  if (p)\n    v = 0;\n  return v;\n}\nint main(void) {\n  unsigned char unused = pick(0);\n}\n";
    let program = |source: &str| Program {
        name: "a.c".to_owned(),
        language: Language::C,
        source: source.to_owned(),
        origin: Origin::File { path: "a.c".into() },
        cflags: Vec::new(),
    };
    let filter = Filter::find().strict();
    assert!(filter.judge(&program(source)).unwrap().is_some(), "v is returned without a value");
    assert!(filter.judge(&program(&source.replace("unsigned char v;", "unsigned char v = 1;"))).unwrap().is_none());
}
