//! What each language has of its own. An idiom is a few lines of a program that uses one feature, often
//! with a type or function of its own, between statements of the model.
//!
//! Deliberately absent: heap in C, containers and streams of C++, threads, input, and everything whose
//! result depends on the compiler, the machine or the order of evaluation.

mod c_control;
mod c_memory;
mod c_values;
mod cxx_flow;
mod cxx_types;
mod real;
mod rust_flow;
mod rust_types;

use super::model::{Block, ValueRange};
use super::native::Tongue;
use super::scope::Maker;

/// What parameters of words and of small integers hold.
const ANY: ValueRange = ValueRange::new(0, u32::MAX as i64);
const SMALL: ValueRange = ValueRange::new(-99, 99);

/// One feature of a language, ready to be written.
#[derive(Clone, Copy)]
pub struct Idiom {
    pub name: &'static str,
    /// Lines it executes at most, without the blocks of the model in it.
    pub cost: u64,
    pub write: fn(&mut Maker, &mut Block, u32),
}

const fn idiom(name: &'static str, cost: u64, write: fn(&mut Maker, &mut Block, u32)) -> Idiom {
    Idiom { name, cost, write }
}

/// All idioms of a language.
pub fn of(tongue: Tongue) -> Vec<Idiom> {
    match tongue {
        Tongue::C => {
            [c_values::SHARED, c_values::ONLY_C, c_memory::SHARED, c_memory::ONLY_C, c_control::SHARED, c_control::ONLY_C].concat()
        }
        Tongue::Cxx => [c_values::SHARED, c_memory::SHARED, c_control::SHARED, cxx_types::ALL, cxx_flow::ALL].concat(),
        Tongue::Rust => [rust_types::ALL, rust_flow::ALL].concat(),
    }
}

impl Maker {
    /// Writes one of the program's idioms, if there is one that can still be paid for.
    pub fn idiom(&mut self, out: &mut Block, depth: u32) -> bool {
        if self.idioms.is_empty() || depth >= super::stmt::MAX_DEPTH {
            return false;
        }
        let idiom = *self.dice.pick(&self.idioms.clone());
        if !self.affords(idiom.cost) {
            return false;
        }
        self.charge(idiom.cost);
        (idiom.write)(self, out, depth);
        true
    }
}
