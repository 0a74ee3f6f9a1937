//! The search for witness programs (DiWi, Algorithm 1): mutate the failing program a little until it
//! passes, and keep what covers the compiler differently from what is kept already.
//!
//! Mutants are judged in batches of a fixed size, so that the machine's processors are used and the seed
//! alone decides what is found (the budget apart).

use crate::mutate::RuleSites;
use crate::oracle_code::OracleCode;
use crate::rule::MutationRule;
use crate::select::RuleSelector;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use trueline_model::{Coverage, CoverageSet, Interesting, Origin, Program, SeamError, StillShows, Validity};

/// How rules are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchStrategy {
    /// By Metropolis–Hastings on the priority score.
    Guided,
    /// Any rule with equal chance, any passing mutant kept: the ablation.
    Random,
}

/// What the search is given.
pub struct WitnessSearch<'a> {
    /// The program that fails.
    pub program: &'a Program,
    /// Says whether a program still fails (`Yes`), passes (`No`), or tells nothing.
    pub judge: &'a dyn Interesting,
    /// Measures what a compilation covers.
    pub coverage: &'a dyn Coverage,
    /// The flags of the failing compilation, the level among them.
    pub flags: &'a [String],
    /// Whether the code that shows the program's result must stay as it is.
    pub protect_output: bool,
    /// Says whether a program that passes means anything: undefined behaviour passes and fails as it likes. `None` where it does
    /// not matter, or where the failing program itself is not clean.
    pub validity: Option<&'a dyn Validity>,
    /// How rules are chosen.
    pub strategy: SearchStrategy,
    /// The seed of every random choice.
    pub seed: u64,
    /// Mutants judged at a time.
    pub batch: usize,
    /// Witnesses after which it is enough.
    pub most_witnesses: usize,
}

impl<'a> WitnessSearch<'a> {
    /// A guided search with the usual settings, for a failure that shows in the compiler itself.
    pub fn new(program: &'a Program, judge: &'a dyn Interesting, coverage: &'a dyn Coverage, flags: &'a [String]) -> Self {
        Self {
            program,
            judge,
            coverage,
            flags,
            protect_output: false,
            validity: None,
            strategy: SearchStrategy::Guided,
            seed: 1,
            // Fixed, so that the seed decides what is found whatever the number of processors.
            batch: 4,
            most_witnesses: 3000,
        }
    }
}

/// A program close to the failing one that passes.
#[derive(Clone, Debug)]
pub struct WitnessProgram {
    /// The program that passes.
    pub program: Program,
    /// The rules that made it, in order.
    pub rules: Vec<MutationRule>,
    /// What its compilation covers.
    pub covered: CoverageSet,
    /// Distance of that to the failing program's coverage.
    pub distance: f64,
}

/// What the search found.
#[derive(Clone, Debug, Default)]
pub struct SearchOutcome {
    /// What the failing compilation covers.
    pub failing: CoverageSet,
    /// The witnesses in the order found.
    pub witnesses: Vec<WitnessProgram>,
    /// How many mutants were judged.
    pub judged: usize,
    /// How many of them still fail.
    pub failing_mutants: usize,
    /// How many told nothing (do not compile, behave differently at the reference level too).
    pub unjudged: usize,
    /// How many passed and would have been witnesses, but are not valid programs.
    pub invalid: usize,
    /// The highest order of mutation reached.
    pub order: usize,
    /// True when every mutant of every order tried was used up before the budget was.
    pub exhausted: bool,
}

/// Something that happened, for progress.
#[derive(Clone, Copy, Debug)]
pub enum SearchEvent {
    /// A batch was judged.
    Progress {
        /// Mutants judged so far.
        judged: usize,
        /// How many witnesses there are so far.
        witnesses: usize,
        /// How many mutations the mutants have.
        order: usize,
    },
}

