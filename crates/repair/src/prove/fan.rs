//! Everything that starts at one node: the machine's paths to the next nodes with the source's.

use super::facts::{self, Fact, Reduction};
use super::{Node, Prover};
use crate::debug::TypeClass;
use crate::observe::Place as Line;
use crate::relation::{Affine, Relation, Source};
use crate::study::Study;
use crate::walk::{self, Arrival};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_machine::algebra::{Bin, Machine, Place, RBP};
use trueline_machine::symbolic::Symbolic;
use trueline_machine::term::{Extreme, Sign, Term, Terms};

/// The machines that leave a stretch of code, by where they arrive.
type Exits = BTreeMap<Arrival, Symbolic>;

/// Most source iterations that are followed on known values.
const MAX_CHAIN: usize = 600;

/// Most loops around one that the source is followed out of.
const MAX_NEST: usize = 2;

/// Most visits of source points that one step keeps.
const MAX_POINTS: usize = 4000;

/// How far below its frame the source's stack is taken to end in the middle of a function: nothing there is a variable.
const FAR: i64 = 1 << 40;

/// One machine path between nodes with its source path.
pub struct Edge {
    /// Where the machine arrives.
    pub arrival: Arrival,
    /// The node there, if it is one.
    pub to: Option<usize>,
    /// Source machines that may correspond, the simplest first.
    pub sources: Vec<Symbolic>,
    /// The machine on arrival.
    pub machine: Symbolic,
}

/// A visit of a source point.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its address in the -O0 build.
    pub pc: u64,
    /// Its file and line.
    pub place: Line,
    /// Source iterations since the node.
    pub lane: usize,
    /// The source there.
    pub machine: Symbolic,
}

/// Everything that starts at one node.
pub struct Fan {
    /// The table that all machines share.
    pub terms: Terms,
    /// Paths to the next nodes.
    pub edges: Vec<Edge>,
    /// Instructions after which nothing is known.
    pub lost: BTreeSet<u64>,
    /// Machine states by PC.
    pub visits: Vec<(u64, Symbolic)>,
    /// Visits of source points on the same step, in the source's order.
    pub points: Vec<Point>,
    /// The node's own facts.
    pub facts: Vec<Term>,
    /// What kept conditions may speak of, at the node.
    pub leaves: Vec<Term>,
}

/// The source's way from a node on, as it is followed.
#[derive(Default)]
struct Trail {
    points: Vec<Point>,
    lane: usize,
}

