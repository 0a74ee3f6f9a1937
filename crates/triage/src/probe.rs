//! The one question that all searches ask, and the cache that keeps them from asking it twice.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use trueline_model::OptLevel;
use trueline_toolchain::Compiler;

/// Whether the fault shows in one build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// The build shows the fault.
    Present,
    /// It does not, and the build is one that could have shown it.
    Absent,
    /// This build says nothing: it did not compile, or the program misbehaved in another way.
    Unjudged(String),
}

/// A build and what the probe says of it.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Whether the fault shows.
    pub presence: Presence,
    /// The command that made the build, as a person would type it.
    pub command: String,
    /// What the compiler printed on standard error.
    pub log: String,
}

/// How to build: everything but the program, which the probe knows.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The compiler that was run.
    pub compiler: Compiler,
    /// The level of optimization it was run at.
    pub opt: OptLevel,
}

/// Why a probe could not be made at all (a missing tool, a full disk): the search cannot go on.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ProbeError(pub String);

/// Judges builds of one program for one fault.
pub trait Probe: Sync {
    /// Builds with `flags` added and looks whether the fault shows.
    fn probe(&self, setting: &Setting, flags: &[String]) -> Result<Probed, ProbeError>;

    /// Functions of the program in which the fault shows, innermost first; asked to name the one that a pass spoilt.
    fn functions(&self) -> Vec<String> {
        Vec::new()
    }
}

type Key = (std::path::PathBuf, OptLevel, Vec<String>);

/// Remembers every answer and counts the builds that were really made.
pub struct CachedProbe<'a> {
    inner: &'a dyn Probe,
    answers: Mutex<HashMap<Key, Probed>>,
    builds: AtomicUsize,
}

impl<'a> CachedProbe<'a> {
    /// Wraps a probe so that no setting is judged twice.
    pub fn new(inner: &'a dyn Probe) -> Self {
        Self { inner, answers: Mutex::default(), builds: AtomicUsize::new(0) }
    }

    /// Builds made so far; answers from the cache cost none.
    pub fn builds(&self) -> usize {
        self.builds.load(Ordering::Relaxed)
    }

    /// Counts a compilation made beside the probe (a dump of pass names).
    pub(crate) fn count_build(&self) {
        self.builds.fetch_add(1, Ordering::Relaxed);
    }

    /// Judges several flag sets at once.
    pub fn probe_all(&self, setting: &Setting, sets: &[Vec<String>]) -> Result<Vec<Probed>, ProbeError> {
        use rayon::prelude::*;
        sets.par_iter().map(|flags| self.probe(setting, flags)).collect()
    }
}

impl Probe for CachedProbe<'_> {
    fn probe(&self, setting: &Setting, flags: &[String]) -> Result<Probed, ProbeError> {
        let key = (setting.compiler.id.path.clone(), setting.opt, flags.to_vec());
        if let Some(known) = self.answers.lock().get(&key) {
            return Ok(known.clone());
        }
        self.count_build();
        let probed = self.inner.probe(setting, flags)?;
        self.answers.lock().insert(key, probed.clone());
        Ok(probed)
    }

    fn functions(&self) -> Vec<String> {
        self.inner.functions()
    }
}
