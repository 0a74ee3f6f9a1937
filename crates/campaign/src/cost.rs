//! Levels that take many times what their neighbours take. Pure; whoever compiles remembers the costs here.
//!
//! The neighbours of a build are the nearest level below it of the same compiler and the same level of other compilers. All of them
//! must be cheap for it to count: where every compiler takes long, the program is to blame, and where the level below explodes,
//! too, it is the one to report. Builds of some seconds or some hundred megabytes alone count, since the start of a
//! compiler is most of what a short compilation takes.

use std::time::Duration;
use trueline_check::BuildCost;
use trueline_model::{Fault, OptLevel, Resource};

/// What a level must take, compared with each neighbour.
const TIMES: u64 = 20;

/// What it must take at least.
const LEAST_TIME: Duration = Duration::from_secs(4);
const LEAST_MEMORY: u64 = 1 << 30;

/// What is taken for the cost of a neighbour that took less: a compiler that does nothing takes about as much.
const FLOOR_TIME: Duration = Duration::from_millis(50);
const FLOOR_MEMORY: u64 = 48 << 20;

/// The costs of a program's builds so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs(Vec<(usize, OptLevel, BuildCost)>);

impl Costs {
    /// Remembers what a compiler took at a level.
    pub fn add(&mut self, compiler: usize, opt: OptLevel, cost: BuildCost) {
        self.0.push((compiler, opt, cost));
    }

    /// Whether it is known what a compiler takes at a level.
    pub fn knows(&self, compiler: usize, opt: OptLevel) -> bool {
        self.0.iter().any(|(c, o, _)| (*c, *o) == (compiler, opt))
    }

    /// The fault that a build of this cost is, if it is one.
    pub fn explosion(&self, compiler: usize, opt: OptLevel, cost: BuildCost) -> Option<Fault> {
        let below = self.0.iter().filter(|(c, o, _)| *c == compiler && effort(*o) < effort(opt)).max_by_key(|(_, o, _)| effort(*o))?;
        let beside = self.0.iter().filter(|(c, o, _)| *c != compiler && *o == opt);
        let neighbours: Vec<BuildCost> = beside.chain([below]).map(|(_, _, cost)| *cost).collect();
        let time = neighbours.iter().map(|n| n.cpu.max(FLOOR_TIME)).max()?;
        let memory = neighbours.iter().map(|n| n.max_rss.max(FLOOR_MEMORY)).max()?;
        if cost.cpu >= LEAST_TIME && cost.cpu >= time * TIMES as u32 {
            let millis = |d: Duration| d.as_millis() as u64;
            return Some(Fault::Explosion { resource: Resource::Time, used: millis(cost.cpu), neighbour: millis(time) });
        }
        if cost.max_rss >= LEAST_MEMORY && cost.max_rss >= memory * TIMES {
            return Some(Fault::Explosion { resource: Resource::Memory, used: cost.max_rss >> 10, neighbour: memory >> 10 });
        }
        None
    }
}

/// The smaller of two costs in each respect: noise only ever adds.
pub(crate) fn least(a: BuildCost, b: BuildCost) -> BuildCost {
    BuildCost { cpu: a.cpu.min(b.cpu), max_rss: a.max_rss.min(b.max_rss) }
}

/// How much a level does, in steps.
pub(crate) fn effort(opt: OptLevel) -> u32 {
    match opt {
        OptLevel::O0 => 0,
        OptLevel::Og => 1,
        OptLevel::O1 => 2,
        OptLevel::Oz => 3,
        OptLevel::Os => 4,
        OptLevel::O2 => 5,
        OptLevel::O3 => 6,
        OptLevel::Ofast => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(millis: u64, megabytes: u64) -> BuildCost {
        BuildCost { cpu: Duration::from_millis(millis), max_rss: megabytes << 20 }
    }

    fn costs(all: &[(usize, OptLevel, BuildCost)]) -> Costs {
        Costs(all.to_vec())
    }

    #[test]
    fn a_level_that_takes_twenty_times_its_neighbours_is_reported_and_others_are_not() {
        let calm = costs(&[(0, OptLevel::O0, cost(80, 60)), (0, OptLevel::O1, cost(200, 70)), (1, OptLevel::O2, cost(250, 90))]);
        let found = calm.explosion(0, OptLevel::O2, cost(9000, 100));
        assert_eq!(found, Some(Fault::Explosion { resource: Resource::Time, used: 9000, neighbour: 250 }));
        let found = calm.explosion(0, OptLevel::O2, cost(300, 2000));
        assert_eq!(found, Some(Fault::Explosion { resource: Resource::Memory, used: 2000 << 10, neighbour: 90 << 10 }));
        // Nineteen times, and much of little: the start of a compiler varies by more.
        assert_eq!(calm.explosion(0, OptLevel::O2, cost(4700, 100)), None);
        let tiny = costs(&[(0, OptLevel::O1, cost(5, 20))]);
        assert_eq!(tiny.explosion(0, OptLevel::O2, cost(900, 400)), None);
    }

    #[test]
    fn what_every_compiler_finds_hard_is_the_programs_and_what_the_level_below_shows_is_reported_there() {
        let hard = costs(&[(0, OptLevel::O1, cost(200, 70)), (1, OptLevel::O2, cost(8000, 90))]);
        assert_eq!(hard.explosion(0, OptLevel::O2, cost(9000, 100)), None);
        let below = costs(&[(0, OptLevel::O1, cost(200, 70)), (0, OptLevel::O2, cost(9000, 70))]);
        assert_eq!(below.explosion(0, OptLevel::O3, cost(9500, 100)), None);
    }

    #[test]
    fn without_a_level_below_nothing_is_said() {
        assert_eq!(costs(&[]).explosion(0, OptLevel::O2, cost(90_000, 9000)), None);
    }
}
