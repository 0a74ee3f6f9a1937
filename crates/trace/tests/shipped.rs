//! What programs that people ship do, each in a small program, held against gdb on the same stops.

mod common;

use common::{Program, native};
use trueline_machine::inferior::Follow;
use trueline_model::{EngineKind, Frame, OptLevel, Step, StepSink, Trace};
use trueline_toolchain::{Limits, Permission};
use trueline_trace::native::executed_lines;
use trueline_trace::{Engine, GdbEngine, NativeEngine, Threads, TraceError, TraceRequest, TraceSummary};

/// `inner` comes back before the arguments of `outer` go on the stack, so that `outer` is called further down than `inner` was; in
/// `again` the caller and the one that came back are the same function.
const STACK_ARGUMENTS: &str = r"
int sink;
__attribute__((noinline)) int inner(int x) {
  sink += x;
  return x * 3 + sink;
}
__attribute__((noinline)) int outer(int a, int b, int c, int d, int e, int f, int g, int h, int i) {
  sink += a + b + c + d;
  return sink + e + f + g + h + i;
}
__attribute__((noinline)) int again(int n) {
  if (n == 0)
    return sink;
  return outer(n, 2, 3, 4, 5, 6, again(n - 1), 8, inner(n));
}
int main(void) {
  int first = outer(1, 2, 3, 4, 5, 6, inner(7), 8, 9);
  return (first + again(3)) & 1;
}
";

#[test]
fn a_call_that_came_back_before_stack_arguments_were_pushed_is_off_the_stack() {
    let Ok(gdb) = GdbEngine::find() else {
        println!("skipped: no gdb");
        return;
    };
    let program = Program::new(STACK_ARGUMENTS);
    for (cc, flags) in [("gcc-12", &[][..]), ("gcc-12", &["-fno-omit-frame-pointer"]), ("clang-16", &[])] {
        for opt in [OptLevel::O0, OptLevel::Og, OptLevel::O2] {
            let Some(request) = program.build(cc, opt, flags) else { continue };
            let mut theirs = Trace::default();
            gdb.trace(&request, &mut theirs).unwrap();
            let place = |s: &Step| (s.line, s.pc, s.frames.clone());
            let ours: Vec<_> = native(&request).iter().map(place).collect();
            assert_eq!(ours, theirs.steps.iter().map(place).collect::<Vec<_>>(), "{cc} {} {flags:?}", opt.flag());
            let in_outer = ours.iter().filter(|s| &*s.2[0].function == "outer");
            assert!(in_outer.clone().count() > 0 && in_outer.clone().all(|s| s.2.iter().all(|f| &*f.function != "inner")));
        }
    }
}

/// Keeps what a run passed.
#[derive(Default)]
struct Passes(Vec<(u32, Vec<String>)>);

impl StepSink for Passes {
    fn step(&mut self, _: Step) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
    fn wants_passes(&self) -> bool {
        true
    }
    fn pass(&mut self, lines: &[trueline_model::LineKey], frames: &std::sync::Arc<[Frame]>) {
        let names: Vec<String> = frames.iter().map(|f| f.function.to_string()).collect();
        self.0.extend(lines.iter().map(|l| (l.line.0, names.clone())));
    }
}

/// clang gives the condition of an `else if` a row that is no recommended stop when it begins in the middle of the jump's line.
const UNMARKED_ROW: &str = r"
int sink;
int pick(int a, int b) {
  if (a > 3) { sink = 1; }
  else if (b > 2
           && sink < 9) { sink = 2; }
  return sink;
}
int main(void) {
  return pick(1, 5) + pick(7, 0);
}
";

#[test]
fn rows_that_ran_without_a_stop_are_told_with_their_frames_once() {
    let program = Program::new(UNMARKED_ROW);
    for cc in ["gcc-12", "clang-16"] {
        let Some(request) = program.build(cc, OptLevel::O0, &[]) else { continue };
        let mut passes = Passes::default();
        NativeEngine.trace(&request, &mut passes).unwrap();
        let expected = (6, vec!["pick".to_owned(), "main".to_owned()]);
        assert!(passes.0.contains(&expected), "{cc}: {:?}", passes.0);
        assert!(passes.0.iter().all(|p| p.1.last().is_some_and(|f| f == "main")), "{cc}: {:?}", passes.0);
    }
}

