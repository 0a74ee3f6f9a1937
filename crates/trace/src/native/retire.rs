//! Addresses that have shown what they have to show are no longer stopped at: a loop of a million rounds costs what some hundred
//! rounds cost.
//!
//! What a debugger shows at a stop depends on where it stepped before. Where the way to an address leads over addresses that
//! are no longer stopped at, that is not known, and the stop is shown only if it would be shown on every way
//! ([`Retirement::origins`]). So a trace with retired addresses shows some of the stops of the full trace, and no others.
//!
//! Deliberately absent: what counts as new, which the sink says.

use super::module::{FunctionId, Module};
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::rc::Rc;
use trueline_machine::inferior::AddressHasher;
use trueline_model::News;

type ByAddress<T> = HashMap<u64, T, BuildHasherDefault<AddressHasher>>;

/// Arrivals before which nothing is retired, so that short programs are traced in full: some seconds.
pub(super) const AT_FIRST: u64 = 100_000;

/// How many more visits an address gets as long as it shows new values, and nothing else that is new.
const FOR_VALUES: u32 = 8;

/// What an address has shown.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Visits in a row that told nothing new.
    quiet: u32,
    /// Visits that told new values only.
    values: u32,
}

/// Where control may come from.
#[derive(Debug, Default)]
struct Origins {
    by_site: ByAddress<Vec<u64>>,
    /// Sites from which it may go anywhere in the function.
    anywhere: Vec<u64>,
}

/// Where a debugger's state at an address follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It stepped there over these sites; at the first its state is known.
    Way(Rc<[u64]>),
    /// It stepped into the function from its caller.
    Call,
}

/// The addresses that are no longer stopped at.
#[derive(Debug, Default)]
pub(super) struct Retirement {
    /// Visits without news after which an address is retired; `None` for never.
    visits: Option<u32>,
    /// Arrivals before which nothing is.
    at_first: u64,
    sites: HashSet<u64, BuildHasherDefault<AddressHasher>>,
    tallies: ByAddress<Tally>,
    retired: HashSet<u64, BuildHasherDefault<AddressHasher>>,
    origins: HashMap<FunctionId, Rc<Origins>>,
    /// From where an address may be judged, when all ways agree; forgotten when more is retired.
    pub agreed: ByAddress<Option<Origin>>,
    /// Whether all addresses that lead to one are still stopped at; forgotten when more is retired.
    surrounded: ByAddress<bool>,
}

impl Retirement {
    pub fn new(sites: &[u64], visits: Option<u32>, at_first: u64) -> Self {
        Self { visits, at_first, sites: sites.iter().copied().collect(), ..Self::default() }
    }

    /// True when nothing is retired: every stop is seen.
    pub fn is_idle(&self) -> bool {
        self.retired.is_empty()
    }

    pub fn is_retired(&self, pc: u64) -> bool {
        self.retired.contains(&pc)
    }

    /// Whether a function has addresses to stop at.
    pub fn is_stopped_in(&self, module: &Module, function: FunctionId) -> bool {
        self.sites.contains(&module.function(function).entry())
    }