/// Why there was no search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The program cannot be parsed, so it cannot be mutated.
    #[error("cannot mutate the program: {0}")]
    Parse(#[from] trueline_ctree::ParseError),
    /// Nothing in it can be mutated.
    #[error("no mutation rule applies to the program: outside the code that shows its result there is no variable, operator or constant")]
    NoSites,
    /// A judgement or a measurement failed.
    #[error("{0}")]
    Seam(#[from] SeamError),
}

/// A failing program to mutate further.
struct Seed {
    program: Program,
    rules: Vec<MutationRule>,
    sites: RuleSites,
    tried: HashMap<MutationRule, HashSet<usize>>,
}

struct Proposal {
    rule: MutationRule,
    rules: Vec<MutationRule>,
    program: Program,
}

/// Mutation orders tried at most: the paper goes higher only while no witness was found.
const HIGHEST_ORDER: usize = 3;

impl WitnessSearch<'_> {
    /// Searches until `within_budget` says no, or nothing is left to try. What was found so far is always
    /// returned.
    pub fn run(&self, within_budget: &mut dyn FnMut() -> bool, observe: &mut dyn FnMut(SearchEvent)) -> Result<SearchOutcome, SearchError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut found = SearchOutcome { failing: self.coverage.measure(self.program, self.flags)?, order: 1, ..SearchOutcome::default() };
        let mut seen: HashSet<String> = HashSet::from([self.program.source.clone()]);
        let mut seeds = vec![self.seed_of(self.program.clone(), Vec::new())?];
        if seeds[0].sites.is_empty() {
            return Err(SearchError::NoSites);
        }
        loop {
            let mut failing = Vec::new();
            let exhausted = self.search_order(&mut seeds, &mut random, &mut seen, &mut found, &mut failing, within_budget, observe)?;
            if !exhausted || failing.is_empty() || found.order == HIGHEST_ORDER {
                found.exhausted = exhausted;
                return Ok(found);
            }
            found.order += 1;
            let parsed = failing.into_iter().filter_map(|(program, rules)| self.seed_of(program, rules).ok());
            seeds = parsed.filter(|seed| !seed.sites.is_empty()).collect();
            if seeds.is_empty() {
                found.exhausted = true;
                return Ok(found);
            }
        }
    }

    /// Mutates programs of one order; true when all their mutants are used up.
    #[allow(clippy::too_many_arguments, reason = "the state of one search, taken apart for the borrow checker")]
    fn search_order(
        &self,
        seeds: &mut [Seed],
        random: &mut ChaCha8Rng,
        seen: &mut HashSet<String>,
        found: &mut SearchOutcome,
        failing: &mut Vec<(Program, Vec<MutationRule>)>,
        within_budget: &mut dyn FnMut() -> bool,
        observe: &mut dyn FnMut(SearchEvent),
    ) -> Result<bool, SearchError> {
        let mut rules: Vec<MutationRule> = seeds.iter().flat_map(|seed| seed.sites.rules()).collect();
        rules.sort();
        rules.dedup();
        let Some(mut selector) = RuleSelector::new(&rules, random) else { return Ok(true) };
        let mut live = rules;
        while within_budget() && found.witnesses.len() < self.most_witnesses {
            let mut proposals = Vec::new();
            while proposals.len() < self.batch && !live.is_empty() {
                let rule = match self.strategy {
                    SearchStrategy::Guided => selector.next(random),
                    SearchStrategy::Random => live[random.random_range(0..live.len())],
                };
                match propose(seeds, rule, random, seen) {
                    Some(proposal) => proposals.push(proposal),
                    None => {
                        live.retain(|other| *other != rule);
                        if !selector.retire(rule) {
                            live.clear();
                        }
                    }
                }
            }
            if proposals.is_empty() {
                return Ok(true);
            }
            for (proposal, result) in self.judge(proposals) {
                let (answer, covered) = result?;
                found.judged += 1;
                let mut accepted = None;
                match (answer, covered) {
                    (StillShows::Yes, _) => {
                        found.failing_mutants += 1;
                        failing.push((proposal.program, proposal.rules));
                    }
                    (StillShows::No, Some(covered)) => {
                        let distances: Vec<f64> = found.witnesses.iter().map(|w| w.covered.distance(&covered)).collect();
                        let diverse = distances.iter().all(|distance| *distance > 0.0);
                        // Asked last, since it costs as much as the rest: what is not kept needs no sanitizer.
                        let kept = diverse || self.strategy == SearchStrategy::Random;
                        if kept && self.is_invalid(&proposal.program)? {
                            found.invalid += 1;
                        } else if kept {
                            let mean = if distances.is_empty() { 1.0 } else { distances.iter().sum::<f64>() / distances.len() as f64 };
                            accepted = Some(mean);
                            let distance = covered.distance(&found.failing);
                            found.witnesses.push(WitnessProgram { program: proposal.program, rules: proposal.rules, covered, distance });
                        }
                    }
                    _ => found.unjudged += 1,
                }
                if live.contains(&proposal.rule) {
                    selector.update(proposal.rule, accepted);
                }
            }
            observe(SearchEvent::Progress { judged: found.judged, witnesses: found.witnesses.len(), order: found.order });
        }
        Ok(false)
    }

    fn is_invalid(&self, program: &Program) -> Result<bool, SeamError> {
        Ok(match self.validity {
            Some(validity) => validity.reject(program)?.is_some(),
            None => false,
        })
    }

    /// Judges mutants side by side, and measures those that pass.
    #[allow(clippy::type_complexity, reason = "pairs in the order given, nothing more")]
    fn judge(&self, proposals: Vec<Proposal>) -> Vec<(Proposal, Result<(StillShows, Option<CoverageSet>), SeamError>)> {
        proposals
            .into_par_iter()
            .map(|proposal| {
                let result = self.judge.judge(&proposal.program).and_then(|answer| match answer {
                    StillShows::No => Ok((answer, Some(self.coverage.measure(&proposal.program, self.flags)?))),
                    _ => Ok((answer, None)),
                });
                (proposal, result)
            })
            .collect()
    }

    fn seed_of(&self, program: Program, rules: Vec<MutationRule>) -> Result<Seed, SearchError> {
        let sites = match trueline_ctree::parse(&program) {
            Ok(unit) => {
                let protected = if self.protect_output { OracleCode::of_output(&unit) } else { OracleCode::none() };
                RuleSites::find(&unit, &protected)
            }
            // The compiler under test took it, so it is C of some kind.
            Err(trueline_ctree::ParseError::Syntax { .. }) => RuleSites::find_by_tokens(&program.source),
            Err(error) => return Err(error.into()),
        };
        Ok(Seed { program, rules, sites, tried: HashMap::new() })
    }
}

