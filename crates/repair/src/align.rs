//! Which moments of the reference run an instant of the optimized run stands for.
//!
//! Positions are tied by what has been stored (the fingerprint of shared memory) and, inside loops, by
//! trip counts: one iteration of an optimized loop stands for a fixed number of source iterations. Values
//! of variables play no part in it.

use crate::observe::{Arrival, BuildSide, Instance, MachineInstant, OptimizedRun, ReferenceRun};
use std::collections::BTreeMap;

/// Most source iterations that one optimized iteration may stand for.
const MAX_UNROLL: usize = 64;

/// An optimized loop instance tied to a reference one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopTie {
    /// The instance of the loop in the reference.
    pub reference: usize,
    /// The source iteration that the first optimized one begins with.
    pub first: usize,
    /// Source iterations per optimized iteration.
    pub unroll: usize,
}

/// The ties of one pair of runs, by optimized instance.
#[derive(Clone, Debug, Default)]
pub struct Alignment {
    /// `None` where no tie was found.
    pub ties: Vec<Option<LoopTie>>,
}

/// Which reference loops an optimized loop may come from, best first: by the source lines they share.
pub fn candidates(reference: &BuildSide<'_>, optimized: &BuildSide<'_>) -> Vec<Vec<usize>> {
    let lines: Vec<_> = (0..reference.graph.loops.len()).map(|n| reference.loop_lines(n)).collect();
    (0..optimized.graph.loops.len())
        .map(|n| {
            let own = optimized.loop_lines(n);
            let mut ranked: Vec<(usize, usize, usize)> = lines
                .iter()
                .enumerate()
                .map(|(g, l)| (own.intersection(l).count(), reference.graph.loops[g].body.len(), g))
                .filter(|(common, ..)| *common > 0)
                .collect();
            ranked.sort_by_key(|(common, size, _)| (std::cmp::Reverse(*common), *size));
            ranked.into_iter().map(|(.., g)| g).collect()
        })
        .collect()
}

/// Iterations of an instance in which the body ran: the last arrival at a head that tests is the exit.
pub fn full_iterations(side: &BuildSide<'_>, instance: &Instance) -> usize {
    let arrivals = instance.arrivals.len();
    if tests_at_head(side, instance.index) { arrivals.saturating_sub(1) } else { arrivals }
}

/// True when the loop can be left from the block its head begins.
pub fn tests_at_head(side: &BuildSide<'_>, index: usize) -> bool {
    let l = &side.graph.loops[index];
    let mut pc = l.head;
    loop {
        match side.graph.successors.get(&pc).map(Vec::as_slice) {
            Some([next]) if *next != l.head && l.body.contains(next) => pc = *next,
            Some(next) => return next.iter().any(|n| !l.body.contains(n)),
            None => return false,
        }
    }
}

/// Source iterations per optimized iteration, by optimized and reference loop.
pub type Hints = BTreeMap<(usize, usize), usize>;

/// What most instances with more than one iteration agree on: a single iteration alone says nothing.
pub fn hints(runs: &[(&ReferenceRun, &OptimizedRun, &Alignment)]) -> Hints {
    let mut votes: BTreeMap<(usize, usize), BTreeMap<usize, usize>> = BTreeMap::new();
    for (source, machine, alignment) in runs {
        for (instance, tie) in machine.instances.iter().zip(&alignment.ties) {
            if let Some(tie) = tie.filter(|_| instance.arrivals.len() > 1) {
                let key = (instance.index, source.instances[tie.reference].index);
                *votes.entry(key).or_default().entry(tie.unroll).or_insert(0) += instance.arrivals.len();
            }
        }
    }
    votes.into_iter().filter_map(|(key, v)| Some((key, v.into_iter().max_by_key(|(u, n)| (*n, std::cmp::Reverse(*u)))?.0))).collect()
}

/// Ties every optimized loop instance that can be tied.
pub fn align(
    reference: &BuildSide<'_>,
    optimized: &BuildSide<'_>,
    source: &ReferenceRun,
    machine: &OptimizedRun,
    hints: &Hints,
) -> Alignment {
    let candidates = candidates(reference, optimized);
    let by_loop = |g: usize| source.instances.iter().enumerate().filter(move |(_, i)| i.index == g).map(|(n, _)| n).collect::<Vec<_>>();
    let mut instances: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    // The next free position per reference loop: (index into its instances, iteration).
    let mut next: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut ties = Vec::with_capacity(machine.instances.len());
    for instance in &machine.instances {
        let mut found = None;
        for g in &candidates[instance.index] {
            let list = instances.entry(*g).or_insert_with(|| by_loop(*g));
            let start = next.get(g).copied().unwrap_or((0, 0));
            let hint = hints.get(&(instance.index, *g)).copied();
            if let Some((position, tie)) = tie(reference, source, instance, list, start, hint) {
                next.insert(*g, (position, tie.first + tie.unroll * instance.arrivals.len()));
                found = Some(tie);
                break;
            }
        }
        ties.push(found);
    }
    Alignment { ties }
}

/// How much two arrivals must have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likeness {
    /// Memory, and how much was stored so far.
    Stores,
    /// Memory alone: one build may store less.
    Memory,
}

impl Likeness {
    fn holds(self, a: &Arrival, b: &Arrival) -> bool {
        a.state == b.state && (self == Self::Memory || a.stored == b.stored)
    }
}

