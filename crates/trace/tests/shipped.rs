//! What programs that people ship do, each in a small program, held against gdb on the same stops.

mod common;

use common::{Program, native};
use trueline_model::{Frame, OptLevel, Step, StepSink, Trace};
use trueline_trace::{Engine, GdbEngine, NativeEngine};

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
