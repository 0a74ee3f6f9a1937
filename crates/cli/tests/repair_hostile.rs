//! `trueline repair` against its adversary: functions made so that what holds on the program's own run fails on rare input.
//! The inputs are chosen after the repair, and gdb's values are compared with the -O0 build's.

mod common;

use common::have;
use std::path::Path;
use trueline_adversary::program::{Program, choose};
use trueline_adversary::repaired::Label;
use trueline_adversary::tally::Tally;
use trueline_adversary::trial::{self, Build};

fn try_kinds(kinds: &[&str], build: &str, seed: u64, functions: usize) -> Tally {
    let names: Vec<String> = kinds.iter().map(|k| (*k).to_owned()).collect();
    let program = Program::make(seed, functions, &choose(&names));
    let findings = trial::run(&program, &[Build::parse(build).unwrap()], Path::new(env!("CARGO_BIN_EXE_trueline"))).unwrap();
    for wrong in findings.wrong.iter().filter(|w| w.judged.label == Label::Proved) {
        println!("{} {:?} round {}: {:?}", wrong.kind, wrong.build, wrong.round.argument(), wrong.judged);
    }
    println!("{}", findings.tally);
    findings.tally
}

/// No proved value is wrong, and some were compared.
fn holds(kinds: &[&str], build: &str, seed: u64, functions: usize) {
    let (cc, _) = build.split_once(':').unwrap();
    if !have(&[cc, "gdb", "z3"]) {
        return;
    }
    let proved = try_kinds(kinds, build, seed, functions).of(Label::Proved);
    assert_eq!(proved.wrong, 0, "of {} proved values", proved.compared());
    assert!(proved.compared() > 0, "no proved value was compared");
}

/// Kinds of which these programs have no wrong proved value today. All kinds, in every build, belong here once the proofs hold
/// for them; until then `make fuzz-repair` counts what is wrong.
const CLEAN: [&str; 10] = [
    "divided_pointer",
    "inlined_twice",
    "wrap_counter",
    "wrap_unsigned",
    "local_table",
    "masks",
    "own_log",
    "recursion",
    "recursion_effect",
    "tail_recursion",
];

#[test]
fn clean_kinds_hold_in_gcc_at_o2() {
    holds(&CLEAN, "gcc-12:-O2", 1, 20);
}

#[test]
fn clean_kinds_hold_in_clang_at_o1() {
    holds(&CLEAN, "clang-16:-O1", 3, 20);
}
