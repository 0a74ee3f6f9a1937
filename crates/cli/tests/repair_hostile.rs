//! `trueline repair` against its adversary: functions made so that what holds on the program's own run fails on rare input.
//! The inputs are chosen after the repair, and gdb's values are compared with the -O0 build's.

mod common;

use common::have;
use std::path::Path;
use trueline_adversary::program::{HostileProgram, choose};
use trueline_adversary::repaired::LocationLabel;
use trueline_adversary::tally::TrialTally;
use trueline_adversary::trial::{self, TrialBuild};

fn try_kinds(kinds: &[&str], build: &str, seed: u64, functions: usize) -> TrialTally {
    let names: Vec<String> = kinds.iter().map(|k| (*k).to_owned()).collect();
    let program = HostileProgram::make(seed, functions, &choose(&names));
    let findings = trial::run(&program, &[TrialBuild::parse(build).unwrap()], Path::new(env!("CARGO_BIN_EXE_trueline"))).unwrap();
    for wrong in findings.wrong.iter().filter(|w| w.judged.label == LocationLabel::Proved) {
        println!("{} {:?} round {}: {:?}", wrong.kind, wrong.build, wrong.round.argument(), wrong.judged);
    }
    println!("{}", findings.tally);
    findings.tally
}

/// No proved value is wrong.
fn holds(kinds: &[&str], build: &str, seed: u64, functions: usize) -> u64 {
    let (cc, _) = build.split_once(':').unwrap();
    if !have(&[cc, "gdb", "z3"]) {
        return 1;
    }
    let proved = try_kinds(kinds, build, seed, functions).of(LocationLabel::Proved);
    assert_eq!(proved.wrong, 0, "of {} proved values", proved.compared());
    proved.compared()
}

/// Every fourth kind, from one on. Together the four tests try every kind, each in one build; `make fuzz-repair` tries all of them in all.
fn quarter(from: usize) -> Vec<&'static str> {
    choose(&[]).iter().map(|k| k.name).skip(from).step_by(4).collect()
}

/// Functions of one program.
const BATCH: usize = 6;

fn quarter_holds(from: usize, build: &str, seed: u64) {
    let kinds = quarter(from);
    let batches = kinds.chunks(BATCH).enumerate();
    let compared: u64 = batches.map(|(n, some)| holds(some, build, seed + n as u64, some.len())).sum();
    assert!(compared > 0, "no proved value was compared");
}

#[test]
fn the_first_quarter_of_the_kinds_holds_in_gcc_at_o1() {
    quarter_holds(0, "gcc-12:-O1", 9100);
}

#[test]
fn the_second_quarter_of_the_kinds_holds_in_gcc_at_o3() {
    quarter_holds(1, "gcc-12:-O3", 9200);
}

#[test]
fn the_third_quarter_of_the_kinds_holds_in_clang_at_o2() {
    quarter_holds(2, "clang-16:-O2", 9300);
}

#[test]
fn the_last_quarter_of_the_kinds_holds_in_clang_at_os() {
    quarter_holds(3, "clang-16:-Os", 9400);
}
