//! What a reduction is after, and the reduction itself: our own reducer first, an external one after it.

use crate::draft::script_of;
use crate::error::ExplainError;
use crate::expectation::shows_expected;
use crate::judge::Looking;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trueline_ctree::PreprocessError;
use trueline_generate::Filter;
use trueline_model::{Interesting, Language, Program, SeamError, StillShows};
use trueline_reduce::{Builtin, Demand, External, ExternalTool, LineReducer, ReduceError, ReduceProgress, Reduced, Watch};
use trueline_toolchain::{ToolKind, find_tool};
use trueline_triage::Setting;

/// The tool that reduces the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// C-Vise, the reducer in Python.
    Cvise,
    /// C-Reduce, the reducer in Perl.
    Creduce,
    /// The reducer of this project, on the C tree.
    Builtin,
}

/// Without includes and macros, if it still shows the fault that way: reducers work on one text.
pub fn self_contained(
    program: Program,
    looking: &Looking,
    setting: &Setting,
    kind: &str,
    pass: Option<&str>,
) -> Result<Program, ExplainError> {
    // C++ without its headers is a text of tens of thousands of lines, and reducers drop the headers that are not needed.
    if program.language != Language::C || !trueline_ctree::needs_preprocessing(&program.source) {
        return Ok(program);
    }
    // What the stub headers do not have stays included: an external reducer takes the program as it is.
    let whole = match trueline_ctree::preprocess(&program, &setting.compiler) {
        Ok(whole) => whole,
        Err(PreprocessError::Refused { .. }) => return Ok(program),
        Err(error) => return Err(error.into()),
    };
    Ok(if shows_expected(whole.clone(), looking, setting, kind, pass)? { whole } else { program })
}

/// What a reduced program must still show.
#[derive(Clone)]
pub struct Aim {
    /// How it is looked at.
    pub looking: Looking,
    /// How it is built.
    pub setting: Setting,
    /// The kind of fault.
    pub kind: String,
    /// The pass behind it, `None` for any.
    pub pass: Option<String>,
}

impl Interesting for Aim {
    fn judge(&self, candidate: &Program) -> Result<StillShows, SeamError> {
        let shows = shows_expected(candidate.clone(), &self.looking, &self.setting, &self.kind, self.pass.as_deref());
        shows.map(|yes| if yes { StillShows::Yes } else { StillShows::No }).map_err(|e| SeamError(e.to_string()))
    }
}

/// What a program must be to count as one that shows such a fault.
pub fn demand_of(kind: &str) -> Demand {
    if matches!(kind, "crash" | "hang") { Demand::Compiles } else { Demand::Sane }
}

/// The filter for what a reduction of `program` leaves.
pub fn filter_of(kind: &str, program: &Program) -> Filter {
    let filter = Filter::find().strict().linted(program);
    if demand_of(kind) == Demand::Sane { filter } else { filter.unrun() }
}

/// The share of the time that our own reducer may take before an external one gets its turn.
const OWN_SHARE: f64 = 0.7;

/// Reduces a self-contained program with the tool chosen, or the best one that is there.
pub fn shrink(program: &Program, aim: &Aim, tool: Option<Reducer>, time: Duration, watch: &Watch<'_>) -> Result<Reduced, ReduceError> {
    let tool = tool.unwrap_or_else(|| if find_tool(ToolKind::Cvise, None).is_ok() { Reducer::Cvise } else { Reducer::Builtin });
    // The external tools know nothing of Rust that ours does not.
    let tool = if program.language == Language::Rust { Reducer::Builtin } else { tool };
    let looking = aim.looking.at_changes_of(program, &aim.setting.compiler).map_err(|e| SeamError(e.to_string()))?;
    let aim = &Aim { looking, ..aim.clone() };
    let strict = filter_of(&aim.kind, program);
    let quick = if demand_of(&aim.kind) == Demand::Sane { strict.clone().quick() } else { strict.clone() };
    // On the C tree a step takes out whole statements; of other languages there are lines and braces.
    let own = |watch: &Watch<'_>| match program.language {
        Language::C => Builtin { interesting: aim, validity: &strict, quick: &quick, watch }.reduce(program),
        Language::Cpp | Language::Rust => LineReducer { interesting: aim, validity: &strict, watch }.reduce(program),
    };
    if tool == Reducer::Builtin {
        return own(watch);
    }
    let script = script_of(program, &program.name, &aim.setting, &aim.kind, aim.pass.as_deref());
    let which = if tool == Reducer::Cvise { ExternalTool::Cvise } else { ExternalTool::Creduce };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let external = External::find(which, &script, jobs, time, watch)?;
    // A step of ours costs no process of its own, so ours goes first and the tool, which
    // goes line by line but renames and moves, has less to ask about. What our front end does not read starts as it is.
    let started = Instant::now();
    let stopped = AtomicBool::new(false);
    let first = |progress: &ReduceProgress<'_>| {
        let flow = watch(progress);
        stopped.fetch_or(flow.is_break(), Ordering::Relaxed);
        if started.elapsed() > time.mul_f64(OWN_SHARE) { ControlFlow::Break(()) } else { flow }
    };
    let (start, judged) = match own(&first) {
        Ok(reduced) if stopped.into_inner() => return Ok(reduced),
        Ok(reduced) => (Program { source: reduced.text, ..program.clone() }, reduced.judged),
        Err(ReduceError::Parse(_)) => (program.clone(), 0),
        Err(error) => return Err(error),
    };
    let reduced = external.time(time.saturating_sub(started.elapsed())).reduce(&start)?;
    Ok(Reduced { judged: reduced.judged + judged, ..reduced })
}
