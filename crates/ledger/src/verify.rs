//! Whether an entry still shows, in one compiler at one level.

use crate::entry::{Entry, Symptom};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use trueline_check::{CheckError, CheckOptions, Checker};
use trueline_model::{Invariant, OptLevel, Violation};
use trueline_toolchain::Compiler;

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

/// Builds an entry's program with a compiler at every level at which it was ever seen, and looks.
pub fn verify(entry: &Entry, compiler: &Compiler) -> Result<Vec<Answer>, CheckError> {
    let version = format!("{} {}", compiler.id.kind, compiler.id.version);
    let wanted = entry.bug.shows.invariant;
    // Everything that is usual, as a user's check has it: one invariant's finding may be another's reason to be silent.
    let mut invariants: Vec<Invariant> = Invariant::usual().filter(|i| *i != Invariant::Codegen).collect();
    if !invariants.contains(&wanted) {
        invariants.push(wanted);
    }
    let checker = Checker::new(CheckOptions { invariants, ..CheckOptions::default() })?;
    let recorded = |level: OptLevel| match entry.bug.versions.get(&version) {
        None => Recorded::Nothing,
        Some(levels) if levels.contains(&level) => Recorded::Shows,
        Some(_) => Recorded::Absent,
    };
    let answer = |level: OptLevel, state: State| Answer { version: version.clone(), level, state, recorded: recorded(level) };
    let not_checked = |error: CheckError| State::NotChecked { reason: error.to_string() };
    let reference = match checker.reference(&entry.program, compiler) {
        Ok(reference) => reference,
        Err(error) => {
            let state = not_checked(error);
            return Ok(entry.levels().into_iter().map(|level| answer(level, state.clone())).collect());
        }
    };
    let look = |level: OptLevel| match checker.check(&entry.program, &reference, compiler, level, &[]) {
        Ok(run) => state_of(&entry.bug.shows, &run.violations),
        Err(error) => not_checked(error),
    };
    Ok(entry.levels().into_par_iter().map(|level| answer(level, look(level))).collect())
}

fn state_of(symptom: &Symptom, violations: &[Violation]) -> State {
    let same_kind = |v: &&Violation| v.invariant() == symptom.invariant;
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