/// Long doubles live in x87 registers, and clang converts them in location expressions.
const EXTENDED: &str = r"
volatile long double in = 1.25L;
volatile double out;
__attribute__((noinline)) long double scale(long double x, int n) {
  long double result = x;
  for (int i = 0; i < n; i++)
    result = result * x + n;
  return result;
}
int main(void) {
  long double first = in;
  long double second = scale(first, 3);
  out = (double)(second + first);
  long double kept = -first;
  out = (double)(kept * second);
  return out > 0;
}
";

#[test]
fn long_doubles_are_read_as_gdb_reads_them() {
    let Ok(gdb) = GdbEngine::find() else {
        println!("skipped: no gdb");
        return;
    };
    let program = Program::new(EXTENDED);
    for cc in ["gcc-12", "clang-16"] {
        for opt in [OptLevel::O0, OptLevel::Og, OptLevel::O2] {
            let Some(request) = program.build(cc, opt, &[]) else { continue };
            let mut theirs = Trace::default();
            gdb.trace(&request, &mut theirs).unwrap();
            let ours = native(&request);
            assert_eq!(ours.len(), theirs.steps.len());
            for (mine, gdbs) in ours.iter().zip(&theirs.steps) {
                // At -O0 a variable shows what the stack held before, which is nobody's value.
                for variable in mine.vars.iter().filter(|_| opt != OptLevel::O0) {
                    let same = gdbs.vars.iter().any(|v| v.name == variable.name && v.observation == variable.observation);
                    assert!(same, "{cc} {} line {:?}: {variable:?} {:?}", opt.flag(), mine.line, gdbs.vars);
                }
            }
            let text = |s: &Step| s.vars.iter().find(|v| &*v.name == "second").map(|v| format!("{:?}", v.observation));
            let last = ours.iter().rfind(|s| s.line.is_some_and(|l| l.0 == 14)).and_then(text);
            assert!(opt != OptLevel::O0 || last.as_deref() == Some("Value(\"13.87890625\")"), "{cc}: {last:?}");
        }
    }
}

/// Two more threads call what main calls, by direct and indirect calls, while main goes on.
const THREADS: &str = r"
#include <pthread.h>
int (*volatile through)(int);
int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += i * n;
  return sum;
}
void *helper(void *argument) {
  long total = 0;
  for (int i = 0; i < 8; i++)
    total += work(i) + through(i);
  return (void *)total;
}
int main(void) {
  pthread_t a, b;
  void *first, *second;
  through = work;
  pthread_create(&a, 0, helper, 0);
  pthread_create(&b, 0, helper, 0);
  int own = work(5) + through(3);
  pthread_join(a, &first);
  pthread_join(b, &second);
  return first == second && own > 0 ? 7 : 1;
}
";

fn lines(request: &TraceRequest, engine: &dyn Engine) -> (Vec<u32>, TraceSummary) {
    let mut trace = Trace::default();
    let summary = engine.trace(request, &mut trace).unwrap();
    (trace.steps.iter().filter_map(|s| s.line).map(|l| l.0).collect(), summary)
}

#[test]
fn the_first_thread_is_stepped_and_the_others_run_beside_it() {
    let program = Program::new(THREADS);
    for cc in ["gcc-12", "clang-16"] {
        for opt in [OptLevel::O0, OptLevel::O2] {
            let Some(request) = program.build(cc, opt, &["-pthread"]) else { continue };
            let (first, summary) = lines(&request, &NativeEngine);
            assert_eq!(summary.threads, 2);
            assert_eq!(first, lines(&request, &NativeEngine).0, "{cc} {}: two runs differ", opt.flag());
            let executed = executed_lines(&request).unwrap().executed;
            assert!(executed.iter().any(|l| l.line.0 == 13), "what other threads ran counts as executed");
            if opt == OptLevel::O0 {
                assert!(!first.contains(&13), "helper runs in other threads only");
                if let Ok(gdb) = GdbEngine::find() {
                    assert_eq!(first, lines(&request, &gdb).0, "{cc}");
                }
            }
        }
    }
}

