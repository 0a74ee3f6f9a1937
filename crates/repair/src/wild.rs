//! Which memory of a function may hold any numbers.
//!
//! An array of indices, or a count, cannot: with other contents the function reads what is not there, or both builds part. Which ones these
//! are is tried out, all at once and then by halves, so that one array of indices does not keep the others from being varied.

use crate::debug::TypeClass;
use crate::observe::{BuildSide, RUN_LIMIT};
use crate::vary::{self, ArrayOrder, Data, InputDice, TURNS, TripCounts, VariedItem};
use std::ops::ControlFlow;
use trueline_machine::cpu::Cpu;
use trueline_machine::emulate::{self, EmulatorStop};

/// Instructions of both builds that may be spent on finding out, and again on the runs themselves.
const EFFORT: u64 = 3_000_000;

/// What may be varied freely in a function.
#[derive(Clone, Debug, Default)]
pub struct Freedom {
    /// Whether each item may be any number.
    items: Vec<bool>,
    /// Whether small parameters may.
    parameters: bool,
    /// How many runs with such data are worth their time: each turn at most once.
    pub runs: u64,
}

/// Both builds at the function's entry, tracked.
pub struct Start<'s> {
    /// The build at -O0, with its debug information.
    pub reference: &'s BuildSide<'s>,
    /// The optimized build, with its debug information.
    pub optimized: &'s BuildSide<'s>,
    /// The machines of both, at the entry.
    pub machines: (Cpu, Cpu),
}

/// Instructions that both builds take to the same end; `None` when they come to none.
fn effort(start: &Start<'_>, (mut rc, mut oc): (Cpu, Cpu), limit: u64) -> Option<u64> {
    let mut count = 0u64;
    for (side, cpu) in [(start.optimized, &mut oc), (start.reference, &mut rc)] {
        emulate::enter(cpu).ok()?;
        let mut observe = |_: emulate::Instant<'_>| {
            count += 1;
            ControlFlow::Continue(())
        };
        if emulate::run(&side.code, cpu, side.function.entry(), limit, &mut observe) != EmulatorStop::Returned {
            return None;
        }
    }
    (rc.tracker.state == oc.tracker.state).then_some(count)
}

impl Freedom {
    /// Tries out which items may be any number.
    pub fn find(start: &Start<'_>, items: &[VariedItem], seed: u64) -> Self {
        let mut freedom = Self { items: vec![false; items.len()], parameters: false, runs: 1 };
        let Some(once) = effort(start, start.machines.clone(), RUN_LIMIT) else { return freedom };
        freedom.runs = (EFFORT / once.max(1)).clamp(2, TURNS);
        let mut left = EFFORT / once.max(1);
        // The parameters are the last candidate.
        let integers = (0..items.len()).filter(|n| items[*n].class != TypeClass::Float);
        let mut work: Vec<Vec<usize>> = vec![integers.chain([items.len()]).collect()];
        while let Some(group) = work.pop() {
            if left == 0 || group.is_empty() {
                break;
            }
            left -= 1;
            let mut tried = Self { items: vec![false; items.len()], ..Self::default() };
            tried.allow(&group);
            let (mut rc, mut oc) = start.machines.clone();
            tried.apply(&mut InputDice(seed), start.optimized, items, &mut rc, &mut oc, 0);
            for cpu in [&mut rc, &mut oc] {
                cpu.tracker.restart(&cpu.memory);
            }
            // What takes much longer than it did is no run to learn from.
            if effort(start, (rc, oc), (4 * once).min(RUN_LIMIT)).is_some() {
                freedom.allow(&group);
            } else if group.len() > 1 {
                let (low, high) = group.split_at(group.len() / 2);
                work.extend([high.to_vec(), low.to_vec()]);
            }
        }
        freedom
    }

    fn allow(&mut self, group: &[usize]) {
        for n in group {
            match self.items.get_mut(*n) {
                Some(item) => *item = true,
                None => self.parameters = true,
            }
        }
    }

    /// Puts wild data where it may be, and other data of the same kind elsewhere. Turns differ in kind.
    pub fn apply(&self, dice: &mut InputDice, side: &BuildSide<'_>, items: &[VariedItem], rc: &mut Cpu, oc: &mut Cpu, turn: u64) {
        let counts = if turn % 2 == 1 { TripCounts::Whole } else { TripCounts::Any };
        let wild = match turn {
            2 => Data::Sorted(ArrayOrder::Rising),
            4 => Data::Sorted(ArrayOrder::Falling),
            _ if turn.is_multiple_of(2) => Data::Wild(turn),
            _ => Data::Sparse(turn),
        };
        for (item, free) in items.iter().zip(&self.items) {
            let free = *free || item.class == TypeClass::Float;
            vary::vary_item(dice, item, rc, oc, if free { wild } else { Data::Permuted }, counts);
        }
        let data = if self.parameters { wild } else { Data::Permuted };
        vary::vary_parameters(dice, side, rc, oc, data, counts);
    }
}

/// Lets elements hold beforehand what the function will have stored there, `odds` of eight: stores that change nothing are moments like all
/// others, but memory does not tell them apart, and what was fitted where it did may be wrong there.
pub fn settle(dice: &mut InputDice, side: &BuildSide<'_>, items: &[VariedItem], rc: &mut Cpu, oc: &mut Cpu, odds: u64) {
    let mut later = rc.clone();
    let entered = emulate::enter(&mut later).is_ok();
    let mut observe = |_: emulate::Instant<'_>| ControlFlow::Continue(());
    if entered && emulate::run(&side.code, &mut later, side.function.entry(), RUN_LIMIT, &mut observe) == EmulatorStop::Returned {
        for item in items {
            vary::mix_item(dice, item, &later.memory, rc, oc, odds);
        }
    }
}