impl Prover<'_, '_> {
    /// Both machines at a node, facts put in as definitions where they can be.
    fn start(&self, node: &Node) -> (Symbolic, Symbolic, Vec<Term>) {
        let study = self.study;
        let mut r = Symbolic::new(Terms::default(), "ref", Arc::clone(&self.layouts.0), if node.head.is_none() { 8 } else { FAR });
        if node.head.is_some() {
            let cfa = r.cfa();
            let frame = below(&mut r.terms, cfa, 16);
            r.places.insert(Place::Gpr(RBP), frame);
        }
        let terms = std::mem::take(&mut r.terms);
        let mut o = Symbolic::new(terms, "opt", Arc::clone(&self.layouts.1), node.depth);
        if let Some(k) = node.frame_pointer {
            let cfa = o.cfa();
            let frame = below(&mut o.terms, cfa, k);
            o.places.insert(Place::Gpr(RBP), frame);
        }
        if node.head.is_none() {
            let mut foreign = BTreeSet::new();
            for n in [7u8, 6, 2, 1, 8, 9] {
                let arg = o.terms.var(64, &format!("arg{n}"));
                let own = if self.shared.contains(&Place::Gpr(n)) { arg } else { o.terms.var(64, &format!("own{n}")) };
                // The optimizer may pass something else in a register that the source has no claim on.
                if self.pointers.contains(&n) {
                    foreign.insert(arg);
                }
                o.places.insert(Place::Gpr(n), own);
                r.places.insert(Place::Gpr(n), arg);
            }
            o.foreign = Arc::new(foreign);
            r.foreign = Arc::clone(&o.foreign);
            for n in 0..8 {
                let arg = o.terms.var(128, &format!("argx{n}"));
                let own = if self.shared.contains(&Place::Xmm(n)) { arg } else { o.terms.var(128, &format!("ownx{n}")) };
                o.places.insert(Place::Xmm(n), own);
                r.places.insert(Place::Xmm(n), arg);
            }
            return (o, r, Vec::new());
        }
        self.assume_ranges(node, &mut o.terms, &mut r);
        self.define_fixed(node, &mut o, &mut r);
        self.define_counted(node, &mut o, &mut r);
        self.define_splats(node, &mut o, &mut r);
        for fact in &node.facts {
            match fact {
                Fact::Fixed(n, biased, k) if !o.places.contains_key(&Place::Gpr(*n)) => {
                    let k = o.terms.constant(64, u128::from(*k));
                    let value = if *biased { o.terms.bin(Bin::Add, o.bias(), k) } else { k };
                    o.places.insert(Place::Gpr(*n), value);
                }
                Fact::Based(n, address) if !o.places.contains_key(&Place::Gpr(*n)) => {
                    let value = o.link_address(*address);
                    o.places.insert(Place::Gpr(*n), value);
                }
                Fact::FixedVector(n, k) => {
                    let value = o.terms.constant(128, *k);
                    o.places.insert(Place::Xmm(*n), value);
                }
                _ => {}
            }
        }
        let mut related: Vec<(usize, &Relation)> = node
            .facts
            .iter()
            .filter_map(|f| match f {
                Fact::Related(slot, relation) => Some((*slot, relation)),
                _ => None,
            })
            .collect();
        // The variable that takes the largest steps defines a register: the others are multiples of it and more, but not the reverse.
        related.sort_by_key(|(_, relation)| match relation {
            Relation::Affine(a) => std::cmp::Reverse(a.divisor),
            _ => std::cmp::Reverse(1),
        });
        for (slot, relation) in related {
            let s = &study.slots[slot];
            std::mem::swap(&mut o.terms, &mut r.terms);
            let (value, wide) = (r.frame_value(s.offset, s.size as u32), self.wide(&mut r, slot));
            std::mem::swap(&mut o.terms, &mut r.terms);
            match relation {
                Relation::Affine(a) => {
                    let registers: Vec<_> = a.terms.iter().filter(|(s, _)| !matches!(s, Source::Bias | Source::Cfa)).collect();
                    match registers.as_slice() {
                        // r = ±(divisor·v - constant - …)
                        [(Source::Register(n), k)] if k.abs() == 1 && !o.places.contains_key(&Place::Gpr(*n)) => {
                            let d = o.terms.constant(64, u128::from(a.divisor as u64));
                            let mut rest = o.terms.bin(Bin::Mul, wide, d);
                            let c = o.terms.constant(64, u128::from(a.constant as u64));
                            rest = o.terms.bin(Bin::Sub, rest, c);
                            for (source, factor) in &a.terms {
                                let base = match source {
                                    Source::Bias => o.bias(),
                                    Source::Cfa => o.cfa(),
                                    _ => continue,
                                };
                                let f = o.terms.constant(64, u128::from(*factor as u64));
                                let part = o.terms.bin(Bin::Mul, base, f);
                                rest = o.terms.bin(Bin::Sub, rest, part);
                            }
                            let sign = o.terms.constant(64, u128::from(*k as u64));
                            let value = o.terms.bin(Bin::Mul, rest, sign);
                            o.places.insert(Place::Gpr(*n), value);
                        }
                        [(Source::Half(n), 1)]
                            if a.terms.len() == 1 && a.divisor == 1 && s.size == 4 && !o.places.contains_key(&Place::Gpr(*n)) =>
                        {
                            let c = o.terms.constant(32, u128::from(a.constant as u64));
                            let low = o.terms.bin(Bin::Sub, value, c);
                            let high = o.terms.fresh(32);
                            let full = o.terms.concat(high, low);
                            o.places.insert(Place::Gpr(*n), full);
                        }
                        _ => {}
                    }
                }
                Relation::Vector(n) if !o.places.contains_key(&Place::Xmm(*n)) => {
                    let high = o.terms.fresh(128 - s.size as u32 * 8);
                    let full = o.terms.concat(high, value);
                    o.places.insert(Place::Xmm(*n), full);
                }
                _ => {}
            }
        }
        for fact in &node.facts {
            let Fact::Offset(n, offset) = fact else { continue };
            if !o.places.contains_key(&Place::Gpr(*n)) {
                std::mem::swap(&mut o.terms, &mut r.terms);
                let (pointer, index) = (self.wide(&mut r, offset.pointer), self.wide(&mut r, offset.index));
                std::mem::swap(&mut o.terms, &mut r.terms);
                let value = offset.sum(&mut o, pointer, index);
                o.places.insert(Place::Gpr(*n), value);
            }
        }
        for fact in &node.facts {
            let Fact::Loaded(place, address, bytes, spread) = fact else { continue };
            if !o.places.contains_key(place) {
                let value = self.filled(&mut o, *place, *address, *bytes, *spread);
                o.places.insert(*place, value);
            }
        }
        self.define_variables(node, &mut o, &mut r);
        self.define_held(node, &mut o);
        for fact in &node.facts {
            let Fact::Lanes(slot, Reduction::Sum, group) = fact else { continue };
            let Some(first) = group.iter().copied().find(|n| !o.places.contains_key(&Place::Xmm(*n))) else { continue };
            let s = &study.slots[*slot];
            std::mem::swap(&mut o.terms, &mut r.terms);
            let mut lowest = r.frame_value(s.offset, s.size as u32);
            std::mem::swap(&mut o.terms, &mut r.terms);
            // The lowest lane is what the others leave of the sum, so that sums are compared by rewriting: a solver cannot.
            let upper: Vec<Term> = (0..3).map(|_| o.terms.fresh(32)).collect();
            let others = group.iter().filter(|n| **n != first).flat_map(|n| facts::lanes(&mut o, *n)).collect::<Vec<_>>();
            for lane in upper.iter().chain(&others) {
                lowest = o.terms.bin(Bin::Sub, lowest, *lane);
            }
            let full = upper.iter().fold(lowest, |low, high| o.terms.concat(*high, low));
            o.places.insert(Place::Xmm(first), full);
        }
        // A largest or smallest is defined from the lanes: what they become in both builds is then compared by rewriting.
        let mut defined: BTreeSet<usize> = BTreeSet::new();
        for fact in &node.facts {
            let Fact::Lanes(slot, kind @ (Reduction::Largest | Reduction::Smallest), group) = fact else { continue };
            if defined.insert(*slot) {
                let lanes: Vec<Term> = group.iter().flat_map(|n| facts::lanes(&mut o, *n)).collect();
                let kind = if *kind == Reduction::Largest { Extreme::Largest } else { Extreme::Smallest };
                let value = o.terms.extreme(kind(Sign::Signed), &lanes);
                std::mem::swap(&mut o.terms, &mut r.terms);
                r.frame.write(&mut r.terms, study.slots[*slot].offset, value);
                std::mem::swap(&mut o.terms, &mut r.terms);
            }
        }
        let facts: Vec<Fact> = node.facts.clone();
        let assumed = facts.iter().map(|f| self.instantiate(f, &mut o, &mut r)).collect();
        (o, r, assumed)
    }

