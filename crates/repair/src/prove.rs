//! Shows relations for all runs: both machine codes executed symbolically between correlated points, the
//! relations at those points inductive, and each new location a consequence of them.
//!
//! The product program's nodes are the function's entry and the heads of tied loops. From each node every
//! machine path to the next node is matched with the source path it stands for: as many source iterations
//! as the loop was seen to cover, then on. Facts that are not inductive are dropped until the rest is
//! (Houdini); a location is proved when every path from a node to its PC implies it.

use crate::algebra::{Bin, Machine, Place, RBP, RSP};
use crate::debug::TypeClass;
use crate::fit::{self, Preference};
use crate::inputs;
use crate::mend::{Label, Mended};
use crate::relation::{Relation, Source};
use crate::solver::{Answer, Question, Solver, equal};
use crate::study::Study;
use crate::symbolic::{self, Arrival, ELSEWHERE, Moves, Object, Symbolic};
use crate::term::{Term, Terms};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is taken for granted by every proof.
pub const ASSUMPTIONS: [&str; 4] = [
    "shared memory is equal in both builds at correlated points (as in every run)",
    "an access stays inside the object it starts in, and distinct objects do not overlap",
    "floating-point operations are functions of their operands",
    "a PC stands for the source iteration that it stood for in every run",
];

/// Most source iterations that are followed on known values.
const MAX_CHAIN: usize = 600;

/// Something that holds whenever control is at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fact {
    /// A source variable follows from the machine's state.
    Related(usize, Relation),
    /// A register holds a constant, or the load bias plus a constant.
    Fixed(u8, bool, u64),
    /// A variable that is never negative leaves `residue` when divided by the modulus.
    Congruent(usize, u64, u64),
    /// A variable is at least this.
    AtLeast(usize, i64),
    /// A variable is at most this.
    AtMost(usize, i64),
    /// The first variable is less than the second.
    Less(usize, usize),
    /// The first variable is at most the second.
    NotMore(usize, usize),
}

#[derive(Clone, Debug)]
struct Node {
    pc: u64,
    /// Head of the reference loop; `None` at the entry.
    head: Option<u64>,
    unroll: usize,
    depth: i64,
    facts: Vec<Fact>,
}

/// How a proof went.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Locations that were proved.
    pub proved: usize,
    /// Why not everything was.
    pub reason: Option<String>,
    /// Facts by node, readable.
    pub invariants: Vec<(u64, Option<u64>, Vec<String>)>,
}

/// Tries to prove the choices of one function and labels those it can.
pub fn prove(study: &Study<'_>, mended: &mut [Mended], solver: &mut Solver) -> Proof {
    match Prover::new(study).and_then(|mut p| p.run(mended, solver)) {
        Ok(proof) => proof,
        Err(reason) => Proof { reason: Some(reason), ..Proof::default() },
    }
}

struct Prover<'s, 'a> {
    study: &'s Study<'a>,
    nodes: Vec<Node>,
    cuts: BTreeSet<u64>,
    reference_cuts: BTreeSet<u64>,
    ranks: BTreeMap<u64, usize>,
    reference_ranks: BTreeMap<u64, usize>,
    objects: Arc<[Object]>,
    moves: Moves,
}

/// One machine path between nodes with its source path.
struct Edge {
    to: Option<usize>,
    assumptions: Vec<Term>,
    /// Alternatives: the source's condition and final machine.
    sources: Vec<(Term, Symbolic)>,
    machine: Symbolic,
}

/// Everything that starts at one node.
struct Fan {
    terms: Terms,
    edges: Vec<Edge>,
    /// Machine states by PC: path condition so far and machine.
    visits: Vec<(u64, Symbolic)>,
    /// Source machines after 0, 1, … iterations.
    lanes: Vec<Symbolic>,
    /// Source machines where the loop is left.
    ends: Vec<Symbolic>,
    facts: Vec<Term>,
}

