//! Puts everything that was found into one ranking, and shows witnesses as differences.

use crate::rank::{Aggregate, Passing, RankLevel, Suspect, place, rank, reports_diagnostics};
use crate::search::{SearchOutcome, WitnessProgram};
use crate::switch::SwitchWitness;
use std::collections::HashMap;
use trueline_model::{CodeMap, CoverageSet};

/// What a ranking is made of.
#[derive(Clone, Copy)]
pub struct RankingReport<'a> {
    /// What the search has found.
    pub found: &'a SearchOutcome,
    /// Compilations of the failing program with one pass switched off.
    pub switches: &'a [SwitchWitness],
    /// Compilations of the failing program at levels where it passes.
    pub levels: &'a [CoverageSet],
    /// Coverage of other programs that pass.
    pub passing: &'a [CoverageSet],
    /// Names of the units.
    pub map: &'a CodeMap,
    /// True when the compiler crashes: files that report crashes do not rank then.
    pub crash: bool,
}

impl RankingReport<'_> {
    /// The ranking. The mean is the paper's: witnesses (and other passing programs) alone. Evidence adds
    /// that of the switches, where there are any: each normalised by its largest, the switches at half
    /// weight, since a switch can only point at a pass and what the pass calls.
    pub fn ranking(&self, level: RankLevel, aggregate: Aggregate) -> Vec<Suspect> {
        let one = |covered| Passing { covered, weight: 1.0 };
        let mut passing: Vec<Passing<'_>> = self.found.witnesses.iter().map(|w| one(&w.covered)).collect();
        passing.extend(self.passing.iter().map(one));
        if passing.len() < FEW {
            passing.extend(self.levels.iter().map(one));
        }
        let excluded = |file: &str| self.crash && reports_diagnostics(file);
        let by_witness = rank(&self.found.failing, &passing, self.map, level, aggregate, excluded);
        if aggregate == Aggregate::Mean || self.switches.is_empty() {
            return by_witness;
        }
        let switched: Vec<Passing<'_>> = self.switches.iter().map(|s| one(&s.covered)).collect();
        // A handful of switches makes few patterns: nearly everything would be one group.
        let by_switch = rank(&self.found.failing, &switched, self.map, level, Aggregate::Independent, excluded);
        join(by_witness, &by_switch)
    }
}

/// Weight of the switches beside the witnesses.
const SWITCH_WEIGHT: f64 = 0.5;

/// Adds two rankings of the same suspects, each normalised by its best score.
fn join(witnesses: Vec<Suspect>, switches: &[Suspect]) -> Vec<Suspect> {
    let best = |ranking: &[Suspect]| ranking.iter().map(|s| s.score).fold(f64::MIN_POSITIVE, f64::max);
    let (top, switch_top) = (best(&witnesses), best(switches));
    let key = |s: &Suspect| (s.file.clone(), s.function.clone());
    let mut switch_scores: HashMap<(String, Option<String>), f64> = HashMap::new();
    // Functions without a name share a key; the most suspect of them speaks for it.
    for suspect in switches.iter().rev() {
        switch_scores.insert(key(suspect), suspect.score);
    }
    let joined = witnesses.into_iter().map(|suspect| {
        let switch = switch_scores.get(&key(&suspect)).copied().unwrap_or(0.0);
        Suspect { score: suspect.score / top + SWITCH_WEIGHT * switch / switch_top, ..suspect }
    });
    place(joined.collect())
}

/// Witnesses below which compilations at other levels count: better than nothing, worse than any witness.
const FEW: usize = 10;

impl SearchOutcome {
    /// The witnesses whose compilations are most like the failing one first: they hint most at the fix.
    pub fn nearest(&self) -> Vec<&WitnessProgram> {
        let mut witnesses: Vec<&WitnessProgram> = self.witnesses.iter().collect();
        witnesses.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        witnesses
    }
}

/// The lines that differ between two texts, `-` and `+` with their line numbers.
pub fn diff(old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Longest common subsequence of lines; the texts are small programs.
    let mut common = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let mut out = String::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || common[i + 1][j] >= common[i][j + 1]) {
            out.push_str(&format!("{:>5} - {}\n", i + 1, a[i]));
            i += 1;
        } else {
            out.push_str(&format!("{:>5} + {}\n", j + 1, b[j]));
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_lets_a_clear_switch_decide_between_equals() {
        let suspect = |file: &str, score| Suspect { rank: 0, file: file.to_owned(), function: None, score, statements: 1 };
        let joined = join(vec![suspect("a.cc", 2.0), suspect("b.cc", 2.0)], &[suspect("b.cc", 9.0), suspect("a.cc", 3.0)]);
        assert_eq!(joined.iter().map(|s| (s.rank, s.file.as_str())).collect::<Vec<_>>(), [(1, "b.cc"), (2, "a.cc")]);
        assert!((joined[0].score - 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_diff_shows_the_changed_lines_only() {
        assert_eq!(diff("int a;\nint b;\nint c;\n", "int a;\nlong b;\nint c;\n"), "    2 - int b;\n    2 + long b;\n");
        assert_eq!(diff("a\n", "a\n"), "");
    }
}
