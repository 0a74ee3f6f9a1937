//! Proofs from elsewhere, the second solver, and the page.

use std::path::{Path, PathBuf};
use trueline_machine::image::Image;
use trueline_repair::html;
use trueline_repair::mend::Trust;
use trueline_repair::repair::{Proofs, RepairOutcome, Request, repair};
use trueline_toolchain::{Limits, Scratch, ToolKind, find_compiler, find_tool};

const SOURCE: &str = "int X[640], Y[640], val = 3;
__attribute__((noinline)) void s000(void) {
  int i = 0;
  for (; i < 640; i++)
    X[i] = Y[i] + val;
}
int main(void) {
  s000();
  return X[3] & 1;
}
";

fn build(scratch: &Scratch, flags: &[&str], name: &str) -> Option<PathBuf> {
    let source = scratch.write("s000.c", SOURCE).unwrap();
    let compiler = find_compiler("clang-16").ok()?;
    let output = scratch.join(name);
    let outcome = compiler.job().args(flags).arg(&source).arg("-o").arg(&output).limits(Limits::seconds(120)).run().unwrap();
    assert!(outcome.success(), "{}", outcome.stderr_text());
    Some(output)
}

fn both(scratch: &Scratch) -> Option<(PathBuf, PathBuf)> {
    let pair = build(scratch, &["-O3", "-msse4.2", "-g"], "optimized").zip(build(scratch, &["-O0", "-g"], "reference"));
    if pair.is_none() {
        eprintln!("skipped: no clang-16");
    }
    pair
}

fn run(binary: &Path, reference: &Path, solver: Option<&str>, proof: Option<PathBuf>, trust: Trust) -> RepairOutcome {
    let request = Request {
        functions: vec!["s000".to_owned()],
        trust,
        variations: 1,
        proofs: if solver.is_some() { Proofs::On } else { Proofs::Off },
        solver: solver.map(str::to_owned),
        proof_file: proof,
        ..Request::new(binary, reference)
    };
    repair(&request, &mut |_| {}).unwrap()
}

#[test]
fn both_solvers_prove_the_same_and_trust_decides_what_is_replaced() {
    let scratch = Scratch::new().unwrap();
    let Some((binary, reference)) = both(&scratch) else { return };
    let mut counts = Vec::new();
    for (kind, name) in [(ToolKind::Z3, "z3"), (ToolKind::Cvc5, "cvc5")] {
        if find_tool(kind, None).is_err() {
            eprintln!("skipped: no {name}");
            continue;
        }
        let outcome = run(&binary, &reference, Some(name), None, Trust::Proved);
        let f = &outcome.report.functions[0];
        assert!(f.constant > 0 && f.validated == 0, "{name}: {f:?}");
        assert!(!f.assumptions.is_empty());
        counts.push((f.updated, f.proved));
    }
    assert!(counts.windows(2).all(|c| c[0] == c[1]), "{counts:?}");
    // Without proofs the compiler's constant stays, unless validation is trusted.
    let careful = run(&binary, &reference, None, None, Trust::Proved);
    assert_eq!(careful.report.functions[0].constant, 0);
    let trusting = run(&binary, &reference, None, None, Trust::Validated);
    assert!(trusting.report.functions[0].constant > 0);
}

#[test]
fn a_proof_from_elsewhere_is_reduced_spread_and_checked_against_the_runs() {
    let scratch = Scratch::new().unwrap();
    let Some((binary, reference)) = both(&scratch) else { return };
    let found = run(&binary, &reference, None, None, Trust::Validated);
    let f = &found.report.functions[0];
    let (head, _) = f.loops[0];
    let at_head = f.locations.iter().find(|l| l.low == head && l.variable == "i").unwrap();
    // clang counts the index itself, maybe from an offset: i = REG or i = REG ± 0xN.
    let words: Vec<&str> = at_head.relation.split(' ').collect();
    let number = |w: &str| i64::from_str_radix(w.trim_start_matches("0x"), 16).unwrap();
    let (register, shift) = match words.as_slice() {
        [register] => (*register, 0),
        [register, "-", n] => (*register, -number(n)),
        [register, "+", n] => (*register, number(n)),
        other => panic!("another loop than expected: {other:?}"),
    };
    let given = |terms: &str| {
        format!(
            r#"{{"schema":"trueline.repair-proof/1","functions":[{{"name":"s000","points":[{{"pc":{head},"invariants":[{terms}]}}]}}]}}"#
        )
    };
    let good = scratch.write("good.json", given(&format!(r#"{{"terms":{{"i":-2,"{register}":2}},"constant":{}}}"#, 2 * shift))).unwrap();
    // Somebody's word is not a proof: without a solver of our own it is validated by the runs.
    let outcome = run(&binary, &reference, None, Some(good), Trust::Validated);
    let g = &outcome.report.functions[0];
    assert!(g.validated > 1 && g.proved == 0, "spread beyond the point itself: {:?}", g.locations);
    assert!(g.locations.iter().any(|l| l.low <= head && l.high > head && l.relation == at_head.relation), "{:?}", g.locations);
    // A false one must not be believed, whoever says it.
    let bad = scratch.write("bad.json", given(&format!(r#"{{"terms":{{"i":1,"{register}":-3}},"constant":5}}"#))).unwrap();
    let outcome = run(&binary, &reference, None, Some(bad), Trust::Validated);
    assert_eq!(outcome.report.functions[0].updated, 0);
}

#[test]
fn the_page_shows_every_pc_before_and_after() {
    let scratch = Scratch::new().unwrap();
    let Some((binary, reference)) = both(&scratch) else { return };
    let outcome = run(&binary, &reference, None, None, Trust::Validated);
    let page = html::page(&Image::open(&binary).unwrap(), &outcome.bytes, &outcome.report).unwrap();
    let f = &outcome.report.functions[0];
    assert_eq!(page.matches("<tr><td><code>").count(), f.total, "one row per instruction");
    assert!(page.contains("i before") && page.contains("<td class=\"constant\">constant"), "{page}");
    for l in &f.locations {
        let shown = format!("<code>{}</code>", l.relation.replace('&', "&amp;").replace('<', "&lt;"));
        assert!(page.contains(&shown), "{shown}");
    }
}
