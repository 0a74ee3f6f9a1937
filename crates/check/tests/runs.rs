//! What two builds of a program are told, what differs from run to run, and checks that saw nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use trueline_check::{CheckError, CheckOptions, CheckRun, Checker, Note, Repeat};
use trueline_model::{Invariant, Language, OptLevel, Origin, Program};
use trueline_oracle::Remembered;
use trueline_toolchain::{CompileRequest, Compiler, Scratch, find_compiler};
use trueline_trace::Threads;

/// Builds of one program, under names that differ; `None` where the compiler is not installed.
fn builds(scratch: &Scratch, cc: &str, name: &str, source: &str, flags: &[&str]) -> Option<[PathBuf; 2]> {
    let Ok(compiler) = find_compiler(cc) else {
        println!("skipped: no {cc}");
        return None;
    };
    let source = scratch.write(name, source).unwrap();
    Some([(OptLevel::O0, "one"), (OptLevel::O2, "quite-another")].map(|(opt, output)| {
        let request = CompileRequest::new(&source, Language::C, opt, scratch.join(output)).flags(flags.iter().copied());
        compiler.compile(&request).unwrap().binary
    }))
}

fn check(cc: &str, source: &str, flags: &[&str]) -> Option<Result<CheckRun, CheckError>> {
    let scratch = Scratch::new().unwrap();
    let [reference, optimized] = builds(&scratch, cc, "p.c", source, flags)?;
    let checker = Checker::new(CheckOptions { repeat: Repeat::Twice, ..CheckOptions::default() }).unwrap();
    Some(checker.check_pair(&reference, &optimized, &[]))
}

const NAME_IN_A_HASH: &str = r#"
#include <stdio.h>
int main(int argc, char **argv) {
  unsigned hash = 5381;
  for (const char *c = argv[0]; *c; c++)
    hash = hash * 33 + (unsigned char)*c;
  printf("%u %d\n", hash, argc);
  return hash & 1;
}
"#;

#[test]
fn both_builds_are_told_the_same_name() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(run) = check(cc, NAME_IN_A_HASH, &[]) else { continue };
        // They print the hash: with two names this would be wrong code.
        let run = run.unwrap();
        assert_eq!(run.notes, [], "{cc}");
        assert!(run.violations.iter().all(|v| v.variable().is_none_or(|name| &**name != "hash")), "{cc}: {:?}", run.violations);
    }
}

const CLOCK: &str = r"
#include <time.h>
volatile int sink;
static int odd(int n) {
  sink += n;
  return sink;
}
int main(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int moment = (int)(now.tv_nsec & 0xffff);
  int rest = moment * 2 + 1;
  if (rest % 3 == 0)
    sink = odd(rest);
  sink = rest;
  return 0;
}
";

#[test]
fn what_differs_between_two_runs_at_o0_is_left_out_and_said() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(run) = check(cc, CLOCK, &[]) else { continue };
        let run = run.unwrap();
        assert!(matches!(run.notes[..], [Note::Unsteady { scalars: 2.., .. }]), "{cc}: {:?}", run.notes);
        let values = run.violations.iter().filter(|v| matches!(v.invariant(), Invariant::Parameter | Invariant::Value));
        assert_eq!(values.count(), 0, "{cc}: {:?}", run.violations);
    }
}

/// A hash whose seed is the address of a local variable, as Lua's is.
const SEEDED: &str = r"
#include <stdint.h>
volatile int sink;
__attribute__((noinline)) static void odd(int n) {
  sink += n;
}
__attribute__((noinline)) static void even(int n) {
  sink -= n;
}
int main(void) {
  int local = 3;
  uintptr_t seed = (uintptr_t)&local / 16;
  if (seed & 1)
    odd(local);
  else
    even(local);
  return 0;
}
";

#[test]
fn what_hangs_on_an_address_of_the_stack_is_left_out_and_said() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(run) = check(cc, SEEDED, &[]) else { continue };
        let run = run.unwrap();
        assert!(matches!(run.notes[..], [Note::Unsteady { lines: 2.., scalars: 1.. }]), "{cc}: {:?}", run.notes);
        assert_eq!(run.violations, [], "{cc}");
    }
}

#[test]
fn a_trace_in_which_no_line_of_the_user_was_seen_is_no_clean_result() {
    // The program leaves before main, where no debugger steps.
    let source = "#include <unistd.h>\n__attribute__((constructor)) static void early(void) { _exit(0); }\nint main(void) { return 0; }\n";
    let Some(run) = check("gcc-12", source, &[]) else { return };
    assert!(matches!(run, Err(CheckError::NothingChecked { .. })), "{run:?}");
}

