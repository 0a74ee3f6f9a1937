//! gcc has no prefix bisection, so we make one: every optional pass can be switched off by name, and
//! switching off all passes behind a point of the pipeline is a prefix.

mod counter;
mod passes;
mod search;
mod subset;

pub use passes::{GccPass, PassKind, parse_pass_dump};
pub(crate) use search::{flags_of_name, search};

/// The flags of the first build: run everything, list everything.
pub(crate) fn listing_flags() -> Vec<String> {
    vec!["-fdump-passes".to_owned()]
}
