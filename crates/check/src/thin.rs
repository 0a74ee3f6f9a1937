//! Which doubts a run can afford to look into. A run is stopped at every visit of an address, so that one line in a hot loop can
//! cost more than all other lines together: where all of them are too many, the dearest are left out.
//!
//! Deliberately absent: what is looked for there.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use trueline_trace::native::Moments;

/// Keeps the items of the cheapest groups that cost no more than `most` together. Items of one group share its cost.
pub(crate) fn thin<T, G: Ord + Clone>(items: &mut Vec<T>, most: usize, group: impl Fn(&T) -> G, cost: impl Fn(&T) -> usize) {
    let mut costs: BTreeMap<G, usize> = BTreeMap::new();
    for item in items.iter() {
        costs.entry(group(item)).or_insert_with(|| cost(item));
    }
    let mut cheapest: Vec<(usize, G)> = costs.into_iter().map(|(group, cost)| (cost, group)).collect();
    cheapest.sort();
    let mut left = most;
    let mut kept: Vec<G> = Vec::new();
    for (cost, group) in cheapest {
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
        kept.push(group);
    }
    kept.sort();
    items.retain(|item| kept.binary_search(&group(item)).is_ok());
}

/// How often a run came by each of its addresses, by what an address belongs to.
pub(crate) fn visits<K: Eq + Hash>(run: &Moments, of: impl Fn(u64) -> K) -> HashMap<K, usize> {
    let mut counts = HashMap::new();
    for moment in &run.moments {
        *counts.entry(of(moment.pc)).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinned(most: usize) -> Vec<(&'static str, usize)> {
        let mut items = vec![("hot", 90), ("cold", 3), ("warm", 20), ("cold", 3)];
        thin(&mut items, most, |item| item.0, |item| item.1);
        items
    }

    #[test]
    fn the_dearest_groups_are_left_out_until_the_rest_can_be_afforded() {
        assert_eq!(thinned(113), [("hot", 90), ("cold", 3), ("warm", 20), ("cold", 3)]);
        assert_eq!(thinned(112), [("cold", 3), ("warm", 20), ("cold", 3)]);
        assert_eq!(thinned(3), [("cold", 3), ("cold", 3)]);
        assert!(thinned(2).is_empty());
    }
}
