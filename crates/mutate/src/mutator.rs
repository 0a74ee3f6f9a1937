//! From a program to its variants: parse, sample points, profile once, synthesize for every round.
//!
//! Variants chain: each has the insertions of those before it and some more, up to the chain's length, when
//! a new chain starts at the seed. Since every insertion restores the state, the profile of the seed stays
//! true for the whole chain, and one profiling run serves all variants.

use crate::dice::MutationDice;
use crate::insertion::{InsertedChange, Insertion, InsertionId, MutatedProgram, Strategy};
use crate::judge::ExpectedBehaviour;
use crate::point::{InsertPoint, points};
use crate::profile::{PointVisit, Profile, SampledPoint, is_portable, profile};
use crate::refusal::{MutateError, MutationRefusal, refuse};
use crate::sanitizer::Profiler;
use crate::snippet::{Snippet, SnippetSite};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use trueline_ctree::{Lvalue, SourceUnit, VariableReach, parse};
use trueline_model::{CompilerId, Program};

/// How to mutate: which strategies, how often, how much.
#[derive(Clone, Debug)]
pub struct MutationOptions {
    /// Strategies to choose from, with equal chances; one that is named twice has twice the chance of another.
    pub strategies: Vec<Strategy>,
    /// Chance of a point to be sampled in a round (5.1: 0.1).
    pub sampling: f64,
    /// Points that a round samples at most.
    pub most_points: usize,
    /// Variants in a chain before the next one starts at the seed again (5.1: 10).
    pub chain: usize,
    /// Variants that rest on one profile; the last of them is profiled again, so that further insertions go into earlier
    /// ones, too.
    pub generation: usize,
    /// Integers recorded at one point at most; locals come first, the rest is drawn.
    pub slots: usize,
    /// The clang that profiles; the newest with MemorySanitizer otherwise.
    pub profiler: Option<String>,
}

impl Default for MutationOptions {
    fn default() -> Self {
        Self {
            strategies: Strategy::PUBLISHED.to_vec(),
            sampling: 0.1,
            most_points: usize::MAX,
            chain: 10,
            generation: usize::MAX,
            slots: 32,
            profiler: None,
        }
    }
}

impl MutationOptions {
    /// What hunts take. The paper's sparse sampling is meant for wrong code; for debug information each change is another chance, so
    /// more points are sampled, yet only so many that a variant of a long program costs little more to compile than
    /// its seed. Every second live point gets code of its own, which shows most; the rest is the paper's (docs/measurements/hunt.md).
    pub fn for_hunts() -> Self {
        let mut strategies = Strategy::ALL.to_vec();
        strategies.extend([Strategy::Local; 2]);
        Self { strategies, sampling: 0.3, most_points: 20, generation: HUNT_GENERATION, ..Self::default() }
    }

    /// What hunts for wrong code take: the paper's strategies and sampling, in chains that are profiled again. A limit on the points
    /// keeps the last variants of a chain from costing many times what their seed costs.
    pub fn for_wrong_code() -> Self {
        Self { most_points: 40, generation: HUNT_GENERATION, ..Self::default() }
    }
}

/// Variants per profile in hunts: profiling costs as much as compiling two or three of csmith's variants.
const HUNT_GENERATION: usize = 5;

/// Of one array or record, this many elements are candidates.
const PARTS_PER_VARIABLE: usize = 8;

/// Points a round samples at least, so that short programs get something too.
const MIN_POINTS: usize = 3;

/// Share of the dead points that stay as they are: programs can have more dead code than live, and what
/// compilers throw away must not crowd out what they have to keep.
const DEAD_SKIPPED: f64 = 0.5;

/// Visits of a point after which no local code is put there: it has loops, and traces have an end.
const LOCAL_VISITS: u64 = 3;

/// Draws of another point when a round's own points give nothing.
const BORROW_TRIES: usize = 64;

