//! Bad input: each failure has its own kind and a message that says what failed; other files go on.

use std::path::PathBuf;
use trueline_passes::observation::{Observation, ObservationError};
use trueline_passes::{Batch, Detail, Options, ProblemKind, analyze_file, find_hook};
use trueline_toolchain::{Job, Limits, Scratch, Tool, ToolKind, find_compiler, find_tool};

fn options(opt: Tool, passes: Option<&str>) -> Options {
    Options {
        stage: trueline_passes::PassStage::Optimizer,
        opt,
        hook: find_hook().expect("cargo builds the hook library with this crate"),
        passes: passes.map(str::to_owned),
        cc: None,
        level: trueline_model::OptLevel::O2,
        cflags: Vec::new(),
        limits: Limits::seconds(60),
        detail: Detail::default(),
        compare_output: false,
    }
}

fn opt(name: &str) -> Option<Tool> {
    let found = find_tool(ToolKind::Opt, Some(name)).ok();
    if found.is_none() {
        eprintln!("skipped: {name} is not installed");
    }
    found
}

const GOOD: &str = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 0\n  ret i32 %b\n}\n";

#[test]
fn a_module_that_does_not_parse_or_verify_is_refused_with_the_tools_words() {
    let Some(opt) = opt("opt-16") else { return };
    let scratch = Scratch::new().unwrap();
    let cases = [
        ("parse.ll", "define i32 @f( {\n", "error"),
        ("verify.ll", "define i32 @f(i32 %a) {\n  %c = add i32 %b, 1\n  %b = add i32 %a, 1\n  ret i32 %c\n}\n", "error"),
    ];
    for (name, text, word) in cases {
        let file = scratch.write(name, text).unwrap();
        let report = analyze_file(&file, &options(opt.clone(), Some("instcombine")));
        assert_eq!(report.problems.len(), 1, "{name}: {:?}", report.problems);
        assert_eq!(report.problems[0].kind, ProblemKind::Refused, "{name}: {:?}", report.problems);
        assert!(report.problems[0].message.contains(word) && report.problems[0].message.contains(name), "{:?}", report.problems);
    }
}

#[test]
fn a_pass_that_opt_does_not_know_is_named() {
    let Some(opt) = opt("opt-16") else { return };
    let scratch = Scratch::new().unwrap();
    let file = scratch.write("good.ll", GOOD).unwrap();
    let report = analyze_file(&file, &options(opt, Some("no-such-pass")));
    assert_eq!(report.problems[0].kind, ProblemKind::Refused);
    assert!(report.problems[0].message.contains("no-such-pass"), "{:?}", report.problems);
}

#[test]
fn a_crash_names_the_pass_and_what_it_did_last() {
    // LLVM 14 crashes in this pass on opaque pointers.
    let Some(opt) = opt("opt-14") else { return };
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/ir/figure6a-store-forwarding.ll");
    let report = analyze_file(&file, &options(opt, None));
    assert_eq!(report.problems[0].kind, ProblemKind::Crashed, "{:?}", report.problems);
    assert!(report.problems[0].message.contains("LoopLoadEliminationPass on `forward`"), "{:?}", report.problems);
}

#[test]
fn an_entry_that_cannot_be_read_does_not_stop_the_others() {
    let Some(opt) = opt("opt-16") else { return };
    let scratch = Scratch::new().unwrap();
    let good = scratch.write("good.ll", GOOD).unwrap();
    let gone = scratch.join("gone.ll");
    std::os::unix::fs::symlink("/nowhere/at/all", scratch.join("dangling.ll")).unwrap();
    let batch = Batch::collect(&[good.parent().unwrap().to_owned(), gone.clone()], trueline_passes::PassStage::Optimizer);
    let reports = batch.run(&options(opt, Some("instcombine")), |_, _| {});
    let problems = |name: &str| &reports.iter().find(|r| r.file.ends_with(name)).unwrap().problems;
    assert!(problems("good.ll").is_empty());
    assert_eq!(problems("dangling.ll")[0].kind, ProblemKind::Unreadable);
    assert_eq!(problems("gone.ll")[0].kind, ProblemKind::Unreadable);
}

#[test]
fn a_library_that_is_no_llvm_we_know_is_refused_and_left_alone() {
    let scratch = Scratch::new().unwrap();
    let library = scratch.write("library.c", "int answer(void) { return 42; }\n").unwrap();
    let program = scratch.write("program.c", "int answer(void);\nint main(void) { return answer(); }\n").unwrap();
    let gcc = find_compiler("gcc").unwrap();
    let run = |job: Job| assert!(job.run().unwrap().success());
    run(gcc.job().args(["-shared", "-fPIC", "-o"]).arg(scratch.join("libLLVM-99.so")).arg(&library));
    let directory = library.parent().unwrap().to_string_lossy().into_owned();
    run(gcc
        .job()
        .arg(&program)
        .args([format!("-L{directory}"), format!("-Wl,-rpath,{directory}"), "-lLLVM-99".into(), "-o".into()])
        .arg(scratch.join("program")));
    let events = scratch.join("events");
    let job = Job::new(scratch.join("program")).env("LD_PRELOAD", find_hook().unwrap()).env(trueline_llvm_hook::OUTPUT_VARIABLE, &events);
    assert_eq!(job.run().unwrap().exit, trueline_toolchain::Exit::Code(42));
    match Observation::read(&trueline_llvm_hook::read_stream(&events)) {
        Err(ObservationError::Refused(reason)) => assert!(reason.contains("versions 13 to 22"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_without_llvm_runs_as_ever() {
    let scratch = Scratch::new().unwrap();
    let events = scratch.join("events");
    let job = Job::new("/bin/echo").arg("hello").env("LD_PRELOAD", find_hook().unwrap()).env(trueline_llvm_hook::OUTPUT_VARIABLE, &events);
    let outcome = job.run().unwrap();
    assert_eq!(outcome.stdout_text(), "hello\n");
    assert!(!events.exists());
    assert!(matches!(Observation::read(&[]), Err(ObservationError::Silent)));
}

#[test]
fn a_pass_that_runs_thousands_of_times_is_survived_and_changes_nothing() {
    let Some(opt) = opt("opt-16") else { return };
    let scratch = Scratch::new().unwrap();
    let function = |i: usize| {
        format!(
            "define i32 @f{i}(i32 %a, i32 %b) {{\n  %x = add i32 %a, {i}\n  %y = sub i32 %x, %b\n  %z = add i32 %y, %b\n  ret i32 %z\n}}\n"
        )
    };
    let file = scratch.write("many.ll", (0..1500).map(function).collect::<String>()).unwrap();
    let mut options = options(opt, Some("function(instcombine,reassociate,early-cse)"));
    options.compare_output = true;
    let report = analyze_file(&file, &options);
    assert_eq!(report.problems, []);
    assert!(report.report.passes_run >= 4500, "{}", report.report.passes_run);
}

#[test]
fn a_run_line_with_an_option_that_is_not_there_costs_only_itself() {
    let Some(opt) = opt("opt-16") else { return };
    let scratch = Scratch::new().unwrap();
    let runs = "; RUN: opt -S -passes=instcombine -no-such-option < %s\n; RUN: opt -S -passes=instcombine < %s\n";
    let file = scratch.write("two.ll", format!("{runs}{GOOD}")).unwrap();
    let report = analyze_file(&file, &options(opt, None));
    assert!(report.problems.iter().all(|p| p.kind == ProblemKind::Refused) && !report.problems.is_empty(), "{:?}", report.problems);
    assert!(report.analysed > 0 && report.report.passes_run > 0, "the second line ran");
}
