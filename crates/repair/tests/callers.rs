//! The frame of a caller, seen from its callee: a debugger looks it up inside the call, where registers that the callee need not keep
//! hold something else already.

mod common;

use common::build;
use trueline_repair::repair::{Request, repair};
use trueline_repair::written;
use trueline_toolchain::{Limits, Scratch, ToolKind, find_tool};

const SOURCE: &str = "int out[64];
__attribute__((noinline)) int use(int x) {
  int y = out[2] * 1000 + 7;
  out[1] = x;
  out[3] = y;
  return y;
}
__attribute__((noinline)) void f(int n) {
  int t = n * 12;
  out[5] = n;
  int u = t + 5;
  use(u);
  out[6] = n;
}
int main(void) { f(5); f(9); return out[1] & 1; }
";

#[test]
fn a_callee_that_overwrites_a_register_does_not_change_what_its_caller_shows() {
    let Ok(gdb) = find_tool(ToolKind::Gdb, None) else {
        eprintln!("skipped: no gdb");
        return;
    };
    for (cc, level) in [("gcc-12", "-O1"), ("clang-16", "-O1"), ("clang-16", "-O2")] {
        let scratch = Scratch::new().unwrap();
        let (Some(reference), Some(binary)) = (
            build(&scratch, cc, SOURCE, &["-O0", "-g"], "reference"),
            build(&scratch, cc, SOURCE, &[level, "-g", "-fno-inline"], "optimized"),
        ) else {
            continue;
        };
        let request = Request { functions: vec!["f".to_owned()], ..Request::new(&binary, &reference) };
        let outcome = repair(&request, &mut |_| {}).unwrap();
        let output = scratch.join("repaired");
        written::write(&binary, &output, &outcome.bytes).unwrap();
        let job = gdb.job().args(["-nx", "-nh", "-batch", "-ex", "break 5", "-ex", "run", "-ex", "up", "-ex", "print t", "-ex", "print u"]);
        let said = job.arg(&output).limits(Limits::seconds(120)).run().unwrap().stdout_text();
        // The callee has put 7 into the register that `t` was made from.
        for (shown, value) in [("$1 = ", "60"), ("$2 = ", "65")] {
            if let Some(line) = said.lines().find(|l| l.starts_with(shown)) {
                assert!(line.ends_with(value) || line.ends_with("<optimized out>"), "{cc} {level}: {said}\n{:?}", outcome.report.functions);
            }
        }
        assert!(said.contains("in f "), "{cc} {level}: {said}");
    }
}
