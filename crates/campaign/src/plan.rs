//! What a campaign is to do.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;
use trueline_model::{EngineKind, Interesting, Invariant, Language, OptLevel, Policy, Program};
use trueline_store::Minimal;
use trueline_toolchain::Compiler;

/// Numbers of programs: from `first`, up to but without `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The first seed that is used.
    pub first: u64,
    /// One past the last, `None` for no end.
    pub end: Option<u64>,
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a range of seeds; write it as 1..200, or 1.. for no end");
        let (first, end) = text.split_once("..").ok_or_else(bad)?;
        let first: u64 = if first.is_empty() { 0 } else { first.parse().map_err(|_| bad())? };
        let end = if end.is_empty() { None } else { Some(end.parse().map_err(|_| bad())?) };
        if end.is_some_and(|end: u64| end <= first) {
            return Err(format!("the range of seeds `{text}` is empty"));
        }
        Ok(Self { first, end })
    }
}

/// One of several parts of a campaign, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part of all seeds it takes.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}

impl Shard {
    /// The whole campaign.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Whether a program belongs to this part.
    pub fn takes(self, seed: u64) -> bool {
        seed % self.count == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not a shard; write it as K/N with K from 1 to N");
        let (index, count) = text.split_once('/').ok_or_else(bad)?;
        let (index, count): (u64, u64) = (index.parse().map_err(|_| bad())?, count.parse().map_err(|_| bad())?);
        if index == 0 || index > count { Err(bad()) } else { Ok(Self { index, count }) }
    }
}

/// Which violations are shown to the other readers before they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Every one, stepped through by every reader.
    All,
    /// Every one, at its address: debuggers are asked what they show there, and the other native readings what they see.
    Spot,
    /// The first few of each class, stepped through: the rest of a class is the same complaint again.
    Distinct,
    /// None: what the screening engine sees counts.
    Nothing,
}

impl FromStr for Confirm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "spot" => Ok(Self::Spot),
            "distinct" => Ok(Self::Distinct),
            "none" => Ok(Self::Nothing),
            _ => Err(format!("unknown value `{text}`; use all, spot, distinct or none")),
        }
    }
}

/// What builds are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// Debug information, and code as far as it is traced.
    Debug,
    /// Code alone: what programs print, and what compiling them costs. Nothing is traced.
    WrongCode,
    /// Both: programs that are too long to be traced are judged by their code.
    Both,
}

impl FromStr for Oracle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "debug" => Ok(Self::Debug),
            "wrong-code" => Ok(Self::WrongCode),
            "both" => Ok(Self::Both),
            _ => Err(format!("unknown value `{text}`; use debug, wrong-code or both")),
        }
    }
}

/// When programs pass the validity filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// When they show something: a program without a finding proves nothing either way. Programs that are
    /// defined by construction are not asked.
    OnFinding,
    /// Each one, before anything else is done with it.
    Every,
    /// No program is validated.
    Nothing,
}

impl FromStr for Validation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on-finding" => Ok(Self::OnFinding),
            "every" => Ok(Self::Every),
            "none" => Ok(Self::Nothing),
            _ => Err(format!("unknown value `{text}`; use on-finding, every or none")),
        }
    }
}

/// Which findings on variants are reduced to the changes they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minimize {
    /// The first of each class: it takes some twenty builds.
    Distinct,
    /// Findings stay as they were found.
    Nothing,
}

impl FromStr for Minimize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "distinct" => Ok(Self::Distinct),
            "none" => Ok(Self::Nothing),
            _ => Err(format!("unknown value `{text}`; use distinct or none")),
        }
    }
}

/// How seeds follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedOrder {
    /// One seed after the other.
    Counted,
    /// By what recipes like theirs have brought, where the source tells recipes.
    Steered,
}

/// Why there is no program to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoProgram {
    /// There never will be: what it is made from does not allow it.
    Refused(String),
    /// Making it failed for reasons outside it; worth another try.
    Failed(String),
    /// The mutation made a variant that does not do what its seed does.
    Broken(Box<Program>),
}

/// What a seed does, and so what its variants must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedBehaviour {
    /// What it prints.
    pub output: Vec<u8>,
    /// The code it exits with.
    pub exit_code: i32,
}

/// The variants of a program.
#[derive(Clone, Debug, Default)]
pub struct VariantSet {
    /// The variants themselves, in the order they were made.
    pub programs: Vec<Program>,
    /// What they must do; `None` when there are none.
    pub expected: Option<SeedBehaviour>,
}

