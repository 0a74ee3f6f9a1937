//! The situations of the paper's figures as own IR, each with the outcome it expects from each version of
//! LLVM in `; expect <versions>: …` lines: `clean`, or kind, operation and destination (`*` for any).

use std::io::Write;
use std::path::{Path, PathBuf};
use trueline_passes::{Detail, FileReport, Options, analyze_file, find_hook};
use trueline_toolchain::{Limits, Tool, ToolKind, find_tool};

fn options(opt: Tool) -> Options {
    Options {
        stage: trueline_passes::PassStage::Optimizer,
        opt,
        hook: find_hook().expect("cargo builds the hook library with this crate"),
        passes: None,
        cc: None,
        level: trueline_model::OptLevel::O2,
        cflags: Vec::new(),
        limits: Limits::seconds(60),
        detail: Detail::default(),
        compare_output: true,
    }
}

fn opt(version: &str) -> Option<Tool> {
    let found = find_tool(ToolKind::Opt, Some(&format!("opt-{version}"))).ok();
    if found.is_none() {
        eprintln!("skipped: opt-{version} is not installed");
    }
    found
}

/// Which outcome a file expects from which versions.
fn expectations(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|l| l.strip_prefix("; expect "));
    let of_line = |line: &str| {
        let (versions, outcome) = line.split_once(": ").expect("`versions: outcome`");
        versions.split_whitespace().map(|v| (v.to_owned(), outcome.to_owned())).collect::<Vec<_>>()
    };
    lines.flat_map(of_line).collect()
}

fn meets(report: &FileReport, outcome: &str) -> bool {
    if outcome == "clean" {
        return report.report.errors.is_empty() && report.report.pairs > 0;
    }
    let words: Vec<&str> = outcome.split_whitespace().collect();
    report.report.errors.iter().any(|e| {
        let destination = e.dst.text.split(" = ").next().unwrap_or("");
        format!("{:?}", e.kind).to_lowercase() == words[0]
            && format!("{:?}", e.expected).to_lowercase() == words[1]
            && (words[2] == "*" || destination == words[2])
    })
}

#[test]
fn every_figure_has_the_outcome_it_expects_on_every_version() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut checked = 0;
    for file in files {
        for (version, outcome) in expectations(&std::fs::read_to_string(&file).unwrap()) {
            let Some(opt) = opt(&version) else { continue };
            let report = analyze_file(&file, &options(opt));
            assert_eq!(report.problems, [], "{} on {version}", file.display());
            assert!(meets(&report, &outcome), "{} on {version}: expected {outcome}, got {:#?}", file.display(), report.report.errors);
            checked += 1;
        }
    }
    assert!(checked > 0 || ["14", "16", "19"].iter().all(|version| opt(version).is_none()), "no figure was looked at");
    eprintln!("{checked} outcomes");
}

/// LLVM's own tests that are no part of this project: where `TRUELINE_DATA` says, or in a directory beside the checkout.
fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TRUELINE_DATA").map(PathBuf::from);
    let directory = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")).join(name);
    if !directory.is_dir() {
        // Past the harness, which would swallow it: a test that looked at nothing says so.
        let said = format!("\nskipped: {} is not here; TRUELINE_DATA names another directory\n", directory.display());
        std::io::stderr().write_all(said.as_bytes()).unwrap();
        return None;
    }
    Some(directory)
}

/// The one test whose pass does nothing before 17: LLVM does not unswitch selects there.
const DOES_NOTHING: &str = "SimpleLoopUnswitch__preserving-dropping-debugloc-nontrivial.ll";

/// The tests that came with the fixes of the paper's errors: wrong on 14 and 16, right on 19.
#[test]
fn the_published_fixes_are_reported_before_and_not_after() {
    let Some(directory) = data("pass-tests") else { return };
    let entries = std::fs::read_dir(&directory).unwrap();
    let files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "ll")).collect();
    assert_eq!(files.len(), 15, "{}", directory.display());
    for version in ["14", "16", "19"] {
        let Some(opt) = opt(version) else { continue };
        let options = options(opt);
        for file in &files {
            let report = analyze_file(file, &options);
            let name = file.file_name().unwrap().to_string_lossy();
            if version == "14" && !report.problems.is_empty() {
                eprintln!("{name} does not run on 14: {}", report.problems[0].message);
                continue;
            }
            assert_eq!(report.problems, [], "{name} on {version}");
            let acts = version == "19" || name != DOES_NOTHING;
            assert_eq!(report.report.pairs > 0, acts, "{name} on {version}: {} pairs", report.report.pairs);
            let expected = version != "19" && acts;
            assert_eq!(!report.report.errors.is_empty(), expected, "{name} on {version}: {:#?}", report.report.errors);
        }
    }
}

#[test]
fn the_program_of_figure_2_shows_the_error_from_c_to_the_whole_pipeline() {
    // As in figure 2a, but with conditions that earlier passes cannot decide.
    let source = "int recursion(int a) {\n  if (a > 2) {\n    int sub = a - 1;\n    if (a & 1) {\n      return recursion(sub) + 1;\n    } else {\n      \
                  return recursion(sub - 3) * 2;\n    }\n  }\n  return 0;\n}\n\nint main(int argc, char **argv) {\n  return recursion(argc);\n}\n";
    let scratch = trueline_toolchain::Scratch::new().unwrap();
    let file = scratch.write("recursion.c", source).unwrap();
    for (version, wrong) in [("16", true), ("19", false)] {
        let Some(opt) = opt(version) else { continue };
        if trueline_toolchain::find_compiler(&format!("clang-{version}")).is_err() {
            eprintln!("skipped: clang-{version} is not installed");
            continue;
        }
        let report = analyze_file(&file, &options(opt));
        assert_eq!(report.problems, [], "on {version}");
        assert!(report.report.passes_run > 100, "the whole pipeline is watched, not {} passes", report.report.passes_run);
        let errors: Vec<_> = report.report.errors.iter().filter(|e| e.pass == "TailCallElimPass").collect();
        assert_eq!(!errors.is_empty(), wrong, "on {version}: {errors:#?}");
        if let Some(error) = errors.first() {
            assert_eq!((error.srcs[0].line, error.dst.line), (Some(5), Some(5)), "{error:#?}");
            assert!(error.skeleton.contains("Drop("), "{}", error.skeleton);
        }
    }
}

#[test]
fn one_pipeline_on_one_module_is_a_function_call() {
    let Some(opt) = opt("16") else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir/figure2-tail-recursion.ll");
    let report = trueline_passes::analyze_module(&file, &opt, "function(tailcallelim)").unwrap();
    assert_eq!(report.problems, []);
    assert_eq!(report.report.errors.len(), 1, "{:#?}", report.report.errors);
    assert_eq!(report.report.errors[0].pass, "TailCallElimPass");
    // Another pipeline has nothing to do with recursion.
    let report = trueline_passes::analyze_module(&file, &opt, "dce").unwrap();
    assert!(report.problems.is_empty() && report.report.errors.is_empty());
}