/// Makes variants. Holds the profiling compiler, so keep one for many programs; it may be shared by threads.
#[derive(Debug)]
pub struct Mutator {
    options: MutationOptions,
    profiler: Profiler,
    // Kept so that the stub headers are written once, not for every parse.
    _stubs: Option<Arc<trueline_ctree::StubHeaders>>,
}

/// The variants of one program.
#[derive(Clone, Debug)]
pub struct Variants {
    /// The variants, in order of the chain.
    pub variants: Vec<MutatedProgram>,
    /// The profile they rest on.
    pub profile: Profile,
    /// What the seed does, and so what every variant must do.
    pub expected: Arc<ExpectedBehaviour>,
    /// Number of program points the program has.
    pub points: usize,
    /// CPU time of profiling (compiling and running the instrumented program).
    pub profiling_cpu: Duration,
}

/// What all insertions into one program share.
struct MutationGround<'a> {
    unit: &'a SourceUnit,
    /// Prefix of names that occur nowhere in the program.
    prefix: String,
    /// Strategies for points that are reached.
    live: Vec<Strategy>,
}

impl MutationGround<'_> {
    /// The strategies for a point that is reached so many times.
    fn strategies_at(&self, visits: u64) -> Vec<Strategy> {
        self.live.iter().copied().filter(|s| *s != Strategy::Local || visits <= LOCAL_VISITS).collect()
    }
}

impl Mutator {
    /// Finds the profiling compiler.
    pub fn new(options: MutationOptions) -> Result<Self, MutateError> {
        let profiler = Profiler::find(options.profiler.as_deref())?;
        Ok(Self { options, profiler, _stubs: trueline_ctree::StubHeaders::shared().ok() })
    }

    /// The options it works with.
    pub fn options(&self) -> &MutationOptions {
        &self.options
    }

    /// The compiler it profiles with.
    pub fn profiler(&self) -> &CompilerId {
        &self.profiler.compiler.id
    }

