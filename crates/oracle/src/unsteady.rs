//! What two runs of the -O0 build do not agree on. A program that looks at the clock, its process number or the order of its threads
//! shows other values and lines each time, and no build can be held to those.

use crate::digest::{Digest, VarDigest};
use std::collections::BTreeSet;
use std::sync::Arc;
use trueline_model::{LineKey, VarKey};

/// Lines and scalars that differ between two runs of one build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsteady {
    /// Lines that only one run came to, or came to with other functions active.
    pub lines: BTreeSet<LineKey>,
    /// Scalars, by variable and position in it, that had other values.
    pub scalars: BTreeSet<(VarKey, usize)>,
}

impl Unsteady {
    /// What differs between two traces of the same build.
    pub fn between(one: &Digest, other: &Digest) -> Self {
        let keys = |d: &Digest| d.lines.keys().chain(d.passed.keys()).cloned().collect::<BTreeSet<LineKey>>();
        let mut lines = keys(one);
        lines.extend(keys(other));
        lines.retain(|line| active(one, line) != active(other, line));
        let mut scalars = BTreeSet::new();
        let variables: BTreeSet<&VarKey> = one.vars.keys().chain(other.vars.keys()).collect();
        for key in variables {
            let (a, b) = (one.vars.get(key), other.vars.get(key));
            let length = |v: Option<&VarDigest>| v.map_or(0, |v| v.leaves.len());
            for index in 0..length(a).max(length(b)) {
                if values_of(a, index) != values_of(b, index) {
                    scalars.insert((key.clone(), index));
                }
            }
        }
        Self { lines, scalars }
    }

    /// True when the runs agree.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.scalars.is_empty()
    }
}

fn active(digest: &Digest, line: &LineKey) -> BTreeSet<BTreeSet<Arc<str>>> {
    let stopped = digest.stops_on(line).map(|s| s.stack.iter().map(|a| Arc::clone(&a.function)).collect());
    stopped.chain(digest.passed.get(line).into_iter().flatten().cloned()).collect()
}

fn values_of(variable: Option<&VarDigest>, index: usize) -> BTreeSet<&str> {
    variable.and_then(|v| v.leaves.get(index)).into_iter().flat_map(|leaf| leaf.values.keys()).map(|v| &**v).collect()
}
