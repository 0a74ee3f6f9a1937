//! What the runner says while it works.

use serde::Serialize;
use trueline_model::{CompilerId, Fault, FindingId, OptLevel, Reader, Verdict};
use trueline_store::{Counts, NewFinding};

/// A finding, as events and progress bars show it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FoundEvent {
    /// Its number in the store.
    pub id: FindingId,
    /// What is wrong.
    #[serde(flatten)]
    pub fault: Fault,
    /// The program's file name.
    pub program: String,
    /// The compiler.
    pub compiler: CompilerId,
    /// The level.
    pub opt: OptLevel,
    /// What makes it distinct.
    pub class: String,
    /// True for the first of its class in this run.
    pub is_new_class: bool,
    /// Readers that see it.
    pub seen_by: Vec<Reader>,
    /// Readers that were asked and do not.
    pub not_seen_by: Vec<Reader>,
    /// Whose fault that makes it.
    pub verdict: Option<Verdict>,
}

impl FoundEvent {
    /// The event of a finding that was just stored under a number.
    pub(crate) fn of(id: FindingId, program: &str, new: &NewFinding, is_new_class: bool) -> Self {
        let finding = &new.finding;
        Self {
            id,
            fault: finding.fault.clone(),
            program: program.to_owned(),
            compiler: finding.compiler.clone(),
            opt: finding.opt,
            class: new.class.clone(),
            is_new_class,
            seen_by: finding.seen_by.clone(),
            not_seen_by: finding.not_seen_by.clone(),
            verdict: finding.verdict,
        }
    }
}

/// What a campaign cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Totals {
    /// Seconds by the clock.
    pub wall: f64,
    /// CPU seconds of this process and all its children.
    pub cpu: f64,
    /// CPU seconds of the compilations that units needed.
    pub compile_cpu: f64,
    /// Units done in this run.
    pub units: u64,
    /// Programs looked at in this run.
    pub programs: u64,
    /// Violations that no debugger confirmed; they are not findings.
    pub unconfirmed: u64,
}

/// One thing that happened.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The campaign begins.
    Started {
        /// The program source.
        source: String,
        /// The compilers.
        compilers: Vec<CompilerId>,
        /// The levels.
        levels: Vec<OptLevel>,
        /// How far the database already is.
        resumed: Counts,
    },
    /// A unit is done.
    UnitDone {
        /// The program's file name.
        program: String,
        /// The compiler.
        compiler: CompilerId,
        /// The level.
        opt: OptLevel,
        /// Stops of the optimized trace.
        steps: u64,
        /// Findings.
        findings: usize,
        /// Further ones of classes that were seen often enough.
        repeated: u64,
        /// CPU seconds.
        cpu: f64,
    },
    /// A unit could not be done.
    UnitFailed {
        /// The program's file name.
        program: String,
        /// The compiler.
        compiler: CompilerId,
        /// The level.
        opt: OptLevel,
        /// Why.
        reason: String,
        /// Whether it is tried once more.
        retry: bool,
    },
    /// Something was found.
    Found(Box<FoundEvent>),
    /// The first finding of a class was explained.
    Explained {
        /// Its number in the store.
        id: FindingId,
        /// The cause, where a pass can be named.
        cause: Option<String>,
    },
    /// A program was dropped.
    Rejected {
        /// Its name.
        program: String,
        /// Why.
        reason: String,
    },
    /// A program with all its units is through.
    ProgramDone {
        /// Its name.
        program: String,
    },
    /// Something is not as it should be, and the campaign goes on.
    Warning {
        /// What.
        message: String,
    },
    /// The campaign ends.
    Finished {
        /// How far the database is.
        counts: Counts,
        /// What this run cost.
        totals: Totals,
    },
}

/// Takes events; called from all threads.
pub trait Reporter: Sync {
    /// One event.
    fn event(&self, event: &Event);
}

/// Takes events and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn event(&self, _event: &Event) {}
}
