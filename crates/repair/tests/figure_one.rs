//! s000 of the paper's figure 1, end to end: gcc and clang at -O3, in gdb and lldb.

mod common;

use common::build;
use std::path::{Path, PathBuf};
use trueline_machine::image::Image;
use trueline_repair::mend::Trust;
use trueline_repair::repair::{Request, repair};
use trueline_repair::report::NewLocation;
use trueline_repair::{verify, written};
use trueline_toolchain::{Limits, Scratch, ToolKind, find_compiler, find_tool};

const SOURCE: &str = "#include <stdio.h>
#define N 3200
int X[N], Y[N], val;
__attribute__((noinline)) void s000() {
  int i = 0;
  for (; i < N; i++)
    X[i] = Y[i] + val;
}
int main(void) {
  for (int k = 0; k < N; k++) Y[k] = k * 7 % 13;
  val = 5;
  s000();
  long s = 0;
  for (int k = 0; k < N; k++) s += X[k] * (k % 17);
  printf(\"%ld\\n\", s);
}
";

const SWAP: &str = "int X[640], Y[640];
__attribute__((noinline)) void swap(void) {
  int i;
  int t;
  for (i = 0; i < 640; i++) {
    t = X[i];
    X[i] = Y[i];
    Y[i] = t;
  }
}
int main(void) {
  for (int k = 0; k < 640; k++) X[k] = 1000 + 3 * k, Y[k] = 7 * k;
  swap();
  return 0;
}
";

/// The address of the loop head: the first PC of a range with a non-constant new location.
fn repaired(cc: &str) -> Option<(Scratch, PathBuf, PathBuf, u64, usize, Vec<NewLocation>)> {
    let scratch = Scratch::new().unwrap();
    let binary = build(&scratch, cc, SOURCE, &["-O3", "-msse4.2", "-g", "-no-pie"], "optimized")?;
    let reference = build(&scratch, cc, SOURCE, &["-O0", "-g", "-no-pie"], "reference")?;
    let request = Request { functions: vec!["s000".to_owned()], trust: Trust::Validated, ..Request::new(&binary, &reference) };
    let outcome = repair(&request, &mut |_| {}).unwrap();
    let function = &outcome.report.functions[0];
    assert_eq!(function.reason, None);
    // After the loop `i` is 640 in the one call there is: a constant of one call is not written for want of a proof.
    assert!(function.wrong_after <= 1, "{function:?}");
    let (head, unroll) = function.loops[0];
    let locations = function.locations.clone();
    let output = scratch.join("repaired");
    written::write(&binary, &output, &outcome.bytes).unwrap();
    if find_tool(ToolKind::Z3, None).is_ok() || find_tool(ToolKind::Cvc5, None).is_ok() {
        // The absolute addresses in a file that is linked to fixed ones are not tied to the reference's: proofs need the other kind.
        let binary = build(&scratch, cc, SOURCE, &["-O3", "-msse4.2", "-g", "-pie", "-fPIE"], "movable")?;
        let reference = build(&scratch, cc, SOURCE, &["-O0", "-g", "-pie", "-fPIE"], "movable-reference")?;
        let request = Request { binary, reference, ..request };
        let outcome = repair(&request, &mut |_| {}).unwrap();
        let function = &outcome.report.functions[0];
        // Between the stores of one vector iteration not every PC is shown to stand at its one source point.
        assert!(function.proved > function.validated, "most of it is proved: {:?}", function.locations);
        assert_eq!(function.wrong_after, 0, "{function:?}");
    }
    Some((scratch, output, reference, head, unroll, locations))
}

fn in_gdb(binary: &Path, head: u64, variable: &str) -> Option<Vec<String>> {
    let gdb = find_tool(ToolKind::Gdb, None).ok()?;
    let mut job = gdb.job().args(["-q", "-nx", "-batch", "-ex", &format!("break *{head:#x}"), "-ex", "run"]);
    for _ in 0..3 {
        job = job.args(["-ex", &format!("print {variable}"), "-ex", "continue"]);
    }
    let text = job.arg(binary).limits(Limits::seconds(120)).run().unwrap().stdout_text();
    Some(text.lines().filter(|l| l.starts_with('$')).map(|l| l.split(" = ").nth(1).unwrap_or("").to_owned()).collect())
}

fn in_lldb(binary: &Path, head: u64, variable: &str) -> Option<Vec<String>> {
    let lldb = find_tool(ToolKind::Lldb, None).or_else(|_| find_tool(ToolKind::Lldb, Some("lldb-16"))).ok()?;
    // With the module named: an address alone is not resolved before the program runs.
    let module = binary.file_name()?.to_string_lossy();
    let stop = format!("breakpoint set --shlib {module} --address {head:#x}");
    let mut job = lldb.job().args(["--no-lldbinit", "--batch", "-o", &stop, "-o", "run"]);
    for _ in 0..3 {
        job = job.args(["-o", &format!("frame variable {variable}"), "-o", "continue"]);
    }
    let limits = Limits { memory: None, ..Limits::seconds(120) };
    let text = job.arg(binary).limits(limits).run().unwrap().stdout_text();
    Some(text.lines().filter_map(|l| l.strip_prefix(&format!("(int) {variable} = "))).map(str::to_owned).collect())
}

fn both_print(binary: &Path, pc: u64, variable: &str, expected: &[String]) {
    match in_gdb(binary, pc, variable) {
        Some(values) => assert_eq!(values, expected, "gdb"),
        None => eprintln!("skipped: no gdb"),
    }
    match in_lldb(binary, pc, variable) {
        Some(values) => assert_eq!(values, expected, "lldb"),
        None => eprintln!("skipped: no lldb"),
    }
}

#[test]
fn an_integer_in_the_first_lane_of_a_vector_prints_in_both_debuggers() {
    let scratch = Scratch::new().unwrap();
    let Some(binary) = build(&scratch, "gcc-12", SWAP, &["-O3", "-msse4.2", "-g", "-no-pie"], "optimized") else { return };
    let Some(reference) = build(&scratch, "gcc-12", SWAP, &["-O0", "-g", "-no-pie"], "reference") else { return };
    let request = Request { functions: vec!["swap".to_owned()], trust: Trust::Validated, ..Request::new(&binary, &reference) };
    let outcome = repair(&request, &mut |_| {}).unwrap();
    let function = &outcome.report.functions[0];
    let lane = function.locations.iter().find(|l| l.variable == "t" && l.relation.starts_with("xmm"));
    let lane = lane.unwrap_or_else(|| panic!("{:?}", function.locations));
    let output = scratch.join("repaired");
    written::write(&binary, &output, &outcome.bytes).unwrap();
    let expected: Vec<String> = (0..3).map(|n| (1000 + 3 * 4 * n).to_string()).collect();
    both_print(&output, lane.low, "t", &expected);
}

fn check(cc: &str) {
    let Some((_scratch, output, reference, head, unroll, locations)) = repaired(cc) else { return };
    let expected: Vec<String> = (0..3).map(|n| (n * unroll).to_string()).collect();
    both_print(&output, head, "i", &expected);
    let (old, new) = (Image::open(&reference).unwrap(), Image::open(&output).unwrap());
    let own = |pc: u64, name: &str, line: u64| {
        locations.iter().any(|l| (l.low..l.high).contains(&pc) && l.variable == name && l.decl_line == line)
    };
    let seen = verify::verify(&old, &new, "s000", &[], &own).unwrap();
    assert!(seen.exact > 1000, "{seen:?}");
    assert_eq!(seen.wrong_count, 0, "{:?}", seen.wrong);
}

#[test]
fn gcc_s000_prints_the_right_i_in_both_debuggers() {
    check("gcc-12");
}

#[test]
fn clang_s000_prints_the_right_i_in_both_debuggers() {
    check("clang-16");
}

#[test]
fn a_source_that_is_not_the_binarys_is_refused_with_a_reason() {
    let scratch = Scratch::new().unwrap();
    let Some(binary) = build(&scratch, "gcc-12", SOURCE, &["-O3", "-g"], "optimized") else { return };
    let other = scratch.write("other.c", SOURCE.replace("Y[i] + val", "Y[i] - val")).unwrap();
    let reference = scratch.join("reference");
    let job = find_compiler("gcc-12").unwrap().job().args(["-O0", "-g"]).arg(&other).arg("-o").arg(&reference);
    assert!(job.run().unwrap().success());
    let request = Request { functions: vec!["s000".to_owned()], ..Request::new(&binary, &reference) };
    let outcome = repair(&request, &mut |_| {});
    if let Ok(outcome) = outcome {
        let function = &outcome.report.functions[0];
        assert_eq!(function.updated, 0);
        assert!(function.reason.as_ref().is_some_and(|r| r.contains("different memory")), "{:?}", function.reason);
    }
}
