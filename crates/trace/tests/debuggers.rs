//! The gdb and lldb engines on real programs, built by the real compilers.

use std::path::PathBuf;
use trueline_dwarf::Search;
use trueline_model::{EngineKind, FrameKind, Language, Line, Observation, OptLevel, Trace, VarKind};
use trueline_toolchain::{CompileRequest, Launch, Limits, Scratch, find_compiler};
use trueline_trace::{DebuggerPool, Engine, GdbEngine, LldbEngine, NativeEngine, Spot, SpotRequest, TraceEnd, TraceError, TraceRequest};

/// Every engine that this machine has.
fn engines() -> Vec<Box<dyn Engine>> {
    let mut found: Vec<Box<dyn Engine>> = Vec::new();
    match GdbEngine::find() {
        Ok(engine) => found.push(Box::new(engine)),
        Err(e) => eprintln!("gdb skipped: {e}"),
    }
    match LldbEngine::find() {
        Ok(engine) => found.push(Box::new(engine)),
        Err(e) => eprintln!("lldb skipped: {e}"),
    }
    found
}

fn build(scratch: &Scratch, source: &str, opt: OptLevel, flags: &[&str]) -> PathBuf {
    let file = scratch.write("program.c", source).unwrap();
    let output = scratch.join(format!("program{opt}"));
    let request = CompileRequest::new(file, Language::C, opt, output).flags(flags.iter().copied());
    find_compiler("gcc").unwrap().compile(&request).unwrap().binary
}

fn request(binary: PathBuf) -> TraceRequest {
    let mut request = TraceRequest::new(binary);
    request.user_files = vec!["program.c".to_owned()];
    request.limits = Limits::seconds(300);
    request
}

const VALUES: &str = "\
struct pair { short a; unsigned char b : 3; int *p; };
enum colour { RED = 4, BLUE };
unsigned long big = 18446744073709551615ul;
static int table[2][2] = {{1, -2}, {3, 4}};
int work(int x, char c) {
  double half = 0.5;
  float tenth = 0.1f;
  struct pair s = {-7, 5, 0};
  enum colour k = BLUE;
  _Bool yes = 1;
  static int calls;
  calls++;
  return x + c + s.a + (int)(half + tenth) + k + yes;
}
int main(void) {
  return work(3, 'A') == 0;
}
";

#[test]
fn values_have_the_canonical_text() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let mut trace = Trace::default();
        let summary = engine.trace(&request(build(&scratch, VALUES, OptLevel::O0, &[])), &mut trace).unwrap();
        assert_eq!(summary.end, TraceEnd::Finished);
        let kind = engine.kind();
        let step = trace.steps.iter().find(|s| s.line.is_some_and(|l| l.0 == 13)).unwrap_or_else(|| panic!("{kind}: no stop on 13"));
        let of = |name: &str| {
            let found = step.vars.iter().find(|v| &*v.name == name).unwrap_or_else(|| panic!("{kind}: no {name}"));
            (found.kind, found.observation.clone())
        };
        let expected = [
            ("x", VarKind::Param, "3"),
            ("c", VarKind::Param, "65"),
            ("half", VarKind::Local, "0.5"),
            ("tenth", VarKind::Local, "0.1"),
            ("s", VarKind::Local, "{-7, 5, 0x0}"),
            ("k", VarKind::Local, "5"),
            ("yes", VarKind::Local, "1"),
            ("calls", VarKind::Global, "1"),
            ("big", VarKind::Global, "18446744073709551615"),
            ("table", VarKind::Global, "{{1, -2}, {3, 4}}"),
        ];
        for (name, var_kind, text) in expected {
            assert_eq!(of(name), (var_kind, Observation::Value(text.into())), "{kind}: {name}");
        }
        assert!(step.vars.iter().any(|v| &*v.name == "s" && v.holds_pointer));
        assert_eq!(step.frames.iter().map(|f| &*f.function).collect::<Vec<_>>(), ["work", "main"], "{kind}");
        assert_eq!(step.frames[1].line.unwrap().0, 16, "{kind}");
        assert!(step.pc < 0x10000, "{kind}: {:#x} still has the load bias", step.pc);
    }
}

const INLINED: &str = "\
volatile int sink;
static inline __attribute__((always_inline)) void put(int value) {
  sink = value;
  sink = value + 1;
}
int main(void) {
  put(sink);
  return 0;
}
";