    /// Makes `n` variants. The same program, options and seed give the same bytes.
    ///
    /// The first profile is that of the program. When a generation is through, its last variant is the seed of the next one, if
    /// it can be profiled and does what the program does; otherwise, and at the end of a chain, the next generation starts at the
    /// program again, with another seed. The counts and the profile of the answer are those of the first generation.
    pub fn variants(&self, program: &Program, n: usize, seed: u64) -> Result<Variants, MutateError> {
        let chain = self.options.chain.max(1);
        let generation = self.options.generation.clamp(1, n.max(1));
        let mut all = self.generation(program, n.min(generation), seed)?;
        let mut round = 0;
        while all.variants.len() < n {
            let (made, count) = (all.variants.len(), generation.min(n - all.variants.len()));
            round += 1;
            // Streams of different generations have nothing to do with one another.
            let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(round));
            let parent = if made % chain == 0 { program } else { &all.variants[made - 1].program };
            let next = match self.generation(parent, count, mixed) {
                // What cannot be profiled any more (it takes too long, mostly) ends its chain.
                Err(MutateError::Refused(_)) if made % chain != 0 => self.generation(program, count, mixed)?,
                other => other?,
            };
            if next.expected != all.expected {
                let name = all.variants[made - 1].program.name.clone();
                return Err(MutateError::Unequal { name, program: Box::new(all.variants[made - 1].program.clone()) });
            }
            all.profiling_cpu += next.profiling_cpu;
            all.variants
                .extend(next.variants.into_iter().enumerate().map(|(i, variant)| variant.renamed(variant_name(&program.name, made + i))));
        }
        Ok(all)
    }

    /// Makes the variants that rest on one profile.
    fn generation(&self, program: &Program, n: usize, seed: u64) -> Result<Variants, MutateError> {
        let unit = parse(program)?;
        refuse(&unit)?;
        let points = points(&unit);
        let rounds = self.sample(&points, n, seed);
        let mut union: Vec<usize> = rounds.iter().flatten().copied().collect();
        union.sort_unstable();
        union.dedup();
        let sampled = union.iter().map(|&p| SampledPoint { point: points[p], lvalues: self.lvalues(&unit, &points[p], seed, p) }).collect();
        let profile = profile(&unit, program, sampled, &self.profiler)?;
        let ground = MutationGround { unit: &unit, prefix: unused_prefix(unit.text()), live: self.live_strategies(program) };
        if !profile.visits.iter().any(|v| self.usable(&ground, &v.1)) {
            let line = points.first().map_or(1, |p| unit.line(p.span.start));
            let reason = "no program point can be mutated: none that was sampled ran with integers in scope (try another seed)".to_owned();
            return Err(MutationRefusal { name: unit.name().to_owned(), line, reason }.into());
        }
        let visits: BTreeMap<usize, &(InsertPoint, PointVisit)> = union.iter().copied().zip(&profile.visits).collect();
        let by_round = self.synthesize(&ground, &rounds, &visits, seed);
        let expected = Arc::new(ExpectedBehaviour { output: profile.output.clone(), exit_code: profile.exit_code });
        let parent = hex(&Sha256::digest(program.source.as_bytes()));
        let origin = Arc::new(program.clone());
        let chain = self.options.chain.max(1);
        let variants = (0..n).map(|i| {
            let insertions = by_round[i - i % chain..=i].concat();
            MutatedProgram::assemble(&origin, &expected, variant_name(&program.name, i), seed, &parent, insertions)
        });
        let variants = variants.collect();
        let profiling_cpu = profile.cpu;
        Ok(Variants { variants, profile, expected, points: points.len(), profiling_cpu })
    }

    /// The points of every round.
    fn sample(&self, points: &[InsertPoint], n: usize, seed: u64) -> Vec<Vec<usize>> {
        let mut dice = MutationDice::new(seed, 1);
        let all: Vec<usize> = (0..points.len()).collect();
        let round = |_| {
            let mut chosen: Vec<usize> = all.iter().copied().filter(|_| dice.chance(self.options.sampling)).collect();
            if chosen.len() > self.options.most_points {
                chosen = dice.sample(&chosen, self.options.most_points);
            }
            if chosen.len() < MIN_POINTS {
                chosen.extend(dice.sample(&all, MIN_POINTS));
            }
            chosen.sort_unstable();
            chosen.dedup();
            chosen
        };
        (0..n).map(round).collect()
    }

    /// What is recorded at a point: locals and parameters first, then globals by chance.
    fn lvalues(&self, unit: &SourceUnit, point: &InsertPoint, seed: u64, number: usize) -> Vec<Lvalue> {
        let mut dice = MutationDice::new(seed, 2 << 32 | number as u64);
        let mut found = unit.integers_in_scope(point.span.start, PARTS_PER_VARIABLE);
        found.retain(is_portable);
        let (mut near, mut far): (Vec<Lvalue>, Vec<Lvalue>) = found.into_iter().partition(|l| l.reach != VariableReach::Global);
        // Half of the room is the globals', so that locals with many parts leave some to them.
        dice.shuffle(&mut far);
        if near.len() + far.len() > self.options.slots {
            let half = (self.options.slots / 2).max(self.options.slots.saturating_sub(far.len()));
            if near.len() > half {
                dice.shuffle(&mut near);
                near.truncate(half);
            }
            far.truncate(self.options.slots - near.len());
        }
        near.extend(far);
        near
    }

    fn enabled(&self, strategy: Strategy) -> bool {
        self.options.strategies.contains(&strategy)
    }

    /// The strategies for points that a program reaches.
    fn live_strategies(&self, program: &Program) -> Vec<Strategy> {
        let fits = |s: &Strategy| *s != Strategy::Dead && (*s != Strategy::Local || !is_c89(program));
        let mut live: Vec<Strategy> = self.options.strategies.iter().copied().filter(fits).collect();
        live.sort_unstable();
        live
    }

    fn usable(&self, ground: &MutationGround<'_>, visit: &PointVisit) -> bool {
        match visit {
            PointVisit::Never => self.enabled(Strategy::Dead),
            PointVisit::Reached(visits, env) => !env.is_empty() && !ground.strategies_at(*visits).is_empty(),
        }
    }

    /// The insertions of every round.
    fn synthesize(
        &self,
        ground: &MutationGround<'_>,
        rounds: &[Vec<usize>],
        visits: &BTreeMap<usize, &(InsertPoint, PointVisit)>,
        seed: u64,
    ) -> Vec<Vec<Insertion>> {
        let usable: Vec<usize> = visits.iter().filter(|(_, v)| self.usable(ground, &v.1)).map(|(&p, _)| p).collect();
        let mut number = 0;
        let mut all = Vec::with_capacity(rounds.len());
        for (round, chosen) in rounds.iter().enumerate() {
            let own = chosen.iter().copied().filter(|p| self.usable(ground, &visits[p].1));
            let mut insertions = Vec::new();
            for p in own {
                let mut dice = MutationDice::new(seed, (4 + round as u64) << 32 | p as u64);
                if let Some(insertion) = self.insertion(ground, visits[&p], number, round as u32, &mut dice) {
                    insertions.push(insertion);
                    number += 1;
                }
            }
            // Its own points gave nothing: it borrows one of another round's, so that no variant equals the one before.
            let mut dice = MutationDice::new(seed, 3 << 32 | round as u64);
            for _ in 0..BORROW_TRIES {
                if !insertions.is_empty() {
                    break;
                }
                let borrowed = dice.pick(&usable).map(|p| visits[p]);
                insertions.extend(borrowed.and_then(|visit| self.insertion(ground, visit, number, round as u32, &mut dice)));
                number += insertions.len() as u32;
            }
            all.push(insertions);
        }
        all
    }

    fn insertion(
        &self,
        ground: &MutationGround<'_>,
        (point, visit): &(InsertPoint, PointVisit),
        number: u32,
        round: u32,
        dice: &mut MutationDice,
    ) -> Option<Insertion> {
        let site = SnippetSite { unit: ground.unit, point, prefix: &ground.prefix, number };
        let Snippet { strategy, change, function } = match visit {
            PointVisit::Never => {
                if dice.chance(DEAD_SKIPPED) {
                    return None;
                }
                site.dead(dice)
            }
            PointVisit::Reached(visits, env) => {
                let mut strategies = ground.strategies_at(*visits);
                if !site.can_guard() {
                    strategies.retain(|s| *s != Strategy::Tg);
                }
                let wanted = *dice.pick(&strategies)?;
                let made = site.live(wanted, env, dice);
                if !self.enabled(made.strategy) {
                    return None;
                }
                made
            }
        };
        let changed = match &change {
            InsertedChange::Before(text) => text.trim_end().to_owned(),
            InsertedChange::Around(open, close) => format!("{}…{close}", open.trim_end()),
            InsertedChange::Delete => String::new(),
        };
        let text = function.iter().map(|f| f.text.as_str()).chain([changed.as_str()]).collect();
        let line = ground.unit.line(point.span.start);
        Some(Insertion { id: InsertionId(number), strategy, round, line, span: point.span, text, change, function })
    }
}

/// Flags after which a loop cannot declare its variable.
fn is_c89(program: &Program) -> bool {
    let old = ["-ansi", "-std=c89", "-std=c90", "-std=gnu89", "-std=gnu90", "-std=iso9899:1990"];
    program.cflags.iter().any(|flag| old.contains(&flag.as_str()))
}

/// A prefix for names of ours that occurs nowhere in a text.
fn unused_prefix(text: &str) -> String {
    let mut prefix = "tl_".to_owned();
    while text.contains(&prefix) {
        prefix.insert(2, 'x');
    }
    prefix
}

fn variant_name(name: &str, number: usize) -> String {
    let stem = name.strip_suffix(".c").or_else(|| name.strip_suffix(".i")).unwrap_or(name);
    format!("{stem}-v{number:03}.c")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
