//! What tests of the command line share: running `trueline`, reading its JSON, and saying which tool is missing here.
//! Not every test uses all of it.
#![allow(dead_code)]

use std::process::{Command, Output};

/// Runs `trueline` to its end.
pub fn trueline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trueline")).args(args).output().unwrap()
}

/// Whether all of these tools run here; prints the first that does not.
pub fn have(tools: &[&str]) -> bool {
    tools.iter().all(|tool| {
        let there = Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
        if !there {
            println!("skipped: no {tool} here");
        }
        there
    })
}

/// The one document that a command which succeeded printed.
pub fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