impl<'s, 'a> Prover<'s, 'a> {
    fn new(study: &'s Study<'a>) -> Result<Self, String> {
        let (o, r) = (&study.optimized, &study.reference);
        if r.graph.incomplete.is_some() {
            return Err("the reference build has a computed jump".to_owned());
        }
        let mut ties: BTreeMap<u64, BTreeSet<(u64, usize)>> = BTreeMap::new();
        for pair in &study.pairs {
            for (instance, tie) in pair.machine.instances.iter().zip(&pair.alignment.ties) {
                let head = o.graph.loops[instance.index].head;
                let set = ties.entry(head).or_default();
                match tie {
                    Some(t) => {
                        let reference = r.graph.loops[pair.source.instances[t.reference].index].head;
                        set.insert((reference, t.unroll));
                    }
                    None => {
                        set.insert((0, 0));
                    }
                }
            }
        }
        let mut nodes = vec![Node { pc: o.function.entry(), head: None, unroll: 0, depth: 8, facts: Vec::new() }];
        for (pc, set) in ties {
            let innermost = o.graph.innermost(pc).is_some_and(|n| !o.graph.loops.iter().any(|l| l.parent == Some(n)));
            // An outer loop's iteration passes through the inner loop's node.
            let heads: BTreeSet<u64> = set.iter().map(|t| t.0).collect();
            let &(head, unroll) = set.iter().max_by_key(|t| t.1).ok_or("no tie")?;
            if heads.len() != 1 || heads.contains(&0) || (innermost && set.len() != 1) {
                return Err(format!("the loop at {pc:#x} is tied to the source in more than one way"));
            }
            let depth = depth_at(study, pc).ok_or_else(|| format!("the stack depth at {pc:#x} is not constant"))?;
            nodes.push(Node { pc, head: Some(head), unroll: if innermost { unroll } else { 0 }, depth, facts: Vec::new() });
        }
        let mut cuts: BTreeSet<u64> = o.graph.loops.iter().map(|l| l.head).collect();
        cuts.insert(o.function.entry());
        let reference_cuts: BTreeSet<u64> = r.graph.loops.iter().map(|l| l.head).collect();
        let (ranks, reference_ranks) = (o.graph.ranks(o.function.entry()), r.graph.ranks(r.function.entry()));
        let (objects, moves) = address_space(study);
        let mut prover = Self { study, nodes, cuts, reference_cuts, ranks, reference_ranks, objects, moves };
        for n in 1..prover.nodes.len() {
            prover.nodes[n].facts = prover.guess(prover.nodes[n].pc);
        }
        Ok(prover)
    }

