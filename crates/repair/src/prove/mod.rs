//! Shows relations for all runs: both machine codes executed symbolically between correlated points, the
//! relations at those points inductive, and each new location a consequence of them.
//!
//! The product program's nodes are the function's entry and the heads of tied loops. From each node every
//! machine path to the next node is matched with the source path it stands for: as many source iterations
//! as the loop was seen to cover, then on. Facts that are not inductive are dropped until the rest is
//! (Houdini); a location is proved when every path from a node to its PC implies it.

mod facts;
mod fan;
mod label;

use crate::align;
use crate::mend::Mended;
use crate::study::Study;
use crate::walk::{Arrival, Ground};
use facts::Fact;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_machine::solver::{Answer, Question, Solver};
use trueline_machine::symbolic::{Moves, Object};
use trueline_machine::term::Term;

/// What is taken for granted by every proof.
pub const ASSUMPTIONS: [&str; 5] = [
    "shared memory is equal in both builds at correlated points (as in every run)",
    "an access stays inside the object it starts in, distinct objects do not overlap, unknown pointers do not point into the frame",
    "the same outside call since a correlated point answers the same in both builds",
    "floating-point operations are functions of their operands",
    "a PC stands for the source iteration that it stood for in every run",
];

/// Most source iterations in front of a loop or left over after it that are followed one by one.
const MAX_REST: usize = 16;
/// Times that one node is asked again after facts were dropped.
const MAX_ROUNDS: usize = 12;

/// A correlated point of both programs.
#[derive(Clone, Debug)]
struct Node {
    pc: u64,
    /// Head of the reference loop; `None` at the entry.
    head: Option<u64>,
    /// Source iterations per iteration.
    unroll: usize,
    /// Source iterations in front of the loop that its first iteration does not begin with.
    peeled: usize,
    /// Source iterations that may be left when the loop is.
    rest: usize,
    /// From the stack pointer to the canonical frame address.
    depth: i64,
    /// What holds here.
    facts: Vec<Fact>,
}

/// Facts that do not survive a step, by node.
type Refuted = BTreeMap<usize, Vec<Fact>>;

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
    ours: Ground<'s>,
    theirs: Ground<'s>,
    objects: Arc<[Object]>,
    moves: Moves,
}

/// What the runs say of a loop: votes by reference head and unrolling, iterations in front and left over.
#[derive(Default)]
struct Ties {
    votes: BTreeMap<(u64, usize), usize>,
    peeled: usize,
    rest: usize,
}

fn ties(study: &Study<'_>) -> BTreeMap<u64, Ties> {
    let (o, r) = (&study.optimized, &study.reference);
    let mut found: BTreeMap<u64, Ties> = BTreeMap::new();
    for pair in &study.pairs {
        let all = &pair.alignment.ties;
        for (n, (instance, tie)) in pair.machine.instances.iter().zip(all).enumerate() {
            let entry = found.entry(o.graph.loops[instance.index].head).or_default();
            let Some(t) = tie else { continue };
            let reference = &pair.source.instances[t.reference];
            *entry.votes.entry((r.graph.loops[reference.index].head, t.unroll)).or_insert(0) += instance.arrivals.len();
            let same = |other: &Option<align::Tie>| other.is_some_and(|x| x.reference == t.reference);
            if !all[..n].iter().any(same) {
                entry.peeled = entry.peeled.max(t.first);
            }
            if !all[n + 1..].iter().any(same) {
                let left = align::full_iterations(r, reference).saturating_sub(t.first + t.unroll * instance.arrivals.len());
                entry.rest = entry.rest.max(left);
            }
        }
    }
    found
}

impl<'s, 'a> Prover<'s, 'a> {
    fn new(study: &'s Study<'a>) -> Result<Self, String> {
        let (o, r) = (&study.optimized, &study.reference);
        if r.graph.incomplete.is_some() {
            return Err("the reference build has a computed jump".to_owned());
        }
        let entry = o.function.entry();
        let mut nodes = vec![Node { pc: entry, head: None, unroll: 0, peeled: 0, rest: 0, depth: 8, facts: Vec::new() }];
        for (pc, ties) in ties(study) {
            let innermost = o.graph.innermost(pc).is_some_and(|n| !o.graph.loops.iter().any(|l| l.parent == Some(n)));
            // Where runs disagree the most common reading is tried; the proof itself decides. A loop that is
            // tied to nothing is no node, and nothing that is reached through it is proved.
            let Some((&(head, unroll), _)) = ties.votes.iter().max_by_key(|(_, n)| **n) else { continue };
            let Some(depth) = fan::depth_at(study, pc) else { continue };
            // An outer loop's iteration passes through the inner loop's node.
            let unroll = if innermost { unroll } else { 0 };
            let few = |n: usize| if innermost && n <= MAX_REST { n } else { 0 };
            nodes.push(Node { pc, head: Some(head), unroll, peeled: few(ties.peeled), rest: few(ties.rest), depth, facts: Vec::new() });
        }
        let ours = Ground::new(&o.code, &o.graph, o.info, entry);
        let theirs = Ground::new(&r.code, &r.graph, r.info, r.function.entry());
        let (objects, moves) = fan::address_space(study);
        let mut prover = Self { study, nodes, ours, theirs, objects, moves };
        for n in 1..prover.nodes.len() {
            prover.nodes[n].facts = prover.guess(prover.nodes[n].pc);
        }
        Ok(prover)
    }