    /// A variable that follows from a register which another one defines already is put in as what that makes it, so that both
    /// builds' addresses look alike.
    fn define_variables(&self, node: &Node, o: &mut Symbolic, r: &mut Symbolic) {
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut used: BTreeSet<Term> = BTreeSet::new();
        for fact in &node.facts {
            let Fact::Related(slot, Relation::Affine(a)) = fact else { continue };
            let s = &self.study.slots[*slot];
            // The first relation of each variable defined its register, if any did.
            if !seen.insert(*slot) || s.size != 4 || s.class == TypeClass::Float || a.terms.is_empty() {
                continue;
            }
            let whole = a.terms.iter().all(|(s, _)| matches!(s, Source::Register(_) | Source::Bias));
            let defined = a.terms.iter().all(|(s, _)| !matches!(s, Source::Register(n) if !o.places.contains_key(&Place::Gpr(*n))));
            if !whole || !defined {
                continue;
            }
            let own = walk::with(&mut o.terms, r, |r| r.frame_value(s.offset, 4));
            let sum = facts::form(o, a);
            // Only a sum that cannot overflow says what the variable itself is.
            if o.terms.interval(sum).is_none() || o.terms.contains(sum, own) {
                continue;
            }
            let Some(quotient) = o.terms.divided(sum, a.divisor) else { continue };
            let value = o.terms.extract(quotient, 0, 32);
            if used.insert(own) {
                walk::with(&mut o.terms, r, |r| r.frame.write(&mut r.terms, s.offset, value));
            }
        }
    }