/// A mutant by a rule that was not tried before; `None` when the rule has none left in any seed.
fn propose(seeds: &mut [Seed], rule: MutationRule, random: &mut ChaCha8Rng, seen: &mut HashSet<String>) -> Option<Proposal> {
    let mut open: Vec<usize> = (0..seeds.len()).filter(|&i| seeds[i].left(rule) > 0).collect();
    while !open.is_empty() {
        let slot = random.random_range(0..open.len());
        let seed = &mut seeds[open[slot]];
        while seed.left(rule) > 0 {
            let tried = seed.tried.entry(rule).or_default();
            let untried: Vec<usize> = (0..seed.sites.of(rule).len()).filter(|site| !tried.contains(site)).collect();
            let site = untried[random.random_range(0..untried.len())];
            tried.insert(site);
            let Ok(source) = seed.sites.of(rule)[site].apply(&seed.program.source) else { continue };
            if seen.insert(source.clone()) {
                let rules: Vec<MutationRule> = seed.rules.iter().copied().chain([rule]).collect();
                let origin = Origin::Mutated {
                    parent: seed.program.name.clone(),
                    seed: 0,
                    strategies: rules.iter().map(ToString::to_string).collect(),
                };
                return Some(Proposal { rule, rules, program: Program { source, origin, ..seed.program.clone() } });
            }
        }
        open.swap_remove(slot);
    }
    None
}

impl Seed {
    fn left(&self, rule: MutationRule) -> usize {
        self.sites.of(rule).len() - self.tried.get(&rule).map_or(0, HashSet::len)
    }
}
