//! Programs of many hostile functions, and the rounds in which they are called.

use crate::kinds::{self, Hostile, HostileKind};
use trueline_generate::Dice;

const DRIVER: &str = include_str!("driver.c");

/// What every function may read and write, and what both builds must agree on at a moment: name, C type, elements, bytes.
pub const SHARED: [(&str, &str, usize, usize); 9] = [
    ("round_no", "int", 0, 4),
    ("answer", "int", 0, 4),
    ("port", "volatile int", 0, 4),
    ("data", "int", 64, 256),
    ("out", "int", 64, 256),
    ("bytes", "unsigned char", 64, 64),
    ("longs", "long", 16, 128),
    ("reals", "double", 16, 128),
    ("text", "char", 32, 32),
];

/// Several hostile functions in one program.
#[derive(Clone, Debug)]
pub struct HostileProgram {
    /// The seed it was made from.
    pub seed: u64,
    /// Its functions, in the order of their numbers.
    pub functions: Vec<Hostile>,
    /// Whether the shared memory is defined beside the functions or elsewhere.
    pub storage: Storage,
}

/// Where the shared memory is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In the unit of the functions.
    Here,
    /// In another unit.
    Elsewhere,
}

/// One call of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Which function.
    pub function: usize,
    /// First parameter.
    pub k: i64,
    /// Second parameter.
    pub d: i64,
    /// Seed of the data.
    pub seed: i64,
    /// An element of `data` to be replaced, and by what.
    pub planted: Option<(i64, i64)>,
}

impl Round {
    /// The program's argument for it.
    pub fn argument(&self) -> String {
        let (position, value) = self.planted.unwrap_or((-1, 0));
        format!("{},{},{},{},{position},{value}", self.function, self.k, self.d, self.seed)
    }
}

impl HostileProgram {
    /// A program of `count` functions whose kinds are drawn from `kinds`, each about equally often.
    pub fn make(seed: u64, count: usize, kinds: &[HostileKind]) -> Self {
        let mut dice = Dice::new(seed);
        let mut functions = Vec::new();
        let mut taken: Vec<&str> = Vec::new();
        // Programs of neighbouring seeds take up where the one before ended, so that every kind has its turn.
        let mut turn = (seed as usize).wrapping_mul(count) % kinds.len();
        while functions.len() < count {
            let kind = &kinds[turn % kinds.len()];
            turn += 1;
            if kind.exclusive && taken.contains(&kind.name) && kinds.iter().any(|k| !k.exclusive) {
                continue;
            }
            taken.push(kind.name);
            functions.push(kind.fill(&mut dice, &format!("f{}", functions.len())));
        }
        let storage = if dice.chance(50) { Storage::Here } else { Storage::Elsewhere };
        Self { seed, functions, storage }
    }

    /// The units with debug information, then the driver, by file name.
    pub fn units(&self) -> Vec<(&'static str, String)> {
        let header = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n".to_owned() + &declarations(HelperLinkage::Extern);
        let join = |part: fn(&Hostile) -> &str| self.functions.iter().map(part).collect::<Vec<_>>().join("\n");
        let second = join(|h| &h.second);
        let mut first = format!("{header}\n{}", join(|h| &h.first));
        let calls: String = self.functions.iter().enumerate().map(|(n, h)| format!("  case {n}: return {}(k, d);\n", h.name)).collect();
        let prototypes: String = self.functions.iter().map(|h| format!("int {}(int k, int d);\n", h.name)).collect();
        let mut driver = declarations(HelperLinkage::Extern) + &prototypes;
        match self.storage {
            Storage::Here => first.push_str(&declarations(HelperLinkage::Definition)),
            Storage::Elsewhere => driver.push_str(&declarations(HelperLinkage::Definition)),
        }
        driver.push_str(&format!("static int call(int f, int k, int d) {{\n  switch (f) {{\n{calls}  }}\n  return 0;\n}}\n"));
        vec![("first.c", first), ("second.c", format!("{header}\n{second}")), ("driver.c", DRIVER.replace("DECLARATIONS", &driver))]
    }

    /// The rounds of the program's own run: nothing rare in them.
    pub fn ordinary(&self) -> Vec<Round> {
        let mut dice = Dice::new(self.seed ^ 0x0dd);
        let mut rounds = Vec::new();
        for function in 0..self.functions.len() {
            for _ in 0..2 {
                let (k, d, seed) = (dice.between(1, 200), dice.between(1, 60), dice.between(1, 9999));
                rounds.push(Round { function, k, d, seed, planted: None });
            }
        }
        rounds
    }

    /// The rounds that are chosen after the repair: rare constants as parameters and among the data, and extremes.
    pub fn hostile(&self) -> Vec<Round> {
        let mut dice = Dice::new(self.seed ^ 0xbad);
        let mut rounds = Vec::new();
        for (function, hostile) in self.functions.iter().enumerate() {
            let seed = dice.between(1, 9999);
            let plain = Round { function, k: dice.between(1, 200), d: dice.between(1, 60), seed, planted: None };
            for rare in &hostile.rare {
                rounds.push(Round { k: *rare, d: dice.between(0, 60), ..plain });
                rounds.push(Round { d: *rare, ..plain });
                rounds.push(Round { planted: Some((dice.between(0, 12), *rare)), ..plain });
            }
            rounds.push(Round { k: 0, d: 0, ..plain });
            rounds.push(Round { k: -1, d: -1, ..plain });
            rounds.push(Round { k: -0x7ff_ffff, d: 0x7ff_ffff, ..plain });
            rounds.push(Round { k: dice.between(-100_000, 100_000), d: dice.between(-1000, 1000), seed: seed + 1, ..plain });
        }
        rounds
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HelperLinkage {
    Extern,
    Definition,
}

fn declarations(linkage: HelperLinkage) -> String {
    let word = if linkage == HelperLinkage::Extern { "extern " } else { "" };
    let one = |(name, kind, elements, _): &(&str, &str, usize, usize)| {
        let suffix = if *elements > 0 { format!("[{elements}]") } else { String::new() };
        format!("{word}{kind} {name}{suffix};\n")
    };
    SHARED.iter().map(one).collect()
}

/// Every kind of the names given, all when none is.
pub fn choose(names: &[String]) -> Vec<HostileKind> {
    kinds::all().into_iter().filter(|k| names.is_empty() || names.iter().any(|n| n == k.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_neighbouring_seeds_use_every_kind() {
        let kinds = choose(&[]);
        let mut seen: Vec<&str> = (0..6).flat_map(|seed| HostileProgram::make(seed, 16, &kinds).functions).map(|f| f.kind).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), kinds.len());
    }

    #[test]
    fn the_ordinary_run_meets_no_rare_constant() {
        let program = HostileProgram::make(3, 30, &choose(&[]));
        for round in program.ordinary() {
            assert!(!program.functions[round.function].rare.contains(&round.k));
        }
    }
}
