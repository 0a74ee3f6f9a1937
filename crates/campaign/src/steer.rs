//! Which seed comes next: of those that wait, the one whose recipe promises most by what recipes have brought so far.
//!
//! A seed keeps its program; only the order of seeds is chosen, so that shards, resuming and merging know nothing of it. More seeds
//! are looked at than are taken, and the rest wait: a hunt over a range of seeds does all of them in the end. What a trait is worth is a bandit's question: what programs with it brought for their
//! CPU time, and a bonus for what was seldom tried. Old answers fade, since what a trait has to give is used up. The same answers in
//! the same order lead to the same choices; with several threads the order is that in which programs end.
//!
//! Deliberately absent: what the traits mean, and any knowledge of compilers.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// Seeds that join those that wait before each choice: nothing is chosen where as many come as go.
const FRESH: usize = 8;

/// The latest of those that wait, among which is chosen.
const WINDOW: usize = 256;

/// Every so many choices the oldest seed is taken, so that none waits for ever.
const OLDEST: u64 = 8;

/// What is left of an answer after another program.
const FADING: f64 = 0.99;

/// How much is given for trying what was seldom tried.
const CURIOSITY: f64 = 0.6;

/// What a class is worth in the first programs that show it.
const WORTH: [f64; 3] = [1.0, 0.4, 0.2];

#[derive(Clone, Copy, Debug, Default)]
struct TraitRecord {
    worth: f64,
    cpu: f64,
    programs: f64,
}

/// What is known about traits, and the seeds that wait.
#[derive(Debug, Default)]
pub(crate) struct Steering {
    waiting: VecDeque<(u64, Vec<String>)>,
    traits: HashMap<String, TraitRecord>,
    all: TraitRecord,
    seen: HashMap<String, usize>,
    choices: u64,
}

impl Steering {
    /// The next seed. `more` gives seeds in order, `None` when there are no more; `traits` says what a seed's program is made of.
    pub fn next(&mut self, more: &mut dyn FnMut() -> Option<u64>, traits: &dyn Fn(u64) -> Vec<String>) -> Option<u64> {
        for _ in 0..FRESH {
            let Some(seed) = more() else { break };
            self.waiting.push_back((seed, traits(seed)));
        }
        self.choices += 1;
        if self.choices.is_multiple_of(OLDEST) {
            return self.waiting.pop_front().map(|(seed, _)| seed);
        }
        let mut best: Option<(f64, usize)> = None;
        for (index, (_, traits)) in self.waiting.iter().enumerate().rev().take(WINDOW) {
            let score = self.score(traits);
            // The older of equals.
            if best.is_none_or(|(other, _)| score >= other) {
                best = Some((score, index));
            }
        }
        self.waiting.remove(best?.1).map(|(seed, _)| seed)
    }

    /// What a program with these traits promises, in units of the average.
    fn score(&self, traits: &[String]) -> f64 {
        let average = self.all.worth / self.all.cpu.max(1e-9);
        if traits.is_empty() || average <= 0.0 {
            return 0.0;
        }
        let of = |name: &String| {
            let record = self.traits.get(name).copied().unwrap_or_default();
            // One program of the average is added, so that a single lucky one does not decide.
            let typical = self.all.cpu / self.all.programs.max(1e-9);
            let value = (record.worth + average * typical) / (record.cpu + typical) / average;
            value + CURIOSITY * ((1.0 + self.all.programs).ln() / (1.0 + record.programs)).sqrt()
        };
        traits.iter().map(of).sum::<f64>() / traits.len() as f64
    }

    /// Learns what a program of some traits cost, and the classes that showed.
    pub fn learn(&mut self, traits: &[String], cpu: f64, classes: &BTreeSet<String>) {
        let mut worth = 0.0;
        for class in classes {
            let seen = self.seen.entry(class.clone()).or_default();
            worth += WORTH.get(*seen).copied().unwrap_or(0.0);
            *seen += 1;
        }
        for record in self.traits.values_mut().chain([&mut self.all]) {
            record.worth *= FADING;
            record.cpu *= FADING;
            record.programs *= FADING;
        }
        let add = |record: &mut TraitRecord| {
            record.worth += worth;
            record.cpu += cpu;
            record.programs += 1.0;
        };
        add(&mut self.all);
        for name in traits {
            add(self.traits.entry(name.clone()).or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(seed: u64) -> Vec<String> {
        vec![format!("t{}", seed % 6), format!("u{}", seed % 5)]
    }

    /// Programs with `t3` show a class of their own each; others show the same one.
    fn brought(seed: u64) -> BTreeSet<String> {
        BTreeSet::from([if seed % 6 == 3 { format!("rare {seed}") } else { "common".to_owned() }])
    }

    fn steered(count: usize, end: u64) -> Vec<u64> {
        let (mut steering, mut next, mut order) = (Steering::default(), 0, Vec::new());
        while order.len() < count {
            let mut more = || {
                next += 1;
                (next <= end).then_some(next - 1)
            };
            let Some(seed) = steering.next(&mut more, &traits) else { break };
            steering.learn(&traits(seed), 1.0, &brought(seed));
            order.push(seed);
        }
        order
    }

    #[test]
    fn seeds_that_promise_more_come_earlier_and_the_same_answers_give_the_same_order() {
        let order = steered(60, 1000);
        let rare = order.iter().filter(|seed| *seed % 6 == 3).count();
        assert!(rare >= 30, "by chance ten of sixty: {rare}");
        assert_eq!(order, steered(60, 1000));
    }

    #[test]
    fn every_seed_of_a_range_is_taken_once() {
        let mut order = steered(1000, 200);
        order.sort_unstable();
        assert_eq!(order, (0..200).collect::<Vec<_>>());
    }
}
