//! The native engine's lldb policy against lldb, on small programs with one habit of lldb's each.

use std::path::Path;
use trueline_model::{Language, Observation, OptLevel, Policy, Step, Trace, VarKind, Variable};
use trueline_toolchain::{CompileRequest, Limits, Scratch, find_compiler};
use trueline_trace::{Engine, LldbEngine, NativeEngine, TraceRequest};

/// What a stop shows, values included; the order of variables is each engine's own.
fn shown(step: &Step) -> String {
    let variable = |v: &Variable| format!("{:?} {} of line {}: {:?}", v.kind, v.name, v.decl_line, v.observation);
    let mut variables: Vec<String> = step.vars.iter().map(variable).collect();
    variables.sort_unstable();
    let frames: Vec<String> = step.frames.iter().map(|f| format!("{} {:?}", f.function, f.line)).collect();
    format!("{:#x} {frames:?} {variables:#?}", step.pc)
}

/// Traces `source` with lldb and natively, and returns lldb's stops after checking that native's are the same; `None`
/// when lldb or the compiler is not there.
fn agreed(cc: &str, opt: OptLevel, source: &str, header: &str) -> Option<Vec<Step>> {
    let (lldb, compiler) = match (LldbEngine::find(), find_compiler(cc)) {
        (Ok(lldb), Ok(compiler)) => (lldb, compiler),
        (lldb, compiler) => {
            println!("skipped: {:?} {:?}", lldb.err(), compiler.err());
            return None;
        }
    };
    let scratch = Scratch::new().unwrap();
    scratch.write("header.h", header).unwrap();
    let file = scratch.write("program.c", source).unwrap();
    let output = scratch.join("program");
    let binary = compiler.compile(&CompileRequest::new(file, Language::C, opt, output)).unwrap().binary;
    let (theirs, ours) = (trace(&lldb, &binary), trace(&NativeEngine, &binary));
    let (a, b): (Vec<String>, Vec<String>) = (theirs.iter().map(shown).collect(), ours.iter().map(shown).collect());
    assert_eq!(a, b, "lldb's stops, then native's");
    Some(theirs)
}

fn trace(engine: &dyn Engine, binary: &Path) -> Vec<Step> {
    let mut request = TraceRequest::new(binary);
    request.user_files = vec!["program.c".to_owned()];
    request.policy = Policy::Lldb;
    request.limits = Limits::seconds(300);
    let mut trace = Trace::default();
    engine.trace(&request, &mut trace).unwrap();
    trace.steps
}

fn find<'s>(step: &'s Step, name: &str) -> Option<&'s Variable> {
    step.vars.iter().find(|v| &*v.name == name)
}

/// gcc 12 gives `other` a location list whose only entry is empty.
const NOWHERE: &str = "\
volatile int sink;
int g = 4;
int main(void) {
  int i;
  for (i = 0; i < 3; i++) {
    if (g) {
      sink = 2;
      short last = 5;
      g = last && sink;
      short other = 6;
      i = i + 0;
    }
  }
  return 0;
}
";

#[test]
fn a_variable_whose_location_list_holds_nowhere_is_static_to_lldb() {
    let Some(steps) = agreed("gcc-12", OptLevel::Og, NOWHERE, "") else { return };
    // In main's outer block too, where `last` is not to be seen.
    let other = find(&steps[0], "other").expect("lldb shows it everywhere");
    assert_eq!((other.kind, &other.observation), (VarKind::Global, &Observation::OptimizedOut));
    assert!(find(&steps[0], "last").is_none());
}

const SAME: &str = "\
static const int lower = 40;
static const int upper = 40;
volatile int sink;
int main(void) {
  sink = lower;
  sink = upper;
  return 0;
}
";

#[test]
fn a_constant_is_read_from_its_entry_but_not_from_the_abbreviation() {
    // Two constants of one value share it in the abbreviation, different ones have it in their entries.
    for (source, expected) in
        [(SAME.to_owned(), Observation::Unreadable), (SAME.replace("upper = 40", "upper = 41"), Observation::Value("40".into()))]
    {
        let Some(steps) = agreed("gcc-12", OptLevel::O2, &source, "") else { return };
        assert_eq!(find(&steps[0], "lower").map(|v| &v.observation), Some(&expected));
    }
}

