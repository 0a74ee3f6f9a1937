//! The next seed of a campaign: by number, or as the steering chooses, which learns from what the store holds.

use crate::plan::CampaignPlan;
use crate::run::Campaign;
use std::sync::atomic::Ordering;
use trueline_generate::ProgramSource;
use trueline_store::{ProgramYield, StoreError};

/// Whether a source says what its programs are made of.
pub(crate) fn tells_recipes(plan: &CampaignPlan, source: &dyn ProgramSource) -> bool {
    plan.languages.iter().any(|language| !source.traits(plan.seeds.first, *language).is_empty())
}

impl Campaign<'_> {
    /// The next seed, until they, the time or the patience end.
    pub(crate) fn next_seed(&self) -> Option<u64> {
        if self.stopping() {
            return None;
        }
        match &self.steering {
            None => self.counted(),
            Some(steering) => steering.lock().next(&mut || self.counted(), &|seed| self.traits(seed)),
        }
    }

    /// What the programs of a seed are made of, in every language.
    fn traits(&self, seed: u64) -> Vec<String> {
        self.plan.languages.iter().flat_map(|language| self.source.traits(seed, *language)).collect()
    }

    /// The next seed by number.
    fn counted(&self) -> Option<u64> {
        let end = match (self.plan.seeds.end, self.source.count()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        loop {
            let seed = self.next.fetch_add(1, Ordering::SeqCst);
            if end.is_some_and(|end| seed >= end) || seed == u64::MAX {
                return None;
            }
            if self.plan.shard.takes(seed) {
                return Some(seed);
            }
        }
    }

    /// Tells the steering what the programs of a seed brought.
    pub(crate) fn learn(&self, seed: u64) -> Result<(), StoreError> {
        let Some(steering) = &self.steering else { return Ok(()) };
        let brought = self.store.yields(&self.source_name(), Some(seed))?.remove(&seed);
        if let Some(ProgramYield { cpu, classes }) = brought {
            steering.lock().learn(&self.traits(seed), cpu, &classes);
        }
        Ok(())
    }

    /// Tells the steering what an earlier run of this campaign brought, in the order of seeds.
    pub(crate) fn learn_again(&self) -> Result<(), StoreError> {
        let Some(steering) = &self.steering else { return Ok(()) };
        for (seed, ProgramYield { cpu, classes }) in self.store.yields(&self.source_name(), None)? {
            steering.lock().learn(&self.traits(seed), cpu, &classes);
        }
        Ok(())
    }
}
