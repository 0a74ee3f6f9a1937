//! Memory and speed of a trace of a million steps that nobody keeps.

use std::ops::ControlFlow;
use trueline_model::{Language, OptLevel, Step, StepSink};
use trueline_toolchain::{CompileRequest, Limits, Scratch, find_compiler};
use trueline_trace::{Engine, NativeEngine, TraceRequest};

const SOURCE: &str = "int g[64], total;
static int f(int a, int b) {
  int c = a * b;
  g[c & 63] += a;
  return c ^ b;
}
int main(void) {
  for (int i = 0; i < 1000000; i++) {
    int x = f(i, i + 1);
    total += x;
  }
  return total & 1;
}
";

/// Looks at every step and forgets it.
#[derive(Default)]
struct Forget(usize);

impl StepSink for Forget {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        self.0 += step.vars.len();
        ControlFlow::Continue(())
    }
}

fn main() {
    let scratch = Scratch::new().expect("scratch");
    let source = scratch.write("million.c", SOURCE).expect("source");
    let request = CompileRequest::new(source, Language::C, OptLevel::O0, scratch.join("million"));
    let build = find_compiler("gcc").expect("gcc").compile(&request).expect("build");
    let mut request = TraceRequest::new(build.binary);
    request.limits = Limits::seconds(600);
    let mut sink = Forget::default();
    let summary = NativeEngine.trace(&request, &mut sink).expect("trace");
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let peak = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
    let cpu = summary.cpu.as_secs_f64();
    println!("{} steps, {} variables, {cpu:.1} CPU-s, {:.0} steps per CPU-s, {peak}", summary.steps, sink.0, summary.steps as f64 / cpu);
}
