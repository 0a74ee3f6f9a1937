//! What runs after `main`: destructors and exit handlers are part of what a program does, and of its profile.

use trueline_model::{Language, OptLevel, Origin, Program};
use trueline_mutate::{Mutator, Options, judge};
use trueline_toolchain::{CompileRequest, DebugInfo, Job, Scratch, find_compiler};

const AFTER_MAIN: &str = "extern int printf(const char *, ...);
extern int atexit(void (*)(void));
static int left = 3;

static void __attribute__((destructor)) last(void) {
  left += 2;
  printf(\"last %d\\n\", left);
}

static void handler(void) {
  left *= 2;
  printf(\"handler %d\\n\", left);
}

int main(void) {
  atexit(handler);
  left += 1;
  printf(\"main %d\\n\", left);
  return 0;
}
";

#[test]
fn what_runs_after_main_is_not_taken_for_dead_code() {
    let mutator = match Mutator::new(Options { sampling: 1.0, ..Options::default() }) {
        Ok(mutator) => mutator,
        Err(error) => return println!("skipped: {error}"),
    };
    let origin = Origin::File { path: "after.c".into() };
    let program =
        Program { name: "after.c".to_owned(), language: Language::C, source: AFTER_MAIN.to_owned(), origin, cflags: Vec::new() };
    let made = mutator.variants(&program, 6, 1).unwrap();
    assert_eq!(made.profile.dead(), 0, "every statement of this program runs");
    assert_eq!(String::from_utf8_lossy(&made.expected.output), "main 4\nhandler 8\nlast 10\n");
    for variant in &made.variants {
        for compiler in ["gcc", "clang-16"].into_iter().filter_map(|name| find_compiler(name).ok()) {
            let scratch = Scratch::new().unwrap();
            let source = scratch.write("a.c", &variant.program.source).unwrap();
            let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("a")).debug(DebugInfo::None);
            let build = compiler.compile(&request).unwrap();
            let outcome = Job::new(&build.binary).run().unwrap();
            assert_eq!(judge(&variant.expected, Ok(&outcome)), None, "{}\n{}", compiler.id, variant.program.source);
        }
    }
}
