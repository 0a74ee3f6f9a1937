//! weave against real compilers: both back ends mean the same, and nothing is undefined.

use trueline_generate::{weave, weave_swarm, weave_wide};
use trueline_model::{Language, OptLevel, Program};
use trueline_toolchain::{CompileRequest, Compiler, Exit, Job, Limits, Scratch, find_compiler};

fn output(compiler: &Compiler, seed: u64, language: Language, opt: OptLevel, flags: &[&str]) -> String {
    output_of(compiler, &weave(seed, language), opt, flags)
}

fn output_of(compiler: &Compiler, program: &Program, opt: OptLevel, flags: &[&str]) -> String {
    let scratch = Scratch::new().unwrap();
    let name = &program.name;
    let source = scratch.write(&program.name, &program.source).unwrap();
    let mut request = CompileRequest::new(source, program.language, opt, scratch.join("program")).flags(flags.iter().copied());
    request.limits = Limits { memory: None, ..Limits::seconds(60) };
    let build = compiler.compile(&request).unwrap_or_else(|e| panic!("{name}: {e}"));
    let run = Job::new(&build.binary).limits(Limits { memory: None, ..Limits::seconds(10) }).run().unwrap();
    assert_eq!(run.exit, Exit::Code(0), "{name}: {}", run.stderr_text());
    assert!(run.stderr.is_empty(), "{name}: {}", run.stderr_text());
    run.stdout_text()
}

#[test]
fn c_and_rust_print_the_same() {
    let Ok(gcc) = find_compiler("gcc") else { return println!("skipped: gcc is not installed") };
    let Ok(rustc) = find_compiler("rustc") else { return println!("skipped: rustc is not installed") };
    for seed in 9000..9012 {
        let c = output(&gcc, seed, Language::C, OptLevel::O1, &[]);
        let rust = output(&rustc, seed, Language::Rust, OptLevel::O0, &[]);
        assert_eq!(c, rust, "seed {seed}");
        assert!(c.trim().parse::<u32>().is_ok(), "{c}");
    }
}

#[test]
fn programs_are_clean_under_the_sanitizers() {
    let Ok(gcc) = find_compiler("gcc") else { return println!("skipped: gcc is not installed") };
    let flags = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"];
    for seed in 9100..9130 {
        output(&gcc, seed, Language::C, OptLevel::O1, &flags);
    }
}

#[test]
fn wide_c_is_clean_under_the_sanitizers_and_prints_the_same_at_every_level() {
    let Ok(gcc) = find_compiler("gcc") else { return println!("skipped: gcc is not installed") };
    let flags = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"];
    for seed in 9200..9210 {
        let wide = |opt, flags: &[&str]| output_of(&gcc, &weave_wide(seed, Language::C), opt, flags);
        let sanitized = wide(OptLevel::O1, &flags);
        for opt in [OptLevel::O0, OptLevel::O3] {
            assert_eq!(sanitized, wide(opt, &[]), "seed {seed} {opt:?}");
        }
    }
}

#[test]
fn wide_rust_prints_the_same_with_checked_arithmetic_and_optimized() {
    let Ok(rustc) = find_compiler("rustc") else { return println!("skipped: rustc is not installed") };
    for seed in 9300..9308 {
        let wide = |opt, flags: &[&str]| output_of(&rustc, &weave_wide(seed, Language::Rust), opt, flags);
        let checked = wide(OptLevel::O0, &["-Coverflow-checks=on", "-Cdebug-assertions=on"]);
        assert_eq!(checked, wide(OptLevel::O3, &[]), "seed {seed}");
    }
}

#[test]
fn swarm_c_and_cxx_are_clean_under_the_sanitizers_and_print_the_same_at_every_level() {
    let flags = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"];
    for (name, language) in [("gcc", Language::C), ("g++", Language::Cpp)] {
        let Ok(compiler) = find_compiler(name) else { return println!("skipped: {name} is not installed") };
        for seed in 9400..9408 {
            let swarm = |opt, flags: &[&str]| output_of(&compiler, &weave_swarm(seed, language), opt, flags);
            let sanitized = swarm(OptLevel::O1, &flags);
            for opt in [OptLevel::O0, OptLevel::O3] {
                assert_eq!(sanitized, swarm(opt, &[]), "{language} seed {seed} {opt:?}");
            }
        }
    }
}

#[test]
fn swarm_rust_prints_the_same_with_checked_arithmetic_and_optimized() {
    let Ok(rustc) = find_compiler("rustc") else { return println!("skipped: rustc is not installed") };
    for seed in 9500..9506 {
        let swarm = |opt, flags: &[&str]| output_of(&rustc, &weave_swarm(seed, Language::Rust), opt, flags);
        let checked = swarm(OptLevel::O0, &["-Coverflow-checks=on", "-Cdebug-assertions=on"]);
        assert_eq!(checked, swarm(OptLevel::O3, &[]), "seed {seed}");
    }
}
