//! The native engine on real programs, against gdb on the same stops, and on damaged binaries.

mod common;

use common::{Program, native};
use object::{Object, ObjectSection};
use trueline_model::{Observation, OptLevel, Policy, Step, Trace};
use trueline_toolchain::Limits;
use trueline_trace::native::{Facts, ScopeKind, executed_lines};
use trueline_trace::{Engine, GdbEngine, NativeEngine, TraceError, TraceRequest};

fn value<'s>(step: &'s Step, name: &str) -> &'s str {
    match &step.vars.iter().find(|v| &*v.name == name).unwrap_or_else(|| panic!("no {name} at {:?}", step.line)).observation {
        Observation::Value(text) => text,
        other => panic!("{name} is {other:?}"),
    }
}

const KINDS: &str = r"
enum colour { RED, GREEN = 5 };
struct bits { unsigned a : 3; int b : 5; unsigned long c : 33; };
union either { int i; unsigned char bytes[4]; };
struct nested { char c; struct bits b; short s[2][3]; };
static int counter = 7;
int main(void) {
  char letter = 'A'; signed char negative = -3; _Bool yes = 1; enum colour paint = GREEN;
  float third = 1.0f / 3; double tenth = 0.1; long double wide = 2.5L;
  __int128 huge = ((__int128)1 << 100) + 1; unsigned long big = 18446744073709551615UL;
  struct bits b = {5, -9, 8589934591UL}; union either e = {0x01020304};
  struct nested n = {'x', {1, 2, 3}, {{1, 2, 3}, {4, 5, 6}}}; int *none = 0;
  static short kept = 12;
  counter += kept;
  return (int)letter + negative + yes + paint + (int)third + (int)tenth + (int)wide + (int)huge + (int)big + b.a + e.i + n.c + !none;
}
";

/// gcc keeps what fills the table in a vector register alone, and describes `wide` as sixteen times that and four.
const BROADCAST: &str = r"
int seed = 7, other = 3;
int table[16];
unsigned sum;
static unsigned fill(unsigned char x, int y) {
  unsigned total = 4;
  for (int i = 0; i < 16; i++) {
    table[i] = (other - x) & ((int)(sum & 4095) + 12);
    total += (unsigned)table[i];
  }
  sum = sum * 31 + ((unsigned)y << (total & 3));
  return total;
}
int main(void) {
  unsigned wide = fill(seed & 63, seed & 1);
  sum = sum * 31 + (unsigned)table[seed & 3];
  sum = sum * 31 + (unsigned)seed;
  return 0;
}
";

#[test]
fn a_value_computed_from_a_vector_register_is_read_as_debuggers_read_it() {
    let program = Program::new(BROADCAST);
    let Some(request) = program.build("gcc-12", OptLevel::O3, &[]) else { return };
    let steps = native(&request);
    let stop = steps.iter().find(|s| s.line.is_some_and(|l| l.0 == 17)).expect("a stop on line 17");
    assert_eq!(value(stop, "wide"), "196");
}

/// Vectors of 32 bytes in AVX registers, and one that no register of the debuggers' tables holds.
const WIDE_VECTORS: &str = r#"
typedef long four __attribute__((vector_size(32)));
typedef long eight __attribute__((vector_size(64)));
four seed = {1, 2, 3, 4};
eight large = {1, 2, 3, 4, 5, 6, 7, 8};
volatile int sink;
int main(void) {
  four kept = seed + 40;
  __asm__ volatile("" : : "x"(kept));
  sink = 1;
  __asm__ volatile("" : : "x"(kept));
  eight wide = large;
  WIDE
  return 0;
}
"#;

#[test]
fn vectors_are_read_from_avx_registers_and_what_is_larger_is_nobodys_fault() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        println!("skipped: the processor has no AVX2");
        return;
    }
    let has_512 = std::arch::is_x86_feature_detected!("avx512f");
    let held = r#"__asm__ volatile("" : : "v"(wide)); sink = 2; __asm__ volatile("" : : "v"(wide));"#;
    let program = Program::new(&WIDE_VECTORS.replace("WIDE", if has_512 { held } else { "" }));
    for cc in ["gcc-12", "clang-16"] {
        let flag = if has_512 { "-mavx512f" } else { "-mavx2" };
        let Some(request) = program.build(cc, OptLevel::O2, &[flag]) else { continue };
        let steps = native(&request);
        let all = || steps.iter().flat_map(|s| s.vars.iter());
        let is_whole = |o: &Observation| *o == Observation::Value("{41, 42, 43, 44}".into());
        assert!(all().any(|v| &*v.name == "kept" && is_whole(&v.observation)), "{cc}: {steps:?}");
        let unreadable: Vec<_> = all().filter(|v| v.observation == Observation::Unreadable).collect();
        assert!(unreadable.is_empty(), "{cc}: {unreadable:?}");
    }
}

