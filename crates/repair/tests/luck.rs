//! What held by luck of the program's own data: the file is repaired on one run, and checked on others.

mod common;

use common::build;
use trueline_machine::image::Image;
use trueline_repair::repair::{Request, repair};
use trueline_repair::{verify, written};
use trueline_toolchain::Scratch;

/// The argument says where the largest element stands, how many are looked at, and how many stores change nothing.
const SOURCE: &str = "#include <stdlib.h>
#define N 320
int v[N], w[N], out[N], limit = 6, sink;
__attribute__((noinline)) int largest(void) {
  int i;
  int m = v[0];
  for (i = 1; i < N; i++)
    if (v[i] > m)
      m = v[i];
  return m;
}
__attribute__((noinline)) void add(int count, int by) {
  int i;
  for (i = 0; i < count; i++)
    out[i] = w[i] + by;
}
__attribute__((noinline)) void guarded(void) {
  int i;
  for (i = 0; i < N; i++) {
    v[i] += w[i];
    if (v[i] < limit)
      out[i] = v[i] + 1;
  }
}
int main(int argc, char **argv) {
  int where = argc > 1 ? atoi(argv[1]) : 100;
  int count = argc > 2 ? atoi(argv[2]) : N;
  int quiet = argc > 3 ? atoi(argv[3]) : 0;
  for (int k = 0; k < N; k++) v[k] = k * 7 % 31, w[k] = k * 5 % 11 - 5;
  v[where] = 1000;
  sink += largest();
  add(count, 3);
  for (int k = 0; k < N; k++) out[k] = quiet && (k / quiet) % 2 ? v[k] + w[k] + 1 : -1;
  guarded();
  return 0;
}
";

/// Wrong values on other data than the program's own, and how many were compared.
fn wrong_elsewhere(cc: &str, variations: u64) -> Option<(Vec<String>, usize)> {
    let scratch = Scratch::new().unwrap();
    let binary = build(&scratch, cc, SOURCE, &["-O3", "-msse4.2", "-g"], "optimized")?;
    let reference = build(&scratch, cc, SOURCE, &["-O0", "-g"], "reference").unwrap();
    let functions = ["largest", "add", "guarded"].map(str::to_owned).to_vec();
    let request = Request { functions, proofs: trueline_repair::repair::Proofs::Off, ..Request::new(&binary, &reference) };
    let request = Request { variations, trust: trueline_repair::mend::Trust::Validated, ..request };
    let outcome = repair(&request, &mut |_| {}).unwrap();
    let output = scratch.join("repaired");
    written::write(&binary, &output, &outcome.bytes).unwrap();
    let (old, new) = (Image::open(&reference).unwrap(), Image::open(&output).unwrap());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for f in &outcome.report.functions {
        assert_eq!(f.reason, None, "{}", f.name);
        let own = |pc: u64, name: &str, line: u64| {
            f.locations.iter().any(|l| pc >= l.low && pc < l.high && l.variable == name && l.decl_line == line)
        };
        // Every lane, both ends, counts without and with a rest, none at all, and stores that change nothing.
        for args in
            [["0", "3", "1"], ["1", "0", "2"], ["2", "-4", "3"], ["3", "5", "4"], ["317", "17", "5"], ["318", "2", "8"], ["319", "1", "1"]]
        {
            let checked = verify::verify(&old, &new, &f.name, &args.map(str::to_owned), &own).unwrap();
            wrong.extend(checked.wrong.iter().map(|w| format!("{cc} {} {args:?}: {w:?}", f.name)));
            compared += checked.own;
        }
    }
    Some((wrong, compared))
}

fn stays_right(cc: &str) {
    let Some((wrong, compared)) = wrong_elsewhere(cc, Request::new("", "").variations) else { return };
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 1000, "{cc}: only {compared} values were compared");
}

#[test]
fn what_rests_on_the_programs_own_input_alone_is_not_wrong_elsewhere() {
    if let Some((wrong, _)) = wrong_elsewhere("gcc", 0) {
        assert!(wrong.is_empty(), "too little was taken for enough: {}", wrong.join("\n"));
    }
}

#[test]
fn what_gcc_keeps_in_lanes_is_right_on_other_data() {
    stays_right("gcc");
}

#[test]
fn what_clang_keeps_in_lanes_is_right_on_other_data() {
    stays_right("clang-16");
}
