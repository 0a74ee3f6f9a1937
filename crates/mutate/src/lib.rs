//! Live-code mutation (Hermes): programs that behave exactly as their seed on its one input, yet
//! show the optimizer something else.
//!
//! A [`Mutator`] profiles a program once, learning which values every integer in scope takes at sampled
//! program points, and then synthesizes code that, for those values, is free of undefined behaviour and
//! leaves the state as it was. Everything it decides comes from one seed.
//!
//! Deliberately absent: compilers under test and their verdicts (only [`judge`], a pure function, is here),
//! reduction of the program itself, and storage.

mod dead;
mod dice;
mod env;
mod expr;
mod insertion;
mod judge;
mod local;
mod minimize;
mod mutator;
mod numbers;
mod point;
mod predicate;
mod profile;
mod refusal;
mod sanitizer;
mod snippet;
mod synthesis;
mod value;

pub use dice::MutationDice;
pub use env::{Env, Slot};
pub use expr::Expr;
pub use insertion::{Insertion, Strategy, Variant};
pub use judge::{ExpectedBehaviour, judge};
pub use minimize::minimize;
pub use mutator::{Mutator, Options, Variants};
pub use numbers::{Numbers, Progression};
pub use predicate::syn_pred;
pub use profile::Visit;
pub use refusal::{MutateError, Refusal};
pub use synthesis::syn_expr;
pub use value::{Value, binary, convert, unary};
