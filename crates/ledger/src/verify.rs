//! Whether an entry still shows, in one compiler or debugger at one level. What an invariant speaks of is checked; anything else is
//! asked of the entry's own script, which knows what to look at.

use crate::entry::{LedgerEntry, Symptom};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use trueline_check::{CheckError, CheckOptions, Checker};
use trueline_model::{CompilerKind, Invariant, OptLevel, Violation};
use trueline_toolchain::{Compiler, Exit, Job, Limits, Tool};

/// What is tried on an entry.
#[derive(Clone, Copy, Debug)]
pub enum Tried<'a> {
    /// A compiler builds the program.
    Compiler(&'a Compiler),
    /// A debugger is shown the build of the compiler that the script takes by itself.
    Debugger(&'a Tool),
}

impl Tried<'_> {
    /// As entries write it: `gcc 12.2.0`.
    fn version(&self) -> String {
        match self {
            Self::Compiler(compiler) => format!("{} {}", compiler.id.kind, compiler.id.version),
            Self::Debugger(tool) => format!("{} {}", tool.kind, tool.version),
        }
    }

    /// The variable by which scripts are told what to use, and its value.
    fn told(&self) -> (&'static str, &std::path::Path) {
        match self {
            Self::Compiler(compiler) if compiler.id.kind == CompilerKind::Rustc => ("RUSTC", &compiler.id.path),
            Self::Compiler(compiler) => ("CC", &compiler.id.path),
            Self::Debugger(tool) if tool.kind == trueline_toolchain::ToolKind::Lldb => ("LLDB", &tool.path),
            Self::Debugger(tool) => ("GDB", &tool.path),
        }
    }
}

/// How long a script may take: debuggers need seconds to start on a busy machine.
const PATIENCE: u64 = 60;

/// What a build of the program shows today.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum State {
    /// The fault shows.
    Shows,
    /// The program was checked, and the fault does not show.
    Gone,
    /// The fault does not show; another one of the same invariant does.
    Changed {
        /// The lines where it shows.
        lines: Vec<u32>,
    },
    /// It cannot be told.
    NotChecked {
        /// Why.
        reason: String,
    },
}

/// What the ledger says of a version and level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recorded {
    /// It shows.
    Shows,
    /// It was looked for, and does not show.
    Absent,
    /// Nothing: the version is not in the entry.
    Nothing,
}

/// One build of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The compiler with its version, as entries write it: `gcc 12.2.0`.
    pub version: String,
    /// The level.
    pub level: OptLevel,
    /// What is seen.
    #[serde(flatten)]
    pub state: State,
    /// What the ledger says.
    pub recorded: Recorded,
}

impl Answer {
    /// True when the build contradicts the ledger. What cannot be told contradicts nothing.
    pub fn is_news(&self) -> bool {
        match (&self.state, self.recorded) {
            (State::NotChecked { .. }, _) | (_, Recorded::Nothing) => false,
            (State::Shows, recorded) => recorded == Recorded::Absent,
            (State::Gone | State::Changed { .. }, recorded) => recorded == Recorded::Shows,
        }
    }
}

/// Looks for an entry in a compiler or debugger, at every level at which it was ever seen.
pub fn verify(entry: &LedgerEntry, tried: Tried<'_>) -> Result<Vec<Answer>, CheckError> {
    let version = tried.version();
    let recorded = |level: OptLevel| match entry.bug.versions.get(&version) {
        None => Recorded::Nothing,
        Some(levels) if levels.contains(&level) => Recorded::Shows,
        Some(_) => Recorded::Absent,
    };
    let states = match (entry.bug.shows.invariant, tried) {
        (Some(invariant), Tried::Compiler(compiler)) => check(entry, invariant, compiler)?,
        _ => entry.levels().into_iter().map(|level| (level, ask_script(entry, tried, level))).collect(),
    };
    let answer = |(level, state)| Answer { version: version.clone(), level, state, recorded: recorded(level) };
    Ok(states.into_iter().map(answer).collect())
}

/// Builds the program and checks it.
fn check(entry: &LedgerEntry, wanted: Invariant, compiler: &Compiler) -> Result<Vec<(OptLevel, State)>, CheckError> {
    // Everything that is usual, as a user's check has it: one invariant's finding may be another's reason to be silent.
    let mut invariants: Vec<Invariant> = Invariant::usual().filter(|i| *i != Invariant::Codegen).collect();
    if !invariants.contains(&wanted) {
        invariants.push(wanted);
    }
    let checker = Checker::new(CheckOptions { invariants, ..CheckOptions::default() })?;
    let not_checked = |error: CheckError| State::NotChecked { reason: error.to_string() };
    let reference = match checker.reference(&entry.program, compiler) {
        Ok(reference) => reference,
        Err(error) => {
            let state = not_checked(error);
            return Ok(entry.levels().into_iter().map(|level| (level, state.clone())).collect());
        }
    };
    let look = |level: OptLevel| match checker.check(&entry.program, &reference, compiler, level, &[]) {
        Ok(run) => state_of(&entry.bug.shows, wanted, &run.violations),
        Err(error) => not_checked(error),
    };
    Ok(entry.levels().into_par_iter().map(|level| (level, look(level))).collect())
}

/// Runs the entry's script, whose exit code says whether the fault shows: 0 yes, 1 no, anything else that it cannot be told.
fn ask_script(entry: &LedgerEntry, tried: Tried<'_>, level: OptLevel) -> State {
    let (name, path) = tried.told();
    let script = entry.directory.join("reproduce.sh");
    let job = Job::new("/bin/sh").arg(&script).env(name, path).env("LEVEL", level.to_string()).limits(Limits::seconds(PATIENCE));
    match job.run() {
        Err(error) => State::NotChecked { reason: error.to_string() },
        Ok(outcome) => match outcome.exit {
            Exit::Code(0) => State::Shows,
            Exit::Code(1) => State::Gone,
            _ => {
                let said = format!("{}{}", outcome.stderr_text(), outcome.stdout_text());
                let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing").to_owned();
                State::NotChecked { reason: format!("reproduce.sh cannot tell: {last}") }
            }
        },
    }
}

fn state_of(symptom: &Symptom, invariant: Invariant, violations: &[Violation]) -> State {
    let same_kind = |v: &&Violation| v.invariant() == invariant;
    let is_it = |v: &Violation| v.line.0 == symptom.line && symptom.variable.as_deref() == v.variable().map(|name| &**name);
    let mut lines: Vec<u32> = violations.iter().filter(same_kind).map(|v| v.line.0).collect();
    lines.sort_unstable();
    lines.dedup();
    if violations.iter().filter(same_kind).any(is_it) {
        State::Shows
    } else if lines.is_empty() {
        State::Gone
    } else {
        State::Changed { lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_contradicts_the_ledger_is_news() {
        let states = [State::Shows, State::Gone, State::Changed { lines: vec![1] }, State::NotChecked { reason: String::new() }];
        let news = |recorded: Recorded| {
            states.clone().map(|state| Answer { version: "gcc 12.2.0".to_owned(), level: OptLevel::O2, state, recorded }.is_news())
        };
        assert_eq!(news(Recorded::Shows), [false, true, true, false]);
        assert_eq!(news(Recorded::Absent), [true, false, false, false]);
        assert_eq!(news(Recorded::Nothing), [false; 4]);
    }
}