    /// Tells the terms what the facts say of the size of variables, so that sums of indices are extended by rewriting.
    fn assume_ranges(&self, node: &Node, terms: &mut Terms, r: &mut Symbolic) {
        let is_int = |slot: usize| self.study.slots[slot].class == TypeClass::Signed && self.study.slots[slot].size == 4;
        for fact in &node.facts {
            let (slot, low, high) = match fact {
                Fact::AtLeast(slot, k) => (*slot, *k, i64::from(i32::MAX)),
                Fact::Congruent(slot, modulus, residue) if modulus.is_power_of_two() => {
                    // Of the numbers below another one the largest that leaves this rest.
                    let less = node.facts.iter().any(|f| matches!(f, Fact::Less(a, b) if a == slot && is_int(*b)));
                    let most = i64::from(i32::MAX) - i64::from(less);
                    (*slot, i64::from(i32::MIN), most - (most - *residue as i64).rem_euclid(*modulus as i64))
                }
                Fact::Below(slot, form) if is_int(*slot) => match room(node, *slot, form, &is_int) {
                    Some(room) => (*slot, i64::from(i32::MIN), i64::from(i32::MAX) - room),
                    None => continue,
                },
                Fact::AtMost(slot, k) => (*slot, i64::from(i32::MIN), *k),
                Fact::Less(slot, other) if is_int(*other) => (*slot, i64::from(i32::MIN), i64::from(i32::MAX) - 1),
                _ => continue,
            };
            if is_int(slot) {
                std::mem::swap(terms, &mut r.terms);
                let value = r.frame_value(self.study.slots[slot].offset, 4);
                r.terms.assume_range(value, low, high);
                std::mem::swap(terms, &mut r.terms);
            }
        }
    }

    /// One step of the source: from a machine at `pc` to every next loop head or return, noting the source points on the way
    /// that `keep` wants.
    fn advance(&self, terms: &mut Terms, m: Symbolic, pc: u64, trail: &mut Trail, keep: &dyn Fn(u64) -> bool) -> Result<Exits, String> {
        let lane = trail.lane;
        let done = walk::walk(&self.theirs, terms, m, pc, &mut |at, m| {
            if let Some(place) = self.points.get(&at).filter(|_| trail.points.len() < MAX_POINTS && keep(at)) {
                trail.points.push(Point { pc: at, place: *place, lane, machine: m.clone() });
            }
        })?;
        Ok(done.into_iter().filter(|(a, _)| !matches!(a, Arrival::Lost(_))).collect())
    }

    /// One step of the source, whose points belong to no machine point.
    fn pass(&self, terms: &mut Terms, m: Symbolic, pc: u64) -> Result<Exits, String> {
        self.advance(terms, m, pc, &mut Trail::default(), &|_| false)
    }

    /// Follows the source from head to head while there is one way to go, until the target.
    fn follow(&self, terms: &mut Terms, mut at: Arrival, mut m: Symbolic, target: Arrival) -> Option<Symbolic> {
        for _ in 0..MAX_CHAIN {
            let Arrival::Cut(pc) = at else { return None };
            let mut next = self.pass(terms, m, pc).ok()?;
            if let Some(found) = next.remove(&target) {
                return Some(found);
            }
            if next.len() != 1 {
                return None;
            }
            (at, m) = next.pop_first()?;
        }
        None
    }

    /// The source from a node on: machines after each iteration, and where each leads when the loop is left.
    fn iterate(&self, terms: &mut Terms, node: &Node, r: Symbolic, trail: &mut Trail) -> Result<(Vec<Symbolic>, Vec<Exits>), String> {
        let mut lanes = vec![r];
        let mut exits: Vec<Exits> = Vec::new();
        let start = node.head.unwrap_or(self.study.reference.function.entry());
        let graph = &self.study.reference.graph;
        let body = node.head.and_then(|h| graph.loops.iter().find(|l| l.head == h)).map(|l| &l.body);
        let last = node.unroll + node.rest;
        for lane in 0..=last {
            trail.lane = lane;
            // Past the iterations that this step stands for only the way out is on it.
            let inside = lane < last || node.unroll == 0;
            let keep = |pc: u64| inside || body.is_none_or(|b| !b.contains(&pc) || pc == start);
            let mut next = self.advance(terms, lanes[lane].clone(), start, trail, &keep)?;
            let mut again = node.head.and_then(|h| next.remove(&Arrival::Cut(h)));
            if let Some(head) = node.head.filter(|_| again.is_none() && lane < last) {
                again = self.around(terms, &next, head, trail, &keep);
            }
            exits.push(next);
            match again {
                Some(m) if lane < last => lanes.push(m),
                _ => break,
            }
        }
        Ok((lanes, exits))
    }

