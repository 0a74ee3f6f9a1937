//! Inside a guilty pass: gcc's debug counters let a pass make its first N changes only.

use crate::probe::{CachedProbe, Presence, Probe, ProbeError, Setting};

/// Where inside a pass the fault appears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inside {
    /// The counter and the interval that shows it, as `-fdbg-cnt=` takes it.
    pub counter: String,
    /// The first change that makes the fault appear.
    pub change: u64,
    /// How many changes the counter saw.
    pub changes: u64,
}

/// Pass base names and the counters that count inside them. Where a counter serves several instances of
/// a pass, changes of all instances are numbered in one sequence.
const COUNTERS: [(&str, &[&str]); 27] = [
    ("tree-ccp", &["ccp"]),
    ("tree-dse", &["dse"]),
    ("tree-dce", &["dce"]),
    ("tree-cddce", &["dce"]),
    ("tree-pre", &["treepre_insert", "pre"]),
    ("tree-sra", &["tree_sra"]),
    ("tree-esra", &["tree_sra"]),
    ("tree-thread", &["registered_jump_thread", "back_thread1", "back_thread2"]),
    ("tree-ethread", &["registered_jump_thread"]),
    ("tree-threadfull", &["registered_jump_thread", "back_threadfull1", "back_threadfull2"]),
    ("tree-dom", &["dom_unreachable_edges", "registered_jump_thread"]),
    ("tree-lim", &["lim"]),
    ("tree-ivopts", &["ivopts_loop"]),
    ("tree-vect", &["vect_loop"]),
    ("tree-slp", &["vect_slp"]),
    ("tree-tailc", &["tail_call"]),
    ("tree-tailr", &["tail_call"]),
    ("tree-cunroll", &["gimple_unroll"]),
    ("tree-cunrolli", &["gimple_unroll"]),
    ("tree-phiopt", &["phiopt_edge_range"]),
    ("tree-store-merging", &["store_merging"]),
    ("rtl-cprop", &["cprop"]),
    ("rtl-ce", &["if_conversion", "if_after_combine", "if_after_reload"]),
    ("rtl-dse", &["dse1", "dse2"]),
    ("rtl-hoist", &["hoist", "hoist_insn"]),
    ("rtl-sched", &["sched2_func", "sched_block", "sched_insn"]),
    ("ipa-sra", &["ipa_sra_params", "ipa_sra_retvalues"]),
];

/// Bisects the counters of `pass`, with `base` flags around; `None` when it has none, or none decides.
pub(super) fn locate(cached: &CachedProbe<'_>, setting: &Setting, pass: &str, base: &[String]) -> Result<Option<Inside>, ProbeError> {
    let stem = pass.trim_end_matches(|c: char| c.is_ascii_digit());
    let Some((_, counters)) = COUNTERS.iter().find(|(name, _)| *name == stem) else { return Ok(None) };
    // The interval syntax came with gcc 10.
    if setting.compiler.major() < 10 {
        return Ok(None);
    }
    let with = |extra: String| base.iter().cloned().chain([extra]).collect::<Vec<String>>();
    let listing = cached.probe(setting, &with("-fdbg-cnt-list".to_owned()))?;
    if listing.presence != Presence::Present {
        return Ok(None);
    }
    for counter in *counters {
        let changes = value_in(&listing.log, counter);
        if changes == 0 {
            continue;
        }
        let at = |limit: u64| cached.probe(setting, &with(limited(counter, limit))).map(|p| p.presence);
        if at(0)? != Presence::Absent {
            continue;
        }
        let (mut hidden, mut shown) = (0, changes);
        while shown - hidden > 1 {
            let middle = hidden + (shown - hidden) / 2;
            match at(middle)? {
                Presence::Present => shown = middle,
                Presence::Absent => hidden = middle,
                Presence::Unjudged(_) => return Ok(None),
            }
        }
        return Ok(Some(Inside { counter: format!("{counter}:1-{shown}"), change: shown, changes }));
    }
    Ok(None)
}

fn limited(counter: &str, limit: u64) -> String {
    // Changes count from 1: an interval that holds only 0 lets none through.
    if limit == 0 { format!("-fdbg-cnt={counter}:0-0") } else { format!("-fdbg-cnt={counter}:1-{limit}") }
}

fn value_in(listing: &str, counter: &str) -> u64 {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next() == Some(counter)).then(|| words.next()?.parse().ok()).flatten()
    };
    listing.lines().find_map(row).unwrap_or(0)
}