    /// Addresses that were come to.
    pub fn visited(&self) -> impl Iterator<Item = u64> + '_ {
        self.tallies.keys().copied()
    }

    /// Addresses that were come to and given up.
    pub fn given_up(&self) -> impl Iterator<Item = u64> + '_ {
        self.visited().filter(|pc| self.is_retired(*pc))
    }

    /// Takes addresses out before the run.
    pub fn leave_out(&mut self, pcs: impl Iterator<Item = u64>) {
        self.retired.extend(pcs);
    }

    /// The program came to `pc` and told `news`. True when it need not be stopped there again.
    pub fn visit(&mut self, pc: u64, news: News, arrivals: u64) -> bool {
        let tally = self.tallies.entry(pc).or_default();
        match news {
            News::Frames => *tally = Tally::default(),
            News::Values => *tally = Tally { quiet: 0, values: tally.values + 1 },
            News::Nothing => tally.quiet += 1,
        }
        let Some(visits) = self.visits else { return false };
        let is_over = tally.quiet >= visits || tally.values >= visits.saturating_mul(FOR_VALUES);
        if arrivals < self.at_first || !is_over || !self.sites.contains(&pc) {
            return false;
        }
        self.agreed.clear();
        self.surrounded.clear();
        self.retired.insert(pc)
    }

    /// Whether the debugger's state on arrival at `pc` is known: whatever led there in the same activation was stopped at.
    pub fn is_sure(&mut self, module: &Module, pc: u64, function: FunctionId) -> bool {
        if let Some(&known) = self.surrounded.get(&pc) {
            return known;
        }
        let is_sure = !self.origins(module, pc, function).iter().any(|o| self.is_retired(*o));
        self.surrounded.insert(pc, is_sure);
        is_sure
    }

    /// The sites of a function from which control may come to `pc` without passing another one, calls that return included.
    pub fn origins(&mut self, module: &Module, pc: u64, function: FunctionId) -> Vec<u64> {
        let of = match self.origins.get(&function) {
            Some(known) => Rc::clone(known),
            None => {
                let found = Rc::new(self.find_origins(module, function));
                self.origins.insert(function, Rc::clone(&found));
                found
            }
        };
        of.by_site.get(&pc).into_iter().flatten().chain(&of.anywhere).copied().collect()
    }

    fn find_origins(&self, module: &Module, function: FunctionId) -> Origins {
        let mut origins = Origins::default();
        for &(low, high) in &module.function(function).ranges {
            let mut inside: Vec<u64> = (low..high).filter(|pc| self.sites.contains(pc)).collect();
            inside.sort_unstable();
            for site in inside {
                let mut next = Vec::new();
                if follow(module, &|pc| self.sites.contains(&pc), site, &mut next) == Way::Open {
                    origins.anywhere.push(site);
                }
                next.into_iter().for_each(|to| origins.by_site.entry(to).or_default().push(site));
            }
        }
        origins
    }
}

/// Whether all that may come next is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Known,
    /// A jump leads to an address that is only known when it is taken.
    Open,
}

/// The sites that may come next in the same activation.
fn follow(module: &Module, is_site: &dyn Fn(u64) -> bool, pc: u64, next: &mut Vec<u64>) -> Way {
    let code = module.code_at(pc).unwrap_or_default();
    for instruction in &mut Decoder::with_ip(64, code, pc, DecoderOptions::NONE) {
        let target = instruction.near_branch64();
        match instruction.flow_control() {
            _ if instruction.is_invalid() => return Way::Known,
            FlowControl::ConditionalBranch => next.extend(is_site(target).then_some(target)),
            FlowControl::UnconditionalBranch => {
                next.extend(is_site(target).then_some(target));
                return Way::Known;
            }
            FlowControl::IndirectBranch => return Way::Open,
            FlowControl::Return | FlowControl::Exception => return Way::Known,
            _ => {}
        }
        if is_site(instruction.next_ip()) {
            next.push(instruction.next_ip());
            return Way::Known;
        }
    }
    Way::Known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_given_up_after_visits_that_told_nothing_and_not_in_short_traces() {
        let mut retirement = Retirement::new(&[64, 80], Some(3), AT_FIRST);
        for _ in 0..100 {
            assert!(!retirement.visit(64, News::Nothing, AT_FIRST - 1));
        }
        assert!(!retirement.visit(64, News::Frames, AT_FIRST), "something new begins the count again");
        assert!(!retirement.visit(64, News::Nothing, AT_FIRST) && !retirement.visit(64, News::Nothing, AT_FIRST));
        assert!(retirement.visit(64, News::Nothing, AT_FIRST) && retirement.is_retired(64));
        assert!(!retirement.is_retired(80));
        assert_eq!((retirement.visited().count(), retirement.given_up().count()), (1, 1));
    }

    #[test]
    fn new_values_alone_do_not_keep_an_address_for_ever() {
        let mut retirement = Retirement::new(&[64], Some(3), AT_FIRST);
        let visits = (0..1000).take_while(|_| !retirement.visit(64, News::Values, AT_FIRST)).count();
        assert_eq!(visits as u32 + 1, 3 * FOR_VALUES);
        let mut patient = Retirement::new(&[64], None, AT_FIRST);
        assert!((0..1000).all(|_| !patient.visit(64, News::Nothing, AT_FIRST)));
    }
}
