//! What a build without optimization shows on each line, to tell which values of another build the source never has there.
//!
//! A value counts as the source's on a line when a variable has it at a stop on that line, or at the next stop of the same
//! function: a breakpoint may lie behind the line's assignment. Pointers are left out, as their values differ between builds.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use trueline_model::{FileName, LineKey, Observation, Step, StepSink, VarKind, Variable};
use trueline_trace::{Engine, NativeEngine, TraceEnd, TraceError, TraceRequest};

/// Stops of the reference that are looked at.
const MOST_STEPS: u64 = 300_000;
/// Different values of one variable on one line that are kept; with more, nothing is said about it.
const MOST_VALUES: usize = 4096;

/// A variable of a function on a line.
type Key = (LineKey, Arc<str>, Arc<str>);

#[derive(Debug, Default)]
struct SeenValue {
    at: BTreeSet<Arc<str>>,
    after: BTreeSet<Arc<str>>,
}

/// The values that a reference build has.
#[derive(Debug, Default)]
pub struct ReferenceValues {
    seen: HashMap<Key, SeenValue>,
    /// Where the run was last, for the values after it.
    last: Option<(LineKey, Arc<str>)>,
    /// Whether the whole run was seen.
    pub is_whole: bool,
}

/// What is wrong with a shown variable.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "mark")]
pub enum Mark {
    /// The source never has this value here; these it has.
    NotTheSources {
        /// Some of the values that it has.
        source: Vec<String>,
    },
    /// It is not shown, though the source has it here.
    Lost {
        /// Some of the values that it has.
        source: Vec<String>,
    },
}

/// Values that a mark names.
const NAMED: usize = 3;

impl ReferenceValues {
    /// Runs a build from main to its return and keeps what it shows.
    pub fn record(request: &TraceRequest) -> Result<Self, TraceError> {
        let mut reference = Self::default();
        let mut request = request.clone();
        request.max_steps = MOST_STEPS;
        let summary = NativeEngine.trace(&request, &mut reference)?;
        reference.is_whole = summary.end == TraceEnd::Finished;
        Ok(reference)
    }

    /// What is wrong with a variable that another build shows on a line of a function.
    pub fn judge(&self, line: &LineKey, function: &Arc<str>, variable: &Variable) -> Option<Mark> {
        let seen = self.seen.get(&(line.clone(), Arc::clone(function), Arc::clone(&variable.name)))?;
        if variable.holds_pointer || seen.at.is_empty() || seen.at.len() >= MOST_VALUES {
            return None;
        }
        let source = || seen.at.iter().take(NAMED).map(ToString::to_string).collect();
        match &variable.observation {
            // What was not seen may still be the source's.
            Observation::Value(text) if self.is_whole && !seen.at.contains(text) && !seen.after.contains(text) => {
                Some(Mark::NotTheSources { source: source() })
            }
            Observation::OptimizedOut => Some(Mark::Lost { source: source() }),
            _ => None,
        }
    }

    fn note(&mut self, place: &(LineKey, Arc<str>), variable: &Variable, is_after: bool) {
        let (Observation::Value(text), false) = (&variable.observation, variable.holds_pointer) else { return };
        if variable.kind == VarKind::Global {
            return;
        }
        let key = (place.0.clone(), Arc::clone(&place.1), Arc::clone(&variable.name));
        let seen = self.seen.entry(key).or_default();
        let values = if is_after { &mut seen.after } else { &mut seen.at };
        if values.len() < MOST_VALUES {
            values.insert(Arc::clone(text));
        }
    }
}

impl StepSink for ReferenceValues {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        let (Some(line), Some(frame)) = (step.key(), step.frames.first()) else { return ControlFlow::Continue(()) };
        // The two builds may come from copies of the source in different directories.
        let line = LineKey { file: FileName::new(line.file.base()), ..line };
        let here = (line, Arc::clone(&frame.function));
        if let Some(last) = self.last.take().filter(|last| last.1 == here.1) {
            step.vars.iter().for_each(|v| self.note(&last, v, true));
        }
        step.vars.iter().for_each(|v| self.note(&here, v, false));
        self.last = Some(here);
        ControlFlow::Continue(())
    }
}
