//! Which rule to apply next: Metropolis–Hastings over the rules ranked by how often, and how far apart,
//! they make witnesses (DiWi, section 3.2.2). Pure: random numbers come from the caller.

use crate::rule::MutationRule;
use rand::{Rng, RngExt};

/// What is remembered of a rule.
#[derive(Clone, Debug)]
struct RuleRecord {
    rule: MutationRule,
    /// Mean distance of its last accepted witness to the witnesses there were.
    diversity: f64,
    accepted: u32,
    selected: u32,
}

impl RuleRecord {
    fn score(&self) -> f64 {
        if self.selected == 0 { 0.0 } else { self.diversity * f64::from(self.accepted) / f64::from(self.selected) }
    }
}

/// Chooses the rule of the next mutation, by Metropolis–Hastings.
#[derive(Clone, Debug)]
pub struct RuleSelector {
    /// In descending order of score.
    ranking: Vec<RuleRecord>,
    current: MutationRule,
    success: f64,
}

/// Share of the geometric distribution's mass that the listed rules must hold: 1 minus the paper's small
/// deviation.
const MASS: f64 = 0.95;

impl RuleSelector {
    /// A selector over rules; the first one is drawn at random. `None` without any rule.
    pub fn new(rules: &[MutationRule], random: &mut impl Rng) -> Option<Self> {
        if rules.is_empty() {
            return None;
        }
        let ranking: Vec<RuleRecord> = rules.iter().map(|&rule| RuleRecord { rule, diversity: 0.0, accepted: 0, selected: 0 }).collect();
        let current = ranking[random.random_range(0..ranking.len())].rule;
        Some(Self { success: success_probability(ranking.len()), ranking, current })
    }

    /// Draws the next rule: any rule is proposed with equal chance, and accepted by `acceptance`.
    pub fn next(&mut self, random: &mut impl Rng) -> MutationRule {
        let from = self.position(self.current);
        loop {
            let to = random.random_range(0..self.ranking.len());
            if random.random::<f64>() < acceptance(self.success, from, to) {
                self.current = self.ranking[to].rule;
                return self.current;
            }
        }
    }

    /// Tells what became of a mutation by a rule: `Some(mean distance)` when its mutant joined the witnesses.
    pub fn update(&mut self, rule: MutationRule, accepted: Option<f64>) {
        let position = self.position(rule);
        let record = &mut self.ranking[position];
        record.selected += 1;
        if let Some(distance) = accepted {
            record.accepted += 1;
            record.diversity = distance;
        }
        // Stable, so that equal rules keep their order and a seed decides everything.
        self.ranking.sort_by(|a, b| b.score().total_cmp(&a.score()));
    }

    /// Forgets a rule that has no new mutant left; false when it was the last.
    pub fn retire(&mut self, rule: MutationRule) -> bool {
        if self.ranking.len() == 1 {
            return false;
        }
        let position = self.position(rule);
        self.ranking.remove(position);
        self.success = success_probability(self.ranking.len());
        if self.current == rule {
            self.current = self.ranking[position.min(self.ranking.len() - 1)].rule;
        }
        true
    }

    fn position(&self, rule: MutationRule) -> usize {
        self.ranking.iter().position(|record| record.rule == rule).unwrap_or(0)
    }
}

/// The success probability of the geometric distribution for which `rules` trials hold `MASS`.
pub fn success_probability(rules: usize) -> f64 {
    1.0 - (1.0 - MASS).powf(1.0 / rules as f64)
}

/// The probability of accepting the rule at position `to` after that at `from`: the ratio of their
/// probabilities under the geometric distribution, at most 1.
pub fn acceptance(success: f64, from: usize, to: usize) -> f64 {
    (1.0 - success).powf(to as f64 - from as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::ConstantChange;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn rules(count: usize) -> Vec<MutationRule> {
        MutationRule::all().into_iter().take(count).collect()
    }

    #[test]
    fn acceptance_is_the_ratio_of_geometric_probabilities() {
        let p = success_probability(20);
        let geometric = |k: usize| (1.0 - p).powi(k as i32) * p;
        for from in 0..20 {
            for to in 0..20 {
                let expected = (geometric(to) / geometric(from)).min(1.0);
                assert!((acceptance(p, from, to) - expected).abs() < 1e-12);
            }
        }
        let mass: f64 = (0..20).map(geometric).sum();
        assert!((mass - MASS).abs() < 1e-9);
    }

    #[test]
    fn rules_are_drawn_as_the_acceptance_probability_says() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let rules = rules(10);
        let selector = RuleSelector::new(&rules, &mut random).unwrap();
        let p = success_probability(10);
        for from in [0, 4, 9] {
            // A rule is proposed with equal chance until one is accepted.
            let total: f64 = (0..10).map(|to| acceptance(p, from, to)).sum();
            let mut counts = [0u32; 10];
            let draws = 20_000;
            for _ in 0..draws {
                let mut selector = RuleSelector { current: rules[from], ..selector.clone() };
                let rule = selector.next(&mut random);
                counts[rules.iter().position(|r| *r == rule).unwrap()] += 1;
            }
            for (to, count) in counts.iter().enumerate() {
                let expected = acceptance(p, from, to) / total;
                let observed = f64::from(*count) / f64::from(draws);
                assert!((observed - expected).abs() < 0.02, "from {from} to {to}: {observed} instead of {expected}");
            }
        }
    }

    #[test]
    fn rules_that_make_distant_witnesses_rise() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let rules = rules(5);
        let mut selector = RuleSelector::new(&rules, &mut random).unwrap();
        selector.update(rules[3], Some(0.4));
        selector.update(rules[1], Some(0.9));
        selector.update(rules[1], None);
        selector.update(rules[1], None);
        selector.update(rules[0], None);
        let ranking: Vec<MutationRule> = selector.ranking.iter().map(|record| record.rule).collect();
        assert_eq!(ranking[..2], [rules[3], rules[1]], "0.4·1/1 is more than 0.9·1/3");
    }

    #[test]
    fn a_seed_decides_everything() {
        let draw = || {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let mut selector = RuleSelector::new(&rules(30), &mut random).unwrap();
            (0..50).map(|_| selector.next(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
    }

    #[test]
    fn the_last_rule_cannot_be_retired() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let rule = MutationRule::ChangeConstant(ConstantChange::Increment);
        let mut selector = RuleSelector::new(&[rule], &mut random).unwrap();
        assert!(!selector.retire(rule));
        assert!(RuleSelector::new(&[], &mut random).is_none());
    }
}
