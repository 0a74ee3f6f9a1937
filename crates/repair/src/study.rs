//! Everything observed of one function: pairs of runs on several inputs and layouts, aligned, and what
//! they say of a variable at a PC.

use crate::align::{self, Alignment, MomentWindow};
use crate::debug::{PlacedVariable, TypeClass};
use crate::fit::{FitTarget, Sample};
use crate::inputs::{self, Builds, Input, InputOrigin};
use crate::observe::{self, BuildSide, Key, MachineInstant, OptimizedRun, ReferenceRun, Slot};
use crate::relation::Relation;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use trueline_machine::cpu::Tracker;
use trueline_machine::emulate::EmulatorStop;

/// Moments that are looked back on for where a pointer came from.
const BACK: usize = 64;

/// Different values of a variable that a copy must have followed.
const FOLLOWED: usize = 2;
/// Different values of a variable that a sum or quotient must have given: a form of up to three registers fits four by luck.
const FITTED: usize = 5;

/// One pair of runs.
pub struct Pair {
    /// The run of the reference build.
    pub source: ReferenceRun,
    /// The run of the optimized build.
    pub machine: OptimizedRun,
    /// How they are tied.
    pub alignment: Alignment,
    /// The number of its address-space layout.
    pub layout: usize,
    /// Where its input came from.
    pub origin: InputOrigin,
    /// Which input it is.
    pub number: u64,
    /// Which call of the program's own it comes from.
    pub call: usize,
    reference_memory: Tracker,
    optimized_memory: Tracker,
}

/// All runs of one function.
pub struct Study<'a> {
    /// The build at -O0, with its debug information.
    pub reference: BuildSide<'a>,
    /// The optimized build, with its debug information.
    pub optimized: BuildSide<'a>,
    /// Variables of the reference build.
    pub slots: Vec<Slot>,
    /// Pairs of runs that agree.
    pub pairs: Vec<Pair>,
    /// Why other pairs were dropped.
    pub rejected: Vec<String>,
    /// Windows by pair and instant.
    windows: Vec<Vec<MomentWindow>>,
    by_pc: BTreeMap<u64, Vec<(usize, usize)>>,
    index: HashMap<Key, usize>,
}

/// What the runs say of a variable at a PC.
#[derive(Clone, Debug, Default)]
pub struct RunEvidence {
    /// Pair and instant with the values allowed there.
    pub targets: Vec<((usize, usize), FitTarget)>,
    /// Instants that stand for no moment of the source at this line, or for moments at which the
    /// variable was not initialised: nothing may be claimed there.
    pub unknown: usize,
}

impl<'a> Study<'a> {
    /// Runs both builds on every input.
    pub fn new(builds: Builds<'a>, elsewhere: Option<&Builds<'a>>, inputs: Vec<Input>) -> Self {
        let (reference, optimized) = &builds;
        let mut names = vec![reference.function.name.clone()];
        names.extend(optimized.function.inlined.iter().map(|(n, _)| n.clone()));
        names.sort_unstable();
        names.dedup();
        let slots = observe::slots(reference.info, &names);
        let mut pairs = Vec::new();
        let mut rejected = Vec::new();
        for input in inputs {
            let reference_memory = input.reference.tracker.clone();
            let optimized_memory = input.optimized.tracker.clone();
            let (r, o) = inputs::placed(&builds, elsewhere, input.layout);
            let source = observe::run_reference(r, &slots, input.reference);
            if let EmulatorStop::Failed(reason) = &source.stop {
                rejected.push(format!("the reference build: {reason}"));
                continue;
            }
            let machine = observe::run_optimized(o, input.optimized);
            if let EmulatorStop::Failed(reason) = &machine.stop {
                rejected.push(format!("the optimized build: {reason}"));
                continue;
            }
            if input.origin == InputOrigin::Wild && (source.stop != EmulatorStop::Returned || machine.stop != EmulatorStop::Returned) {
                continue;
            }
            if input.origin == InputOrigin::Wild && source.final_state != machine.final_state {
                continue;
            }
            if source.stop == EmulatorStop::Returned && machine.stop == EmulatorStop::Returned && source.final_state != machine.final_state
            {
                rejected.push(
                    "the two builds end with different memory: the source is not the binary's, or the compiler mistranslated it".to_owned(),
                );
                continue;
            }
            let alignment = align::align(reference, optimized, &source, &machine, &align::Hints::new());
            pairs.push(Pair {
                source,
                machine,
                alignment,
                layout: input.layout,
                origin: input.origin,
                number: input.number,
                call: input.call,
                reference_memory,
                optimized_memory,
            });
        }
        let runs: Vec<_> = pairs.iter().map(|p: &Pair| (&p.source, &p.machine, &p.alignment)).collect();
        let hints = align::hints(&runs);
        for pair in &mut pairs {
            pair.alignment = align::align(reference, optimized, &pair.source, &pair.machine, &hints);
        }
        let mut by_pc: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
        let mut windows = Vec::new();
        for (p, pair) in pairs.iter().enumerate() {
            let mut own = Vec::new();
            for (i, instant) in pair.machine.instants.iter().enumerate() {
                by_pc.entry(instant.pc).or_default().push((p, i));
                own.push(align::window(&pair.source, &pair.machine, &pair.alignment, instant, optimized.info.line_at(instant.pc)));
            }
            windows.push(own);
        }
        // Of two variables with one name on one line nobody knows which is which.
        let unique = |key: &Key| slots.iter().filter(|s| s.key == *key).count() == 1;
        let index = slots.iter().enumerate().filter(|(_, s)| unique(&s.key)).map(|(n, s)| (s.key.clone(), n)).collect();
        let (reference, optimized) = builds;
        Self { reference, optimized, slots, pairs, rejected, windows, by_pc, index }
    }