    /// The way back to a loop's head through inner loops that the optimizer unrolled: they run on known values.
    fn around(&self, terms: &mut Terms, from: &Exits, head: u64, trail: &mut Trail, keep: &dyn Fn(u64) -> bool) -> Option<Symbolic> {
        let mut at = from.clone();
        for _ in 0..MAX_CHAIN {
            let (Some((Arrival::Cut(pc), m)), None) = (at.pop_first(), at.pop_first()) else { return None };
            if self.is_head(pc) {
                return None;
            }
            at = self.advance(terms, m, pc, trail, keep).ok()?;
            if let Some(found) = at.remove(&Arrival::Cut(head)) {
                return at.is_empty().then_some(found);
            }
        }
        None
    }

    /// Where the optimizer left no loop, the source's own may run on known values: where that ends.
    fn unrolled(&self, terms: &mut Terms, exits: &[Exits], trail: &mut Trail) -> Vec<(Arrival, Symbolic)> {
        let mut ends = Vec::new();
        for (arrival, m) in exits.iter().flatten() {
            let mut at = vec![(*arrival, m.clone())];
            for _ in 0..MAX_CHAIN {
                let [(Arrival::Cut(pc), m)] = at.as_slice() else { break };
                if self.is_head(*pc) {
                    break;
                }
                trail.lane += 1;
                let Ok(next) = self.advance(terms, m.clone(), *pc, trail, &|_| true) else { break };
                at = next.into_iter().collect();
            }
            ends.extend(at.into_iter().filter(|(a, _)| matches!(a, Arrival::Cut(pc) if self.is_head(*pc))));
        }
        ends
    }

    /// True for the head of a source loop that is tied to a node.
    fn is_head(&self, pc: u64) -> bool {
        self.nodes.iter().any(|n| n.head == Some(pc))
    }

    /// The source one step further from the heads at which it arrives: into the first iteration of the next loop, and out of the
    /// loops around the node's own (the way out of a nest goes through all of them).
    fn beyond(&self, terms: &mut Terms, ends: Vec<(Arrival, Symbolic)>, own: Option<u64>, trail: &mut Trail) {
        let mut work: Vec<(Arrival, Symbolic, usize)> = ends.into_iter().map(|(a, m)| (a, m, 0)).collect();
        while let Some((arrival, m, depth)) = work.pop() {
            let Arrival::Cut(pc) = arrival else { continue };
            trail.lane += 1;
            let Ok(next) = self.advance(terms, m, pc, trail, &|_| true) else { continue };
            for (arrival, m) in next {
                if let Arrival::Cut(to) = arrival
                    && to != pc
                    && Some(to) != own
                    && depth < MAX_NEST
                    && self.is_head(to)
                {
                    work.push((arrival, m, depth + 1));
                }
            }
        }
    }

    /// Everything that starts at a node.
    pub fn fan(&self, index: usize) -> Result<Fan, String> {
        let node = &self.nodes[index];
        let (mut o, mut r, facts) = self.start(node);
        let leaves = walk::with(&mut o.terms, &mut r, |r| self.leaves(r));
        let mut terms = std::mem::take(&mut o.terms);
        let mut trail = Trail::default();
        let (lanes, exits) = self.iterate(&mut terms, node, r, &mut trail)?;
        let heads = self.unrolled(&mut terms, &exits, &mut trail);
        self.beyond(&mut terms, heads, node.head, &mut trail);
        let mut visits = Vec::new();
        let done = walk::walk(&self.ours, &mut terms, o, node.pc, &mut |pc, m| visits.push((pc, m.clone())))?;
        let (mut edges, mut lost) = (Vec::new(), BTreeSet::new());
        for (arrival, machine) in done {
            let to = match arrival {
                Arrival::Cut(pc) => self.nodes.iter().position(|n| n.pc == pc),
                Arrival::Return => None,
                Arrival::Lost(pc) => {
                    lost.insert(pc);
                    None
                }
            };
            let sources = match to.and_then(|t| self.nodes[t].head.map(|h| (t, h))) {
                Some((to, head)) => self.sources(&mut terms, node, &self.nodes[to], head, &lanes, &exits),
                None => Vec::new(),
            };
            edges.push(Edge { arrival, to, sources, machine });
        }
        Ok(Fan { terms, edges, lost, visits, points: trail.points, facts, leaves })
    }

