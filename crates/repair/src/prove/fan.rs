//! Everything that starts at one node: the machine's paths to the next nodes with the source's.

use super::facts::{self, Fact, Reduction};
use super::{Node, Prover};
use crate::debug::TypeClass;
use crate::inputs;
use crate::relation::{Relation, Source};
use crate::study::Study;
use crate::walk::{self, Arrival};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_machine::algebra::{Bin, Place, RBP, RSP};
use trueline_machine::symbolic::{ELSEWHERE, Moves, Object, Symbolic};
use trueline_machine::term::{Extreme, Sign, Term, Terms};

/// The machines that leave a stretch of code, by where they arrive.
type Exits = BTreeMap<Arrival, Symbolic>;

/// Most source iterations that are followed on known values.
const MAX_CHAIN: usize = 600;

/// Most loops around one that the source is followed out of.
const MAX_NEST: usize = 2;

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

/// Everything that starts at one node.
pub struct Fan {
    /// The table that all machines share.
    pub terms: Terms,
    /// Paths to the next nodes.
    pub edges: Vec<Edge>,
    /// Machine states by PC.
    pub visits: Vec<(u64, Symbolic)>,
    /// Source machines after 0, 1, … iterations.
    pub lanes: Vec<Symbolic>,
    /// Source machines where the loop is left.
    pub ends: Vec<Symbolic>,
    /// The node's own facts.
    pub facts: Vec<Term>,
}