    /// The reference slot of a variable of the optimized build.
    pub fn slot(&self, variable: &PlacedVariable) -> Option<usize> {
        let key = Key { function: variable.function.clone(), name: variable.name.clone(), line: variable.line };
        let n = *self.index.get(&key)?;
        (self.slots[n].size == variable.ty.size && self.slots[n].class == variable.ty.class).then_some(n)
    }

    /// The instant behind an evidence entry.
    pub fn instant(&self, (pair, instant): (usize, usize)) -> &MachineInstant {
        &self.pairs[pair].machine.instants[instant]
    }

    /// The window behind an evidence entry.
    pub fn window(&self, (pair, instant): (usize, usize)) -> &MomentWindow {
        &self.windows[pair][instant]
    }

    /// Instants of a PC.
    pub fn instants(&self, pc: u64) -> &[(usize, usize)] {
        self.by_pc.get(&pc).map_or(&[], Vec::as_slice)
    }

    /// Layouts among the pairs.
    pub fn layouts(&self) -> usize {
        self.pairs.iter().map(|p| p.layout).collect::<BTreeSet<_>>().len()
    }

    /// What the runs say of slot `slot` at a PC.
    pub fn evidence(&self, pc: u64, slot: usize) -> RunEvidence {
        let mut evidence = RunEvidence::default();
        for at in self.instants(pc) {
            let window = self.window(*at);
            if window.moments.is_empty() {
                evidence.unknown += 1;
                continue;
            }
            let pair = &self.pairs[at.0];
            let mut allowed = Vec::new();
            let mut ends: Option<(u64, u64)> = None;
            let mut blank = false;
            let mut seen = Vec::new();
            let arrives = window.moments.iter().any(|k| pair.source.moments[*k].arrival);
            for k in &window.moments {
                let Some(bits) = pair.source.moments[*k].values[slot].and_then(|b| self.translate(pair, slot, b, *k)) else {
                    blank = true;
                    continue;
                };
                if !seen.contains(&bits) {
                    seen.push(bits);
                }
                if arrives && !pair.source.moments[*k].arrival {
                    continue;
                }
                ends = Some((ends.map_or(bits, |e| e.0), bits));
                if !allowed.contains(&bits) {
                    allowed.push(bits);
                }
            }
            // Away from the line only what does not change is known.
            let vague = window.lines == align::Lines::Any && (blank || allowed.len() > 1);
            match ends.filter(|_| !vague) {
                Some((first, last)) => evidence.targets.push((*at, FitTarget { first, last, allowed, seen, lane: window.lane })),
                None => evidence.unknown += 1,
            }
        }
        evidence
    }

