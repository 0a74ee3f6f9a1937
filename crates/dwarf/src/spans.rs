//! Ranges that may overlap, made into ranges that do not: what holds at an address is one search away.

use std::collections::BTreeSet;

/// Ranges of addresses with something that holds in each.
#[derive(Clone, Debug)]
pub struct Spans<T> {
    /// From each address up to the next one's.
    parts: Vec<(u64, Option<T>)>,
}

impl<T> Default for Spans<T> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<T: Copy> Spans<T> {
    /// From ranges in any order. Of several that hold an address, the one given last counts.
    pub fn new(ranges: impl IntoIterator<Item = (u64, u64, T)>) -> Self {
        let ranges: Vec<(u64, u64, T)> = ranges.into_iter().filter(|r| r.0 < r.1).collect();
        let mut edges: Vec<(u64, usize)> = ranges.iter().enumerate().flat_map(|(i, r)| [(r.0, i), (r.1, i)]).collect();
        edges.sort_unstable();
        let mut parts = Vec::new();
        let mut open: BTreeSet<usize> = BTreeSet::new();
        for same in edges.chunk_by(|a, b| a.0 == b.0) {
            for &(_, index) in same {
                // The first edge of a range opens it, the second closes it.
                if !open.remove(&index) {
                    open.insert(index);
                }
            }
            parts.push((same[0].0, open.last().map(|&i| ranges[i].2)));
        }
        Self { parts }
    }

    /// What holds at an address.
    pub fn at(&self, address: u64) -> Option<T> {
        let after = self.parts.partition_point(|p| p.0 <= address);
        self.parts[..after].last().and_then(|p| p.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ranges_that_overlap_the_one_given_last_holds() {
        let spans = Spans::new([(10, 50, 'a'), (20, 30, 'b'), (25, 60, 'c'), (5, 5, 'd')]);
        let seen: String = [5, 9, 10, 19, 20, 24, 25, 49, 59, 60].iter().map(|&a| spans.at(a).unwrap_or('-')).collect();
        assert_eq!(seen, "--aabbccc-");
    }

    #[test]
    fn every_address_is_answered_as_by_going_over_all_ranges() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..50 {
            let ranges: Vec<(u64, u64, usize)> = (0..20).map(|i| (random(100), random(100), i)).collect();
            let spans = Spans::new(ranges.iter().copied());
            for address in 0..101 {
                let expected = ranges.iter().rev().find(|r| r.0 <= address && address < r.1).map(|r| r.2);
                assert_eq!(spans.at(address), expected);
            }
        }
    }
}
