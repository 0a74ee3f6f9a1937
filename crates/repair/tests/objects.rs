//! Objects that are not linked: where the linker will put their parts is not known, so nothing may be written that depends on it, and
//! what is proved holds wherever they end up.

mod common;

use common::build;
use std::path::Path;
use trueline_machine::image::{Image, ImageKind};
use trueline_repair::mend::{Label, Trust};
use trueline_repair::repair::{RepairOutcome, Request, repair};
use trueline_repair::{rewrite, written};
use trueline_toolchain::{Limits, Scratch, ToolKind, find_compiler, find_tool};

fn repaired(binary: &Path, reference: &Path, trust: Trust) -> RepairOutcome {
    repair(&Request { trust, ..Request::new(binary, reference) }, &mut |_| {}).unwrap()
}

const LOOP: &str = "extern int a[512], b[512];
int own[512];
static int sum;
void f(void) {
  for (int i = 0; i < 512; i++)
    a[i] = b[i] + own[i];
}
int g(void) {
  for (int i = 0; i < 512; i++) {
    int t = own[i] * 3;
    sum += t;
    own[i] = sum;
  }
  return sum;
}
";

#[test]
fn the_second_placement_has_the_same_code_and_other_distances() {
    let scratch = Scratch::new().unwrap();
    for cc in ["gcc-12", "clang-16"] {
        let Some(object) = build(&scratch, cc, LOOP, &["-O2", "-g", "-c"], "object.o") else { continue };
        let first = Image::open(&object).unwrap();
        let second = first.elsewhere().unwrap();
        assert_eq!(first.kind, ImageKind::Relocatable);
        let mut moved = Vec::new();
        for (x, y) in first.sections.iter().zip(&second.sections).filter(|(x, _)| x.loaded && x.size > 0) {
            assert_eq!(x.code, x.address == y.address, "{cc}: {}", x.name);
            moved.extend((!x.code).then(|| y.address - x.address));
        }
        let outside = |image: &Image, name: &str| image.outside.iter().find(|(_, n)| *n == name).map(|(at, _)| *at).unwrap();
        for name in ["a", "b"] {
            moved.push(outside(&second, name) - outside(&first, name));
        }
        let all = moved.len();
        moved.sort_unstable();
        moved.dedup();
        assert!(moved.len() > 2 && moved.len() + 1 >= all, "{cc}: nearly everything moves by another distance: {moved:x?}");
    }
}

#[test]
fn loops_over_arrays_of_other_files_are_proved_in_objects() {
    let scratch = Scratch::new().unwrap();
    for (cc, level) in [("gcc-12", "-O3"), ("clang-16", "-O2")] {
        let (Some(reference), Some(binary)) = (
            build(&scratch, cc, LOOP, &["-O0", "-g", "-c"], "reference.o"),
            build(&scratch, cc, LOOP, &[level, "-g", "-c"], "optimized.o"),
        ) else {
            continue;
        };
        let outcome = repaired(&binary, &reference, Trust::Validated);
        let f = outcome.report.functions.iter().find(|f| f.name == "f").unwrap();
        assert!(f.proved > 0, "{cc} {level}: {:?} {:?} {:?}", f.reason, f.unproved, f.locations);
    }
}

/// Pointers to objects whose distance the linker decides, so that a counter follows from the difference of two of them.
const DISTANCES: &str = "extern int a[256], b[256]; int c[256]; extern void use(int *, int *);
void f(void) {
  int *p = a, *q = b, *r = c;
  for (int i = 0; i < 256; i++) {
    *p++ = *q++ + i;
    *r++ = i * 5;
  }
  use(p, q);
}
int *g(int k) {
  int *p = &c[k & 127];
  long far = p - c;
  *p = (int)far;
  use(p, a);
  return p;
}
";

#[test]
fn no_location_in_an_object_depends_on_where_a_part_was_put() {
    let scratch = Scratch::new().unwrap();
    for (cc, level) in [("gcc-12", "-O3"), ("clang-16", "-O1")] {
        for extra in ["-fPIE", "-fno-pie"] {
            let (Some(reference), Some(binary)) = (
                build(&scratch, cc, DISTANCES, &["-O0", "-g", "-c", extra], "reference.o"),
                build(&scratch, cc, DISTANCES, &[level, "-g", "-c", extra], "optimized.o"),
            ) else {
                continue;
            };
            let outcome = repaired(&binary, &reference, Trust::Validated);
            for edit in &outcome.edits {
                for range in &edit.ranges {
                    let rewrite::RangeContent::New(relation, _) = &range.content else { continue };
                    let text = relation.to_string();
                    // The parts are more than 2^16 apart, and every array is smaller.
                    let large = text.split([' ', '/', '(', ')', '*', '-']).filter_map(|w| w.strip_prefix("0x"));
                    let large: Vec<u64> = large.filter_map(|w| u64::from_str_radix(w, 16).ok()).filter(|n| *n >= 0xff00).collect();
                    assert!(large.is_empty(), "{cc} {level} {extra}: {text} at {:#x}", range.low);
                }
            }
        }
    }
}

#[test]
fn a_linked_object_shows_the_values_wherever_the_linker_put_its_parts() {
    let Ok(gdb) = find_tool(ToolKind::Gdb, None) else {
        eprintln!("skipped: no gdb");
        return;
    };
    let main = "int pad1[4096] = {1}, b[512]; int pad2[77]; int a[512]; extern int own[512]; void f(void);
int main(void) { for (int i = 0; i < 512; i++) b[i] = i * i; f(); return a[3] & 1; }\n";
    for (cc, level) in [("gcc-12", "-O2"), ("clang-16", "-O2")] {
        let scratch = Scratch::new().unwrap();
        let (Some(reference), Some(binary)) = (
            build(&scratch, cc, LOOP, &["-O0", "-g", "-c"], "reference.o"),
            build(&scratch, cc, LOOP, &[level, "-g", "-c", "-fno-tree-vectorize"], "optimized.o"),
        ) else {
            continue;
        };
        let outcome = repaired(&binary, &reference, Trust::Validated);
        let output = scratch.join("repaired.o");
        written::write(&binary, &output, &outcome.bytes).unwrap();
        let main = scratch.write("main.c", main).unwrap();
        let linked = scratch.join("linked");
        let job = find_compiler(cc).unwrap().job().arg(&main).arg(&output).arg("-o").arg(&linked);
        assert!(job.limits(Limits::seconds(120)).run().unwrap().success());
        let f = outcome.report.functions.iter().find(|f| f.name == "f").unwrap();
        let Some(proved) = f.locations.iter().find(|l| l.variable == "i" && l.label == Label::Proved) else { continue };
        // At the first instruction with a new location, the n-th time: it counts up from the first.
        let place = format!("break *((char *)&f + {})", proved.low - f.address);
        let mut job = gdb.job().args(["-nx", "-nh", "-batch", "-ex", &place, "-ex", "run"]);
        for _ in 0..5 {
            job = job.args(["-ex", "print i", "-ex", "continue"]);
        }
        let said = job.arg(&linked).limits(Limits::seconds(120)).run().unwrap().stdout_text();
        let shown: Vec<i64> = said.lines().filter_map(|l| l.strip_prefix('$')?.split(" = ").nth(1)?.parse().ok()).collect();
        let step = shown.get(1).zip(shown.first()).map_or(0, |(b, a)| b - a);
        assert!(shown.len() > 1 && shown[0] == 0 && step > 0, "{cc} {level}: {said}");
        assert!(shown.windows(2).all(|w| w[1] - w[0] == step), "{cc} {level}: {said}");
    }
}
