//! The levels that a program is compiled at: all of the plan, or a few that its number draws.
//!
//! What the second level of a program shows the first has mostly shown; the next program shows something else. So more is found
//! in the same time where each program is compiled at a few levels and the hunt as a whole at all of them. The draw is a
//! program's own: shards, orders of seeds and resumed hunts draw the same.
//!
//! Deliberately absent: levels that are worth more than others. Which those are differs from compiler to compiler.

use crate::plan::CampaignPlan;
use trueline_model::OptLevel;
use trueline_store::ProgramKey;
use trueline_toolchain::Compiler;

impl CampaignPlan {
    /// The levels at which a compiler compiles a program, in the order of the plan.
    pub fn levels_for(&self, compiler: &Compiler, key: &ProgramKey) -> Vec<OptLevel> {
        let all = self.levels_of(compiler);
        let Some(wanted) = self.levels_per_program else { return all };
        // One order for all compilers, so that two that have the same levels draw the same ones: they are compared with each other.
        let mut drawn: Vec<OptLevel> =
            drawn_order(&self.levels, key).into_iter().filter(|opt| all.contains(opt)).take(wanted.get()).collect();
        drawn.sort_by_key(|opt| all.iter().position(|other| other == opt));
        drawn
    }
}

/// The levels in an order that a program's number decides (Fisher and Yates, with the finalizer of splitmix64).
fn drawn_order(levels: &[OptLevel], key: &ProgramKey) -> Vec<OptLevel> {
    let mut state = key.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(key.mutation).wrapping_mul(0xd1b5_4a32_d192_ed03);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let mut order = levels.to_vec();
    for last in (1..order.len()).rev() {
        order.swap(last, (next() % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use trueline_model::Language;

    fn key(seed: u64, mutation: u32) -> ProgramKey {
        ProgramKey { source: "weave".to_owned(), seed, mutation, language: Language::C }
    }

    #[test]
    fn a_program_draws_the_same_levels_every_time_and_all_levels_are_drawn_as_often() {
        let mut first: BTreeMap<String, u32> = BTreeMap::new();
        for seed in 0..700 {
            let order = drawn_order(&OptLevel::OPTIMIZED, &key(seed, 0));
            assert_eq!(order, drawn_order(&OptLevel::OPTIMIZED, &key(seed, 0)));
            let mut sorted = order.clone();
            sorted.sort();
            let mut all = OptLevel::OPTIMIZED.to_vec();
            all.sort();
            assert_eq!(sorted, all, "each level once");
            *first.entry(order[0].to_string()).or_default() += 1;
        }
        assert_eq!(first.len(), OptLevel::OPTIMIZED.len());
        assert!(first.values().all(|n| (60..=140).contains(n)), "about a hundred each: {first:?}");
    }

    #[test]
    fn variants_of_a_program_draw_levels_of_their_own() {
        let orders: std::collections::BTreeSet<Vec<OptLevel>> = (0..6).map(|n| drawn_order(&OptLevel::OPTIMIZED, &key(5, n))).collect();
        assert!(orders.len() >= 5, "{orders:?}");
    }
}