#[test]
fn every_kind_of_value_has_its_canonical_text() {
    let program = Program::new(KINDS);
    for (cc, dwarf) in [("gcc-12", "-gdwarf-5"), ("gcc-12", "-gdwarf-4"), ("clang-16", "-gdwarf-5"), ("clang-16", "-gdwarf-4")] {
        let Some(request) = program.build(cc, OptLevel::O0, &[dwarf]) else { continue };
        let steps = native(&request);
        let last = steps.iter().rfind(|s| s.line.is_some_and(|l| l.0 == 15)).unwrap();
        let expected = [
            ("letter", "65"),
            ("negative", "-3"),
            ("yes", "1"),
            ("paint", "5"),
            ("third", "0.33333334"),
            ("tenth", "0.1"),
            ("wide", "2.5"),
            ("huge", "1267650600228229401496703205377"),
            ("big", "18446744073709551615"),
            ("b", "{5, -9, 8589934591}"),
            ("e", "{16909060, {4, 3, 2, 1}}"),
            ("n", "{120, {1, 2, 3}, {{1, 2, 3}, {4, 5, 6}}}"),
            ("none", "0x0"),
            ("kept", "12"),
            ("counter", "19"),
        ];
        for (name, text) in expected {
            assert_eq!(value(last, name), text, "{name} with {cc} {dwarf}");
        }
    }
}

/// Calls of every sort: recursion, inlining, tail calls, through pointers, from a library, and a switch.
const CALLS: &str = r"
#include <stdlib.h>
int total;
static int table[5] = {3, 1, 4, 1, 5};
static inline int twice(int x) { int y = x + x; return y; }
__attribute__((noinline)) int leaf(int a, int b) { total += a; return a * b + total; }
__attribute__((noinline)) int tail(int n) { total++; return leaf(n, 3); }
__attribute__((noinline)) int down(int n) {
  if (n <= 0)
    return 1;
  int below = down(n - 1);
  return below + n;
}
__attribute__((noinline)) int pick(int n) {
  switch (n) {
  case 0: total += 2; break;
  case 1: total *= 3; break;
  case 2: total -= 7; break;
  case 3: total ^= 5; break;
  case 4: total |= 8; break;
  default: total = 0;
  }
  return total & 0xff;
}
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int (*volatile through)(int) = tail;
int main(void) {
  int sum = 0;
  qsort(table, 5, sizeof table[0], order);
  for (int i = 0; i < 5; i++) {
    int t = twice(table[i]);
    sum += pick(i) + t;
  }
  sum += down(3);
  sum += through(4) + tail(5);
  do { sum ^= leaf(sum, 2); } while ((sum & 7) == 3);
  return sum & 1;
}
";

/// Tail calls of every sort: out of an inlined function, along one of two ways, beside a jump into a library, to a
/// function whose cold part lies elsewhere, and from one that is inlined in other places.
const TAIL_CALLS: &str = r"
#include <string.h>
volatile int seen;
char room[16];
__attribute__((noinline)) int last(int n) { seen += n; return seen * 2; }
static inline int inlined(int n) { seen ^= n; return last(n + 1); }
__attribute__((noinline)) int outer(int n) { seen++; return inlined(n + seen); }
__attribute__((noinline)) int left(int n) { seen += 2; return last(n); }
__attribute__((noinline)) int right(int n) { seen += 3; return last(n + 3); }
__attribute__((noinline)) int either(int n) { seen += 4; return n & 1 ? left(n) : right(n); }
__attribute__((noinline)) void *beside(int n) { seen += 5; if (n > 4) return memset(room, n, n & 15); return (void *)(long)last(n); }
__attribute__((noinline)) void *before(int n) { seen += 6; return beside(n + 1); }
__attribute__((noinline, cold)) int rare(int n) { seen -= n; return seen; }
__attribute__((noinline)) int parted(int n) { if (n > 1000) { n = rare(n) + rare(n + 1); } seen += n; return seen ^ n; }
__attribute__((noinline)) int to_parted(int n) { seen += 7; return parted(n + 2); }
static int shared(int n) { if (n > 9) return n; seen += 8; seen ^= n; return last(n * 2); }
__attribute__((noinline)) int copies(int n) { seen++; return shared(n) + 1; }
__attribute__((noinline)) int calls(int n) { int a = n * seen; if (a) a += copies(n); return a + seen; }
int main(void) {
  long sum = outer(2) + to_parted(5) + calls(3);
  sum += either(3);
  sum += either(4);
  sum += (long)before(2);
  return sum & 1;
}
";