/// Makes variants of a program that mean the same; the command line fills it in.
pub trait Mutate: Sync {
    /// Up to `count` variants of a program; the same program gives the same variants.
    fn variants(&self, program: &Program, count: u32) -> Result<VariantSet, NoProgram>;

    /// Variant `number` (from 1) of a program with only the changes without which it is no longer interesting.
    fn minimal(&self, program: &Program, number: u32, interesting: &dyn Interesting) -> Result<Minimal, String>;
}

/// What a hunt does, from its programs to its database.
pub struct CampaignPlan {
    /// The compilers that every program is given to.
    pub compilers: Vec<Compiler>,
    /// The languages that programs are asked for in; those of the compilers' drivers unless chosen.
    pub languages: BTreeSet<Language>,
    /// The levels; those a compiler does not have are left out for it.
    pub levels: Vec<OptLevel>,
    /// How many of the levels each program is compiled at, drawn by its number; `None` for all.
    pub levels_per_program: Option<NonZeroUsize>,
    /// Which programs of the source are used.
    pub seeds: Seeds,
    /// Which part of them.
    pub shard: Shard,
    /// How they follow one another.
    pub order: SeedOrder,
    /// When to stop, whatever is left.
    pub duration: Option<Duration>,
    /// How many threads work at a time.
    pub jobs: usize,
    /// What builds are judged by.
    pub oracle: Oracle,
    /// The engine that looks at every build first.
    pub engine: EngineKind,
    /// How the native engine reads.
    pub policy: Policy,
    /// What to look for.
    pub invariants: Vec<Invariant>,
    /// Which findings the other readers see.
    pub confirm: Confirm,
    /// Which programs pass the filter.
    pub validation: Validation,
    /// Findings of a class that are kept; further violations of it are counted, and nobody is asked about them.
    pub most_of_class: u64,
    /// The share of the time in which the first finding of each class is explained, from 0 to 1.
    pub explain_share: Option<f64>,
    /// Variants per program.
    pub mutants: u32,
    /// For which findings on variants the changes they need are looked for.
    pub minimize: Minimize,
    /// Stops after which a trace is cut off: programs above are dropped.
    pub max_steps: u64,
    /// Flags for every compilation.
    pub cflags: Vec<String>,
}

impl CampaignPlan {
    /// A plan with the defaults: all levels, the native engine, as many threads as cores.
    pub fn new(compilers: Vec<Compiler>) -> Self {
        let jobs = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            languages: compilers.iter().map(Compiler::language).collect(),
            compilers,
            levels: OptLevel::OPTIMIZED.to_vec(),
            levels_per_program: None,
            seeds: Seeds { first: 1, end: None },
            shard: Shard::WHOLE,
            order: SeedOrder::Counted,
            duration: None,
            jobs,
            oracle: Oracle::Both,
            engine: EngineKind::Native,
            policy: Policy::Gdb,
            // Comparing code with and without -g needs two more compilations per unit.
            invariants: Invariant::usual().filter(|i| *i != Invariant::Codegen).collect(),
            confirm: Confirm::Spot,
            validation: Validation::OnFinding,
            most_of_class: 100,
            explain_share: None,
            mutants: 0,
            minimize: Minimize::Distinct,
            max_steps: 20_000,
            cflags: Vec::new(),
        }
    }

    /// The levels that a compiler has.
    pub fn levels_of(&self, compiler: &Compiler) -> Vec<OptLevel> {
        use trueline_model::CompilerKind;
        let has = |opt: &OptLevel| match compiler.id.kind {
            CompilerKind::Rustc => opt.rustc_value().is_some(),
            CompilerKind::Gcc => *opt != OptLevel::Oz || compiler.major() >= 12,
            _ => true,
        };
        self.levels.iter().copied().filter(|opt| *opt != OptLevel::O0).filter(has).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_seeds_and_no_seed_twice() {
        let shards: Vec<Shard> = (1..=5).map(|k| format!("{k}/5").parse().unwrap()).collect();
        for seed in 0..100 {
            assert_eq!(shards.iter().filter(|s| s.takes(seed)).count(), 1);
        }
        for bad in ["0/5", "6/5", "5", "a/b"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_of_seeds_read_as_people_write_them() {
        assert_eq!("1..200".parse(), Ok(Seeds { first: 1, end: Some(200) }));
        assert_eq!("7..".parse(), Ok(Seeds { first: 7, end: None }));
        assert!("9..3".parse::<Seeds>().unwrap_err().contains("empty"));
        assert!("many".parse::<Seeds>().is_err());
    }
}
