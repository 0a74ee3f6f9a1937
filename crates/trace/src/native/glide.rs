//! Stops that cannot matter are worked out instead of made.
//!
//! Between two stops that are shown, lldb's policy has to hear of every address at which lldb might decide something: of
//! thousands, where a loop of a header was inlined. But a decision depends on nothing but the plan and the position, so what
//! the policy would come to on every way ahead follows from the code alone ([`explore`]). The program then runs on to the addresses
//! where a stop is shown, or where the way ahead is not known, and the policy goes on with the plan it would have had there.
//!
//! Breakpoints in between are muted. Never muted are function entries and the addresses that calls
//! return to, so that whatever a call leads to is seen. An address that the program may come to next while the policy follows it
//! stop by stop is armed again before the program runs.

mod explore;
mod flow;

pub(super) use explore::Terrain;

use super::module::Module;
use super::policy::{Plan, Position};
use explore::explore;
use flow::{Ending, Flow};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::rc::Rc;
use trueline_machine::inferior::AddressHasher;

type ByAddress<T> = HashMap<u64, T, BuildHasherDefault<AddressHasher>>;

/// What lies ahead of a stop.
#[derive(Debug, Default)]
struct Ahead {
    /// Passed without a word to the policy.
    quiet: ByAddress<()>,
    /// Where it ends, with the plan that the policy would have on arrival.
    exits: ByAddress<Plan>,
}

/// What to do about an address that the program has come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// Mute it and run on.
    Quiet,
    /// The end of a glide: the policy goes on from this plan.
    Exit(Plan),
    /// No glide is under way, or nobody foresaw this.
    Stop,
}

/// Breakpoints to change before the program runs on.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub arm: Vec<u64>,
    pub mute: Vec<u64>,
}

/// Different plans at one address that are kept.
const MOST_PLANS: usize = 32;
/// Decisions that take about as long as one stop. A search is only begun while all searches together have cost no more than the
/// stops so far, and a start.
const PER_STOP: usize = 16;
const AT_FIRST: usize = 4096;

/// The breakpoints that are muted and what is known of the ways ahead.
#[derive(Debug, Default)]
pub(super) struct Glide {
    /// Addresses that calls return to.
    returns: HashSet<u64>,
    flows: ByAddress<Rc<Flow>>,
    known: ByAddress<Vec<(Plan, Rc<Ahead>)>>,
    muted: ByAddress<()>,
    under_way: Option<Rc<Ahead>>,
    /// The last glide ended where nobody foresaw it.
    is_lost: bool,
    /// Decisions that searches may still cost.
    credit: usize,
}

impl Glide {
    pub fn new(returns: HashSet<u64>) -> Self {
        Self { returns, credit: AT_FIRST, ..Self::default() }
    }

    /// True while the policy is not followed stop by stop.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// The program came to a breakpoint.
    pub fn meet(&mut self, pc: u64) -> Met {
        self.credit += PER_STOP;
        let Some(ahead) = &self.under_way else { return Met::Stop };
        if ahead.quiet.contains_key(&pc) {
            self.muted.insert(pc, ());
            return Met::Quiet;
        }
        let exit = ahead.exits.get(&pc).cloned();
        self.under_way = None;
        // A signal's handler, which goes back to anywhere.
        self.is_lost = exit.is_none();
        exit.map_or(Met::Stop, Met::Exit)
    }

    /// Before the program runs on from `position`, which the policy knows of: begins a glide where there is something to pass.
    pub fn begin(&mut self, terrain: &mut Terrain<'_>, position: &Position) -> Moves {
        let mut moves = Moves::default();
        if std::mem::take(&mut self.is_lost) {
            moves.arm.extend(self.muted.drain().map(|(pc, ())| pc));
            return moves;
        }
        self.under_way = self.look(terrain, position);
        match &self.under_way {
            Some(ahead) => {
                moves.mute.extend(ahead.quiet.keys().copied().filter(|pc| !self.muted.contains_key(pc)));
                moves.arm.extend(ahead.exits.keys().copied());
            }
            None => {
                let flow = self.flow(terrain.module, terrain.is_site, position.pc);
                match flow.ending {
                    Ending::Anywhere => moves.arm.extend(self.muted.keys()),
                    Ending::Known | Ending::Elsewhere => moves.arm.extend(&flow.next),
                }
            }
        }
        moves.arm.retain(|pc| self.muted.remove(pc).is_some());
        self.muted.extend(moves.mute.iter().map(|&pc| (pc, ())));
        moves
    }

    /// What is known of the way ahead, if there is anything to pass.
    fn look(&mut self, terrain: &mut Terrain<'_>, position: &Position) -> Option<Rc<Ahead>> {
        let plan = terrain.stepper.plan()?;
        let known = self.known.get(&position.pc);
        let ahead = match known.and_then(|known| known.iter().find(|(p, _)| p == plan)) {
            Some((_, ahead)) => Rc::clone(ahead),
            None if self.credit == 0 => return None,
            None => {
                let plan = plan.clone();
                let ahead = Rc::new(explore(self, terrain, position, &plan));
                let known = self.known.entry(position.pc).or_default();
                if known.len() >= MOST_PLANS {
                    known.clear();
                }
                known.push((plan, Rc::clone(&ahead)));
                ahead
            }
        };
        (!ahead.quiet.is_empty()).then_some(ahead)
    }

    /// Where control goes from an address.
    fn flow(&mut self, module: &Module, is_site: &dyn Fn(u64) -> bool, pc: u64) -> Rc<Flow> {
        Rc::clone(self.flows.entry(pc).or_insert_with(|| Rc::new(Flow::from(module, is_site, pc))))
    }
}
