//! Wide programs: the shapes and statements of the model, mixed with idioms of one language.
//!
//! Each program has a few idioms of all there are, as swarm testing does: a program with a little of
//! everything has room for much of nothing.

use super::idiom::{self, Idiom};
use super::model::{Block, WeaveProgram, WovenType};
use super::native::Tongue;
use super::scope::Maker;
use super::shape::{HELPER_COST, WeaveShape};
use super::{c, declare_globals, declare_structs, rust, write_main};

/// Lines a wide program has at least and at most.
pub const LINES: std::ops::RangeInclusive<usize> = 60..=260;

/// Lines main may execute at most, calls included.
const MAIN_COST: u64 = 1500;

/// How functions of C and C++ start that are marked in some way.
const C_ATTRIBUTES: [&str; 6] = [
    "static __attribute__((cold)) ",
    "static __attribute__((hot)) ",
    "static __attribute__((flatten)) ",
    "static __attribute__((optimize(\"no-omit-frame-pointer\"))) ",
    "static __attribute__((noinline, cold)) ",
    "",
];

/// The text of a seed. One that came out too short or too long is woven again from a derived stream.
pub fn source(seed: u64, tongue: Tongue) -> String {
    for attempt in 0u64.. {
        let text = write(&module(stream(seed, tongue, attempt), tongue), tongue);
        if LINES.contains(&text.lines().count()) {
            return text;
        }
    }
    unreachable!("the attempts do not end")
}

/// The seed of a stream of choices: one for each language, none of them that of the model's own programs.
pub fn stream(seed: u64, tongue: Tongue, attempt: u64) -> u64 {
    let salt = match tongue {
        Tongue::C => 0x77c0,
        Tongue::Cxx => 0x77c1,
        Tongue::Rust => 0x77c2,
    };
    seed.rotate_left(17) ^ salt ^ attempt.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

pub fn write(module: &WeaveProgram, tongue: Tongue) -> String {
    match tongue {
        Tongue::C | Tongue::Cxx => c::write(module, tongue),
        Tongue::Rust => rust::write(module),
    }
}

fn module(seed: u64, tongue: Tongue) -> WeaveProgram {
    let mut maker = Maker::new(seed);
    maker.tongue = Some(tongue);
    declare_structs(&mut maker);
    declare_globals(&mut maker);
    let mut all = idiom::of(tongue);
    for _ in 0..(3 + maker.dice.below(3)).min(all.len()) {
        let chosen = all.swap_remove(maker.dice.below(all.len()));
        maker.idioms.push(chosen);
    }
    for idiom in maker.idioms.clone() {
        maker.host(idiom);
        if maker.dice.chance(50) {
            let shape = WeaveShape::ALL[maker.dice.weighted(&[14, 18, 14, 12, 14, 10, 8, 10])];
            maker.function(shape);
        }
    }
    write_main(&mut maker, MAIN_COST);
    maker.module
}

impl Maker {
    /// A function around one idiom, so that each of the program's idioms is there at least once.
    pub fn host(&mut self, idiom: Idiom) {
        let params: Vec<_> = (0..=self.dice.below(3)).map(|_| self.scalar_param()).collect();
        let (scalar, range) = self.result();
        let returns = Some((WovenType::Scalar(scalar), range));
        self.begin(&params, returns, HELPER_COST.max(idiom.cost * 2));
        let mut body = Block::new();
        self.declare(&mut body);
        if self.dice.chance(50) {
            body.extend(self.statements(1, 1));
        }
        self.charge(idiom.cost);
        (idiom.write)(self, &mut body, 1);
        let size = 1 + self.dice.below(4);
        body.extend(self.statements(size, 1));
        self.return_mix(&mut body, scalar, range);
        let inlining = self.inlining();
        self.emit(idiom.name, params, returns, inlining, body);
    }

    /// Attributes that change how a function is compiled and nothing of what it does.
    pub fn attributes(&mut self) -> &'static str {
        match self.tongue {
            Some(Tongue::C | Tongue::Cxx) if self.dice.chance(15) => C_ATTRIBUTES[self.dice.below(C_ATTRIBUTES.len())],
            Some(Tongue::Rust) if self.dice.chance(15) => "#[cold]",
            _ => "",
        }
    }
}
