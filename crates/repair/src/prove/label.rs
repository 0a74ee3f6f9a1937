//! Labels every new location that follows from the facts on all paths.

use super::fan::Fan;
use super::{Proof, Prover};
use crate::mend::{Label, Mended};
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::algebra::Bin;
use trueline_machine::solver::{Answer, Question, Solver};
use trueline_machine::symbolic::Symbolic;
use trueline_machine::term::{Term, Terms};

/// Source points that one location may be compared with.
const MAX_POINTS: usize = 10;

impl Prover<'_, '_> {
    /// Labels every choice that follows from the facts on all paths. Nothing at a tainted PC is.
    pub fn label(&self, mended: &mut [Mended], solver: &mut Solver, tainted: &BTreeSet<u64>) -> Result<Proof, String> {
        let mut proof = Proof::default();
        // (variable, pc) to whether every visit was covered so far.
        let mut state: BTreeMap<(usize, u64), bool> = BTreeMap::new();
        for index in 0..self.nodes.len() {
            let Fan { mut terms, visits, lanes, ends, facts, .. } = self.fan(index)?;
            let mut questions = Vec::new();
            let mut owners: Vec<(usize, u64)> = Vec::new();
            for (pc, machine) in visits {
                for (m, one) in mended.iter().enumerate() {
                    let Some(choice) = one.choices.get(&pc) else { continue };
                    let variable = &self.study.optimized.function.variables[one.variable];
                    let slot = self.study.slot(variable).filter(|_| variable.function == self.study.reference.function.name);
                    let entry = state.entry((m, pc)).or_insert(true);
                    let Some(slot) = slot.filter(|_| !tainted.contains(&pc)) else {
                        *entry = false;
                        continue;
                    };
                    // Most source points are ruled out by rewriting alone: the solver sees the others.
                    let first = choice.lane.unwrap_or(0).min(lanes.len());
                    let (before, after) = lanes.split_at(first);
                    let mut claim: Option<Term> = None;
                    let mut points = 0;
                    // Past a loop its end comes first, inside it the iteration that the runs saw.
                    let order: Vec<&Symbolic> = match choice.lane {
                        Some(_) => after.iter().chain(&ends).chain(before).collect(),
                        None => ends.iter().take(2).chain(lanes.iter().rev()).chain(ends.iter().skip(2)).collect(),
                    };
                    for source in order {
                        let at = self.holds_at(&mut terms, &machine, source, choice, slot);
                        if terms.value(at) == Some(0) || points == MAX_POINTS {
                            continue;
                        }
                        points += 1;
                        claim = Some(claim.map_or(at, |c| terms.bin(Bin::Or, c, at)));
                        if terms.value(at) == Some(1) {
                            break;
                        }
                    }
                    let Some(claim) = claim else {
                        state.insert((m, pc), false);
                        continue;
                    };
                    let mut assumptions = facts.clone();
                    assumptions.push(machine.condition);
                    questions.push(Question { assumptions, claim });
                    owners.push((m, pc));
                }
            }
            let answers = solver.ask(&mut terms, &questions);
            for (owner, _) in owners.into_iter().zip(answers).filter(|(_, a)| *a != Answer::Valid) {
                state.insert(owner, false);
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

    /// The source is at this point of its step and the choice gives the variable's value there.
    fn holds_at(&self, terms: &mut Terms, machine: &Symbolic, source: &Symbolic, choice: &crate::mend::Choice, slot: usize) -> Term {
        let mut source = source.clone();
        source.terms = std::mem::take(terms);
        let s = &self.study.slots[slot];
        let (value, wide) = (source.frame_value(s.offset, s.size as u32), self.wide(&mut source, slot));
        let mut machine = machine.clone();
        machine.terms = std::mem::take(&mut source.terms);
        let claim = self.claim(&mut machine, &choice.relation, value, wide, s.size);
        *terms = std::mem::take(&mut machine.terms);
        terms.and(source.condition, claim)
    }
}