/// Parameters that are gone after a call and were handed over by a jump: a constant, and what the jumping function was given.
const PASSED_BY_JUMPS: &str = r"
volatile int seen;
__attribute__((noinline)) void note(int n) { seen ^= n; }
__attribute__((noinline)) int keep(int by, int n) {
  seen += by;
  note(seen + n);
  seen += 2;
  return seen;
}
__attribute__((noinline)) int fixed(int n) { seen += n; return keep(7, seen); }
__attribute__((noinline)) int handed(int n) { seen++; return keep(n, 3); }
__attribute__((noinline)) int twice_handed(int n) { seen--; return handed(n); }
int main(void) {
  int sum = fixed(2);
  sum += handed(4);
  sum += twice_handed(5);
  sum += keep(6, sum);
  return sum & 1;
}
";

#[test]
fn native_shows_what_gdb_shows_stop_by_stop() {
    for source in [CALLS, TAIL_CALLS, PASSED_BY_JUMPS] {
        agrees_with_gdb(source);
    }
}

fn agrees_with_gdb(source: &str) {
    let Ok(gdb) = GdbEngine::find() else {
        println!("skipped: no gdb");
        return;
    };
    let program = Program::new(source);
    for cc in ["gcc-12", "clang-16"] {
        for opt in [OptLevel::O0, OptLevel::Og, OptLevel::O2] {
            let Some(request) = program.build(cc, opt, &[]) else { continue };
            let ours = native(&request);
            let mut theirs = Trace::default();
            gdb.trace(&request, &mut theirs).unwrap();
            let place = |s: &Step| (s.line, s.pc, s.frames.clone());
            let what = format!("{cc} {}", opt.flag());
            assert_eq!(ours.iter().map(place).collect::<Vec<_>>(), theirs.steps.iter().map(place).collect::<Vec<_>>(), "{what}");
            for (o, t) in ours.iter().zip(&theirs.steps) {
                let mut mine: Vec<_> = o.vars.iter().map(|v| (&v.name, v.decl_line, v.kind, &v.observation)).collect();
                let mut gdbs: Vec<_> = t.vars.iter().map(|v| (&v.name, v.decl_line, v.kind, &v.observation)).collect();
                mine.sort();
                gdbs.sort();
                // Uninitialised memory differs between two runs of a debugger, too: the loaders' leftovers on the stack.
                if opt == OptLevel::O0 {
                    assert_eq!(mine.len(), gdbs.len(), "{what} at line {:?}", o.line);
                } else {
                    assert_eq!(mine, gdbs, "{what} at line {:?}", o.line);
                }
            }
        }
    }
}

const MERGED_RETURN: &str = "int g_4 = 3, a;\nint *b() {\n  if (g_4)\n    return &g_4;\n  a = 0;\n  return &g_4;\n}\nint main() { b(); }\n";

#[test]
fn gcc_steps_on_the_dead_line_of_pr95865_and_the_standard_reading_says_why() {
    let program = Program::new(MERGED_RETURN);
    for opt in [OptLevel::Og, OptLevel::O1] {
        let Some(request) = program.build("gcc-12", opt, &[]) else { return };
        let lines = |steps: &[Step]| steps.iter().filter_map(|s| s.line.map(|l| l.0)).collect::<Vec<_>>();
        assert!(lines(&native(&request)).contains(&6), "{}", opt.flag());
        let reference = program.build("gcc-12", OptLevel::O0, &[]).unwrap();
        assert!(!lines(&native(&reference)).contains(&6));
        let standard = TraceRequest { policy: Policy::Standard, ..request.clone() };
        assert!(lines(&native(&standard)).contains(&6));
    }
}

