//! Looking ahead changes how often the program is stopped, and nothing else; giving addresses up shows some of the stops and no others.

use super::*;
use trueline_dwarf::Wanted;
use trueline_model::{Language, OptLevel, Trace};
use trueline_toolchain::{CompileRequest, Scratch, find_compiler};

const TABLE: &str = "\
static inline unsigned next(unsigned v) {
  for (int j = 0; j < 8; j++)
    if (v & 1)
      v = v >> 1 ^ 0xedb88320u;
    else
      v >>= 1;
  return v;
}
";

/// The header's loop is inlined; `twice` is called, recursively; one line holds many branches.
const PROGRAM: &str = "\
#include \"header.h\"
unsigned table[64], sum;
__attribute__((noinline)) static unsigned twice(unsigned n) {
  unsigned below = n ? twice(n - 1) : 1;
  return below + next(below);
}
int main(void) {
  for (unsigned i = 0; i < 64; i++)
    table[i] = next(i);
  sum = (table[1] > 3 && table[2] > 4) || (table[3] & 1 ? table[4] : table[5]) > 9;
  for (int i = 0; i < 3; i++)
    sum += twice(i + 2) & 0xff;
  return 0;
}
";

/// The stops and how often the program was stopped for them.
fn run(request: &TraceRequest, foresight: Foresight) -> (Vec<Step>, u64) {
    let module = Module::load(&request.binary, Wanted::new(&request.user_files), &request.search, Policy::Lldb).unwrap();
    let mut tracer = Tracer::launch(&module, request, 0).unwrap();
    tracer.foresight = foresight;
    let mut trace = Trace::default();
    assert_eq!(tracer.trace(&mut trace).unwrap(), TraceEnd::Finished);
    (trace.steps, tracer.arrivals)
}

#[test]
fn stops_worked_out_ahead_are_those_made_one_by_one() {
    let scratch = Scratch::new().unwrap();
    scratch.write("header.h", TABLE).unwrap();
    let file = scratch.write("program.c", PROGRAM).unwrap();
    for opt in [OptLevel::O0, OptLevel::O1, OptLevel::O2] {
        let output = scratch.join(format!("program{opt}"));
        let binary = find_compiler("gcc").unwrap().compile(&CompileRequest::new(&file, Language::C, opt, output)).unwrap().binary;
        let mut request = TraceRequest::new(binary);
        request.user_files = vec!["program.c".to_owned()];
        request.policy = Policy::Lldb;
        let (one_by_one, many) = run(&request, Foresight::None);
        let (ahead, few) = run(&request, Foresight::Full);
        assert!(!ahead.is_empty());
        assert_eq!(ahead, one_by_one, "{opt}");
        assert!(few < many, "{opt}: {few} arrivals instead of {many}");
        if opt != OptLevel::O0 {
            assert!(few < 2 * ahead.len() as u64 + 100, "{opt}: {few} arrivals for {} stops", ahead.len());
        }
    }
}