    /// Drops facts until the rest is inductive, then labels.
    fn run(&mut self, mended: &mut [Mended], solver: &mut Solver) -> Result<Proof, String> {
        let mut open: BTreeSet<usize> = (0..self.nodes.len()).collect();
        let mut rounds = vec![0usize; self.nodes.len()];
        // By node: where its paths lead that the source does not follow.
        let mut lost: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); self.nodes.len()];
        while let Some(index) = open.pop_first() {
            rounds[index] += 1;
            if rounds[index] > MAX_ROUNDS {
                return Err("the facts did not settle".to_owned());
            }
            let (stray, dropped) = self.step(index, solver)?;
            lost[index] = stray;
            // Facts that were dropped weaken what their own node may assume.
            for (to, facts) in dropped {
                self.nodes[to].facts.retain(|f| !facts.contains(f));
                open.insert(to);
            }
        }
        // Whatever control may reach on a path that is not understood is not proved.
        let mut tainted: BTreeSet<u64> = BTreeSet::new();
        let strays: BTreeSet<u64> = lost.into_iter().flatten().collect();
        let mut work: Vec<u64> = strays.iter().copied().collect();
        while let Some(pc) = work.pop() {
            if tainted.insert(pc) {
                work.extend(self.study.optimized.graph.successors.get(&pc).into_iter().flatten());
            }
        }
        let mut proof = self.label(mended, solver, &tainted)?;
        if !tainted.is_empty() {
            let heads: Vec<String> = strays.iter().map(|pc| format!("{pc:#x}")).collect();
            proof.reason = Some(format!("the source could not be followed to the loop at {}", heads.join(", ")));
        }
        Ok(proof)
    }

    /// Asks everything that starts at one node: the heads it may reach without the source following, and
    /// the facts that do not survive, by node.
    fn step(&self, index: usize, solver: &mut Solver) -> Result<(BTreeSet<u64>, Refuted), String> {
        let mut fan = self.fan(index)?;
        let mut questions = Vec::new();
        // Edge, source alternative and fact; an alternative that is none asks whether the edge is ever taken.
        let mut asked: Vec<(usize, Option<usize>, Option<usize>)> = Vec::new();
        for (e, edge) in fan.edges.iter_mut().enumerate() {
            let Arrival::Cut(_) = edge.arrival else { continue };
            let mut base: Vec<Term> = fan.facts.clone();
            let never = fan.terms.not(edge.machine.condition);
            questions.push(Question { assumptions: base.clone(), claim: never });
            asked.push((e, None, None));
            base.push(edge.machine.condition);
            let Some(to) = edge.to else { continue };
            for (s, source) in edge.sources.iter_mut().enumerate() {
                questions.push(Question { assumptions: base.clone(), claim: source.condition });
                asked.push((e, Some(s), None));
                let mut with = base.clone();
                with.push(source.condition);
                let mut machine = edge.machine.clone();
                machine.terms = std::mem::take(&mut fan.terms);
                for (f, fact) in self.nodes[to].facts.iter().enumerate() {
                    let claim = self.instantiate(fact, &mut machine, source);
                    questions.push(Question { assumptions: with.clone(), claim });
                    asked.push((e, Some(s), Some(f)));
                }
                fan.terms = std::mem::take(&mut machine.terms);
            }
        }
        let answers = solver.ask(&mut fan.terms, &questions);
        let valid: BTreeSet<_> = asked.iter().zip(&answers).filter(|(_, x)| **x == Answer::Valid).map(|(a, _)| *a).collect();
        let mut stray = BTreeSet::new();
        let mut dropped: BTreeMap<usize, Vec<Fact>> = BTreeMap::new();
        for (e, edge) in fan.edges.iter().enumerate() {
            let Arrival::Cut(head) = edge.arrival else { continue };
            if valid.contains(&(e, None, None)) {
                continue;
            }
            // Of the source's ways the one that keeps most: others may be possible and say less.
            let kept = |s: &usize| valid.range((e, Some(*s), Some(0))..=(e, Some(*s), Some(usize::MAX))).count();
            let ways = (0..edge.sources.len()).rev().filter(|s| valid.contains(&(e, Some(*s), None)));
            let (Some(to), Some(source)) = (edge.to, ways.max_by_key(kept)) else {
                stray.insert(head);
                continue;
            };
            let facts = &self.nodes[to].facts;
            let gone: Vec<Fact> =
                (0..facts.len()).filter(|f| !valid.contains(&(e, Some(source), Some(*f)))).map(|f| facts[f].clone()).collect();
            if !gone.is_empty() {
                dropped.entry(to).or_default().extend(gone);
            }
        }
        Ok((stray, dropped))
    }
}