/// A signal whose handler jumps back over two functions, and one that the program waits for.
const SIGNALS: &str = r"
#include <setjmp.h>
#include <signal.h>
#include <string.h>
static sigjmp_buf back;
volatile sig_atomic_t caught;
volatile int sink;
static void note(int number) {
  caught += number;
}
static void leap(int number) {
  caught += number;
  siglongjmp(back, 7);
}
__attribute__((noinline)) static int fall(int depth) {
  sink += depth;
  if (depth == 3)
    raise(SIGUSR2);
  return depth < 5 ? fall(depth + 1) + 1 : 0;
}
int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = note;
  sigaction(SIGUSR1, &action, 0);
  action.sa_handler = leap;
  sigaction(SIGUSR2, &action, 0);
  int rounds = 0;
  if (sigsetjmp(back, 1) == 0) {
    raise(SIGUSR1);
    rounds = fall(0);
  } else {
    sink += 100;
  }
  for (int i = 0; i < 3; i++)
    sink += i;
  return rounds + caught == SIGUSR1 + SIGUSR2 ? 0 : 1;
}
";

#[test]
fn signals_and_jumps_over_functions_are_followed_and_lie_about_nobody() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(run) = check(cc, SIGNALS, &[]) else { continue };
        let run = run.unwrap();
        let after_the_jump = SIGNALS.lines().position(|l| l.contains("sink += 100")).unwrap() as u32 + 1;
        assert!(run.optimized.lines.keys().any(|l| l.line.0 >= after_the_jump), "{cc}: nothing was seen after the jump");
        let wrong: Vec<_> = run.violations.iter().filter(|v| v.invariant() == Invariant::Backtrace).collect();
        assert!(wrong.is_empty(), "{cc}: {wrong:?}");
    }
}

/// Long enough for addresses to be given up; late in it a helper is called in another way and with another value.
const LONG: &str = r"
volatile int sink;
__attribute__((noinline)) static int help(int n) {
  int twice = n * 2;
  sink += twice;
  return twice & 7;
}
__attribute__((noinline)) static int late(int n) {
  return help(n + 1000000);
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 16000; i++)
    sum += help(i & 3);
  sum += late(1);
  return sum & 0;
}
";

#[test]
fn what_a_long_run_at_o0_was_not_seen_to_do_is_not_held_against_a_build() {
    for cc in ["gcc-12"] {
        let scratch = Scratch::new().unwrap();
        let Some([reference, optimized]) = builds(&scratch, cc, "long.c", LONG, &[]) else { continue };
        let patience = trueline_trace::Patience::Visits(8);
        let checker = Checker::new(CheckOptions { patience, ..CheckOptions::default() }).unwrap();
        let run = checker.check_pair(&reference, &optimized, &[]).unwrap();
        let Some(Note::Partial { executed, seen, given_up, cut_off: false, .. }) =
            run.notes.iter().find(|n| matches!(n, Note::Partial { .. }))
        else {
            panic!("{cc}: {:?}", run.notes);
        };
        // Of main the opening line runs before the first stop.
        assert!(*given_up > 0 && seen + 1 >= *executed, "{cc}: {:?}", run.notes);
        assert!(run.violations.is_empty(), "{cc}: {:?}", run.violations);
        assert!(run.reference_steps < 150_000, "{cc}: {} steps", run.reference_steps);
    }
}

fn program(source: &str, cflags: &[&str]) -> Program {
    let cflags = cflags.iter().map(ToString::to_string).collect();
    Program { name: "p.c".into(), language: Language::C, source: source.into(), origin: Origin::File { path: "p.c".into() }, cflags }
}

/// What gcc and clang each get wrong happens in a further thread only.
const IN_A_THREAD: &str = r"
#include <pthread.h>
union narrow { unsigned whole; };
long g[4];
static __attribute__((noinline)) long fold(int a, int b, union narrow u, signed char *p) {
  long kept[3];
  int i;
  for (i = 0; i < 3; i++)
    kept[i] = -4;
  return kept[1];
}
volatile unsigned in = 0x12345;
unsigned out;
static unsigned char narrow(unsigned short half) {
  unsigned char byte = half;
  out = byte + 1;
  return byte;
}
__attribute__((noinline)) int both(void) {
  unsigned wide = in;
  unsigned mix = (wide ^ 0xffff0000u) & 0xffffu;
  unsigned char got = narrow(mix);
  unsigned char more = narrow((unsigned short)(wide | 0x8000));
  return got == more;
}
signed char byte;
void *worker(void *argument) {
  union narrow u = {77};
  g[0] = fold(1, 28, u, &byte);
  g[1] = both();
  return argument;
}
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, worker, 0);
  pthread_join(one, 0);
  pthread_create(&two, 0, worker, 0);
  pthread_join(two, 0);
  return 0;
}
";