/// A loop with a rare branch, a switch, calls by two ways, recursion and a callback of the C library.
const LONG: &str = "\
#include <stdlib.h>
volatile int sink, rare;
static int less(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static int leaf(int n) {
  int twice = n * 2;
  sink += twice;
  return twice & 7;
}
static int deep(int n) {
  return n ? deep(n - 1) + leaf(n) : 1;
}
__attribute__((noinline)) static int other(int n) {
  return leaf(n + 1);
}
int main(void) {
  int list[8] = {5, 3, 8, 1, 9, 2, 7, 4};
  for (int i = 0; i < 300; i++) {
    switch (leaf(i) & 3) {
    case 0: sink++; break;
    case 2: sink += 2; break;
    default: sink--; break;
    }
    if (i == 250)
      rare = other(i);
    if (i % 50 == 0) {
      qsort(list, 8, sizeof *list, less);
      sink += deep(4);
    }
  }
  return 0;
}
";

/// Takes what it is told and knows what it has been told before, values apart.
#[derive(Default)]
struct Learner {
    steps: Vec<Step>,
    known: HashSet<(u64, Vec<Arc<str>>)>,
    news: News,
    given_up: usize,
}

impl StepSink for Learner {
    fn step(&mut self, step: Step) -> std::ops::ControlFlow<()> {
        let is_new = self.known.insert((step.pc, step.frames.iter().map(|f| Arc::clone(&f.function)).collect()));
        self.news = if is_new { News::Frames } else { News::Nothing };
        self.steps.push(Step { step: 0, ..step });
        std::ops::ControlFlow::Continue(())
    }

    fn news(&self) -> News {
        self.news
    }

    fn give_up(&mut self, lines: &[LineKey], functions: &[Arc<str>]) {
        assert!(!functions.is_empty());
        self.given_up += lines.len();
    }
}

#[test]
fn a_trace_that_gives_addresses_up_shows_stops_of_the_full_trace_and_what_is_rare() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.write("long.c", LONG).unwrap();
    let rare = LONG.lines().position(|l| l.contains("rare = other")).unwrap() as u32 + 1;
    for compiler in ["gcc", "clang-16"] {
        let Ok(compiler) = find_compiler(compiler) else { continue };
        for opt in [OptLevel::O0, OptLevel::Og, OptLevel::O2] {
            let output = scratch.join(format!("long{opt}"));
            let binary = compiler.compile(&CompileRequest::new(&file, Language::C, opt, output)).unwrap().binary;
            for policy in [Policy::Gdb, Policy::Standard] {
                let mut request = TraceRequest::new(&binary);
                (request.user_files, request.policy) = (vec!["long.c".to_owned()], policy);
                let trace = |request: &TraceRequest| {
                    let module = Module::load(&request.binary, Wanted::new(&request.user_files), &request.search, policy).unwrap();
                    let mut tracer = Tracer::launch(&module, request, 0).unwrap();
                    tracer.at_first = 0;
                    let mut learner = Learner::default();
                    assert_eq!(tracer.trace(&mut learner).unwrap(), TraceEnd::Finished);
                    (learner, tracer.arrivals)
                };
                let (full, many) = trace(&request);
                request.patience = Patience::Visits(5);
                let (retired, few) = trace(&request);
                assert_eq!(full.given_up, 0);
                assert!(retired.given_up > 0 && few * 2 < many, "{opt} {policy}: {few} arrivals of {many}");
                for step in &retired.steps {
                    assert!(full.steps.contains(step), "{opt} {policy}: {step:?} is not in the full trace");
                }
                if opt == OptLevel::O0 {
                    assert!(retired.steps.iter().any(|s| s.line == Some(Line(rare))), "{policy}: the rare line is not seen");
                    let by_other = |s: &Step| s.frames.iter().any(|f| &*f.function == "other");
                    assert!(retired.steps.iter().any(by_other), "{policy}: the rare call is not seen");
                }
            }
        }
    }
}

#[test]
fn a_focus_shows_the_stops_of_the_full_trace_in_what_it_names_and_after_a_moment() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.write("long.c", LONG).unwrap();
    let binary =
        find_compiler("gcc").unwrap().compile(&CompileRequest::new(&file, Language::C, OptLevel::O0, scratch.join("long"))).unwrap().binary;
    let mut request = TraceRequest::new(&binary);
    request.user_files = vec!["long.c".to_owned()];
    let trace = |request: &TraceRequest| {
        let module = Module::load(&request.binary, Wanted::new(&request.user_files), &request.search, Policy::Gdb).unwrap();
        let mut learner = Learner::default();
        assert_eq!(Tracer::launch(&module, request, 0).unwrap().trace(&mut learner).unwrap(), TraceEnd::Finished);
        learner.steps
    };
    let full = trace(&request);
    request.focus.functions = vec![glob::Pattern::new("le?f").unwrap()];
    let narrow = trace(&request);
    let in_leaf: Vec<&Step> = full.iter().filter(|s| s.function() == "leaf").collect();
    assert!(narrow.iter().collect::<Vec<_>>() == in_leaf, "{} stops instead of {}", narrow.len(), in_leaf.len());
    request.focus.after = Some("other".parse().unwrap());
    let late = trace(&request);
    let begins = full.iter().position(|s| s.function() == "other").unwrap();
    let after: Vec<&Step> = full[begins..].iter().filter(|s| s.function() == "leaf").collect();
    assert!(late.iter().collect::<Vec<_>>() == after, "{} stops instead of {}", late.len(), after.len());
    request.focus.after = Some("long.c:999".parse().unwrap());
    let module = Module::load(&request.binary, Wanted::new(&request.user_files), &request.search, Policy::Gdb).unwrap();
    let missing = Tracer::launch(&module, &request, 0).unwrap().trace(&mut Learner::default());
    assert!(missing.unwrap_err().to_string().contains("long.c:999"));
}
