//! What a compiler run covered, and what the covered places are called. A *unit* is whatever a back end
//! can tell apart (a basic block, a source line); units are numbered densely per compiler build, so that
//! sets of the same build can be joined and compared as bits.

use crate::Program;
use crate::seam::SeamError;
use serde::{Deserialize, Serialize};

/// A set of covered units of a compiler run, by dense index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoverageSet {
    words: Vec<u64>,
}

impl CoverageSet {
    /// A set over a bitmap, least significant bit first.
    pub fn from_words(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { words }
    }

    /// Adds one unit to the set.
    pub fn insert(&mut self, unit: u32) {
        let word = unit as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (unit % 64);
    }

    /// Whether a unit is covered.
    pub fn contains(&self, unit: u32) -> bool {
        self.words.get(unit as usize / 64).is_some_and(|word| word >> (unit % 64) & 1 == 1)
    }

    /// How many units are covered.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True when nothing is covered.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The units in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (bit < 64).then(|| {
                    rest &= rest - 1;
                    index as u32 * 64 + bit
                })
            })
        })
    }

    /// Joins another set into this one.
    pub fn union_with(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    /// The units that both sets cover.
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_words(self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect())
    }

    /// What this one covers and the other does not.
    pub fn difference(&self, other: &Self) -> Self {
        let theirs = other.words.iter().copied().chain(std::iter::repeat(0));
        Self::from_words(self.words.iter().zip(theirs).map(|(a, b)| a & !b).collect())
    }

    /// The Jaccard distance of two sets: 0 for equal ones, 1 for disjoint ones.
    pub fn distance(&self, other: &Self) -> f64 {
        let both: usize = self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones() as usize).sum();
        let either = self.len() + other.len() - both;
        if either == 0 { 0.0 } else { 1.0 - both as f64 / either as f64 }
    }
}

impl FromIterator<u32> for CoverageSet {
    fn from_iter<I: IntoIterator<Item = u32>>(units: I) -> Self {
        let mut set = Self::default();
        units.into_iter().for_each(|unit| set.insert(unit));
        set
    }
}

/// A function of the compiler, as far as its binary or its notes can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFunction {
    /// Its name; empty when the binary does not tell.
    pub name: String,
    /// Its source file, an index into [`CodeMap::files`].
    pub file: u32,
}

/// What the units of a compiler build are called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeMap {
    /// The source files, by their numbers.
    pub files: Vec<String>,
    /// The functions, by their numbers.
    pub functions: Vec<CodeFunction>,
    /// The function of each unit, an index into `functions`.
    pub unit_functions: Vec<u32>,
}

impl CodeMap {
    /// The source file of a unit, an index into `files`; `None` for a unit that the map does not know.
    pub fn file_of(&self, unit: u32) -> Option<u32> {
        Some(self.functions.get(*self.unit_functions.get(unit as usize)? as usize)?.file)
    }
}

/// Measures which parts of a compiler a compilation runs.
pub trait Coverage: Sync {
    /// Compiles `program` with `flags` and returns what was covered. A compiler that crashes or hangs is
    /// measured up to that point.
    fn measure(&self, program: &Program, flags: &[String]) -> Result<CoverageSet, SeamError>;

    /// The names of the units.
    fn code_map(&self) -> &CodeMap;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(units: &[u32]) -> CoverageSet {
        units.iter().copied().collect()
    }

    #[test]
    fn sets_behave_as_sets() {
        let (a, b) = (set(&[1, 64, 700]), set(&[1, 65]));
        assert_eq!(a.iter().collect::<Vec<_>>(), [1, 64, 700]);
        assert_eq!(a.intersection(&b), set(&[1]));
        assert_eq!(a.difference(&b), set(&[64, 700]));
        assert_eq!(b.difference(&a), set(&[65]));
        let mut both = b.clone();
        both.union_with(&a);
        assert_eq!(both.len(), 4);
        assert!(a.contains(700) && !b.contains(700));
    }

    #[test]
    fn the_distance_is_jaccards() {
        assert_eq!(set(&[1, 2, 3]).distance(&set(&[2, 3, 4])), 0.5);
        assert_eq!(set(&[]).distance(&set(&[])), 0.0);
        assert_eq!(set(&[1]).distance(&set(&[900])), 1.0);
    }
}