#[test]
fn inlined_frames_are_told_from_real_ones() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let mut trace = Trace::default();
        engine.trace(&request(build(&scratch, INLINED, OptLevel::O2, &[])), &mut trace).unwrap();
        let inside = trace.steps.iter().find(|s| s.function() == "put").expect("a stop in the inlined function");
        let kinds: Vec<_> = inside.frames.iter().map(|f| (&*f.function, f.kind)).collect();
        assert_eq!(kinds, [("put", FrameKind::Inlined), ("main", FrameKind::Real)], "{}", engine.kind());
    }
}

#[test]
fn a_trace_is_cut_off_at_its_step_limit() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let source = "int main(void) {\n  volatile int i = 0;\n  while (i < 1000000)\n    i++;\n  return 0;\n}\n";
        let mut request = request(build(&scratch, source, OptLevel::O0, &[]));
        request.max_steps = 20;
        let mut trace = Trace::default();
        let summary = engine.trace(&request, &mut trace).unwrap();
        assert_eq!((summary.end, trace.steps.len()), (TraceEnd::CutOff, 20), "{}", engine.kind());
    }
}

/// Programs that are not closed, with the word the error must have. A raised SIGTRAP is not among them: debuggers take
/// it for their own, so `check` runs a program once without any before it is traced.
const BAD: [(&str, &str); 4] = [
    ("int main(void) {\n  int *p = 0;\n  return *p;\n}\n", "SIGSEGV"),
    ("#include <unistd.h>\nint main(void) {\n  if (fork() == 0)\n    pause();\n  return 0;\n}\n", "another process"),
    ("int main(void) {\n  for (;;)\n    ;\n}\n", "did not finish"),
    ("#include <stdlib.h>\nint main(void) {\n  abort();\n}\n", "SIGABRT"),
];

#[test]
fn a_program_that_misbehaves_is_refused_with_its_reason() {
    for engine in engines() {
        for (source, word) in BAD {
            let scratch = Scratch::new().unwrap();
            let mut request = request(build(&scratch, source, OptLevel::O0, &[]));
            // Only the endless one is to meet its limit, however busy the machine is.
            request.limits = Limits::seconds(if word == "did not finish" { 6 } else { 300 });
            let error = engine.trace(&request, &mut Trace::default()).expect_err(word);
            assert!(matches!(error, TraceError::BadProgram { .. }), "{}: {error}", engine.kind());
            assert!(error.to_string().contains(word), "{}: {error}", engine.kind());
            let name = format!("{}", request.binary.display());
            assert!(!running(&name), "{}: {name} is still running", engine.kind());
        }
    }
}

#[test]
fn a_program_that_is_killed_is_neither_finished_nor_blamed_and_one_that_exits_with_9_is_finished() {
    let killed = "#include <signal.h>\nint main(void) {\n  raise(SIGKILL);\n  return 0;\n}\n";
    let left = "#include <stdlib.h>\nint main(void) {\n  exit(9);\n  return 0;\n}\n";
    let mut all = engines();
    all.push(Box::new(NativeEngine));
    for engine in all {
        let scratch = Scratch::new().unwrap();
        let error = engine.trace(&request(build(&scratch, killed, OptLevel::O0, &[])), &mut Trace::default()).unwrap_err();
        assert!(!matches!(error, TraceError::BadProgram { .. }), "{}: {error}", engine.kind());
        assert!(error.to_string().contains("was killed"), "{}: {error}", engine.kind());
        let mut trace = Trace::default();
        let summary = engine.trace(&request(build(&scratch, left, OptLevel::O0, &[])), &mut trace).unwrap();
        assert_eq!((summary.end, trace.steps.last().and_then(|s| s.line)), (TraceEnd::Finished, Some(Line(3))), "{}", engine.kind());
    }
}

/// True when some process still runs `binary`; the kernel gets a moment to let go of killed ones.
fn running(binary: &str) -> bool {
    let alive = || {
        std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .any(|entry| std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe.to_string_lossy().starts_with(binary)))
    };
    (0..100).all(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        alive()
    })
}

#[test]
fn a_binary_without_debug_information_is_refused() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let binary = build(&scratch, "int main(void) { return 0; }\n", OptLevel::O0, &["-g0"]);
        let error = engine.trace(&request(binary), &mut Trace::default()).unwrap_err();
        assert!(matches!(error, TraceError::BadBinary { .. }), "{error}");
    }
}

/// A program whose section asks gdb to run Python, and beside which lie init files.
const MALICIOUS: &str = r#"
asm(".pushsection .debug_gdb_scripts, \"MS\", @progbits, 1\n"
    ".byte 4\n"
    ".asciz \"gdb.inlined-script\\n__import__('os')._exit(9)\"\n"
    ".popsection");
int main(void) {
  return 0;
}
"#;

