//! Programs whose profile is easily taken for less than it is: what runs after `main`, and text that only older C allows.

use trueline_model::{Language, OptLevel, Origin, Program};
use trueline_mutate::{MutationOptions, Mutator, Variants, judge};
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

/// The mutator, with every point sampled.
fn mutator() -> Option<Mutator> {
    Mutator::new(MutationOptions { sampling: 1.0, strategies: trueline_mutate::Strategy::ALL.to_vec(), ..MutationOptions::default() })
        .map_err(|error| println!("skipped: {error}"))
        .ok()
}

fn program(name: &str, source: &str, cflags: &[&str]) -> Program {
    let cflags = cflags.iter().map(|f| (*f).to_owned()).collect();
    Program { name: name.to_owned(), language: Language::C, source: source.to_owned(), origin: Origin::File { path: name.into() }, cflags }
}

fn all_behave_as_their_seed(made: &Variants) {
    for variant in &made.variants {
        for compiler in ["gcc", "clang-16"].into_iter().filter_map(|name| find_compiler(name).ok()) {
            let scratch = Scratch::new().unwrap();
            let source = scratch.write("a.c", &variant.program.source).unwrap();
            let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("a")).debug(DebugInfo::None);
            let build = compiler.compile(&request.flags(variant.program.cflags.clone())).unwrap_or_else(|e| panic!("{e}"));
            let outcome = Job::new(&build.binary).run().unwrap();
            assert_eq!(judge(&variant.expected, Ok(&outcome)), None, "{}\n{}", compiler.id, variant.program.source);
        }
    }
}

#[test]
fn what_runs_after_main_is_not_taken_for_dead_code() {
    let Some(mutator) = mutator() else { return };
    let made = mutator.variants(&program("after.c", AFTER_MAIN, &[]), 6, 1).unwrap();
    assert_eq!(made.profile.dead(), 0, "every statement of this program runs");
    assert_eq!(String::from_utf8_lossy(&made.expected.output), "main 4\nhandler 8\nlast 10\n");
    all_behave_as_their_seed(&made);
}

/// As test-suites of compilers are written: no prototypes, no types.
const OLD: &str = "int total;

static add (int a)
{
  total += a;
  return total;
}

main ()
{
  int i;
  for (i = 0; i < 4; i++)
    if (add (i) > 100)
      abort ();
  printf (\"%d\\n\", total);
  exit (0);
}
";

#[test]
fn text_that_only_older_c_allows_is_mutated_as_the_compilers_take_it() {
    let Some(mutator) = mutator() else { return };
    for flags in [&["-std=gnu89", "-w"][..], &["-w", "-Wno-implicit-int", "-Wno-implicit-function-declaration"][..]] {
        let made = mutator.variants(&program("old.c", OLD, flags), 5, 3).unwrap();
        assert_eq!(String::from_utf8_lossy(&made.expected.output), "6\n");
        all_behave_as_their_seed(&made);
    }
}
