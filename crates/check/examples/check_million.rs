//! What a check of a program of a million steps costs: every invariant, both builds, and the peak of memory.
//!
//! usage: million [CC] [LEVEL]   (default gcc-12 -O2)

use std::time::Duration;
use trueline_check::{CheckOptions, Checker};
use trueline_model::{Language, OptLevel, Origin, Program, wording};
use trueline_toolchain::{Limits, find_compiler};

/// About six steps per turn at -O0; the values of `state`, `a`, `b`, `c` and of the table never settle. The limit is one of CPU time, since the machine may be loaded.
const SOURCE: &str = "#include <stdio.h>
unsigned table[4], total;
static unsigned state = 1;
static unsigned next(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
static int mix(int a, int b) {
  int c = a ^ (b << 1);
  table[c & 3] += (unsigned)a;
  return c;
}
int main(void) {
  for (int i = 0; i < 111200; i++) {
    int x = mix((int)(next() & 0xffff), i);
    total += (unsigned)x;
  }
  printf(\"%u\\n\", total);
  return 0;
}
";

fn main() {
    let mut args = std::env::args().skip(1);
    let compiler = find_compiler(&args.next().unwrap_or_else(|| "gcc-12".into())).expect("a compiler");
    let level: OptLevel = args.next().map_or(OptLevel::O2, |l| l.parse().expect("a level"));
    let program = Program {
        name: "million.c".into(),
        language: Language::C,
        source: SOURCE.into(),
        origin: Origin::File { path: "million.c".into() },
        cflags: Vec::new(),
    };
    let options = CheckOptions {
        max_steps: 2_000_000,
        limits: Limits { cpu: Duration::from_secs(600), ..Limits::seconds(7200) },
        ..CheckOptions::default()
    };
    let checker = Checker::new(options).expect("an engine");
    let reference = checker.reference(&program, &compiler).expect("the -O0 build");
    let run = checker.check(&program, &reference, &compiler, level, &[]).expect("a check");
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    let stat = std::fs::read_to_string("/proc/self/stat").expect("stat");
    let ticks: Vec<u64> =
        stat.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(4).map(|t| t.parse().unwrap_or(0)).collect();
    println!(
        "{} steps at -O0, {} at {level}, {} violations, {:.0} CPU-s with all children, peak of the checker {peak}",
        run.reference_steps,
        run.optimized_steps,
        run.violations.len(),
        ticks.iter().sum::<u64>() as f64 / 100.0,
    );
    for violation in &run.violations {
        println!("  {}", wording::words(violation).title);
    }
}