#[test]
fn every_thread_is_stepped_in_its_own_frames_where_that_is_asked_for() {
    let program = Program::new(THREADS);
    for cc in ["gcc-12", "clang-16"] {
        for opt in [OptLevel::O0, OptLevel::O2] {
            let Some(mut request) = program.build(cc, opt, &["-pthread"]) else { continue };
            let first = lines(&request, &NativeEngine).0;
            request.threads = Threads::Each;
            let mut trace = Trace::default();
            let summary = NativeEngine.trace(&request, &mut trace).unwrap();
            assert_eq!((summary.threads, summary.followed), (2, 2));
            let outermost = |s: &Step| s.frames.last().map(|f| f.function.to_string());
            let by_main: Vec<u32> = trace.steps.iter().take(first.len()).filter_map(|s| s.line).map(|l| l.0).collect();
            assert_eq!(by_main, first, "{cc} {}: the first thread comes first", opt.flag());
            let others = &trace.steps[first.len()..];
            assert!(others.iter().all(|s| outermost(s).as_deref() == Some("helper")), "{cc} {}", opt.flag());
            let (one, two) = others.split_at(others.len() / 2);
            let lines_of = |steps: &[Step]| steps.iter().filter_map(|s| s.line).map(|l| l.0).collect::<Vec<_>>();
            assert_eq!(lines_of(one), lines_of(two), "{cc} {}: two threads that do the same", opt.flag());
            if opt == OptLevel::O0 {
                // `work` is called eight times directly and eight times through a pointer.
                let returns = one.iter().filter(|s| s.line.is_some_and(|l| l.0 == 8)).count();
                assert_eq!((returns, one.iter().filter(|s| s.line.is_some_and(|l| l.0 == 13)).count() >= 8), (16, true), "{cc}");
            }
        }
    }
}

#[test]
fn a_thread_that_never_ends_does_not_outlast_the_time_limit() {
    let source = "#include <pthread.h>\nvoid *spin(void *a) { for (;;) __asm__(\"\"); return a; }\nint main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, spin, 0);\n  pthread_join(t, 0);\n  return 0;\n}\n";
    let program = Program::new(source);
    let Some(mut request) = program.build("gcc-12", OptLevel::O0, &["-pthread"]) else { return };
    request.limits = Limits { wall: std::time::Duration::from_secs(1), ..Limits::seconds(20) };
    match NativeEngine.trace(&request, &mut Trace::default()) {
        Err(TraceError::BadProgram { reason, .. }) => assert_eq!(reason, "did not finish within 1 s"),
        other => panic!("{other:?}"),
    }
}

const FORKS: &str = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int twice(int x) {
  return x * 2;
}
int main(void) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    int in_child = twice(4);
    _exit(in_child);
  }
  waitpid(child, &status, 0);
  int shell = system("exit 3");
  return twice(WEXITSTATUS(status) + WEXITSTATUS(shell));
}
"#;

#[test]
fn a_program_that_may_fork_is_followed_in_the_parent_or_in_the_child() {
    let program = Program::new(FORKS);
    for cc in ["gcc-12", "clang-16"] {
        let Some(mut request) = program.build(cc, OptLevel::O0, &[]) else { continue };
        assert!(matches!(NativeEngine.trace(&request, &mut Trace::default()), Err(TraceError::BadProgram { .. })));
        request.launch.allowed = [Permission::Fork].into_iter().collect();
        let parent = lines(&request, &NativeEngine).0;
        assert!(parent.contains(&17) && !parent.contains(&12), "{parent:?}");
        request.follow = Follow::Child;
        let child = lines(&request, &NativeEngine).0;
        assert!(child.contains(&12) && child.contains(&6) && !child.contains(&16), "{child:?}");
        if let Ok(gdb) = GdbEngine::find() {
            assert_eq!(child, lines(&request, &gdb).0, "{cc}");
        }
    }
}

const SOCKETS: &str = r"
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
int talk(void) {
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, other = own;
  socklen_t length = sizeof own;
  int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  if (server < 0)
    return 1;
  if (bind(server, (void *)&own, length) || listen(server, 1) || getsockname(server, (void *)&own, &length))
    return 2;
  if (connect(client, (void *)&own, length))
    return 3;
  other.sin_addr.s_addr = htonl(0x01010101);
  other.sin_port = htons(53);
  int away = socket(AF_INET, SOCK_DGRAM, 0);
  if (connect(away, (void *)&other, length) == 0)
    return 4;
  return errno == ENETUNREACH ? 7 : 5;
}
void *helper(void *argument) {
  *(int *)argument = talk();
  return argument;
}
int main(void) {
  int here = talk(), there = 0;
  pthread_t thread;
  pthread_create(&thread, 0, helper, &there);
  pthread_join(thread, 0);
  return here + there;
}
";

