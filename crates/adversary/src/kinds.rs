//! The kinds of hostile functions: C texts with holes, filled by a seed.
//!
//! The holes: `$F` the function, `$R1` a rare constant, `$S1` a small one, `$P1` a power of two, `$N1` a trip count, `$I1` an index
//! into `out`, `$E(a,b)` an expression without undefined behaviour, `$MIX` statements of a mixin.
//! Every text is free of undefined behaviour for parameters below 2²⁷ in magnitude and data below 2²³.

use std::collections::BTreeMap;
use trueline_generate::Dice;

const GROUPS: [&str; 6] = [
    include_str!("../kinds/frames.c"),
    include_str!("../kinds/paths.c"),
    include_str!("../kinds/arithmetic.c"),
    include_str!("../kinds/calls.c"),
    include_str!("../kinds/loops.c"),
    include_str!("../kinds/conventions.c"),
];
const MIXINS: &str = include_str!("../kinds/mixins.c");

/// One kind of hostile function.
#[derive(Clone, Copy, Debug)]
pub struct HostileKind {
    /// Its name, which reports use.
    pub name: &'static str,
    /// What is hostile about it.
    pub what: &'static str,
    /// Whether a program can hold only one of them, because it defines a name that is not its own.
    pub exclusive: bool,
    text: &'static str,
}

/// A function made from a kind.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// Its kind.
    pub kind: &'static str,
    /// Its name, which every name that belongs to it starts with.
    pub name: String,
    /// C text of the first unit.
    pub first: String,
    /// C text of the second unit, empty for most.
    pub second: String,
    /// The constants that its rare paths wait for.
    pub rare: Vec<i64>,
}

/// Every kind, in the order of the texts.
pub fn all() -> Vec<HostileKind> {
    GROUPS
        .iter()
        .flat_map(|group| sections(group))
        .map(|(head, text)| {
            let (name, what) = head.split_once(": ").unwrap_or((head, ""));
            HostileKind { name, what, exclusive: text.starts_with("EXCLUSIVE\n"), text: text.trim_start_matches("EXCLUSIVE\n") }
        })
        .collect()
}

/// The parts of a file of texts: head line and text.
fn sections(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    file.split("@@ ").skip(1).filter_map(|part| part.split_once('\n'))
}

impl HostileKind {
    /// Fills the holes.
    pub fn fill(&self, dice: &mut Dice, name: &str) -> Hostile {
        let mut filler = Filler { dice, name, known: BTreeMap::new(), mixins: 0 };
        let whole = filler.fill(self.text);
        let rare = filler.known.iter().filter(|(hole, _)| hole.starts_with('R')).map(|(_, n)| *n).collect();
        let (first, second) = whole.split_once("=== second\n").unwrap_or((&whole, ""));
        Hostile { kind: self.name, name: name.to_owned(), first: first.to_owned(), second: second.to_owned(), rare }
    }
}

struct Filler<'a> {
    dice: &'a mut Dice,
    name: &'a str,
    known: BTreeMap<String, i64>,
    mixins: usize,
}

impl Filler<'_> {
    fn fill(&mut self, text: &str) -> String {
        let mut made = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            made.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let letter = rest.chars().next().unwrap_or(' ');
            if let Some(after) = rest.strip_prefix("MIX") {
                made.push_str(&self.mixin());
                rest = after;
            } else if letter == 'F' {
                made.push_str(self.name);
                rest = &rest[1..];
            } else if letter == 'M' {
                made.push_str(&self.mixins.to_string());
                rest = &rest[1..];
            } else if letter == 'E' {
                let end = rest.find(')').unwrap_or(rest.len() - 1);
                let operands: Vec<&str> = rest[2..end].split(',').collect();
                made.push_str(&format!("(int)({})", self.expression(&operands, 2)));
                rest = &rest[end + 1..];
            } else {
                made.push_str(&self.number(&rest[..2]).to_string());
                rest = &rest[2..];
            }
        }
        made.push_str(rest);
        made
    }

    /// The number behind a hole: the same for the same name.
    fn number(&mut self, hole: &str) -> i64 {
        if let Some(known) = self.known.get(hole) {
            return *known;
        }
        let new = match hole {
            "I5" => self.dice.between(0, 15),
            "I6" => self.dice.between(36, 62),
            _ => match hole.as_bytes()[0] {
                b'R' => self.dice.between(0x1_0000, 0x7f_ffff),
                b'S' => self.dice.between(2, 9),
                b'P' => 1 << self.dice.between(1, 5),
                b'N' => self.dice.between(5, 18),
                _ => self.dice.between(0, 31),
            },
        };
        self.known.insert(hole.to_owned(), new);
        new
    }

    /// Statements of a mixin, with numbers of their own. Two of them may follow one another.
    fn mixin(&mut self) -> String {
        let all: Vec<_> = sections(MIXINS).collect();
        let mut made = String::new();
        for _ in 0..=self.dice.below(2) {
            self.mixins += 1;
            self.known.retain(|hole, _| !matches!(hole.as_str(), "S7" | "S8" | "I7" | "N2"));
            let (_, text) = *self.dice.pick(&all);
            made.push_str(&self.fill(text));
        }
        if made.is_empty() { ";".to_owned() } else { made.trim().to_owned() }
    }

    /// An unsigned expression: wrap-around is defined, shifts are by constants.
    fn expression(&mut self, operands: &[&str], depth: usize) -> String {
        if depth == 0 || self.dice.chance(15) {
            return match self.dice.below(3) {
                0 => format!("{}u", self.dice.between(1, 255)),
                _ => format!("(unsigned){}", self.dice.pick(operands)),
            };
        }
        let left = self.expression(operands, depth - 1);
        match self.dice.below(8) {
            0 => format!("({left} >> {})", self.dice.between(1, 9)),
            1 => format!("({left} << {})", self.dice.between(1, 9)),
            n => {
                let right = self.expression(operands, depth - 1);
                format!("({left} {} {right})", ["+", "-", "*", "^", "&", "|"][n - 2])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_makes_the_same_function() {
        for kind in all() {
            let make = || kind.fill(&mut Dice::new(7), "f0");
            assert_eq!(make().first, make().first);
        }
    }

    #[test]
    fn no_hole_stays_open() {
        for kind in all() {
            for seed in 0..20 {
                let made = kind.fill(&mut Dice::new(seed), "f0");
                assert!(!made.first.contains('$') && !made.second.contains('$'), "{}\n{}", kind.name, made.first);
            }
        }
    }
}