/// One instruction of line 10 stands before the code of `pick`.
const NARROW: &str = "\
unsigned char flag = 1;
volatile int kept = 2, wide = 7;
static int pick(int p) {
  short chosen = flag ? 1 : 0xffa2;
  wide |= chosen;
  return p + 1;
}
int main(void) {
  wide = 3;
  kept = pick(kept);
  return 0;
}
";

#[test]
fn an_inlined_call_on_the_line_of_the_step_is_entered() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(steps) = agreed(cc, OptLevel::O1, NARROW, "") else { continue };
        let lines: Vec<u32> = steps.iter().take(3).filter_map(|s| Some(s.line?.0)).collect();
        assert_eq!(lines, [9, 10, 4], "{cc}");
    }
}

/// A table filled by two nested loops, as checksums do.
const TABLE: &str = "\
static inline void fill(unsigned *t) {
  for (unsigned i = 0; i < 16; i++) {
    unsigned v = i;
    for (int j = 0; j < 4; j++)
      if (v & 1)
        v = v >> 1 ^ 0xedb88320u;
      else
        v >>= 1;
    t[i] = v;
  }
}
";

const USES_TABLE: &str = "\
#include \"header.h\"
unsigned table[16];
volatile unsigned sum;
int main(void) {
  sum = 1;
  fill(table);
  sum = table[3];
  return 0;
}
";

#[test]
fn loops_of_a_header_that_are_passed_lead_to_the_stops_of_lldb() {
    for (cc, opt) in [("gcc-12", OptLevel::O1), ("gcc-12", OptLevel::O2), ("clang-16", OptLevel::O2)] {
        let Some(steps) = agreed(cc, opt, USES_TABLE, TABLE) else { continue };
        assert!(steps.iter().any(|s| s.line.is_some_and(|l| l.0 == 7)), "{cc}: no stop behind the table");
    }
}

/// Registers are wider than what they hold here, and nothing fills the rest with the sign.
const NARROW_NUMBERS: &str = "\
volatile int sink = -1;
__attribute__((noinline)) static int work(signed char c, int i, unsigned char u, unsigned w) {
  sink = 3;
  return c + i + u + w;
}
int main(void) {
  int v = sink;
  int r = work(v, v, v, v);
  sink = r;
  return 0;
}
";

#[test]
fn a_number_in_a_register_is_as_wide_as_its_type() {
    for cc in ["gcc-12", "clang-16"] {
        let Some(steps) = agreed(cc, OptLevel::O1, NARROW_NUMBERS, "") else { continue };
        let inside = steps.iter().find(|s| s.function() == "work").expect("a stop in work");
        let values = [("c", "-1"), ("i", "-1"), ("u", "255"), ("w", "4294967295")];
        for (name, value) in values {
            assert_eq!(find(inside, name).map(|v| &v.observation), Some(&Observation::Value(value.into())), "{cc}: {name}");
        }
    }
}

/// What `p` was is only known from the calls, of which the second stands in a block.
const CALLS: &str = "\
volatile int sink;
__attribute__((noinline)) static void take(int p) {
  sink = p;
  __asm__ volatile(\"xor %%edi, %%edi\" ::: \"rdi\");
  sink = 1;
}
int main(void) {
  int i = sink;
  take(11);
  if (i == 0) {
    int inner = i + 2;
    take(12);
    sink = inner;
  }
  return 0;
}
";

#[test]
fn calls_within_blocks_give_lldb_no_entry_values() {
    let Some(steps) = agreed("gcc-12", OptLevel::O1, CALLS, "") else { return };
    let ends = steps.iter().filter(|s| s.function() == "take" && s.line.is_some_and(|l| l.0 == 6));
    let seen: Vec<_> = ends.filter_map(|s| Some(find(s, "p")?.observation.clone())).collect();
    assert_eq!(seen, [Observation::Value("11".into()), Observation::Unreadable]);
}