fn tie(
    side: &BuildSide<'_>,
    source: &ReferenceRun,
    instance: &Instance,
    list: &[usize],
    start: (usize, usize),
    hint: Option<usize>,
) -> Option<(usize, LoopTie)> {
    // Where stores change nothing memory does not tell iterations apart; how much was stored does.
    [Likeness::Stores, Likeness::Memory].into_iter().find_map(|likeness| tie_by(likeness, side, source, instance, list, start, hint))
}

fn tie_by(
    likeness: Likeness,
    side: &BuildSide<'_>,
    source: &ReferenceRun,
    instance: &Instance,
    list: &[usize],
    start: (usize, usize),
    hint: Option<usize>,
) -> Option<(usize, LoopTie)> {
    let trips = instance.arrivals.len();
    for (position, index) in list.iter().enumerate().skip(start.0).take(64) {
        let candidate = &source.instances[*index];
        let full = full_iterations(side, candidate);
        let from = if position == start.0 { start.1 } else { 0 };
        for first in from..full {
            if !likeness.holds(&candidate.arrivals[first], &instance.arrivals[0]) {
                continue;
            }
            let left = full - first;
            // Every iteration begins where the source has the same memory.
            let fits = |unroll: usize| {
                (0..trips).all(|j| candidate.arrivals.get(first + unroll * j).is_some_and(|a| likeness.holds(a, &instance.arrivals[j])))
            };
            // All of them full, or else the last one left in the middle.
            let most = (left / trips).min(MAX_UNROLL);
            let partial = candidate.arrivals.len().saturating_sub(first + 1).checked_div(trips - 1).unwrap_or(most).min(MAX_UNROLL);
            let unroll = match hint {
                Some(hint) if fits(hint) => Some(hint),
                _ => (1..=most).rev().chain(most + 1..=partial).find(|u| fits(*u)),
            };
            if let Some(unroll) = unroll {
                return Some((position, LoopTie { reference: *index, first, unroll }));
            }
        }
    }
    None
}

/// The moments an instant stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MomentWindow {
    /// Indices of moments, in order.
    pub moments: Vec<usize>,
    /// Source iterations past the first of this optimized iteration, of the first moment.
    pub lane: Option<usize>,
    /// Whether the moments are at the line that a debugger shows.
    pub lines: Lines,
}

/// Whether the source comes to the line of an instant at the moments it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lines {
    /// The lines are the same.
    #[default]
    Same,
    /// It does not, at this visit: only a variable that has one value throughout is known.
    Any,
}

/// Finds the window of an instant; `line` is the line a debugger shows there, 0 for none.
pub fn window(source: &ReferenceRun, machine: &OptimizedRun, alignment: &Alignment, instant: &MachineInstant, line: u64) -> MomentWindow {
    let at_line = |k: &usize| line == 0 || source.moments[*k].line == line;
    let tied = instant.place.and_then(|(n, iteration)| alignment.ties[n].map(|t| (t, iteration)));
    if let Some((tie, iteration)) = tied {
        let reference = &source.instances[tie.reference];
        let first = tie.first + tie.unroll * iteration;
        let position = |q: usize| reference.arrivals.get(q).map_or(reference.end, |a| a.position);
        let (low, high) = (position(first), position(first + tie.unroll));
        // The next iteration's test belongs to the same stores.
        let beyond = position(first + tie.unroll + 1);
        // The latest fingerprint that the source also had in these iterations.
        for (back, state) in instant.states.iter().rev().enumerate() {
            let same: Vec<usize> = (low..beyond).filter(|k| source.moments[*k].state == *state).collect();
            if same.is_empty() {
                continue;
            }
            let mut moments: Vec<usize> = same.iter().copied().filter(at_line).collect();
            if back > 0 {
                // Between two states the source also had: everything from the older one on is possible.
                let from = same[0];
                moments = (from..high).filter(at_line).collect();
            }
            let lane = moments.first().map(|k| (0..=tie.unroll).rev().find(|l| position(first + l) <= *k).unwrap_or(0));
            return MomentWindow { moments, lane, lines: Lines::Same };
        }
        return MomentWindow::default();
    }
    if instant.place.is_some() {
        return MomentWindow::default();
    }
    // Outside loops: after the last tied instance, before the second iteration of the next one.
    let ends = |n: usize| {
        alignment.ties[n].map(|t| {
            let r = &source.instances[t.reference];
            let last = t.first + t.unroll * machine.instances[n].arrivals.len();
            r.arrivals.get(last).map_or(r.end, |a| a.position)
        })
    };
    let low = (0..instant.entered).rev().find_map(ends).unwrap_or(0);
    let begins = |n: usize| {
        alignment.ties[n].map(|t| {
            let r = &source.instances[t.reference];
            r.arrivals.get(t.first + 1).map_or(r.end, |a| a.position)
        })
    };
    let high = (instant.entered..alignment.ties.len()).find_map(begins).unwrap_or(source.moments.len());
    // Only the memory as it is now: between two states that the source had nothing is known here.
    let Some(state) = instant.states.last() else { return MomentWindow::default() };
    let moments: Vec<usize> = (low..high.max(low)).filter(|k| source.moments[*k].state == *state).collect();
    let here: Vec<usize> = moments.iter().copied().filter(at_line).collect();
    if !here.is_empty() {
        return MomentWindow { moments: here, lane: None, lines: Lines::Same };
    }
    // At another line only when the source never has this memory at this one: otherwise the moment lies elsewhere.
    let elsewhere = source.moments.iter().any(|m| m.state == *state && m.line == line);
    if elsewhere || moments.is_empty() { MomentWindow::default() } else { MomentWindow { moments, lane: None, lines: Lines::Any } }
}
