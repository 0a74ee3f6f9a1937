//! The hostile programs are valid C: sanitizers find nothing on any round, and every build computes the same.

use std::path::{Path, PathBuf};
use trueline_adversary::program::{HostileProgram, Round, choose};
use trueline_adversary::trial;
use trueline_toolchain::{Job, Limits, Scratch, find_compiler};

/// What the program prints; fails the test when it does not end well.
fn printed(program: &HostileProgram, binary: &Path) -> String {
    let rounds = program.ordinary().into_iter().chain(program.hostile());
    // Sanitizers reserve far more address space than they use.
    let limits = Limits { memory: None, ..Limits::seconds(120) };
    let outcome = Job::new(binary).args(rounds.map(|r: Round| r.argument())).limits(limits).run().unwrap();
    assert!(outcome.success(), "seed {}: {:?} {}", program.seed, outcome.exit, outcome.stderr_text());
    outcome.stdout_text()
}

fn sanitized(program: &HostileProgram, dir: &Path, cc: &str) -> PathBuf {
    let sources: Vec<PathBuf> = program
        .units()
        .into_iter()
        .map(|(name, text)| {
            let path = dir.join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let output = dir.join(format!("sanitized-{cc}"));
    let outcome = find_compiler(cc)
        .unwrap()
        .job()
        .args(["-w", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"])
        .args(&sources)
        .arg("-o")
        .arg(&output)
        .limits(Limits { memory: None, ..Limits::seconds(300) })
        .run()
        .unwrap();
    assert!(outcome.success(), "{}", outcome.stderr_text());
    output
}

#[test]
fn every_kind_is_free_of_undefined_behaviour_and_computes_the_same_in_every_build() {
    let kinds = choose(&[]);
    let compilers: Vec<&str> = ["gcc-12", "clang-16"].into_iter().filter(|cc| find_compiler(cc).is_ok()).collect();
    if compilers.is_empty() {
        eprintln!("skipped: neither gcc-12 nor clang-16 is here");
        return;
    }
    for seed in [1, 2] {
        let program = HostileProgram::make(seed, kinds.len(), &kinds);
        let scratch = Scratch::new().unwrap();
        let mut results = Vec::new();
        for cc in &compilers {
            results.push((format!("{cc} sanitized"), printed(&program, &sanitized(&program, scratch.path(), cc))));
            for level in ["-O0", "-O3"] {
                let binary = trial::build(&program, scratch.path(), cc, &[level, "-g"], "plain").unwrap();
                results.push((format!("{cc} {level}"), printed(&program, &binary)));
            }
        }
        assert!(results.iter().all(|r| r.1 == results[0].1), "{results:?}");
    }
}
