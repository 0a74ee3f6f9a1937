//! The invariants: pure functions from two traces to violations.
//!
//! A trace is digested as it streams by ([`Digest`]). The invariants then list *candidates* by the
//! literal definitions of Di Luna et al. ("Who's Debugging the Debuggers?", section 3) and of our own;
//! named [`rules`] drop those that are known not to be faults. The bias: a report must be right, missing
//! one is cheaper than crying wolf. [`Strictness::Literal`] turns the rules off.
//!
//! Deliberately absent: any I/O. What the rules need to know of binaries and sources comes as
//! [`facts`](ReferenceFacts), and what only another run can tell through a [`Witness`].

mod calls;
mod case;
mod completeness;
mod digest;
mod effects;
mod facts;
mod invariants;
mod leaves;
pub mod moments;
pub mod rules;
mod source;
mod unsteady;
mod visits;

pub use calls::{CallName, Calls, Link, Way};
pub use case::{Candidate, Case, Dropped, FloatMath, Judgement, Remembered, Strictness, Subject, judge};
pub use completeness::{Completeness, FunctionCompleteness, Ratio, measure};
pub use digest::{Activation, Digest, GivenUp, LeafDigest, LineDigest, Role, Sighting, Stack, Stop, StopId, VarDigest};
pub use effects::{Effects, LostNote, Place, Tied};
pub use facts::{Block, Declared, Extent, Home, NoWitness, OptimizedFacts, ReferenceFacts, RowNote, SourceFacts, Testimony, Witness};
pub use invariants::{ToldBy, has_wrong_value, shows, told_by, variables_of, views};
pub use leaves::{is_float, is_gap, split};
pub use source::blocks_of;
pub use unsteady::Unsteady;
pub use visits::{Attended, Recursion, Suspect, Suspects, Visits};
