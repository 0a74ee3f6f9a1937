//! The source point of a machine point: σ(pc), fixed before any relation is looked at and the same for all variables.
//!
//! A source point is an address of the -O0 build at which a debugger that steps comes to a line: the first of its
//! instructions, before any of its effects. The machine stands at one of them when the line table gives it the same file and
//! line, the source gets there on the same step, and both builds' memory is provably the same.

use super::Prover;
use super::fan::{Fan, Point};
use std::collections::BTreeSet;
use trueline_machine::solver::{Question, Solver, SolverAnswer};
use trueline_machine::symbolic::{Symbolic, memory};
use trueline_machine::term::{Term, Terms};

/// Which source visits a machine visit stands for; the order is the source's.
pub struct Standing {
    /// The machine's address.
    pub pc: u64,
    /// The machine there.
    pub machine: Symbolic,
    /// Indices into the fan's points, none when it stands for no source point.
    pub points: Vec<usize>,
}

impl Prover<'_, '_> {
    /// σ of every wanted PC that a fan visits, tied to the visits of the source on the same step.
    pub fn standings(&self, fan: &mut Fan, solver: &mut Solver, wanted: &BTreeSet<u64>) -> Vec<Standing> {
        let info = self.study.optimized.info;
        let mut standings = Vec::new();
        let mut questions = Vec::new();
        let mut asked: Vec<(usize, usize)> = Vec::new();
        for (pc, machine) in std::mem::take(&mut fan.visits).into_iter().filter(|(pc, _)| wanted.contains(pc)) {
            let place = info.place_at(pc);
            let mut sure = Vec::new();
            // Inside an inlined function a debugger is in another frame: the line is that function's, whatever its number.
            let inlined =
                self.study.optimized.function.inlined.iter().flat_map(|(_, ranges)| ranges).any(|(low, high)| pc >= *low && pc < *high);
            let place = if inlined { (0, 0) } else { place };
            for (n, point) in fan.points.iter().enumerate().filter(|(_, p)| p.place == place && place.1 != 0) {
                let Some(claim) = same_memory(&mut fan.terms, &machine, point) else { continue };
                let both = fan.terms.and(machine.condition, point.machine.condition);
                match fan.terms.value(claim) {
                    _ if fan.terms.value(both) == Some(0) => {}
                    Some(1) => sure.push(n),
                    _ => {
                        let assumptions = fan.facts.iter().copied().chain([both]).collect();
                        questions.push(Question { assumptions, claim });
                        asked.push((standings.len(), n));
                    }
                }
            }
            standings.push(Standing { pc, machine, points: sure });
        }
        let answers = solver.ask(&mut fan.terms, &questions);
        for ((s, n), _) in asked.into_iter().zip(answers).filter(|(_, a)| *a == SolverAnswer::Valid) {
            standings[s].points.push(n);
        }
        let mut questions = Vec::new();
        for s in &mut standings {
            s.points.sort_unstable();
            self.settle(fan, s);
            let claim = any(&mut fan.terms, s.points.iter().map(|n| fan.points[*n].machine.condition));
            let assumptions = fan.facts.iter().copied().chain([s.machine.condition]).collect();
            questions.push(Question { assumptions, claim });
        }
        // The source gets to one of them whenever the machine is here, or the machine stands for none.
        let answers = solver.ask(&mut fan.terms, &questions);
        for (s, _) in standings.iter_mut().zip(answers).filter(|(_, a)| *a != SolverAnswer::Valid) {
            s.points.clear();
        }
        standings
    }

    /// Where memory does not tell the iterations apart that one machine iteration stands for, and the machine comes to the
    /// line once in it, it stands for the first of them.
    fn settle(&self, fan: &Fan, s: &mut Standing) {
        let Some(first) = s.points.first().map(|n| (fan.points[*n].pc, fan.points[*n].lane)) else { return };
        let same = s.points.iter().all(|n| fan.points[*n].pc == first.0);
        if same && s.points.len() > 1 && self.arrivals(s.pc) == 1 {
            s.points.retain(|n| fan.points[*n].lane == first.1);
        }
    }

    /// How many stretches of the loop around a PC have its line.
    fn arrivals(&self, pc: u64) -> usize {
        let (graph, info) = (&self.study.optimized.graph, self.study.optimized.info);
        let place = info.place_at(pc);
        let Some(own) = graph.innermost(pc) else { return usize::MAX };
        let mut count = 0;
        let mut inside = false;
        for pc in &graph.loops[own].body {
            let here = info.place_at(*pc) == place;
            count += usize::from(here && !inside);
            inside = here;
        }
        count
    }
}

/// The claim that memory is the same at a machine visit and a source visit; `None` when it plainly is not.
fn same_memory(terms: &mut Terms, machine: &Symbolic, point: &Point) -> Option<Term> {
    let (a, b) = (&machine.memory, &point.machine.memory);
    let addresses = |m: &memory::Memory| m.stores.iter().map(|s| s.address).collect::<BTreeSet<_>>();
    if a.stores != b.stores && addresses(a) != addresses(b) && a.stores.len().max(b.stores.len()) > FEW {
        return None;
    }
    memory::same(terms, a, b)
}

/// Stores up to which memories that differ in where was stored are still compared.
const FEW: usize = 6;

/// At least one of some one-bit terms.
fn any(terms: &mut Terms, parts: impl Iterator<Item = Term>) -> Term {
    let mut all: Option<Term> = None;
    for part in parts {
        all = Some(all.map_or(part, |t| terms.either(t, part)));
    }
    all.unwrap_or_else(|| terms.constant(1, 0))
}
