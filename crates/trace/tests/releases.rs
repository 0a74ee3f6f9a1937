//! Releases of debuggers that the host lacks, run from private roots: each with its own Python, on the same program.

use trueline_model::{EngineKind, Language, Line, OptLevel, Policy, Step, Trace};
use trueline_toolchain::{CompileRequest, Limits, Scratch, find_compiler};
use trueline_trace::{Engine, NativeEngine, TraceEnd, TraceRequest, open_engine};

const PROGRAM: &str = "\
struct pair { short a; double b; };
__attribute__((noinline)) int work(int x, char c) {
  struct pair s = {-7, 0.5};
  int sum = x + c;
  sum += s.a;
  return sum;
}
int main(void) {
  int result = work(3, 'A');
  return result == 0;
}
";

/// Line, function and the variables that hold values the program has set.
fn seen(steps: &[Step]) -> Vec<(Option<Line>, &str, Vec<String>)> {
    let value = |step: &Step, name: &str| {
        let found = step.vars.iter().find(|v| &*v.name == name).map(|v| &v.observation);
        format!("{name} {found:?}")
    };
    let names = |step: &Step| match step.line.map(|l| l.0) {
        Some(6) => vec!["x", "c", "s", "sum"],
        Some(10) => vec!["result"],
        _ => Vec::new(),
    };
    steps.iter().map(|s| (s.line, s.function(), names(s).into_iter().map(|name| value(s, name)).collect())).collect()
}

#[test]
fn fetched_releases_trace_a_program_as_the_native_engine_does() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.write("program.c", PROGRAM).unwrap();
    let build = CompileRequest::new(file, Language::C, OptLevel::O0, scratch.join("program"));
    let mut request = TraceRequest::new(find_compiler("gcc").unwrap().compile(&build).unwrap().binary);
    request.user_files = vec!["program.c".to_owned()];
    request.limits = Limits::seconds(300);
    for name in ["gdb-16", "gdb-18", "lldb-19", "lldb-22"] {
        let kind: EngineKind = name.parse().unwrap();
        let engine = match open_engine(kind) {
            Ok(engine) => engine,
            Err(e) => {
                println!("skipped: {e}");
                continue;
            }
        };
        assert_eq!(engine.kind().to_string(), name);
        let (mut theirs, mut ours) = (Trace::default(), Trace::default());
        let summary = engine.trace(&request, &mut theirs).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(summary.end, TraceEnd::Finished, "{name}");
        request.policy = kind.policy();
        NativeEngine.trace(&request, &mut ours).unwrap();
        assert!(ours.steps.len() > 6, "{name}");
        assert_eq!(seen(&theirs.steps), seen(&ours.steps), "{name}");
    }
}

