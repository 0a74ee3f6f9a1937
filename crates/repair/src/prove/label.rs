//! Labels every new location that follows from the facts on all paths.

use super::sigma::Standing;
use super::{Proof, Prover};
use crate::debug::TypeClass;
use crate::description;
use crate::mend::{Label, Mended};
use crate::relation::Relation;
use crate::walk;
use std::collections::{BTreeMap, BTreeSet};
use trueline_machine::algebra::Bin;
use trueline_machine::solver::{Question, Solver, SolverAnswer};
use trueline_machine::symbolic::Symbolic;
use trueline_machine::term::{Term, Terms};

/// A candidate: variable, PC and which of its relations.
type Owner = (usize, u64, usize);

impl Prover<'_, '_> {
    /// Labels every choice that follows from the facts on all paths. Nothing at a tainted PC is.
    pub fn label(&self, mended: &mut [Mended], solver: &mut Solver, tainted: &BTreeSet<u64>) -> Proof {
        let mut proof = Proof::default();
        let own = |one: &Mended| {
            let variable = &self.study.optimized.function.variables[one.variable];
            self.study.slot(variable).filter(|_| variable.function == self.study.reference.function.name && !variable.inlined)
        };
        // By candidate: whether every visit was covered so far.
        let mut state: BTreeMap<Owner, bool> = BTreeMap::new();
        let wanted: BTreeSet<u64> =
            mended.iter().filter(|m| own(m).is_some()).flat_map(|m| m.choices.keys().copied()).filter(|pc| !tainted.contains(pc)).collect();
        for index in 0..self.nodes.len() {
            // What one node leads to is not known: then nothing is, since anything may be reached from it.
            let Ok(mut fan) = self.fan(index) else {
                if tainted.contains(&self.nodes[index].pc) {
                    continue;
                }
                return Proof { reason: Some("a step could not be followed again".to_owned()), ..Proof::default() };
            };
            let standings = self.standings(&mut fan, solver, &wanted);
            let mut questions = Vec::new();
            let mut owners: Vec<Owner> = Vec::new();
            for s in &standings {
                for (m, one) in mended.iter().enumerate() {
                    let (Some(slot), true) = (own(one), one.choices.contains_key(&s.pc)) else { continue };
                    for (r, relation) in one.relations(s.pc).enumerate() {
                        let entry = state.entry((m, s.pc, r)).or_insert(true);
                        let points: Vec<&Symbolic> =
                            s.points.iter().filter(|n| self.in_scope(slot, fan.points[**n].pc)).map(|n| &fan.points[*n].machine).collect();
                        if points.is_empty() || points.len() < s.points.len() {
                            *entry = false;
                        }
                        if !*entry {
                            continue;
                        }
                        for source in points {
                            match self.shows(&mut fan.terms, s, source, relation, slot) {
                                Some(claim) => {
                                    let both = [s.machine.condition, source.condition];
                                    questions.push(Question { assumptions: fan.facts.iter().copied().chain(both).collect(), claim });
                                    owners.push((m, s.pc, r));
                                }
                                None => {
                                    state.insert((m, s.pc, r), false);
                                }
                            }
                        }
                    }
                }
            }
            let answers = solver.ask(&mut fan.terms, &questions);
            for (owner, _) in owners.into_iter().zip(answers).filter(|(_, a)| *a != SolverAnswer::Valid) {
                state.insert(owner, false);
            }
        }
        // Of several that hold the plainest is written: a constant, a copy, a form.
        let plainness = |relation: &Relation| match relation {
            other if other.is_constant() => 0,
            Relation::Affine(a) if a.terms.len() == 1 && a.is_copy() => 1,
            _ => 2,
        };
        let mut proved: Vec<(usize, u64, u8, usize, Relation)> = Vec::new();
        for ((m, pc, r), _) in state.into_iter().filter(|(_, ok)| *ok) {
            proved.extend(mended[m].relations(pc).nth(r).cloned().map(|relation| (m, pc, plainness(&relation), r, relation)));
        }
        proved.sort_by_key(|(m, pc, plain, r, _)| (*m, *pc, *plain, *r));
        for (m, pc, _, _, relation) in proved {
            if let Some(choice) = mended[m].choices.get_mut(&pc)
                && choice.label != Label::Proved
            {
                choice.relation = relation;
                choice.label = Label::Proved;
                proof.proved += 1;
            }
        }
        for node in &self.nodes {
            let facts = node.facts.iter().map(|f| self.describe(f)).collect();
            proof.invariants.push((node.pc, node.head, facts));
        }
        proof
    }

    /// True when the -O0 build has a variable in scope at an address.
    fn in_scope(&self, slot: usize, pc: u64) -> bool {
        self.study.slots[slot].scope.iter().any(|(low, high)| pc >= *low && pc < *high)
    }

    /// The claim that what is written for a relation shows the variable's value at a source visit.
    fn shows(&self, terms: &mut Terms, s: &Standing, source: &Symbolic, relation: &Relation, slot: usize) -> Option<Term> {
        let place = &self.study.slots[slot];
        let image = self.study.optimized.image;
        let near = |address: u64| description::near(image, address);
        let description = description::describe(relation, place.size, &near);
        let mut source = source.clone();
        let value = walk::with(terms, &mut source, |m| m.frame_value(place.offset, place.size as u32));
        let mut machine = s.machine.clone();
        let shown = walk::with(terms, &mut machine, |m| description.shown(m, place.size))?;
        // Of a NaN a debugger shows the sign and the rest, and they may be those of either operand.
        if place.class == TypeClass::Float && (terms.mixes_orders(shown) || terms.mixes_orders(value)) {
            return None;
        }
        Some(terms.bin(Bin::Eq, shown, value))
    }
}
