//! The seams between feature crates: what one needs of another's judgement, as a trait that the
//! command line (or the campaign) fills in. They keep the crates from importing one another.

use crate::{Program, VarKey};

/// Why a judgement could not be given.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SeamError(pub String);

/// The answer to "does this candidate still show what we look for?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StillShows {
    /// The candidate is as wanted.
    Yes,
    /// The candidate is not as wanted.
    No,
    /// It cannot be judged (does not compile, is not valid): neither yes nor no.
    Unjudged,
}

/// Judges candidates of a search: reduction, bisection, witness search.
pub trait Interesting: Sync {
    /// Says whether one candidate is as wanted.
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError>;
}

/// Judges whether a program is still a valid one: deterministic, and clean under the sanitizers.
pub trait Validity: Sync {
    /// `Ok(None)` when valid, otherwise the reason why it is not.
    fn reject(&self, candidate: &Program) -> Result<Option<String>, SeamError>;
}

/// Who can say how the value of a variable without a location could be had: evidence for `lost`.
pub trait Recoverability: Sync {
    /// The variable in terms of registers and memory at a link-time address, where that is proved.
    fn relation(&self, variable: &VarKey, pc: u64) -> Result<Option<String>, SeamError>;
}