/// Inlined calls that share addresses, begin with empty ranges and go on in several places.
const INLINED: &str = "\
unsigned table[8], sum, log_it;
int printf(const char *, ...);
static void mix(unsigned value, const char *name) {
  sum = (sum << 1) ^ table[value & 7];
  if (log_it) printf(\"%s %u\\n\", name, sum);
}
static int fill(void) {
  for (unsigned i = 0; i < 8; i++)
    table[i] = i * 2654435761u;
  return 0;
}
volatile unsigned char first = 3, second = 250;
int main(int argc, char **argv) {
  (void)argv;
  log_it = argc > 1;
  fill();
  mix(first, \"first\");
  mix(second, \"second\");
  mix(7, \"seven\");
  mix(first + second, \"both\");
  return sum == 1;
}
";

#[test]
fn optimized_code_with_inlined_calls_is_stepped_through_as_each_release_does() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.write("program.c", INLINED).unwrap();
    for cc in ["gcc-12", "gcc-16", "clang-16"] {
        let Ok(compiler) = find_compiler(cc) else {
            println!("skipped: no {cc}");
            continue;
        };
        let build = CompileRequest::new(&file, Language::C, OptLevel::O2, scratch.join(format!("program-{cc}")));
        let mut request = TraceRequest::new(compiler.compile(&build).unwrap().binary);
        request.user_files = vec!["program.c".to_owned()];
        request.limits = Limits::seconds(300);
        request.max_steps = 60;
        for name in ["gdb-16", "gdb-18", "lldb-22"] {
            let kind: EngineKind = name.parse().unwrap();
            let Ok(engine) = open_engine(kind) else {
                println!("skipped: no {name}");
                continue;
            };
            let (mut theirs, mut ours) = (Trace::default(), Trace::default());
            engine.trace(&request, &mut theirs).unwrap_or_else(|e| panic!("{name}: {e}"));
            request.policy = kind.policy();
            NativeEngine.trace(&request, &mut ours).unwrap();
            let stops = |trace: &Trace| trace.steps.iter().map(|s| (s.line, s.frames.clone())).collect::<Vec<_>>();
            assert!(theirs.steps.len() > 12, "{name}");
            assert_eq!(stops(&theirs), stops(&ours), "{name} {cc}");
        }
    }
}

/// A header with a function that is inlined and has a loop, and with one that is not inlined.
const HEADER: &str = "\
static unsigned table[256], context = 0xffffffffu;
static void fill(void) {
  unsigned crc;
  const unsigned poly = 0xEDB88320u;
  int i, j;
  for (i = 0; i < 256; i++) {
    crc = i;
    for (j = 8; j > 0; j--) {
      if (crc & 1)
        crc = (crc >> 1) ^ poly;
      else
        crc >>= 1;
    }
    table[i] = crc;
  }
}
__attribute__((noinline)) static void eat(unsigned long long value) {
  for (int n = 0; n < 8; n++)
    context = (context >> 8) ^ table[(context ^ (value >> n * 8)) & 255];
}
static inline void mix(unsigned long long value, const char *name, int is_shown) {
  eat(value);
  if (is_shown)
    __builtin_printf(\"%s %x\\n\", name, context);
}
";

const WITH_HEADER: &str = "\
#include \"mixed.h\"
volatile short first = 3, second = -5;
int main(int argc, char **argv) {
  int i;
  int is_shown = 0;
  if (argc == 2 && argv[1][0] == '1')
    is_shown = 1;
  fill();
  for (i = 0; i < 2; i++) {
    mix(first, \"first\", is_shown);
    if (is_shown)
      __builtin_printf(\"%d\\n\", i);
  }
  mix(second, \"second\", is_shown);
  mix(-1, \"last\", is_shown);
  return context == 1;
}
";

#[test]
fn an_inlined_call_that_lldb_22_ran_to_is_shown_from_inside_at_once() {
    let Ok(compiler) = find_compiler("gcc-16") else {
        println!("skipped: no gcc-16");
        return;
    };
    let kind: EngineKind = "lldb-22".parse().unwrap();
    let Ok(engine) = open_engine(kind) else {
        println!("skipped: no lldb-22");
        return;
    };
    let scratch = Scratch::new().unwrap();
    scratch.write("mixed.h", HEADER).unwrap();
    let file = scratch.write("program.c", WITH_HEADER).unwrap();
    let mut is_different = false;
    for level in [OptLevel::O1, OptLevel::O3] {
        let build = CompileRequest::new(&file, Language::C, level, scratch.join(format!("program{level}")));
        let mut request = TraceRequest::new(compiler.compile(&build).unwrap().binary);
        request.user_files = vec!["program.c".to_owned()];
        request.limits = Limits::seconds(300);
        request.max_steps = 25;
        let mut theirs = Trace::default();
        engine.trace(&request, &mut theirs).unwrap();
        let mut under = |policy| {
            let mut trace = Trace::default();
            request.policy = policy;
            NativeEngine.trace(&request, &mut trace).unwrap();
            trace.steps.iter().map(|s| (s.line, s.frames.clone())).collect::<Vec<_>>()
        };
        let theirs: Vec<_> = theirs.steps.iter().map(|s| (s.line, s.frames.clone())).collect();
        assert_eq!(theirs, under(Policy::Lldb22), "{level}");
        is_different |= theirs != under(Policy::Lldb);
    }
    // Else the program does not show what is claimed.
    assert!(is_different, "lldb 16's policy predicts lldb 22 here");
}
