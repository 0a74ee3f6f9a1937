//! Counts per kind and label, which add up over programs and runs.

use crate::judge::{JudgedShown, Unjudged, ValueVerdict};
use crate::repaired::LocationLabel;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Values of one kind and label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Compared and right.
    pub right: u64,
    /// Compared and wrong.
    pub wrong: u64,
    /// Not judged, by reason.
    pub unjudged: BTreeMap<Unjudged, u64>,
}

impl Count {
    /// Values compared.
    pub fn compared(&self) -> u64 {
        self.right + self.wrong
    }

    /// Values that could not be judged.
    pub fn left(&self) -> u64 {
        self.unjudged.values().sum()
    }

    fn add(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        for (why, n) in &other.unjudged {
            *self.unjudged.entry(*why).or_default() += n;
        }
    }
}

/// Everything that was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTally {
    /// Functions that were repaired, once per build.
    pub functions: u64,
    /// Stops of repaired builds.
    pub stops: u64,
    /// Repairs that failed as a whole, by message.
    pub failures: BTreeMap<String, u64>,
    /// Functions left alone, by reason.
    pub left_alone: BTreeMap<String, u64>,
    /// Per kind and label.
    pub counts: BTreeMap<String, BTreeMap<LocationLabel, Count>>,
}

impl TrialTally {
    /// Counts one value.
    pub fn count(&mut self, kind: &str, judged: &JudgedShown) {
        let count = self.counts.entry(kind.to_owned()).or_default().entry(judged.label).or_default();
        match &judged.verdict {
            ValueVerdict::Right => count.right += 1,
            ValueVerdict::Wrong { .. } => count.wrong += 1,
            ValueVerdict::NotJudged(why) => *count.unjudged.entry(*why).or_default() += 1,
        }
    }

    /// Adds what another one counted.
    pub fn add(&mut self, other: &Self) {
        self.functions += other.functions;
        self.stops += other.stops;
        for (mine, theirs) in [(&mut self.failures, &other.failures), (&mut self.left_alone, &other.left_alone)] {
            for (text, n) in theirs {
                *mine.entry(text.clone()).or_default() += n;
            }
        }
        for (kind, labels) in &other.counts {
            for (label, count) in labels {
                self.counts.entry(kind.clone()).or_default().entry(*label).or_default().add(count);
            }
        }
    }

    /// The sum over kinds of one label.
    pub fn of(&self, label: LocationLabel) -> Count {
        let mut sum = Count::default();
        self.counts.values().filter_map(|labels| labels.get(&label)).for_each(|c| sum.add(c));
        sum
    }
}

impl fmt::Display for TrialTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = [LocationLabel::Proved, LocationLabel::Validated, LocationLabel::Compiler];
        writeln!(
            f,
            "| kind | proved: compared | wrong | not judged | validated: compared | wrong | not judged | the compiler's: compared | wrong |"
        )?;
        writeln!(f, "|---|{}", "---|".repeat(8))?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, counts: [Count; 3]| {
            let [p, v, c] = counts;
            writeln!(
                f,
                "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
                p.compared(),
                p.wrong,
                p.left(),
                v.compared(),
                v.wrong,
                v.left(),
                c.compared(),
                c.wrong
            )
        };
        for (kind, of) in &self.counts {
            row(f, kind, labels.map(|l| of.get(&l).cloned().unwrap_or_default()))?;
        }
        row(f, "**all**", labels.map(|l| self.of(l)))?;
        writeln!(f, "\n{} functions in all builds, {} stops", self.functions, self.stops)?;
        for label in labels {
            let reasons: Vec<String> = self.of(label).unjudged.iter().map(|(why, n)| format!("{why:?} {n}")).collect();
            if !reasons.is_empty() {
                writeln!(f, "not judged, {label:?}: {}", reasons.join(", "))?;
            }
        }
        for (what, of) in [("left alone", &self.left_alone), ("repair failed", &self.failures)] {
            for (text, n) in of {
                writeln!(f, "{what}, {n}: {text}")?;
            }
        }
        Ok(())
    }
}