#[test]
fn scripts_that_a_binary_brings_are_never_run() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let binary = build(&scratch, MALICIOUS, OptLevel::O0, &[]);
        // A mark on the disk would show nothing, since debuggers may not write: whoever runs this ends at once.
        let evil = "__import__('os')._exit(9)\n";
        scratch.write(format!("{}-gdb.py", binary.file_name().unwrap().to_str().unwrap()), evil).unwrap();
        scratch.write("program_O0.py", evil).unwrap();
        scratch.write(".gdbinit", format!("python {evil}")).unwrap();
        scratch.write(".lldbinit", format!("script {evil}")).unwrap();
        let mut trace = Trace::default();
        engine.trace(&request(binary), &mut trace).unwrap();
        assert!(!trace.steps.is_empty(), "{}: a script of the binary's ended the debugger", engine.kind());
    }
}

#[test]
fn a_debugger_that_stays_shows_at_an_address_what_it_shows_when_it_steps_there() {
    for engine in engines() {
        let scratch = Scratch::new().unwrap();
        let binary = build(&scratch, VALUES, OptLevel::O0, &[]);
        let mut trace = Trace::default();
        engine.trace(&request(binary.clone()), &mut trace).unwrap();
        let stop = trace.steps.iter().find(|s| s.line.is_some_and(|l| l.0 == 13)).unwrap();
        let pool = DebuggerPool::find(engine.kind()).unwrap().expect("a debugger");
        let user_files = ["program.c".to_owned()];
        let look = |spots: &[Spot]| {
            pool.look(&SpotRequest {
                binary: &binary,
                launch: &Launch::default(),
                user_files: &user_files,
                search: &Search::default(),
                spots,
            })
            .unwrap()
        };
        // Twice: the second question goes to the same process.
        for _ in 0..2 {
            let ran = look(&[Spot(stop.pc, 3)]);
            let (kind, seen) = (engine.kind(), &ran.steps[0]);
            assert_eq!((seen.line, seen.pc, ran.steps.len()), (stop.line, stop.pc, 1), "{kind}");
            assert_eq!(seen.vars, stop.vars, "{kind}");
            let names = |s: &trueline_model::Step| s.frames.iter().map(|f| f.function.to_string()).collect::<Vec<_>>();
            assert_eq!(names(seen), names(stop), "{kind}");
            let read = look(&[Spot(stop.pc, 0)]);
            assert_eq!((read.steps[0].line, read.steps.len()), (stop.line, 1), "{kind}");
            for name in ["x", "half", "calls"] {
                assert!(read.steps[0].vars.iter().any(|v| &*v.name == name), "{kind} does not name {name}");
            }
        }
        pool.dismiss();
    }
}

const BEGINNING: &str = r"
volatile int in = 3, out;
static inline __attribute__((always_inline)) int twice(int x) {
  out = x;
  return x * 2;
}
int main(void) {
  int start = in;
  out = 1;
  int more = twice(start);
  out = more;
  return 0;
}
";

#[test]
fn what_lldb_reads_where_an_inlined_function_begins_has_every_view_that_stepping_shows() {
    let Ok(engine) = LldbEngine::find() else { return println!("skipped: no lldb") };
    let scratch = Scratch::new().unwrap();
    let binary = build(&scratch, BEGINNING, OptLevel::O2, &[]);
    let mut trace = Trace::default();
    engine.trace(&request(binary.clone()), &mut trace).unwrap();
    let view = |s: &trueline_model::Step| (s.line, s.frames.iter().map(|f| f.function.to_string()).collect::<Vec<_>>());
    let pair = trace.steps.windows(2).find(|w| w[0].pc == w[1].pc).expect("lldb enters the inlined function without moving");
    let pool = DebuggerPool::find(EngineKind::Lldb).unwrap().expect("lldb");
    let spots = [Spot(pair[0].pc, 0)];
    let user_files = ["program.c".to_owned()];
    let request =
        SpotRequest { binary: &binary, launch: &Launch::default(), user_files: &user_files, search: &Search::default(), spots: &spots };
    let read: Vec<_> = pool.look(&request).unwrap().steps;
    let views: Vec<_> = read.iter().map(view).collect();
    for step in pair {
        assert!(views.contains(&view(step)), "{:?} is not among {views:?}", view(step));
    }
    let names = |i: usize| read[i].vars.iter().map(|v| v.name.to_string()).collect::<Vec<_>>();
    assert!(names(0).contains(&"x".to_owned()) && names(1).contains(&"start".to_owned()), "{:?} {:?}", names(0), names(1));
    pool.dismiss();
}