    /// Source machines that arrive at `head` from a node, on the ways that the runs suggest.
    fn sources(&self, terms: &mut Terms, node: &Node, to: &Node, head: u64, lanes: &[Symbolic], exits: &[Exits]) -> Vec<Symbolic> {
        let target = Arrival::Cut(head);
        let mut sources = Vec::new();
        if Some(head) == node.head {
            sources.extend(lanes.get(node.unroll).cloned());
        }
        let mut tried = vec![node.unroll];
        if node.unroll > 0 {
            tried.push(0);
        }
        for lane in tried {
            let Some(out) = exits.get(lane) else { continue };
            sources.extend(out.get(&target).cloned());
            // Further heads on the way: loops that the optimizer unrolled run on known values.
            for (arrival, m) in out {
                if *arrival != target
                    && let Some(m) = self.follow(terms, *arrival, m.clone(), target)
                {
                    sources.push(m);
                }
            }
        }
        // Iterations that stand in front of the loop.
        if node.head != Some(head)
            && to.peeled > 0
            && let Some(mut m) = sources.first().cloned()
        {
            for _ in 0..to.peeled {
                let Ok(mut next) = self.pass(terms, m, head) else { break };
                let Some(again) = next.remove(&target) else { break };
                sources.push(again.clone());
                m = again;
            }
        }
        // Several at once, by their conditions: the iterations that are left over after the loop.
        if node.rest > 0 {
            let mut ways: Vec<Symbolic> = exits.iter().filter_map(|out| out.get(&target).cloned()).collect();
            if Some(head) == node.head {
                ways = lanes.iter().skip(node.unroll).cloned().collect();
            }
            if ways.len() > 1 {
                sources.extend(walk::merge(terms, ways));
            }
        }
        sources
    }
}

/// How far below the largest number a counter stays that is less than a limit which is at most another counter, when both move in
/// steps: it is a whole step below. The limit is `form`, in units of the counter's divisor.
fn room(node: &Node, slot: usize, form: &Affine, is_int: &dyn Fn(usize) -> bool) -> Option<i64> {
    let divisor = Some(form.divisor).filter(|d| (1..=1 << 16).contains(d))?;
    node.facts.iter().find(|f| matches!(f, Fact::Within(limit, other) if limit == form && is_int(*other)))?;
    let step = |f: &Fact| match f {
        Fact::Congruent(s, modulus, residue) if *s == slot && modulus.is_power_of_two() => Some((*modulus as i64, *residue as i64)),
        _ => None,
    };
    let rest = |f: &Fact| match f {
        Fact::Aligned(limit, bits, rest) if limit == form => Some((*bits, *rest as i64)),
        _ => None,
    };
    let found = node.facts.iter().find_map(step).zip(node.facts.iter().find_map(rest));
    let Some(((modulus, residue), (bits, rest))) = found else { return Some(1) };
    let bits = bits.min((modulus * divisor).trailing_zeros());
    // limit - counter·divisor is positive, and this much modulo 2^bits.
    let apart = (rest - residue * divisor).rem_euclid(1 << bits);
    let least = if apart == 0 { 1 << bits } else { apart };
    Some((least + divisor - 1) / divisor)
}

/// The distance from a register to the canonical frame address at a PC, when it was the same in every run. What is guessed
/// here is checked on every way to the node.
pub fn distance_at(study: &Study<'_>, pc: u64, register: u8) -> Option<i64> {
    let depths: BTreeSet<u64> = study
        .instants(pc)
        .iter()
        .map(|at| {
            let state = &study.instant(*at).machine;
            state.cfa.wrapping_sub(state.gpr[register as usize])
        })
        .collect();
    (depths.len() == 1).then(|| depths.first().map(|d| *d as i64)).flatten()
}

/// A term less a number.
pub fn below(terms: &mut Terms, t: Term, by: i64) -> Term {
    let k = terms.constant(64, u128::from(by as u64));
    terms.bin(Bin::Sub, t, k)
}