#[test]
fn only_executed_rows_count_as_executed() {
    let program = Program::new(MERGED_RETURN);
    let Some(request) = program.build("gcc-12", OptLevel::O0, &[]) else { return };
    let coverage = executed_lines(&request).unwrap();
    let lines = |set: &std::collections::BTreeSet<trueline_model::LineKey>| set.iter().map(|k| k.line.0).collect::<Vec<_>>();
    assert_eq!(lines(&coverage.executed), [2, 3, 4, 7, 8]);
    assert_eq!(lines(&coverage.rows), [2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn facts_give_the_evidence_without_running_anything() {
    let program = Program::new(CALLS);
    let Some(request) = program.build("gcc-12", OptLevel::O2, &[]) else { return };
    let facts = Facts::load(&request.binary, &request.user_files).unwrap();
    let functions = facts.functions();
    let down = functions.iter().find(|f| &*f.name == "down").unwrap();
    assert_eq!(down.declared.as_ref().unwrap().line.0, 8);
    assert!((11..=13).contains(&down.last_line.unwrap().0));
    let entry = down.ranges[0].0;
    assert!(facts.rows_at(entry).iter().any(|r| r.is_stmt));
    assert_eq!(facts.scopes_at(entry).last().unwrap().kind, ScopeKind::Function);
    let n = facts.location(entry, "n", 8).unwrap();
    assert_eq!((n.text.as_str(), n.ill_formed), ("reg5", None));
    let inlined =
        facts.rows().any(|r| facts.scopes_at(r.address).iter().any(|s| s.kind == ScopeKind::Inlined && s.name.as_deref() == Some("twice")));
    assert!(inlined);
}

#[test]
fn bad_programs_are_told_apart() {
    let reason = |source: &str, seconds: u64| {
        let program = Program::new(source);
        let mut request = program.build("gcc", OptLevel::O0, &[]).unwrap();
        request.limits = Limits::seconds(seconds);
        match NativeEngine.trace(&request, &mut Trace::default()) {
            Err(TraceError::BadProgram { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(reason("int main(void) {\n  *(volatile int *)8 = 1;\n}\n", 20), "crashed with SIGSEGV at line 2");
    assert_eq!(reason("int fork(void);\nint main(void) { return fork() < 0; }\n", 20), "starts another process; --allow fork lets it");
    assert_eq!(reason("int main(void) { __asm__(\"int3\"); return 0; }\n", 20), "raised SIGTRAP");
    assert_eq!(reason("int main(void) { for (;;) __asm__(\"\"); }\n", 1), "did not finish within 1 s");
}

#[test]
fn damaged_binaries_are_refused_and_never_make_the_reader_panic() {
    let program = Program::new(CALLS);
    let Some(request) = program.build("gcc", OptLevel::O2, &[]) else { return };
    let good = std::fs::read(&request.binary).unwrap();
    let elf = object::File::parse(&*good).unwrap();
    let sections: Vec<_> = elf
        .sections()
        .filter(|s| s.name().is_ok_and(|n| n.starts_with(".debug") || n == ".eh_frame"))
        .filter_map(|s| s.file_range())
        .collect();
    let damaged = program.scratch.join("damaged");
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let (mut refused, mut read) = (0, 0);
    for round in 0..300 {
        let mut bytes = good.clone();
        let (start, length) = sections[random(sections.len() as u64) as usize];
        for _ in 0..=round % 7 {
            bytes[(start + random(length)) as usize] = random(256) as u8;
        }
        std::fs::write(&damaged, &bytes).unwrap();
        match Facts::load(&damaged, &[]) {
            Ok(facts) => {
                read += 1;
                for f in facts.functions() {
                    for (name, line, _) in facts.variables_at(f.ranges[0].0) {
                        let _ = facts.location(f.ranges[0].0, &name, line);
                    }
                }
            }
            Err(TraceError::BadBinary { reason, .. }) => {
                assert!(!reason.is_empty());
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 0 && read > 0, "{refused} refused, {read} read");

    let refuse = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).unwrap();
        match NativeEngine.trace(&TraceRequest::new(&damaged), &mut Trace::default()) {
            Err(TraceError::BadBinary { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert!(refuse(b"int main(void) { return 0; }").contains("not an ELF"));
    let mut foreign = good.clone();
    foreign[18] = 183; // AArch64
    assert!(refuse(&foreign).contains("x86-64"));
    for cut in [70, good.len() / 2, good.len() * 9 / 10] {
        refuse(&good[..cut]);
    }
}

#[test]
fn a_trace_is_cut_off_at_its_limit_and_ends_when_the_sink_has_enough() {
    let program = Program::new(CALLS);
    let Some(mut request) = program.build("gcc", OptLevel::O0, &[]) else { return };
    request.max_steps = 10;
    assert_eq!(native(&request).len(), 10);
    struct Few(u32);
    impl trueline_model::StepSink for Few {
        fn step(&mut self, _: Step) -> std::ops::ControlFlow<()> {
            self.0 += 1;
            if self.0 == 3 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        }
    }
    let mut few = Few(0);
    let summary = NativeEngine.trace(&request, &mut few).unwrap();
    assert_eq!((few.0, summary.end), (3, trueline_trace::TraceEnd::Stopped));
}
