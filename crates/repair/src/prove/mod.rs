//! Shows relations for all runs: both machine codes executed symbolically between correlated points, the
//! relations at those points inductive, and each new location a consequence of them.
//!
//! The product program's nodes are the function's entry and the heads of tied loops. From each node every
//! machine path to the next node is matched with the source path it stands for: as many source iterations
//! as the loop was seen to cover, then on; memory must be the same on arrival. Facts that are not inductive are
//! dropped until the rest is (Houdini). A location is proved when on every path from a node to its PC the source
//! is at σ(pc) with the same memory and what is written shows the variable's value there. The argument is in
//! `docs/repair-soundness.md`.

mod exposure;
mod facts;
mod fan;
mod held;
mod label;
mod layout;
mod sigma;

use crate::align;
use crate::mend::Mended;
use crate::observe::{BuildSide, Place as Line, Slot};
use crate::study::Study;
use crate::walk::{Arrival, CodeGround};
use facts::Fact;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trueline_machine::algebra::{Place, RBP, RSP};
use trueline_machine::solver::{Question, Solver, SolverAnswer};
use trueline_machine::symbolic::{Layout, Symbolic, memory};
use trueline_machine::term::{Term, Terms};

/// What is taken for granted by every proof.
pub const ASSUMPTIONS: [&str; 4] = [
    "the -O0 build is what the source means",
    "no run has undefined behaviour",
    "the program does not look into its NaNs: of two operands that are NaNs either one may be the result",
    "no other thread, signal handler or debugger changes the program's memory, and its code does not change",
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
    /// From the frame pointer to it, where it is one.
    frame_pointer: Option<i64>,
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

/// True when the -O0 build takes the address of a variable, or may do so: what is called may then change it.
pub fn is_address_taken(reference: &BuildSide<'_>, slot: &Slot) -> bool {
    let end = slot.offset + slot.size as i64;
    exposure::of_reference(&reference.graph).is_none_or(|taken| taken.range(slot.offset..end).next().is_some())
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
    ours: CodeGround<'s>,
    theirs: CodeGround<'s>,
    /// Of the reference and of the optimized build.
    layouts: (Arc<Layout>, Arc<Layout>),
    /// Registers that hold the same argument in both builds at the entry.
    shared: BTreeSet<Place>,
    /// Registers that hold a pointer of the caller's at the entry.
    pointers: BTreeSet<u8>,
    /// The source points.
    points: BTreeMap<u64, Line>,
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
            let same = |other: &Option<align::LoopTie>| other.is_some_and(|x| x.reference == t.reference);
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
        // Where control may go that nobody knows of, nothing can be shown for all runs.
        for (graph, build) in [(&r.graph, "reference"), (&o.graph, "optimized")] {
            if let Some(reason) = &graph.incomplete {
                return Err(format!("the {build} build is not known as a whole: {reason}"));
            }
        }
        for image in [r.image, o.image] {
            if let Some(reason) = &image.vague {
                return Err(reason.clone());
            }
        }
        let entry = o.function.entry();
        let own = exposure::of_optimized(&o.graph);
        let mut nodes =
            vec![Node { pc: entry, head: None, unroll: 0, peeled: 0, rest: 0, depth: 8, frame_pointer: None, facts: Vec::new() }];
        for (pc, ties) in ties(study) {
            let innermost = o.graph.innermost(pc).is_some_and(|n| !o.graph.loops.iter().any(|l| l.parent == Some(n)));
            // Where runs disagree the most common reading is tried; the proof itself decides. A loop that is
            // tied to nothing is no node, and nothing that is reached through it is proved.
            let Some((&(head, unroll), _)) = ties.votes.iter().max_by_key(|(_, n)| **n) else { continue };
            let Some(depth) = fan::distance_at(study, pc, RSP) else { continue };
            let frame_pointer = own.frame_pointer.then(|| fan::distance_at(study, pc, RBP)).flatten();
            // An outer loop's iteration passes through the inner loop's node.
            let unroll = if innermost { unroll } else { 0 };
            let few = |n: usize| if innermost && n <= MAX_REST { n } else { 0 };
            nodes.push(Node {
                pc,
                head: Some(head),
                unroll,
                peeled: few(ties.peeled),
                rest: few(ties.rest),
                depth,
                frame_pointer,
                facts: Vec::new(),
            });
        }
        let ours = CodeGround::new(&o.code, &o.graph, o.info, entry);
        let theirs = CodeGround::new(&r.code, &r.graph, r.info, r.function.entry());
        let layouts = layout::layouts(study, own.exposure, (&theirs.units, &ours.units));
        let points = r.source_points();
        let mut prover = Self {
            study,
            nodes,
            ours,
            theirs,
            layouts,
            shared: layout::shared_arguments(study),
            pointers: layout::pointer_arguments(study),
            points,
        };
        for n in 1..prover.nodes.len() {
            prover.nodes[n].facts = prover.guess(prover.nodes[n].pc);
        }
        for n in 0..prover.nodes.len() {
            let Ok(mut fan) = prover.fan(n) else { continue };
            for edge in fan.edges {
                let Some(to) = edge.to else { continue };
                let (mut machine, mut sources) = (edge.machine, edge.sources);
                let mut new = match sources.first_mut() {
                    Some(source) if to != n => prover.kept(&machine, source, &mut fan.terms),
                    Some(source) => prover.going_on(source, &mut fan.terms, &fan.leaves),
                    _ => Vec::new(),
                };
                machine.terms = std::mem::take(&mut fan.terms);
                // What moves on one of the ways is at no fixed address.
                prover.nodes[to].facts.retain(|fact| match fact {
                    Fact::Based(n, address) => {
                        machine.places.get(&Place::Gpr(*n)).copied().and_then(|t| machine.address_of(t)) == Some(*address)
                    }
                    _ => true,
                });
                // The way around a loop finds what the way into it has put there.
                if to != n {
                    new.extend(prover.loaded(&mut machine));
                    new.extend(held::based(&mut machine));
                }
                new.extend(held::held(&mut machine));
                fan.terms = std::mem::take(&mut machine.terms);
                let known = &mut prover.nodes[to].facts;
                new.into_iter().for_each(|fact| {
                    if !known.contains(&fact) {
                        known.push(fact);
                    }
                });
            }
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
            let Ok((stray, dropped)) = self.step(index, solver) else {
                lost[index] = BTreeSet::from([self.nodes[index].pc]);
                continue;
            };
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
        // Where a computed jump goes was read off its table. Only walks that came to it have shown that the table is the right one.
        let jumps = |pc: &u64| {
            let i = self.study.optimized.graph.instructions.get(pc);
            i.is_some_and(|i| i.flow_control() == iced_x86::FlowControl::IndirectBranch)
        };
        if tainted.iter().any(jumps) {
            return Err("a computed jump could not be followed".to_owned());
        }
        let mut proof = self.label(mended, solver, &tainted);
        if !tainted.is_empty() {
            let heads: Vec<String> = strays.iter().map(|pc| format!("{pc:#x}")).collect();
            proof.reason = Some(format!("the source could not be followed with equal memory to {}", heads.join(", ")));
        }
        Ok(proof)
    }

    /// Asks everything that starts at one node: the heads it may reach without the source following, and
    /// the facts that do not survive, by node.
    fn step(&self, index: usize, solver: &mut Solver) -> Result<(BTreeSet<u64>, Refuted), String> {
        let mut fan = self.fan(index)?;
        let mut questions = Vec::new();
        let mut asked: Vec<Asked> = Vec::new();
        for (e, edge) in fan.edges.iter_mut().enumerate() {
            if edge.arrival == Arrival::Return {
                continue;
            }
            let mut base: Vec<Term> = fan.facts.clone();
            let never = fan.terms.not(edge.machine.condition);
            questions.push(Question { assumptions: base.clone(), claim: never });
            asked.push(Asked::Never(e));
            base.push(edge.machine.condition);
            let Some(to) = edge.to.filter(|to| self.keeps_frame(&mut fan.terms, *to, &edge.machine)) else { continue };
            for (s, source) in edge.sources.iter_mut().enumerate() {
                let Some(memory) = memory::same(&mut fan.terms, &edge.machine.memory, &source.memory) else { continue };
                if !has_frame(&mut fan.terms, source) {
                    continue;
                }
                questions.push(Question { assumptions: base.clone(), claim: source.condition });
                asked.push(Asked::Way(e, s));
                let mut with = base.clone();
                with.push(source.condition);
                questions.push(Question { assumptions: with.clone(), claim: memory });
                asked.push(Asked::Memory(e, s));
                let mut machine = edge.machine.clone();
                machine.terms = std::mem::take(&mut fan.terms);
                for (f, fact) in self.nodes[to].facts.iter().enumerate() {
                    let claim = self.instantiate(fact, &mut machine, source);
                    questions.push(Question { assumptions: with.clone(), claim });
                    asked.push(Asked::Fact(e, s, f));
                }
                fan.terms = std::mem::take(&mut machine.terms);
            }
        }
        let answers = solver.ask(&mut fan.terms, &questions);
        let valid: BTreeSet<Asked> = asked.into_iter().zip(answers).filter(|(_, x)| *x == SolverAnswer::Valid).map(|(a, _)| a).collect();
        let mut stray = fan.lost.clone();
        let mut dropped: BTreeMap<usize, Vec<Fact>> = BTreeMap::new();
        for (e, edge) in fan.edges.iter().enumerate() {
            let Arrival::Cut(head) = edge.arrival else { continue };
            if valid.contains(&Asked::Never(e)) {
                continue;
            }
            // Of the source's ways the one that keeps most: others may be possible and say less.
            let kept = |s: &usize| valid.range(Asked::Fact(e, *s, 0)..=Asked::Fact(e, *s, usize::MAX)).count();
            let possible = |s: &usize| valid.contains(&Asked::Way(e, *s)) && valid.contains(&Asked::Memory(e, *s));
            let ways = (0..edge.sources.len()).rev().filter(possible);
            let (Some(to), Some(source)) = (edge.to, ways.max_by_key(kept)) else {
                stray.insert(head);
                continue;
            };
            let facts = &self.nodes[to].facts;
            let gone: Vec<Fact> =
                (0..facts.len()).filter(|f| !valid.contains(&Asked::Fact(e, source, *f))).map(|f| facts[f].clone()).collect();
            if !gone.is_empty() {
                dropped.entry(to).or_default().extend(gone);
            }
        }
        Ok((stray, dropped))
    }

    /// True when the machine arrives at a node with its stack and frame pointers where the node has them.
    fn keeps_frame(&self, terms: &mut Terms, to: usize, m: &Symbolic) -> bool {
        let node = &self.nodes[to];
        let mut holds = |register: u8, distance: i64| {
            let expected = fan::below(terms, m.cfa(), distance);
            m.places.get(&Place::Gpr(register)) == Some(&expected)
        };
        holds(RSP, node.depth) && node.frame_pointer.is_none_or(|k| holds(RBP, k))
    }
}

/// True when the source has its frame pointer set up, as every node takes it to be.
fn has_frame(terms: &mut Terms, source: &Symbolic) -> bool {
    let expected = fan::below(terms, source.cfa(), 16);
    source.places.get(&Place::Gpr(RBP)) == Some(&expected)
}

/// What is asked of one edge (by number), one way of the source's and one fact of the node there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    /// Whether the edge is never taken.
    Never(usize),
    /// Whether the source goes this way.
    Way(usize, usize),
    /// Whether memory is the same on arrival.
    Memory(usize, usize),
    /// Whether a fact holds on arrival.
    Fact(usize, usize, usize),
}
