//! The judge, in real gdb: a build that tells the truth passes, one that lies is found out.

use std::path::PathBuf;
use trueline_adversary::gdb::{Places, Session, Stop};
use trueline_adversary::judge::{Judged, Moments, Verdict, judge};
use trueline_adversary::repaired::Sidecar;
use trueline_toolchain::{Limits, Scratch, ToolKind, find_compiler, find_tool};

const SHARED: [(&str, u64); 2] = [("out", 64), ("round_no", 4)];

/// `t` is `k + EXTRA`, and nothing but a debugger can see it.
const SOURCE: &str = "int out[16], round_no;
__attribute__((noinline)) void f(int k) {
  int t = k + EXTRA;
  out[0] = k;
  int i;
  for (i = 0;
       i < 4;
       i++)
    out[i + 1] = t - EXTRA;
  out[7] = i;
}
int main(int argc, char **argv) {
  round_no = 1;
  f(argc);
  round_no = 2;
  f(argc + 5);
  return 0;
}
";

fn build(scratch: &Scratch, level: &str, extra: u32) -> PathBuf {
    let source = scratch.write("source.c", SOURCE).unwrap();
    let output = scratch.join(format!("build{level}{extra}"));
    let compiler = find_compiler("gcc").unwrap();
    let define = format!("-DEXTRA={extra}");
    let job = compiler.job().args([level, "-g", &define]).arg(&source).arg("-o").arg(&output).limits(Limits::seconds(60));
    assert!(job.run().unwrap().success());
    output
}

fn stops(binary: &PathBuf, places: Places) -> Vec<Stop> {
    let shared = SHARED.map(|(n, s)| (n.to_owned(), s)).to_vec();
    let session = Session { binary, units: vec!["source.c".to_owned()], shared, mark: None, runs: vec![Vec::new()], places, limit: 10_000 };
    session.run().unwrap().remove(0)
}

/// Every value of `f` at every stop of a -Og build, judged by the -O0 build.
fn judged(extra: u32) -> Option<Vec<Judged>> {
    if find_tool(ToolKind::Gdb, None).is_err() || find_compiler("gcc").is_err() {
        eprintln!("skipped: gdb or gcc is missing");
        return None;
    }
    let scratch = Scratch::new().unwrap();
    let (reference, optimized) = (build(&scratch, "-O0", 1), build(&scratch, "-Og", extra));
    let moments = stops(&reference, Places::Rows(Vec::new()));
    let rows: Vec<(u64, u64)> = stops(&optimized, Places::Rows(Vec::new())).iter().map(|s| (s.pc, s.pc + 1)).collect();
    let shown = stops(&optimized, Places::Ranges(rows));
    Some(judge(&Moments::new(&moments), &shown, &Sidecar { functions: Vec::new() }.index()))
}

fn wrong_of(judged: &[Judged], variable: &str) -> usize {
    judged.iter().filter(|j| j.variable == variable && matches!(j.verdict, Verdict::Wrong { .. })).count()
}

#[test]
fn a_build_that_shows_the_source_passes() {
    let Some(judged) = judged(1) else { return };
    for variable in ["k", "t", "i"] {
        assert_eq!(wrong_of(&judged, variable), 0, "{judged:#?}");
        assert!(judged.iter().any(|j| j.variable == variable && j.verdict == Verdict::Right), "{variable} was never compared");
    }
}

#[test]
fn a_variable_that_is_off_by_one_is_found() {
    let Some(judged) = judged(2) else { return };
    assert!(wrong_of(&judged, "t") > 4, "{judged:#?}");
    assert_eq!(wrong_of(&judged, "k") + wrong_of(&judged, "i"), 0, "{judged:#?}");
}
