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
pub use env::{Env, EnvSlot};
pub use expr::SafeExpr;
pub use insertion::{Insertion, MutatedProgram, Strategy};
pub use judge::{ExpectedBehaviour, judge};
pub use minimize::minimize;
pub use mutator::{MutationOptions, Mutator, Variants};
pub use numbers::{KnownNumbers, Progression};
pub use predicate::syn_pred;
pub use profile::PointVisit;
pub use refusal::{MutateError, MutationRefusal};
pub use synthesis::syn_expr;
pub use value::{IntValue, binary, convert, unary};
