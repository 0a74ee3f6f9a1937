//! LLVM's Dexter tests: C and C++ files that say in their comments what a debugger must show on its way through the program,
//! either with commands (`DexExpectWatchValue(…)`) or with a script (`!where`, `!value`).
//!
//! Deliberately absent: Dexter's score. A test's expectation holds or it does not.

mod commands;
mod nodes;
mod python;
mod structured;
mod value;
mod walk;
mod yaml;

use crate::Asker;
use crate::answer::Told;
use crate::script::{Plan, Test};
use std::collections::HashMap;
use std::path::Path;
use trueline_model::Language;

/// What leads through the program.
#[derive(Clone, Debug, PartialEq)]
pub enum Script {
    /// Commands in comments.
    Commands(commands::Commands),
    /// A script of nodes.
    Nodes(Vec<nodes::State>),
}

/// Stops of one walk; Dexter's own limit.
pub(crate) const MOST_STEPS: usize = 1000;

/// Reads a test; one without questions is none.
pub(crate) fn parse(path: &Path, text: &str) -> Test {
    let mut test = Test {
        path: path.to_owned(),
        language: Language::of_path(path).unwrap_or(Language::C),
        options: options(text),
        sources: Vec::new(),
        skipped: skipped(text),
        questions: Vec::new(),
        plan: Plan::Walk(Script::Nodes(Vec::new())),
    };
    test.plan = Plan::Walk(match nodes::document(text) {
        Some(lines) => {
            let labels = labels(text, "!dex_label");
            match nodes::read(&lines, &labels, &mut test.questions) {
                Ok(states) => Script::Nodes(states),
                Err(reason) => {
                    nodes::refuse(&lines, &reason, &mut test.questions);
                    Script::Nodes(Vec::new())
                }
            }
        }
        None => Script::Commands(commands::read(text, &mut test)),
    });
    test
}

/// Puts a test to an engine.
pub(crate) fn follow(asker: &Asker, binary: &Path, test: &Test, script: &Script) -> Result<Vec<(usize, Told)>, String> {
    match script {
        Script::Commands(commands) => walk::follow(asker, binary, test, commands),
        Script::Nodes(states) => structured::follow(asker, binary, test, states),
    }
}

/// Flags of the first compiler in a `RUN` line. The level and the kind of debug information are the runner's.
fn options(text: &str) -> Vec<String> {
    let runs = text.lines().filter_map(|l| l.split_once("RUN:").map(|r| r.1.trim()));
    let Some(line) = runs.into_iter().find(|r| r.starts_with("%clang") || r.starts_with("%dexter_regression_test")) else {
        return Vec::new();
    };
    let mut flags = Vec::new();
    let mut words = line.split_whitespace().skip(1);
    while let Some(word) = words.next() {
        match word {
            "-o" => drop(words.next()),
            "|" | "&&" | "\\" | ";" => break,
            _ if word.starts_with('%') || word.starts_with("-O") || word.starts_with("-g") => {}
            _ => flags.push(word.to_owned()),
        }
    }
    flags
}

/// Why a test is not for this machine.
fn skipped(text: &str) -> Option<String> {
    for line in text.lines() {
        if let Some(needed) = line.split_once("REQUIRES:").map(|r| r.1)
            && ["system-windows", "system-darwin"].iter().any(|s| needed.contains(s))
        {
            return Some(format!("the test is for another system (REQUIRES:{needed})"));
        }
        if let Some(not) = line.split_once("UNSUPPORTED:").map(|r| r.1)
            && ["system-linux", "target=x86_64"].iter().any(|s| not.contains(s))
        {
            return Some(format!("the test skips itself here (UNSUPPORTED:{not})"));
        }
    }
    None
}

/// Lines by the names that a mark gives them: `!dex_label start`.
fn labels(text: &str, mark: &str) -> HashMap<String, u32> {
    let mut found = HashMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((_, rest)) = line.split_once(mark)
            && let Some(name) = rest.split_whitespace().next()
        {
            found.entry(name.to_owned()).or_insert(number);
        }
    }
    found
}

/// The name that a script compares with a function's: without parameters.
pub(crate) fn bare(function: &str) -> &str {
    function.split('(').next().unwrap_or(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_first_compiler_count_but_for_level_and_debug_information() {
        let text = "// RUN: %clang++ -std=gnu++11 -O2 -glldb -Xclang -foo %s -o %t\n// RUN: %dexter -w --binary %t -- %s\n";
        assert_eq!(options(text), ["-std=gnu++11", "-Xclang", "-foo"]);
        assert_eq!(options("int main() {}"), [""; 0]);
    }

    #[test]
    fn a_test_for_windows_is_skipped() {
        assert!(skipped("// REQUIRES: system-windows\n").is_some());
        assert_eq!(skipped("// REQUIRES: lldb\n// UNSUPPORTED: system-windows\n"), None);
    }
}
