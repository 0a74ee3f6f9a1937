//! Releases of debuggers that the host lacks, run from private roots: each with its own Python, on the same program.

use trueline_model::{EngineKind, Language, Line, OptLevel, Step, Trace};
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
