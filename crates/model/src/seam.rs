//! The seams between feature crates: what one needs of another's judgement, as a trait that the
//! command line (or the campaign) fills in. They keep the crates from importing one another.

use crate::Program;
use std::collections::BTreeSet;

/// Why a judgement could not be given.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SeamError(pub String);

/// The answer to "does this candidate still show what we look for?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It cannot be judged (does not compile, is not valid): neither yes nor no.
    Unjudged,
}

/// Judges candidates of a search: reduction, bisection, witness search.
pub trait Interesting: Sync {
    /// Judges one candidate.
    fn judge(&self, candidate: &Program) -> Result<Answer, SeamError>;
}

/// Judges whether a program is still a valid one: deterministic, and clean under the sanitizers.
pub trait Validity: Sync {
    /// `Ok(None)` when valid, otherwise the reason why it is not.
    fn reject(&self, candidate: &Program) -> Result<Option<String>, SeamError>;
}

/// A set of covered units (blocks or statements) of a compiler run, by dense index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoverageSet(pub BTreeSet<u32>);

/// Measures which parts of a compiler a compilation runs.
pub trait Coverage: Sync {
    /// Compiles `program` with `flags` and returns what was covered.
    fn measure(&self, program: &Program, flags: &[String]) -> Result<CoverageSet, SeamError>;
}
