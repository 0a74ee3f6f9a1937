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
    /// What differs between two traces of the same build. The other may have given addresses up earlier: of what it did not look at to
    /// the end, only what the first does not have tells anything.
    pub fn between(one: &Digest, other: &Digest) -> Self {
        // Of traces that begin late or end early as a whole the second ends where the first did, and has all that the first has.
        let is_short = !other.given_up.everything;
        let keys = |d: &Digest| d.lines.keys().chain(d.passed.keys()).cloned().collect::<BTreeSet<LineKey>>();
        let mut lines = keys(one);
        lines.extend(keys(other));
        lines.retain(|line| match (active(one, line), active(other, line)) {
            (all, some) if is_short && other.given_up.has_line(line) => !some.is_subset(&all),
            (all, some) => all != some,
        });
        let mut scalars = BTreeSet::new();
        let variables: BTreeSet<&VarKey> = one.vars.keys().chain(other.vars.keys()).collect();
        for key in variables {
            let (a, b) = (one.vars.get(key), other.vars.get(key));
            let length = |v: Option<&VarDigest>| v.map_or(0, |v| v.leaves.len());
            for index in 0..length(a).max(length(b)) {
                let (all, some) = (values_of(a, index), values_of(b, index));
                let is_part = is_short && other.given_up.has_variable(key);
                let differs = if is_part { !some.is_subset(&all) } else { all != some };
                if differs {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Role;
    use trueline_model::{FileName, Frame, FrameKind, Line, Observation, Step, StepSink, VarKind, Variable};

    /// A trace of one line of `f`, where `i` has these values one after the other.
    fn trace(values: &[&str]) -> Digest {
        let mut digest = Digest::new(Role::Reference);
        for (step, value) in values.iter().enumerate() {
            let at = (Some(FileName::new("p.c")), Some(Line(3)));
            let frames = [Frame { function: "f".into(), kind: FrameKind::Real, file: at.0.clone(), line: at.1 }];
            let i = Variable {
                name: "i".into(),
                kind: VarKind::Local,
                decl_line: 2,
                type_name: "int".into(),
                holds_pointer: false,
                observation: Observation::Value((*value).into()),
            };
            let _ = digest.step(Step { step: step as u64, file: at.0, line: at.1, pc: 16, frames: frames.into(), vars: vec![i] });
        }
        digest
    }

    #[test]
    fn values_that_a_shorter_second_trace_did_not_come_to_are_steady_and_others_are_not() {
        let full = trace(&["1", "2", "3"]);
        let mut short = trace(&["1", "2"]);
        assert_eq!(Unsteady::between(&full, &short).scalars.len(), 1, "nothing was given up, so the third value is missing");
        short.give_up(&[], &["f".into()]);
        assert!(Unsteady::between(&full, &short).is_empty());
        let mut other = trace(&["1", "7"]);
        other.give_up(&[], &["f".into()]);
        assert_eq!(Unsteady::between(&full, &other).scalars.len(), 1, "7 is not among the values of the first run");
    }
}