#[test]
fn what_happens_in_other_threads_is_judged_where_they_are_asked_for() {
    for (cc, opt, invariant, variable) in
        [("gcc-12", OptLevel::Og, Invariant::Parameter, "u"), ("clang-16", OptLevel::O2, Invariant::Dwarf, "half")]
    {
        let Ok(compiler) = find_compiler(cc) else {
            println!("skipped: no {cc}");
            continue;
        };
        let program = program(IN_A_THREAD, &["-pthread"]);
        let check = |threads: Threads| {
            let options = CheckOptions { threads, repeat: Repeat::Twice, ..CheckOptions::default() };
            let checker = Checker::new(options).unwrap();
            let reference = checker.reference(&program, &compiler).unwrap();
            checker.check(&program, &reference, &compiler, opt, &[]).unwrap()
        };
        let first = check(Threads::First);
        assert!(!first.violations.iter().any(|v| v.invariant() == invariant), "{cc}: {:?}", first.violations);
        assert!(first.notes.contains(&Note::Threads { started: 2, followed: 0, wanted: false }), "{cc}: {:?}", first.notes);
        let all = check(Threads::Each);
        let found = all.violations.iter().any(|v| v.invariant() == invariant && v.variable().is_some_and(|name| &**name == variable));
        assert!(found, "{cc}: {:?}", all.violations);
        assert_eq!(all.notes, [], "{cc}");
        // The frames of a thread end with its own first function.
        let outermost = all.optimized.stops.iter().filter_map(|stop| stop.stack.last());
        assert!(outermost.clone().any(|frame| &*frame.function == "worker") && outermost.clone().any(|frame| &*frame.function == "main"));
        let unoptimized = checker_of_itself(&program, &compiler);
        assert_eq!(unoptimized.violations, [], "{cc}");
    }
}

/// A program's -O0 build held against itself, every thread.
fn checker_of_itself(program: &Program, compiler: &Compiler) -> CheckRun {
    let checker = Checker::new(CheckOptions { threads: Threads::Each, ..CheckOptions::default() }).unwrap();
    let reference = checker.reference(program, compiler).unwrap();
    checker.check_build(&reference, reference.binary(), OptLevel::O0).unwrap()
}

/// Local variables take what somebody left in memory from the heap and in the frame of a caller: an address of the binary, which is
/// another one in each build.
const LEFT_BEHIND: &str = r#"
#include <stdlib.h>
volatile long sink;
int main(void);
__attribute__((noinline)) void fill(long *p, int n) {
  for (int i = 0; i < n; i++)
    p[i] = (long)main;
  __asm__ volatile("" : : "r"(p) : "memory");
}
__attribute__((noinline)) long from_heap(const long *p) {
  long copy = p[5];
  sink = copy & 1;
  sink = copy >> 3;
  return copy;
}
__attribute__((noinline)) long from_stack(const long *p) {
  long other = p[5];
  sink = other & 1;
  sink = other >> 3;
  return other;
}
__attribute__((noinline)) void litter(void) {
  long many[64];
  fill(many, 64);
}
__attribute__((noinline)) void owner(void) {
  long unset[32];
  __asm__ volatile("" : : "r"(unset) : "memory");
  from_stack(unset);
  sink = 1;
}
int main(void) {
  long *first = malloc(64);
  fill(first, 8);
  free(first);
  long *second = malloc(64);
  __asm__ volatile("" : : "r"(second) : "memory");
  from_heap(second);
  free(second);
  litter();
  owner();
  return 0;
}
"#;

#[test]
fn a_copy_of_memory_that_was_never_written_is_no_wrong_value() {
    for cc in ["gcc-12", "clang-16"] {
        let Ok(compiler) = find_compiler(cc) else {
            println!("skipped: no {cc}");
            continue;
        };
        let program = program(LEFT_BEHIND, &[]);
        let checker = Checker::new(CheckOptions { remembered: Remembered::All, ..CheckOptions::default() }).unwrap();
        let reference = checker.reference(&program, &compiler).unwrap();
        let run = checker.check(&program, &reference, &compiler, OptLevel::O2, &[]).unwrap();
        assert_eq!(run.violations, [], "{cc}");
        for variable in ["copy", "other"] {
            let dropped = run.dropped.iter().filter(|d| d.violation.variable().is_some_and(|name| &**name == variable));
            let rules: BTreeSet<&str> = dropped.map(|d| d.rule).collect();
            assert!(rules.contains("uninitialised"), "{cc}: {variable} was dropped by {rules:?}");
        }
    }
}

/// A body whose lines are those of another file in part, as generators of parsers write them.
const GENERATED: &str = r#"
#include <stdio.h>
int total;
__attribute__((noinline)) static int digit(int c) { return c - '0'; }
static inline __attribute__((always_inline)) int twice(int n) {
  total++;
  return n + n;
}
int parse(const char *text) {
  int sum = 0;
  for (; *text; text++) {
    switch (*text) {
#line 20 "grammar.y"
    case '+':
      total = twice(sum);
      break;
#line 40 "grammar.y"
    case '-':
      total -= digit(text[1]);
      printf("%d\n", total);
      break;
#line 23 "p.c"
    default:
      sum += digit(*text);
    }
  }
  return sum;
}
int main(void) { return parse("1+2-3+4") & 1; }
"#;

#[test]
fn lines_that_a_body_has_from_another_file_are_inside_its_function() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(run) = check(cc, GENERATED, &[]) else { continue };
        let run = run.unwrap();
        let contradictions: Vec<_> = run.violations.iter().filter(|v| v.invariant() == Invariant::SelfContradiction).collect();
        assert!(contradictions.is_empty(), "{cc}: {contradictions:?}");
    }
}