    /// Facts that held in every run at a node.
    fn guess(&self, pc: u64) -> Vec<Fact> {
        let study = self.study;
        let mut facts = Vec::new();
        let mut numbers: Vec<(usize, Vec<i128>)> = Vec::new();
        for (slot, s) in study.slots.iter().enumerate().filter(|(_, s)| s.key.function == study.reference.function.name) {
            let ty = crate::debug::Type { class: s.class, size: s.size, element: None };
            let evidence = study.head_evidence(pc, slot);
            if evidence.targets.is_empty() {
                continue;
            }
            let samples = study.samples(&evidence);
            for relation in fit::fit(&samples, ty, Preference::Registers) {
                facts.push(Fact::Related(slot, relation));
            }
            if s.class == TypeClass::Float || s.class == TypeClass::Pointer {
                continue;
            }
            let values: Vec<i128> = evidence.targets.iter().map(|t| fit::number(t.1.first, ty)).collect();
            let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
            let modulus = values.iter().fold(0u128, |g, v| gcd(g, (v - low).unsigned_abs()));
            if (2..=64).contains(&modulus) && low >= 0 {
                facts.push(Fact::Congruent(slot, modulus as u64, low as u64 % modulus as u64));
            }
            if let (Ok(l), Ok(h)) = (i64::try_from(low), i64::try_from(high)) {
                facts.push(Fact::AtLeast(slot, l));
                facts.push(Fact::AtLeast(slot, 0));
                facts.push(Fact::AtMost(slot, h));
            }
            numbers.push((slot, values));
        }
        for (a, x) in &numbers {
            for (b, y) in numbers.iter().filter(|(b, y)| b != a && y.len() == x.len()) {
                if x.iter().zip(y).all(|(x, y)| x < y) {
                    facts.push(Fact::Less(*a, *b));
                } else if x.iter().zip(y).all(|(x, y)| x <= y) {
                    facts.push(Fact::NotMore(*a, *b));
                }
            }
        }
        let states: Vec<_> = study.instants(pc).iter().map(|at| &study.instant(*at).machine).collect();
        for n in (0..16u8).filter(|n| *n != RSP) {
            let values: BTreeSet<u64> = states.iter().map(|s| s.gpr[n as usize]).collect();
            let moved: BTreeSet<u64> = states.iter().map(|s| s.gpr[n as usize].wrapping_sub(s.bias)).collect();
            match (values.first(), moved.first()) {
                (_, Some(v)) if moved.len() == 1 && states[0].bias != 0 && *v < 1 << 32 => facts.push(Fact::Fixed(n, true, *v)),
                (Some(v), _) if values.len() == 1 => facts.push(Fact::Fixed(n, false, *v)),
                _ => {}
            }
        }
        facts
    }

    /// A variable's value as a 64-bit number.
    fn wide(&self, m: &mut Symbolic, slot: usize) -> Term {
        let s = &self.study.slots[slot];
        let value = m.frame_value(s.offset, s.size as u32);
        if s.class == TypeClass::Unsigned { m.terms.zext(value, 64) } else { m.terms.sext(value, 64) }
    }

    /// The claim of a relation as a one-bit term: machine state in `o`, variable `value` of `size` bytes.
    fn claim(&self, o: &mut Symbolic, relation: &Relation, value: Term, wide: Term, size: u64) -> Option<Term> {
        match relation {
            Relation::Vector(n) => {
                let x = o.get(Place::Xmm(*n));
                let low = o.terms.extract(x, 0, size as u32 * 8);
                Some(equal(&mut o.terms, low, value))
            }
            Relation::Bits(bits) => {
                let k = o.terms.constant(size as u32 * 8, u128::from(*bits));
                Some(equal(&mut o.terms, k, value))
            }
            Relation::Affine(a) => {
                let mut sum = o.terms.constant(64, a.constant as u64 as u128);
                for (source, factor) in &a.terms {
                    let x = match source {
                        Source::Register(n) => o.get(Place::Gpr(*n)),
                        Source::Half(n) => {
                            let full = o.get(Place::Gpr(*n));
                            let low = o.terms.extract(full, 0, 32);
                            o.terms.sext(low, 64)
                        }
                        Source::Word(offset) => o.frame_value(i64::from(*offset), 8),
                        Source::HalfWord(offset) => {
                            let low = o.frame_value(i64::from(*offset), 4);
                            o.terms.sext(low, 64)
                        }
                        Source::Bias => o.bias(),
                        Source::Cfa => o.cfa(),
                    };
                    let k = o.terms.constant(64, *factor as u64 as u128);
                    let part = o.terms.bin(Bin::Mul, x, k);
                    sum = o.terms.bin(Bin::Add, sum, part);
                }
                if a.divisor == 1 && size < 8 {
                    let low = o.terms.extract(sum, 0, size as u32 * 8);
                    return Some(equal(&mut o.terms, low, value));
                }
                let d = o.terms.constant(64, a.divisor as u64 as u128);
                let scaled = o.terms.bin(Bin::Mul, wide, d);
                Some(equal(&mut o.terms, sum, scaled))
            }
        }
    }

