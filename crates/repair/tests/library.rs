//! Functions that call the C library are run, not left alone: allocations are objects, strings are read, a call that ends the program
//! ends the run.

mod common;

use common::build;
use trueline_repair::mend::Trust;
use trueline_repair::repair::{Proofs, Request, repair};
use trueline_toolchain::Scratch;

const SOURCE: &str = r#"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int out[8];
__attribute__((noinline)) void heap(int n) {
  int *p = malloc(sizeof *p * (unsigned)n);
  if (!p)
    exit(1);
  for (int i = 0; i < n; i++)
    p[i] = i * 3;
  p = realloc(p, sizeof *p * (unsigned)n * 2);
  int *q = calloc(8, 4);
  q[1] = p[n - 1];
  out[0] = q[1] + q[2];
  free(q);
  free(p);
}
__attribute__((noinline)) void text(const char *s) {
  char *copy = strdup(s);
  for (char *c = copy; *c; c++)
    *c = (char)toupper((unsigned char)*c);
  out[1] = (int)strlen(copy) + (int)strtol(s, 0, 10);
  out[2] = strcmp(copy, s) + (strchr(s, 'x') != 0) + isalpha((unsigned char)s[0]);
  fprintf(stderr, "%s", "");
  free(copy);
}
__attribute__((noinline)) void ends(int n) {
  out[3] = n;
  int last = n * 2;
  out[4] = last;
  exit(0);
}
int main(void) {
  heap(20);
  heap(31);
  text("12 x");
  text("word");
  ends(3);
}
"#;

#[test]
fn functions_that_call_the_library_are_run() {
    for (cc, level) in [("gcc", "-O2"), ("clang", "-O2")] {
        let scratch = Scratch::new().unwrap();
        let (Some(reference), Some(binary)) = (
            build(&scratch, cc, SOURCE, &["-O0", "-g", "-w"], "reference"),
            build(&scratch, cc, SOURCE, &[level, "-g", "-w"], "optimized"),
        ) else {
            continue;
        };
        let functions = ["heap", "text", "ends"].map(str::to_owned).to_vec();
        let request = Request { functions, trust: Trust::Validated, proofs: Proofs::Off, ..Request::new(&binary, &reference) };
        for f in repair(&request, &mut |_| {}).unwrap().report.functions {
            assert!(f.reason.is_none() && f.runs > 0, "{cc} {}: {:?} after {} runs", f.name, f.reason, f.runs);
        }
    }
}
