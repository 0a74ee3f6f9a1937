//! Explains a finding: which pass did it, in which versions, whether it is the same bug as another one,
//! and whether the compiler or the debugger is to blame.
//!
//! Everything asks one question through one trait, [`Probe`]: does this very fault still show when this
//! compiler gets these further flags? Deliberately absent: how a fault is seen (the command line fills the
//! trait in), and any campaign store.

mod attribution;
mod construct;
mod draft;
mod excerpt;
mod fingerprint;
mod gcc;
mod known;
mod llvm;
mod llvm_names;
mod probe;
mod source;
mod verdict;

pub use attribution::{AttributeError, Attribution, Show, attribute, confirm};
pub use construct::{Construct, DeclaredIn, ValueShown, Width};
pub use draft::{Draft, DraftError, crash_key, write_draft};
pub use excerpt::excerpt;
pub use fingerprint::{Cluster, Level, Summary, cluster, fingerprint, summarise};
pub use gcc::{GccPass, PassKind, parse_pass_dump};
pub use known::{KnownBug, KnownBugs, KnownError, entry_text};
pub use llvm::{PassExecution, parse_bisect_log};
pub use probe::{CachedProbe, Presence, Probe, ProbeError, Probed, Setting};
pub use source::source_of;
pub use verdict::verdict;