    /// What a slot holds at the source moment of each arrival at a loop head, lines aside.
    pub fn head_evidence(&self, pc: u64, slot: usize) -> RunEvidence {
        let mut evidence = RunEvidence::default();
        for at in self.instants(pc) {
            let (pair, instant) = (&self.pairs[at.0], self.instant(*at));
            let tie = instant.place.and_then(|(n, i)| pair.alignment.ties[n].map(|t| (t, i)));
            let moment = tie.and_then(|(t, i)| pair.source.instances[t.reference].arrivals.get(t.first + t.unroll * i)).map(|a| a.position);
            let bits = moment.and_then(|k| self.translate(pair, slot, pair.source.moments.get(k)?.values[slot]?, k));
            match bits {
                Some(bits) => {
                    evidence
                        .targets
                        .push((*at, FitTarget { first: bits, last: bits, allowed: vec![bits], seen: vec![bits], lane: Some(0) }));
                }
                None => evidence.unknown += 1,
            }
        }
        if evidence.unknown > 0 {
            evidence.targets.clear();
        }
        evidence
    }

    /// True when more than one input came here, or there is but one: a number that only one input shows may be that input's.
    pub fn is_supported(&self, evidence: &RunEvidence) -> bool {
        let numbers = |pairs: &mut dyn Iterator<Item = &Pair>| pairs.map(|p| p.number).collect::<BTreeSet<_>>().len();
        numbers(&mut evidence.targets.iter().map(|(at, _)| &self.pairs[at.0])) > 1 || numbers(&mut self.pairs.iter()) < 2
    }

    /// True when a number that is always the same may be believed: several calls of the program's own came here, or inputs that were
    /// made up on purpose. What one call had throughout is that call's.
    pub fn is_common(&self, evidence: &RunEvidence) -> bool {
        let calls: BTreeSet<usize> = evidence.targets.iter().map(|(at, _)| self.pairs[at.0].call).collect();
        calls.len() > 1 || evidence.targets.iter().all(|(at, _)| self.pairs[at.0].origin == InputOrigin::Generated)
    }

    /// True when a relation may be written without a proof. A constant may not: what was the same in every run made is no relation, and a
    /// rare path may change it. A copy of something needs to have followed it at least once, a sum or a quotient more often than luck
    /// explains, on several inputs.
    pub fn is_well_supported(&self, evidence: &RunEvidence, relation: &Relation) -> bool {
        let values: BTreeSet<u64> = evidence.targets.iter().map(|(_, t)| t.first).collect();
        let copy = match relation {
            other if other.is_constant() => return false,
            Relation::Affine(a) => a.is_copy(),
            Relation::Vector(_) => true,
            Relation::Bits(_) => false,
        };
        values.len() >= if copy { FOLLOWED } else { FITTED } && self.is_supported(evidence)
    }

    /// The samples that a relation is fitted to.
    pub fn samples<'s>(&'s self, evidence: &'s RunEvidence) -> Vec<Sample<'s>> {
        evidence.targets.iter().map(|(at, target)| Sample { state: &self.instant(*at).machine, target }).collect()
    }

    /// A value of the reference build as the optimized one holds it: pointers move with their objects.
    fn translate(&self, pair: &Pair, slot: usize, bits: u64, moment: usize) -> Option<u64> {
        if self.slots[slot].class != TypeClass::Pointer || bits == 0 {
            return Some(bits);
        }
        let (from, to) = (&pair.reference_memory, &pair.optimized_memory);
        let end = from.locate(bits.wrapping_sub(1)).map(|(id, offset)| (id, offset + 1));
        let place = match (from.locate(bits), end) {
            // The end of one object and the start of the next: the variable stays in the object that it came from.
            (Some(start @ (_, 0)), Some(end)) => {
                let earlier = pair.source.moments[..moment].iter().rev().take(BACK).filter_map(|m| m.values[slot]);
                let object = earlier.filter(|b| *b != bits).find_map(|b| from.locate(b)).map(|(id, _)| id);
                if object == Some(end.0) { end } else { start }
            }
            (Some(inside), _) => inside,
            (None, end) => end?,
        };
        to.address(place.0, place.1)
    }
}