#[test]
fn sockets_are_refused_to_every_thread_and_reach_the_program_itself_where_they_are_allowed() {
    let program = Program::new(SOCKETS);
    let Some(mut request) = program.build("gcc-12", OptLevel::O0, &["-pthread"]) else { return };
    let results = |request: &TraceRequest| {
        let mut trace = Trace::default();
        let summary = NativeEngine.trace(request, &mut trace).unwrap();
        let last = trace.steps.last().unwrap();
        let value = |name: &str| last.vars.iter().find(|v| &*v.name == name).map(|v| format!("{:?}", v.observation));
        (value("here"), value("there"), summary.refusals.len())
    };
    let both = |text: &str| (Some(format!("Value({text:?})")), Some(format!("Value({text:?})")));
    let (here, there, refusals) = results(&request);
    assert_eq!(((here, there), refusals), (both("1"), 1));
    request.launch.allowed = [Permission::Net].into_iter().collect();
    let (here, there, refusals) = results(&request);
    assert_eq!(((here, there), refusals), (both("7"), 0));
}

#[test]
fn a_refused_write_is_noticed_with_what_would_allow_it() {
    let source = "#include <stdio.h>\nint main(void) {\n  FILE *f = fopen(\"result.txt\", \"w\");\n  FILE *null = fopen(\"/dev/null\", \"w\");\n  return f == 0 && null != 0;\n}\n";
    let program = Program::new(source);
    let Some(mut request) = program.build("gcc-12", OptLevel::O0, &[]) else { return };
    if trueline_toolchain::confinement_support() != trueline_toolchain::ConfinementSupport::Full {
        println!("skipped: this kernel has no Landlock");
        return;
    }
    let refusals = lines(&request, &NativeEngine).1.refusals;
    let told: Vec<String> = refusals.iter().map(|r| format!("{} {r}", r.permission)).collect();
    assert_eq!(told, ["write openat(\"result.txt\")"]);
    request.launch.allowed = [Permission::Write].into_iter().collect();
    request.launch = request.launch.set_stage().unwrap();
    assert_eq!(lines(&request, &NativeEngine).1.refusals, []);
}

/// What the program is told of itself, and a value that depends on it.
const NAMED: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  unsigned hash = 0;
  for (char *c = argv[0]; *c; c++)
    hash = hash * 31 + (unsigned char)*c;
  char word[8] = "";
  if (!fgets(word, sizeof word, stdin))
    return 1;
  char *colour = getenv("COLOUR");
  int first = colour ? colour[0] : 0;
  return (int)(hash + word[0] + first + argc) & 1;
}
"#;

#[test]
fn every_engine_gives_a_program_the_same_name_environment_and_input() {
    let program = Program::new(NAMED);
    let Some(mut request) = program.build("gcc-12", OptLevel::O0, &[]) else { return };
    request.launch.name = Some("it's a name".into());
    request.launch.env = vec![("COLOUR".into(), "red \\ 'x'".into())];
    request.launch.stdin = Some(program.scratch.write("input", "zebra\n").unwrap());
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(NativeEngine)];
    engines.extend(GdbEngine::find().ok().map(|e| Box::new(e) as Box<dyn Engine>));
    engines.extend(trueline_trace::LldbEngine::find().ok().map(|e| Box::new(e) as Box<dyn Engine>));
    let seen = |engine: &dyn Engine| {
        let mut trace = Trace::default();
        engine.trace(&request, &mut trace).unwrap();
        let last = trace.steps.iter().rfind(|s| s.line.is_some_and(|l| l.0 == 13)).expect("a stop on the last line");
        let text = |name: &str| last.vars.iter().find(|v| &*v.name == name).map(|v| format!("{:?}", v.observation));
        (text("hash"), text("word"), text("first"))
    };
    let native = seen(&NativeEngine);
    assert!(native.2.as_ref().is_some_and(|t| t.contains("114")), "{native:?}");
    for engine in engines {
        let (name, word, first) = seen(&*engine);
        assert_eq!((&word, &first), (&native.1, &native.2), "{}", engine.kind());
        // lldb 16 tells a program its path, whatever it is asked to tell.
        assert!(name == native.0 || engine.kind() == EngineKind::Lldb, "{}: {name:?}", engine.kind());
    }
}
