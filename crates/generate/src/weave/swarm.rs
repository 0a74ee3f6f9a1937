//! Swarm programs: each seed has a recipe of its own, which leaves most of what there is out and has much of the rest.
//!
//! A program with a little of everything has room for much of nothing, and what only shows when a compiler meets much of one thing
//! and none of another never shows. A recipe is known without writing its program, so that a hunt can choose among
//! seeds by what their recipes have brought so far.

use super::dice::Dice;
use super::idiom;
use super::model::WeaveProgram;
use super::native::Tongue;
use super::scope::Maker;
use super::shape::WeaveShape;
use super::{declare_globals, declare_structs, wide, write_main};

/// Lines a swarm program has at least and at most.
pub const LINES: std::ops::RangeInclusive<usize> = 40..=260;

/// Lines main may execute at most, calls included.
const MAIN_COST: u64 = 1500;

/// What statements are called in recipes, in the order of their weights.
const STATEMENTS: [&str; 16] = [
    "declare",
    "assign",
    "update",
    "if",
    "for",
    "while",
    "do",
    "switch",
    "goto",
    "goto-back",
    "scope",
    "call",
    "volatile",
    "ternary",
    "jump",
    "checksum",
];

/// Statements that no recipe leaves out: without them nothing is computed.
const ALWAYS: [usize; 4] = [0, 1, 2, 11];

/// The statements of the other generators, by weight.
pub const USUAL: [usize; 16] = [14, 20, 12, 14, 6, 4, 4, 5, 3, 2, 4, 10, 3, 6, 5, 3];

/// What a program is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeaveRecipe {
    shapes: Vec<WeaveShape>,
    functions: usize,
    statements: [usize; 16],
    /// Numbers of idioms of the language.
    idioms: Vec<usize>,
    idiom_share: usize,
}

impl WeaveRecipe {
    /// The recipe of a seed.
    pub fn of(seed: u64, tongue: Tongue) -> Self {
        let mut dice = Dice::new(wide::stream(seed, tongue, RECIPE));
        let mut shapes: Vec<WeaveShape> = WeaveShape::ALL.into_iter().filter(|_| dice.chance(35)).collect();
        if shapes.is_empty() {
            shapes.push(*dice.pick(&WeaveShape::ALL));
        }
        let mut statements = USUAL;
        for (index, weight) in statements.iter_mut().enumerate() {
            *weight *= match dice.below(10) {
                0..4 if !ALWAYS.contains(&index) => 0,
                7.. => 4,
                _ => 1,
            };
        }
        let mut all: Vec<usize> = (0..idiom::of(tongue).len()).collect();
        let wanted = dice.below(6);
        let idioms: Vec<usize> = (0..wanted.min(all.len())).map(|_| all.swap_remove(dice.below(all.len()))).collect();
        Self { shapes, functions: 2 + dice.below(5), statements, idioms, idiom_share: *dice.pick(&[8, 16, 32]) }
    }

    /// Makes the programs shorter, or longer, and keeps what the recipe leaves out and has much of as far as that goes.
    fn moderate(&mut self, too_long: bool) {
        if !too_long {
            self.functions += 1;
            return;
        }
        self.functions = (self.functions - 1).max(1);
        self.idiom_share /= 2;
        // Blocks in blocks are what makes a program long.
        for weight in &mut self.statements[super::stmt::NESTING] {
            *weight -= weight.div_ceil(4);
        }
    }

    /// What the recipe has, by name: shapes, statements that it has much of, idioms.
    pub fn traits(&self, tongue: Tongue) -> Vec<String> {
        let shapes = self.shapes.iter().map(|shape| format!("{shape:?}"));
        let much = (0..STATEMENTS.len()).filter(|&i| self.statements[i] > USUAL[i]).map(|i| format!("much {}", STATEMENTS[i]));
        let none = (0..STATEMENTS.len()).filter(|&i| self.statements[i] == 0).map(|i| format!("no {}", STATEMENTS[i]));
        let all = idiom::of(tongue);
        let idioms = self.idioms.iter().map(|&i| all[i].name.to_owned());
        shapes.chain(much).chain(none).chain(idioms).collect()
    }
}

/// The stream that recipes are drawn from; programs are attempts 0, 1, 2….
const RECIPE: u64 = u64::MAX;

/// Keeps swarm programs apart from wide ones of the same seed.
const SALT: u64 = 0x5a5a_0000_77d0_0001;

/// Attempts after which a recipe is moderated before each further one.
const PATIENCE: u64 = 12;

/// The text of a seed. One that came out too short or too long is woven again from a derived stream, and a recipe whose programs
/// are always too long, or too short, gives way a little each time.
pub fn source(seed: u64, tongue: Tongue) -> String {
    written(seed, tongue).0
}

/// The text of a seed, and the attempts that it took.
pub fn written(seed: u64, tongue: Tongue) -> (String, u64) {
    let mut recipe = WeaveRecipe::of(seed, tongue);
    for attempt in 0u64.. {
        let text = wide::write(&module(wide::stream(seed, tongue, attempt) ^ SALT, tongue, &recipe), tongue);
        let lines = text.lines().count();
        if LINES.contains(&lines) {
            return (text, attempt + 1);
        }
        if attempt + 1 >= PATIENCE {
            recipe.moderate(lines > *LINES.end());
        }
    }
    unreachable!("each attempt is nearer to the lengths that are allowed")
}

fn module(seed: u64, tongue: Tongue, recipe: &WeaveRecipe) -> WeaveProgram {
    let mut maker = Maker::new(seed);
    maker.tongue = Some(tongue);
    maker.statement_weights = recipe.statements;
    maker.idiom_share = recipe.idiom_share;
    declare_structs(&mut maker);
    declare_globals(&mut maker);
    let all = idiom::of(tongue);
    maker.idioms = recipe.idioms.iter().map(|&index| all[index]).collect();
    for idiom in maker.idioms.clone() {
        maker.host(idiom);
    }
    for _ in 0..recipe.functions {
        let shape = *maker.dice.pick(&recipe.shapes);
        maker.function(shape);
    }
    write_main(&mut maker, MAIN_COST);
    maker.module
}
