//! The smallest set of insertions that still shows what we look for (5.4), by delta debugging.

use crate::insertion::{InsertionId, MutatedProgram, Strategy};
use std::collections::BTreeSet;
use trueline_model::{Interesting, SeamError, StillShows};

/// A variant from which no single insertion can be taken.
#[derive(Clone, Debug)]
pub struct Minimized {
    /// The variant; no insertions at all when the seed itself is interesting.
    pub variant: MutatedProgram,
    /// The strategies that are needed together (a region of the paper's Figure 8).
    pub strategies: BTreeSet<Strategy>,
    /// How many candidates were judged.
    pub judged: usize,
}

/// Minimizes the insertions of an interesting variant. The answer is 1-minimal: every insertion left is
/// needed while the others are there.
pub fn minimize(variant: &MutatedProgram, interesting: &dyn Interesting) -> Result<Minimized, SeamError> {
    let mut kept: Vec<InsertionId> = variant.insertions.iter().map(|i| i.id).collect();
    let mut judged = 0;
    let mut holds = |ids: &[InsertionId]| -> Result<bool, SeamError> {
        judged += 1;
        Ok(interesting.judge(&variant.only(ids).program)? == StillShows::Yes)
    };
    if holds(&[])? {
        kept.clear();
    }
    let mut parts = 2;
    while kept.len() > 1 {
        let size = kept.len().div_ceil(parts);
        let chunks: Vec<Vec<InsertionId>> = kept.chunks(size).map(<[_]>::to_vec).collect();
        let mut smaller = None;
        for chunk in &chunks {
            if chunk.len() < kept.len() && holds(chunk)? {
                smaller = Some((chunk.clone(), 2));
                break;
            }
        }
        // With two parts each is the other's complement.
        if smaller.is_none() && chunks.len() > 2 {
            for chunk in &chunks {
                let rest: Vec<InsertionId> = kept.iter().copied().filter(|id| !chunk.contains(id)).collect();
                if holds(&rest)? {
                    smaller = Some((rest, (parts - 1).max(2)));
                    break;
                }
            }
        }
        match smaller {
            Some((next, next_parts)) => (kept, parts) = (next, next_parts),
            None if size == 1 => break,
            None => parts = (parts * 2).min(kept.len()),
        }
    }
    let variant = variant.only(&kept);
    let strategies = variant.insertions.iter().map(|i| i.strategy).collect();
    Ok(Minimized { variant, strategies, judged })
}
