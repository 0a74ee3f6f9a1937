//! How often each class was shown to the other readers, so that the thousandth copy of one complaint does
//! not cost what the first did.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};

/// A class counts as confirmed after this many, and later ones are taken on its word.
const ENOUGH: u32 = 2;

/// A class that failed this often and was never confirmed is our own mistake; it is not asked about again.
const HOPELESS: u32 = 4;

/// Findings of a class that keep their traces; the others keep the program and the commands.
const TRACES_KEPT: u32 = 5;

#[derive(Clone, Copy, Debug, Default)]
struct ClassCounts {
    confirmed: u32,
    refuted: u32,
    kept: u32,
}

/// What to do with a violation of some class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Show it to the other readers.
    Ask,
    /// Take it: its class is confirmed.
    Accept,
    /// Drop it: its class never was confirmed.
    Drop,
}

/// The counts, shared by all threads.
#[derive(Debug, Default)]
pub struct ClassTally(Mutex<HashMap<String, ClassCounts>>);

impl ClassTally {
    /// The counts of a campaign that goes on, by class.
    pub fn of(kept: &BTreeMap<String, u64>) -> Self {
        let counts = |n: &u64| ClassCounts { kept: u32::try_from(*n).unwrap_or(u32::MAX), ..ClassCounts::default() };
        Self(Mutex::new(kept.iter().map(|(class, n)| (class.clone(), counts(n))).collect()))
    }

    /// Whether a class was found so often that another finding of it is only counted.
    pub fn is_familiar(&self, class: &str, most: u64) -> bool {
        self.with(class, |e| u64::from(e.kept) >= most)
    }

    fn with<T>(&self, class: &str, f: impl FnOnce(&mut ClassCounts) -> T) -> T {
        let mut entries = self.0.lock();
        f(entries.entry(class.to_owned()).or_default())
    }

    /// What to do with the next one.
    pub fn advice(&self, class: &str) -> Advice {
        self.with(class, |e| match e {
            e if e.confirmed >= ENOUGH => Advice::Accept,
            e if e.confirmed == 0 && e.refuted >= HOPELESS => Advice::Drop,
            _ => Advice::Ask,
        })
    }

    /// Records an answer; says whether the class is new.
    pub fn answer(&self, class: &str, confirmed: bool) {
        self.with(class, |e| if confirmed { e.confirmed += 1 } else { e.refuted += 1 });
    }

    /// Whether stepping through a build has refuted one of this class before.
    pub fn was_refuted(&self, class: &str) -> bool {
        self.with(class, |e| e.refuted > 0)
    }

    /// Records a finding without traces; says whether its class is new.
    pub fn is_first(&self, class: &str) -> bool {
        self.keep(class).0
    }

    /// Records a finding: whether its class is new, and whether its traces are to be kept.
    pub fn keep(&self, class: &str) -> (bool, bool) {
        self.with(class, |e| {
            e.kept = e.kept.saturating_add(1);
            (e.kept == 1, e.kept <= TRACES_KEPT)
        })
    }
}
