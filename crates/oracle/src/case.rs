//! One case to be judged: two digests, the facts beside them, and the judgement.

use crate::digest::{Digest, Stop, StopId};
use crate::effects::Effects;
use crate::facts::{OptimizedFacts, ReferenceFacts, SourceFacts, Witness};
use crate::moments::Placed;
use crate::{invariants, rules};
use serde::Serialize;
use std::collections::HashSet;
use std::sync::Arc;
use trueline_model::{Invariant, LineKey, VarKey, Violation};

/// Whether the rules apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// Candidates pass through the rules.
    #[default]
    Filtered,
    /// The literal definitions, artefacts and all.
    Literal,
}

/// Which of the dropped candidates are remembered. A long program drops a million of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Remembered {
    /// Those at addresses that were given up: a report says how many there are.
    #[default]
    GivenUp,
    /// All, to be explained.
    All,
}

impl Remembered {
    fn includes(self, rule: &rules::Rule) -> bool {
        self == Self::All || rule.name == rules::GIVEN_UP.name
    }
}

/// Whether the build may change floating-point results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FloatMath {
    /// Results are those of the source.
    #[default]
    Exact,
    /// -ffast-math and its like.
    Relaxed,
}

/// Everything there is to judge by.
pub struct Case<'a> {
    /// The -O0 trace.
    pub reference: &'a Digest,
    /// The trace under test.
    pub optimized: &'a Digest,
    /// What is known of the -O0 build.
    pub reference_facts: &'a ReferenceFacts,
    /// What is known of the optimized build.
    pub optimized_facts: &'a OptimizedFacts,
    /// What the lines do in both builds, and where breakpoints on them go; nothing where nobody asked.
    pub effects: &'a Effects,
    /// What the source says.
    pub source: &'a SourceFacts,
    /// Who can be asked about -O0 in detail.
    pub witness: &'a dyn Witness,
    /// Values that were placed among the moments of the reference run.
    pub placed: &'a [Placed],
    /// Whether floats may differ.
    pub float_math: FloatMath,
    /// Whether the rules apply, and with them the caps on what is listed.
    pub strictness: Strictness,
}

/// What a candidate is about, beside its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The stop as a whole.
    Stop,
    /// A variable's presence.
    Variable(VarKey),
    /// One scalar of a variable.
    Leaf(VarKey, usize),
    /// A value that was placed among the moments, by its number.
    Moment(usize),
    /// A function on the stack and the line it is said to stand on.
    Activation(Arc<str>, LineKey),
    /// An effect of a line, by its number among the tied ones.
    Effect(usize),
    /// The build as a whole.
    Build,
}

/// A possible violation, not yet filtered.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What would be reported.
    pub violation: Violation,
    /// What it is about.
    pub subject: Subject,
    /// The stop that shows it.
    pub stop: Option<StopId>,
}

impl Candidate {
    /// Its line.
    pub fn key(&self) -> LineKey {
        LineKey { file: self.violation.file.clone(), line: self.violation.line }
    }

    /// What is known of the moments, where it is about one.
    pub fn placed<'a>(&self, case: &Case<'a>) -> Option<&'a Placed> {
        match self.subject {
            Subject::Moment(number) => case.placed.get(number),
            _ => None,
        }
    }

    /// The scalar that it is about, where it is about one's value.
    pub fn scalar<'c>(&'c self, case: &Case<'c>) -> Option<(&'c VarKey, usize)> {
        match &self.subject {
            Subject::Leaf(variable, leaf) => Some((variable, *leaf)),
            Subject::Moment(number) => case.placed.get(*number).map(|p| (&p.suspect.variable, p.suspect.leaf)),
            _ => None,
        }
    }

    /// The stop that shows it.
    pub fn stop<'a>(&self, case: &Case<'a>) -> Option<&'a Stop> {
        self.stop.map(|id| case.optimized.stop(id))
    }
}

/// A candidate that a rule dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Dropped {
    /// What would have been reported.
    pub violation: Violation,
    /// The rule's name.
    pub rule: &'static str,
}

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// What is reported.
    pub violations: Vec<Violation>,
    /// What was not, and why, as far as it was to be remembered.
    pub dropped: Vec<Dropped>,
}

/// Judges a case under the given invariants.
pub fn judge(case: &Case<'_>, wanted: &[Invariant], remembered: Remembered) -> Judgement {
    let mut judgement = Judgement::default();
    let mut told = rules::Told::default();
    let (mut reported, mut dropped) = (HashSet::new(), HashSet::new());
    invariants::list(case, wanted, &mut |candidate| {
        let complaint = candidate.violation.complaint();
        if reported.contains(&complaint) {
            return;
        }
        let rule = match case.strictness {
            Strictness::Filtered if rules::is_told(&candidate, &judgement.violations) => Some(&rules::ALREADY_TOLD),
            Strictness::Filtered => {
                let rule = rules::RULES.iter().find(|r| r.drops(&candidate, case));
                rule.or_else(|| told.covers(&candidate, case).then_some(&rules::SAME_BLOCK))
            }
            Strictness::Literal => None,
        };
        match rule {
            Some(rule) => {
                if remembered.includes(rule) && dropped.insert((rule.name, complaint)) {
                    judgement.dropped.push(Dropped { violation: candidate.violation, rule: rule.name });
                }
            }
            None => {
                told.note(&candidate);
                reported.insert(complaint);
                judgement.violations.push(candidate.violation);
            }
        }
    });
    let key = |v: &Violation| (v.invariant(), v.file.clone(), v.line, v.variable().cloned());
    judgement.violations.sort_by_key(key);
    judgement.dropped.sort_by_key(|d| (d.rule, key(&d.violation)));
    judgement
}