impl Prover<'_, '_> {
    /// Both machines at a node, facts put in as definitions where they can be.
    fn start(&self, node: &Node) -> (Symbolic, Symbolic, Vec<Term>) {
        let study = self.study;
        let mut r = Symbolic::new(Terms::default(), "ref", Arc::clone(&self.objects), if node.head.is_none() { 8 } else { 0x800 });
        r.moves = Some(Arc::clone(&self.moves));
        if node.head.is_some() {
            let cfa = r.cfa();
            let k = r.terms.constant(64, 16);
            let frame = r.terms.bin(Bin::Sub, cfa, k);
            r.places.insert(Place::Gpr(RBP), frame);
        }
        let terms = std::mem::take(&mut r.terms);
        let mut o = Symbolic::new(terms, "opt", Arc::clone(&self.objects), node.depth);
        if node.head.is_none() {
            for n in [7u8, 6, 2, 1, 8, 9] {
                let arg = o.terms.var(64, &format!("arg{n}"));
                o.places.insert(Place::Gpr(n), arg);
                r.places.insert(Place::Gpr(n), arg);
            }
            for n in 0..8 {
                let arg = o.terms.var(128, &format!("argx{n}"));
                o.places.insert(Place::Xmm(n), arg);
                r.places.insert(Place::Xmm(n), arg);
            }
            return (o, r, Vec::new());
        }
        self.assume_ranges(node, &mut o.terms, &mut r);
        for fact in &node.facts {
            match fact {
                Fact::Fixed(n, biased, k) if !o.places.contains_key(&Place::Gpr(*n)) => {
                    let k = o.terms.constant(64, u128::from(*k));
                    let value = if *biased { o.terms.bin(Bin::Add, o.bias(), k) } else { k };
                    o.places.insert(Place::Gpr(*n), value);
                }
                Fact::FixedVector(n, k) => {
                    let value = o.terms.constant(128, *k);
                    o.places.insert(Place::Xmm(*n), value);
                }
                _ => {}
            }
        }
        for fact in &node.facts {
            let Fact::Related(slot, relation) = fact else { continue };
            let s = &study.slots[*slot];
            std::mem::swap(&mut o.terms, &mut r.terms);
            let (value, wide) = (r.frame_value(s.offset, s.size as u32), self.wide(&mut r, *slot));
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
                r.frame.insert(study.slots[*slot].offset, value);
            }
        }
        let facts: Vec<Fact> = node.facts.clone();
        let assumed = facts.iter().map(|f| self.instantiate(f, &mut o, &mut r)).collect();
        (o, r, assumed)
    }

    /// Tells the terms what the facts say of the size of variables, so that sums of indices are extended by rewriting.
    fn assume_ranges(&self, node: &Node, terms: &mut Terms, r: &mut Symbolic) {
        let is_int = |slot: usize| self.study.slots[slot].class == TypeClass::Signed && self.study.slots[slot].size == 4;
        for fact in &node.facts {
            let (slot, low, high) = match fact {
                Fact::AtLeast(slot, k) => (*slot, *k, i64::from(i32::MAX)),
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

    /// One step of the source: from a machine at `pc` to every next loop head or return.
    fn advance(&self, terms: &mut Terms, mut m: Symbolic, pc: u64) -> Result<Exits, String> {
        m.terms = std::mem::take(terms);
        let (done, table) = walk::walk(&self.theirs, m, pc, &mut |_, _| {})?;
        *terms = table;
        Ok(done.into_iter().collect())
    }

    /// Follows the source from head to head while there is one way to go, until the target.
    fn follow(&self, terms: &mut Terms, mut at: Arrival, mut m: Symbolic, target: Arrival) -> Option<Symbolic> {
        for _ in 0..MAX_CHAIN {
            let Arrival::Cut(pc) = at else { return None };
            let mut next = self.advance(terms, m, pc).ok()?;
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
    fn iterate(&self, terms: &mut Terms, node: &Node, r: Symbolic) -> Result<(Vec<Symbolic>, Vec<Exits>), String> {
        let mut lanes = vec![r];
        let mut exits: Vec<Exits> = Vec::new();
        let start = node.head.unwrap_or(self.study.reference.function.entry());
        let last = node.unroll + node.rest;
        for lane in 0..=last {
            let mut next = self.advance(terms, lanes[lane].clone(), start)?;
            let again = node.head.and_then(|h| next.remove(&Arrival::Cut(h)));
            exits.push(next);
            match again {
                Some(m) if lane < last => lanes.push(m),
                _ => break,
            }
        }
        Ok((lanes, exits))
    }

    /// Where the optimizer left no loop, the source's own may run on known values: its heads, one by one, and where that ends.
    fn unrolled(&self, terms: &mut Terms, exits: &[Exits]) -> (Vec<Symbolic>, Vec<(Arrival, Symbolic)>) {
        let (mut chain, mut ends) = (Vec::new(), Vec::new());
        for (arrival, m) in exits.iter().flatten() {
            let mut at = vec![(*arrival, m.clone())];
            for _ in 0..MAX_CHAIN {
                let [(Arrival::Cut(pc), m)] = at.as_slice() else { break };
                if self.is_head(*pc) {
                    break;
                }
                let Ok(next) = self.advance(terms, m.clone(), *pc) else { break };
                chain.extend(next.values().cloned());
                at = next.into_iter().collect();
            }
            ends.extend(at.into_iter().filter(|(a, _)| matches!(a, Arrival::Cut(pc) if self.is_head(*pc))));
        }
        (chain, ends)
    }

    /// True for the head of a source loop that is tied to a node.
    fn is_head(&self, pc: u64) -> bool {
        self.nodes.iter().any(|n| n.head == Some(pc))
    }

    /// The source one step further from the heads at which it arrives: after the first iteration of the next loop, and where it
    /// returns from the loops around the node's own (the way out of a nest goes through all of them).
    fn beyond(&self, terms: &mut Terms, ends: Vec<(Arrival, Symbolic)>) -> Vec<Symbolic> {
        let mut found = Vec::new();
        let mut work: Vec<(Arrival, Symbolic, usize)> = ends.into_iter().map(|(a, m)| (a, m, 0)).collect();
        while let Some((Arrival::Cut(pc), m, depth)) = work.pop() {
            let Ok(next) = self.advance(terms, m, pc) else { continue };
            for (arrival, m) in next {
                match arrival {
                    Arrival::Return => found.insert(0, m),
                    Arrival::Cut(to) if to == pc => found.push(m),
                    Arrival::Cut(to) if depth < MAX_NEST && self.is_head(to) => work.push((arrival, m, depth + 1)),
                    Arrival::Cut(_) => {}
                }
            }
        }
        found
    }

    /// Everything that starts at a node.
    pub fn fan(&self, index: usize) -> Result<Fan, String> {
        let node = &self.nodes[index];
        let (mut o, r, facts) = self.start(node);
        let mut terms = std::mem::take(&mut o.terms);
        let (mut lanes, exits) = self.iterate(&mut terms, node, r)?;
        let (chain, heads) = self.unrolled(&mut terms, &exits);
        let beyond = self.beyond(&mut terms, heads);
        let mut visits = Vec::new();
        o.terms = terms;
        let (done, mut terms) = walk::walk(&self.ours, o, node.pc, &mut |pc, m| {
            let table = std::mem::take(&mut m.terms);
            visits.push((pc, m.clone()));
            m.terms = table;
        })?;
        let mut edges = Vec::new();
        for (arrival, machine) in done {
            let to = match arrival {
                Arrival::Cut(pc) => self.nodes.iter().position(|n| n.pc == pc),
                Arrival::Return => None,
            };
            let sources = match to.and_then(|t| self.nodes[t].head.map(|h| (t, h))) {
                Some((to, head)) => self.sources(&mut terms, node, &self.nodes[to], head, &lanes, &exits),
                None => Vec::new(),
            };
            edges.push(Edge { arrival, to, sources, machine });
        }
        // Iterations that were peeled off in front of a loop, for the PCs that stand for them.
        if node.head.is_none() {
            for edge in edges.iter().filter(|e| e.sources.len() > 1) {
                lanes.extend(edge.sources.iter().skip(1).cloned());
            }
        }
        let ends = exits.iter().rev().flat_map(|e| e.values().cloned()).chain(beyond).chain(chain).collect();
        Ok(Fan { terms, edges, visits, lanes, ends, facts })
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
                let Ok(mut next) = self.advance(terms, m, head) else { break };
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

/// The distance from the stack pointer to the canonical frame address at a PC, when it is the same always.
pub fn depth_at(study: &Study<'_>, pc: u64) -> Option<i64> {
    let depths: BTreeSet<u64> = study
        .instants(pc)
        .iter()
        .map(|at| {
            let state = &study.instant(*at).machine;
            state.cfa.wrapping_sub(state.gpr[RSP as usize])
        })
        .collect();
    (depths.len() == 1).then(|| depths.first().map(|d| *d as i64)).flatten()
}

/// Shared objects at the optimized build's addresses, read-only sections of both, and how the reference
/// build's addresses move there.
pub fn address_space(study: &Study<'_>) -> (Arc<[Object]>, Moves) {
    let (r, o) = (&study.reference, &study.optimized);
    let mut objects = Vec::new();
    let mut moves = Vec::new();
    for (n, (name, theirs, ours, size)) in inputs::shared(r.image, o.image).into_iter().enumerate() {
        let ty = o.info.globals.iter().find(|g| g.name == name).map(|g| g.ty);
        let element = ty.and_then(|t| t.element.map(|e| e.1).or(Some(t.size))).filter(|e| matches!(e, 1 | 2 | 4 | 8)).unwrap_or(4);
        objects.push(Object { low: ours, high: ours + size, id: n as u32, element: element as u32, fixed: None });
        moves.push((theirs, theirs + size, ours.wrapping_sub(theirs)));
    }
    for (image, shift) in [(o.image, 0), (r.image, ELSEWHERE)] {
        for s in image.sections.iter().filter(|s| s.loaded && !s.writable && !s.code && !s.data.is_empty()) {
            let low = s.address + shift;
            objects.push(Object { low, high: low + s.size, id: 1 << 20, element: 8, fixed: Some(s.data.clone().into()) });
        }
    }
    (objects.into(), moves.into())
}
