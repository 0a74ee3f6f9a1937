//! The search of the ways ahead of a stop.

use super::flow::{Ending, Flow};
use super::{Ahead, ByAddress, Glide};
use crate::native::module::Module;
use crate::native::policy::{Plan, Position, Shown, Stepper, Verdict};
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

/// Decisions that one search makes at most, and how often it starts again with more addresses to stop at.
const MOST_DECISIONS: usize = 2048;
const MOST_TRIES: usize = 8;

/// What a search needs to know of the program.
pub(crate) struct Terrain<'t> {
    pub module: &'t Module,
    pub stepper: &'t mut dyn Stepper,
    /// Files whose stops are shown.
    pub user: &'t [bool],
    /// True where a breakpoint is.
    pub is_site: &'t dyn Fn(u64) -> bool,
    /// True where the activation is certain to be that of the start, and the policy is asked.
    pub is_same_activation: &'t mut dyn FnMut(u64) -> bool,
}

/// What the policy makes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// Whatever comes then follows from what is shown and where.
    Shown(Shown),
    /// Nothing is shown, and the policy goes on with the plan of this number.
    Quiet(usize),
}

/// Works out what lies ahead of a stop; nothing that is quiet when that cannot be known.
pub(super) fn explore(glide: &mut Glide, terrain: &mut Terrain<'_>, start: &Position, plan: &Plan) -> Ahead {
    let mut search = Search { glide, terrain, start, plans: vec![plan.clone()], decisions: 0 };
    let mut barriers = HashSet::new();
    let mut found = None;
    for _ in 0..MOST_TRIES {
        match search.run(&barriers) {
            Found::Ahead(ahead) => {
                found = Some(ahead);
                break;
            }
            Found::StopAt(more) => barriers.extend(more),
            Found::Nothing => break,
        }
    }
    let decisions = search.decisions;
    glide.credit = glide.credit.saturating_sub(decisions);
    terrain.stepper.follow(plan);
    found.unwrap_or_default()
}

enum Found {
    Ahead(Ahead),
    /// Not without stopping at these addresses too.
    StopAt(Vec<u64>),
    Nothing,
}

struct Search<'s, 't> {
    glide: &'s mut Glide,
    terrain: &'s mut Terrain<'t>,
    start: &'s Position,
    /// Every plan met with, that of the start first.
    plans: Vec<Plan>,
    decisions: usize,
}

impl Search<'_, '_> {
    fn flow(&mut self, pc: u64) -> Rc<Flow> {
        self.glide.flow(self.terrain.module, self.terrain.is_site, pc)
    }

    /// What the policy decides at `pc`, having come there with a plan.
    fn decide(&mut self, plan: usize, pc: u64) -> Decision {
        self.decisions += 1;
        let position = Position { pc, ..*self.start };
        let stepper = &mut *self.terrain.stepper;
        stepper.follow(&self.plans[plan]);
        let mut verdict = stepper.arrive(&position);
        loop {
            match verdict {
                Verdict::Stop(shown) if self.terrain.user[shown.file.0 as usize] => return Decision::Shown(shown),
                Verdict::Stop(_) => verdict = stepper.step(&position),
                Verdict::Run => break,
            }
        }
        let Some(after) = stepper.plan() else { return Decision::Quiet(plan) };
        let known = self.plans.iter().position(|p| p == after);
        Decision::Quiet(known.unwrap_or_else(|| {
            self.plans.push(after.clone());
            self.plans.len() - 1
        }))
    }

    fn run(&mut self, barriers: &HashSet<u64>) -> Found {
        let mut quiet: ByAddress<()> = ByAddress::default();
        let mut exits: ByAddress<(usize, Decision)> = ByAddress::default();
        let mut seen: HashSet<(u64, usize)> = HashSet::new();
        let mut ways: Vec<(u64, u64)> = Vec::new();
        let mut queue = VecDeque::from([(self.start.pc, 0)]);
        while let Some((from, plan)) = queue.pop_front() {
            let flow = self.flow(from);
            if flow.ending != Ending::Known || self.decisions > MOST_DECISIONS {
                return Found::Nothing;
            }
            for &pc in &flow.next {
                if !(self.terrain.is_same_activation)(pc) {
                    return Found::Nothing;
                }
                ways.push((from, pc));
                let decision = self.decide(plan, pc);
                let is_end = matches!(decision, Decision::Shown(_))
                    || barriers.contains(&pc)
                    || self.glide.returns.contains(&pc)
                    || self.flow(pc).ending != Ending::Known;
                let differs = match exits.get(&pc) {
                    Some(exit) => exit.1 != decision,
                    None => is_end && quiet.contains_key(&pc),
                };
                if differs {
                    // What is done here depends on the way that leads here, so the policy has to follow it.
                    return Found::StopAt(ways.iter().filter(|w| w.1 == pc).map(|w| w.0).collect());
                }
                match decision {
                    Decision::Quiet(after) if !is_end => {
                        quiet.insert(pc, ());
                        if seen.insert((pc, after)) {
                            queue.push_back((pc, after));
                        }
                    }
                    _ => {
                        exits.insert(pc, (plan, decision));
                    }
                }
            }
        }
        let exits = exits.into_iter().map(|(pc, (plan, _))| (pc, self.plans[plan].clone())).collect();
        Found::Ahead(Ahead { quiet, exits })
    }
}