    /// A fact as a one-bit term over both machines. The terms live in `o`.
    fn instantiate(&self, fact: &Fact, o: &mut Symbolic, r: &mut Symbolic) -> Option<Term> {
        std::mem::swap(&mut o.terms, &mut r.terms);
        let value = |p: &Self, r: &mut Symbolic, slot: usize| {
            let s = &p.study.slots[slot];
            r.frame_value(s.offset, s.size as u32)
        };
        let slots: Vec<usize> = match fact {
            Fact::Related(s, _) | Fact::Congruent(s, ..) | Fact::AtLeast(s, _) | Fact::AtMost(s, _) => vec![*s],
            Fact::Less(a, b) | Fact::NotMore(a, b) => vec![*a, *b],
            Fact::Fixed(..) => Vec::new(),
        };
        let pairs: Vec<(Term, Term)> = slots.iter().map(|s| (value(self, r, *s), self.wide(r, *s))).collect();
        std::mem::swap(&mut o.terms, &mut r.terms);
        match fact {
            Fact::Related(slot, relation) => self.claim(o, relation, pairs[0].0, pairs[0].1, self.study.slots[*slot].size),
            Fact::Fixed(n, biased, k) => {
                let x = o.get(Place::Gpr(*n));
                let k = o.terms.constant(64, u128::from(*k));
                let k = if *biased { o.terms.bin(Bin::Add, o.bias(), k) } else { k };
                Some(equal(&mut o.terms, x, k))
            }
            Fact::Congruent(_, modulus, residue) => {
                if modulus.is_power_of_two() {
                    let twos = modulus.trailing_zeros();
                    let low = o.terms.extract(pairs[0].1, 0, twos);
                    let k = o.terms.constant(twos, u128::from(*residue));
                    return Some(equal(&mut o.terms, low, k));
                }
                // Narrow on purpose: division of 64 bits is dear, and indices are small.
                let low = o.terms.extract(pairs[0].1, 0, 32);
                let m = o.terms.constant(32, u128::from(*modulus));
                let rest = o.terms.bin(Bin::Urem, low, m);
                let k = o.terms.constant(32, u128::from(*residue));
                Some(equal(&mut o.terms, rest, k))
            }
            Fact::AtLeast(_, k) | Fact::AtMost(_, k) => {
                let k = o.terms.constant(64, *k as u64 as u128);
                let (a, b) = if matches!(fact, Fact::AtLeast(..)) { (pairs[0].1, k) } else { (k, pairs[0].1) };
                let less = o.terms.bin(Bin::Slt, a, b);
                Some(o.terms.not(less))
            }
            Fact::Less(..) => Some(o.terms.bin(Bin::Slt, pairs[0].1, pairs[1].1)),
            Fact::NotMore(..) => {
                let less = o.terms.bin(Bin::Slt, pairs[1].1, pairs[0].1);
                Some(o.terms.not(less))
            }
        }
    }

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
        for fact in &node.facts {
            match fact {
                Fact::Fixed(n, biased, k) if !o.places.contains_key(&Place::Gpr(*n)) => {
                    let k = o.terms.constant(64, u128::from(*k));
                    let value = if *biased { o.terms.bin(Bin::Add, o.bias(), k) } else { k };
                    o.places.insert(Place::Gpr(*n), value);
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
                            let d = o.terms.constant(64, a.divisor as u64 as u128);
                            let mut rest = o.terms.bin(Bin::Mul, wide, d);
                            let c = o.terms.constant(64, a.constant as u64 as u128);
                            rest = o.terms.bin(Bin::Sub, rest, c);
                            for (source, factor) in &a.terms {
                                let base = match source {
                                    Source::Bias => o.bias(),
                                    Source::Cfa => o.cfa(),
                                    _ => continue,
                                };
                                let f = o.terms.constant(64, *factor as u64 as u128);
                                let part = o.terms.bin(Bin::Mul, base, f);
                                rest = o.terms.bin(Bin::Sub, rest, part);
                            }
                            let sign = o.terms.constant(64, *k as u64 as u128);
                            let value = o.terms.bin(Bin::Mul, rest, sign);
                            o.places.insert(Place::Gpr(*n), value);
                        }
                        [(Source::Half(n), 1)]
                            if a.terms.len() == 1 && a.divisor == 1 && s.size == 4 && !o.places.contains_key(&Place::Gpr(*n)) =>
                        {
                            let c = o.terms.constant(32, a.constant as u64 as u128);
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
        let facts: Vec<Fact> = node.facts.clone();
        let assumed = facts.iter().filter_map(|f| self.instantiate(f, &mut o, &mut r)).collect();
        (o, r, assumed)
    }

    /// One step of the source: from a machine at `pc` to every next loop head or return.
    fn advance(&self, terms: &mut Terms, mut m: Symbolic, pc: u64) -> Result<BTreeMap<Arrival, Symbolic>, String> {
        m.terms = std::mem::take(terms);
        let (done, table) = symbolic::walk(&self.study.reference.code, &self.reference_ranks, m, pc, &self.reference_cuts, &mut |_, _| {})?;
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

    /// Everything that starts at a node.
    fn fan(&self, index: usize) -> Result<Fan, String> {
        let node = &self.nodes[index];
        let (mut o, r, facts) = self.start(node);
        let mut terms = std::mem::take(&mut o.terms);
        // The source: iterations one by one, and where each leads when the loop is left.
        let mut lanes = vec![r];
        let mut exits: Vec<BTreeMap<Arrival, Symbolic>> = Vec::new();
        let start = node.head.unwrap_or(self.study.reference.function.entry());
        for lane in 0..=node.unroll {
            let mut next = self.advance(&mut terms, lanes[lane].clone(), start)?;
            let again = node.head.and_then(|h| next.remove(&Arrival::Cut(h)));
            exits.push(next);
            match again {
                Some(m) if lane < node.unroll => lanes.push(m),
                _ => break,
            }
        }
        // Where the optimizer left no loop, the source's own loops may run on known values: follow them.
        let mut chain = Vec::new();
        if node.head.is_none() && self.nodes.len() == 1 {
            let mut at: Vec<(Arrival, Symbolic)> = exits.iter().flat_map(|e| e.iter().map(|(a, m)| (*a, m.clone()))).collect();
            for _ in 0..MAX_CHAIN {
                let [(Arrival::Cut(pc), m)] = at.as_slice() else { break };
                let (pc, m) = (*pc, m.clone());
                let Ok(next) = self.advance(&mut terms, m, pc) else { break };
                chain.extend(next.values().cloned());
                at = next.into_iter().collect();
            }
        }
        let mut visits = Vec::new();
        o.terms = terms;
        let (done, mut terms) = symbolic::walk(&self.study.optimized.code, &self.ranks, o, node.pc, &self.cuts, &mut |pc, m| {
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
            let target = match arrival {
                Arrival::Return => Some(Arrival::Return),
                Arrival::Cut(_) => to.and_then(|t| self.nodes[t].head).map(Arrival::Cut),
            };
            let mut sources = Vec::new();
            if let Some(target) = target {
                if node.head.is_some() && Some(target) == node.head.map(Arrival::Cut) && lanes.len() > node.unroll {
                    sources.push((lanes[node.unroll].condition, lanes[node.unroll].clone()));
                }
                for lane in [node.unroll, 0] {
                    let Some(out) = exits.get(lane) else { continue };
                    if let Some(m) = out.get(&target) {
                        sources.push((m.condition, m.clone()));
                    }
                    // Further heads on the way: loops that the optimizer unrolled run on known values.
                    for (arrival, m) in out {
                        if *arrival != target
                            && let Some(m) = self.follow(&mut terms, *arrival, m.clone(), target)
                        {
                            sources.push((m.condition, m));
                        }
                    }
                    if node.unroll == 0 {
                        break;
                    }
                }
            }
            edges.push(Edge { to, assumptions: vec![machine.condition], sources, machine });
        }
        let ends = exits.iter().rev().flat_map(|e| e.values().cloned()).chain(chain).collect();
        Ok(Fan { terms, edges, visits, lanes, ends, facts })
    }

    fn run(&mut self, mended: &mut [Mended], solver: &mut Solver) -> Result<Proof, String> {
        let mut trusted: BTreeSet<usize> = (0..self.nodes.len()).collect();
        for _round in 0..8 {
            let mut dropped = false;
            let mut failed: BTreeSet<usize> = BTreeSet::new();
            for index in 0..self.nodes.len() {
                let mut fan = self.fan(index)?;
                let mut questions = Vec::new();
                let mut asked: Vec<(usize, usize, Option<usize>)> = Vec::new();
                for (e, edge) in fan.edges.iter_mut().enumerate() {
                    for (s, (condition, source)) in edge.sources.iter_mut().enumerate() {
                        let base: Vec<Term> = fan.facts.iter().chain(&edge.assumptions).copied().collect();
                        questions.push(Question { assumptions: base.clone(), claim: *condition });
                        asked.push((e, s, None));
                        let Some(to) = edge.to else { continue };
                        let mut with = base;
                        with.push(*condition);
                        let mut machine = edge.machine.clone();
                        machine.terms = std::mem::take(&mut fan.terms);
                        for (f, fact) in self.nodes[to].facts.iter().enumerate() {
                            if let Some(claim) = self.instantiate(fact, &mut machine, source) {
                                questions.push(Question { assumptions: with.clone(), claim });
                                asked.push((e, s, Some(f)));
                            }
                        }
                        fan.terms = std::mem::take(&mut machine.terms);
                    }
                }
                let answers = solver.ask(&mut fan.terms, &questions);
                let valid =
                    |e: usize, s: usize, f: Option<usize>| asked.iter().zip(&answers).any(|(a, x)| *a == (e, s, f) && *x == Answer::Valid);
                for (e, edge) in fan.edges.iter().enumerate() {
                    let Some(source) = (0..edge.sources.len()).find(|s| valid(e, *s, None)) else {
                        match edge.to {
                            // Control reaches a node on a path that is not understood.
                            Some(to) => {
                                failed.insert(to);
                            }
                            None if trusted.contains(&index) && edge.sources.is_empty() => {}
                            None => {}
                        }
                        continue;
                    };
                    let Some(to) = edge.to else { continue };
                    let keep: Vec<bool> = (0..self.nodes[to].facts.len()).map(|f| valid(e, source, Some(f))).collect();
                    if keep.iter().any(|k| !k) {
                        dropped = true;
                        let mut keep = keep.into_iter();
                        self.nodes[to].facts.retain(|_| keep.next().unwrap_or(false));
                    }
                }
                // Facts were renumbered: the rest of this round's questions about them are stale.
                if dropped {
                    break;
                }
            }
            if dropped {
                continue;
            }
            for node in failed {
                trusted.remove(&node);
            }
            return self.label(mended, solver, &trusted);
        }
        Err("the facts did not settle".to_owned())
    }

    /// Labels every choice that follows from the facts on all paths.
    fn label(&self, mended: &mut [Mended], solver: &mut Solver, trusted: &BTreeSet<usize>) -> Result<Proof, String> {
        let mut proof = Proof::default();
        // (variable, pc) to whether every visit was covered so far.
        let mut state: BTreeMap<(usize, u64), bool> = BTreeMap::new();
        for index in 0..self.nodes.len() {
            let fan = self.fan(index)?;
            let Fan { mut terms, visits, lanes, ends, facts, .. } = fan;
            let mut questions = Vec::new();
            let mut owners: Vec<(usize, u64, usize)> = Vec::new();
            for (visit, (pc, machine)) in visits.into_iter().enumerate() {
                for (m, one) in mended.iter().enumerate() {
                    let Some(choice) = one.choices.get(&pc) else { continue };
                    let variable = &self.study.optimized.function.variables[one.variable];
                    let slot = self.study.slot(variable).filter(|_| variable.function == self.study.reference.function.name);
                    let entry = state.entry((m, pc)).or_insert(true);
                    let Some(slot) = slot.filter(|_| trusted.contains(&index)) else {
                        *entry = false;
                        continue;
                    };
                    let size = self.study.slots[slot].size;
                    let candidates: Vec<&Symbolic> = match choice.lane {
                        Some(lane) => lanes.iter().skip(lane).take(2).chain(ends.iter().take(2)).collect(),
                        None => ends.iter().chain(lanes.iter().rev().take(2)).chain(lanes.first()).collect(),
                    };
                    let mut open = Vec::new();
                    for source in candidates {
                        let mut source = source.clone();
                        source.terms = std::mem::take(&mut terms);
                        let s = &self.study.slots[slot];
                        let (value, wide) = (source.frame_value(s.offset, s.size as u32), self.wide(&mut source, slot));
                        let mut machine = machine.clone();
                        machine.terms = std::mem::take(&mut source.terms);
                        let claim = self.claim(&mut machine, &choice.relation, value, wide, size);
                        terms = std::mem::take(&mut machine.terms);
                        let Some(claim) = claim else { continue };
                        let settled = terms.value(claim);
                        if settled == Some(0) {
                            continue;
                        }
                        let mut assumptions = facts.clone();
                        assumptions.extend([machine.condition, source.condition]);
                        open.push(Question { assumptions, claim });
                        if settled == Some(1) {
                            open = open.split_off(open.len() - 1);
                            break;
                        }
                    }
                    if open.is_empty() {
                        state.insert((m, pc), false);
                    }
                    open.truncate(5);
                    owners.extend(open.iter().map(|_| (m, pc, visit)));
                    questions.append(&mut open);
                }
            }
            let answers = solver.ask(&mut terms, &questions);
            let mut covered: BTreeMap<(usize, u64, usize), bool> = BTreeMap::new();
            for (owner, answer) in owners.iter().zip(answers) {
                *covered.entry(*owner).or_insert(false) |= answer == Answer::Valid;
            }
            for ((m, pc, _), ok) in covered {
                if !ok {
                    state.insert((m, pc), false);
                }
            }
        }
        for ((m, pc), ok) in state {
            if let (true, Some(choice)) = (ok, mended[m].choices.get_mut(&pc)) {
                choice.label = Label::Proved;
                proof.proved += 1;
            }
        }
        for node in &self.nodes {
            let facts = node.facts.iter().map(|f| self.describe(f)).collect();
            proof.invariants.push((node.pc, node.head, facts));
        }
        Ok(proof)
    }

    fn describe(&self, fact: &Fact) -> String {
        let name = |s: &usize| self.study.slots[*s].key.name.clone();
        match fact {
            Fact::Related(s, r) => format!("{} = {r}", name(s)),
            Fact::Fixed(n, true, k) => format!("{} = base + {k:#x}", crate::algebra::GPR_NAMES[*n as usize]),
            Fact::Fixed(n, false, k) => format!("{} = {k:#x}", crate::algebra::GPR_NAMES[*n as usize]),
            Fact::Congruent(s, m, r) => format!("{} ≡ {r} mod {m}", name(s)),
            Fact::AtLeast(s, k) => format!("{} >= {k}", name(s)),
            Fact::AtMost(s, k) => format!("{} <= {k}", name(s)),
            Fact::Less(a, b) => format!("{} < {}", name(a), name(b)),
            Fact::NotMore(a, b) => format!("{} <= {}", name(a), name(b)),
        }
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The distance from the stack pointer to the canonical frame address at a PC, when it is the same always.
fn depth_at(study: &Study<'_>, pc: u64) -> Option<i64> {
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
fn address_space(study: &Study<'_>) -> (Arc<[Object]>, Moves) {
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
