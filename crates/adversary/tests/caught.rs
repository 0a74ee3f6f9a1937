//! The judge, in real gdb: a build that tells the truth passes, one that lies is found out.

use std::collections::BTreeSet;
use std::path::PathBuf;
use trueline_adversary::calls::{self, Sampled};
use trueline_adversary::gdb::{GdbSession, GdbStop, Places};
use trueline_adversary::judge::{JudgedShown, ReferenceMoments, ValueVerdict, judge};
use trueline_adversary::repaired::{LocationLabel, RepairedFunction, RepairedLocation, Sidecar};
use trueline_toolchain::{Job, Limits, Scratch, ToolKind, find_compiler, find_tool};

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

fn stops(binary: &PathBuf, places: Places) -> Vec<GdbStop> {
    let shared = SHARED.map(|(n, s)| (n.to_owned(), s)).to_vec();
    let session = GdbSession { binary, units: vec!["source.c".to_owned()], shared, mark: None, args: Vec::new(), places, limit: 10_000 };
    session.run().unwrap()
}

/// Where `f` starts, and one past its end.
fn extent(binary: &PathBuf) -> (u64, u64) {
    let listed = Job::new("nm").args(["-S", "--defined-only"]).arg(binary).run().unwrap().stdout_text();
    let line = listed.lines().find(|l| l.ends_with(" T f")).unwrap();
    let mut numbers = line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap_or(0));
    let start = numbers.next().unwrap();
    (start, start + numbers.next().unwrap())
}

/// The values of `t` at sampled calls, as if the whole of `f` had a proved location for it.
fn sampled(extra: u32) -> Option<Sampled> {
    if find_tool(ToolKind::Gdb, None).is_err() || find_compiler("gcc").is_err() {
        eprintln!("skipped: gdb or gcc is missing");
        return None;
    }
    let scratch = Scratch::new().unwrap();
    let (reference, optimized) = (build(&scratch, "-O0", 1), build(&scratch, "-Og", extra));
    let (start, end) = extent(&optimized);
    let pcs: BTreeSet<u64> =
        stops(&optimized, Places::Functions(Vec::new())).iter().map(|s| s.pc).filter(|pc| (start..end).contains(pc)).collect();
    let location = |low: &u64| RepairedLocation {
        low: *low,
        high: low + 1,
        variable: "t".to_owned(),
        decl_line: 3,
        function: "f".to_owned(),
        label: LocationLabel::Proved,
        relation: String::new(),
    };
    let function = RepairedFunction { name: "f".to_owned(), address: start, reason: None, locations: pcs.iter().map(location).collect() };
    let sidecar = Sidecar { functions: vec![function] };
    Some(calls::sample(&reference, &optimized, &sidecar, &[], 1, 10_000).unwrap())
}

#[test]
fn sampled_calls_of_an_honest_build_pass() {
    let Some(sampled) = sampled(1) else { return };
    assert!(sampled.matched.contains("f") && sampled.unmatched.is_empty(), "{sampled:?}");
    assert_eq!(wrong_of(&sampled.judged, "t"), 0, "{sampled:?}");
    let right = sampled.judged.iter().filter(|j| j.variable == "t" && j.verdict == ValueVerdict::Right).count();
    assert!(right > 4, "{sampled:?}");
}

#[test]
fn a_lie_is_found_in_sampled_calls() {
    let Some(sampled) = sampled(2) else { return };
    assert!(wrong_of(&sampled.judged, "t") > 4, "{sampled:?}");
}

/// Every value of `f` at every stop of a -Og build, judged by the -O0 build.
fn judged(extra: u32) -> Option<Vec<JudgedShown>> {
    if find_tool(ToolKind::Gdb, None).is_err() || find_compiler("gcc").is_err() {
        eprintln!("skipped: gdb or gcc is missing");
        return None;
    }
    let scratch = Scratch::new().unwrap();
    let (reference, optimized) = (build(&scratch, "-O0", 1), build(&scratch, "-Og", extra));
    let moments = stops(&reference, Places::Functions(Vec::new()));
    let rows: Vec<(u64, u64)> = stops(&optimized, Places::Functions(Vec::new())).iter().map(|s| (s.pc, s.pc + 1)).collect();
    let shown = stops(&optimized, Places::Ranges(rows));
    Some(judge(&ReferenceMoments::new(&moments), &shown, &Sidecar { functions: Vec::new() }.index()))
}

fn wrong_of(judged: &[JudgedShown], variable: &str) -> usize {
    judged.iter().filter(|j| j.variable == variable && matches!(j.verdict, ValueVerdict::Wrong { .. })).count()
}

#[test]
fn a_build_that_shows_the_source_passes() {
    let Some(judged) = judged(1) else { return };
    for variable in ["k", "t", "i"] {
        assert_eq!(wrong_of(&judged, variable), 0, "{judged:#?}");
        assert!(judged.iter().any(|j| j.variable == variable && j.verdict == ValueVerdict::Right), "{variable} was never compared");
    }
}

#[test]
fn a_variable_that_is_off_by_one_is_found() {
    let Some(judged) = judged(2) else { return };
    assert!(wrong_of(&judged, "t") > 4, "{judged:#?}");
    assert_eq!(wrong_of(&judged, "k") + wrong_of(&judged, "i"), 0, "{judged:#?}");
}
