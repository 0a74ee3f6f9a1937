//! What lines do that everybody can see, watched in both runs and tied, so that breakpoints can be judged by what they are
//! set for.
//!
//! `sites` finds the instructions, `run` watches them, `tie` puts both runs together; `operands` says which variables an
//! effect is fed from at -O0, `assignments` which lines assign one. Deliberately absent: stores to the heap and through pointers to the stack, arithmetic on
//! what is stored.

mod assignments;
mod operands;
mod run;
mod sites;
mod tie;

pub(crate) use self::assignments::Assignments;
pub(crate) use self::operands::is_available;

use self::run::Run;
use self::sites::Build;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use trueline_dwarf::Module;
use trueline_model::LineKey;
use trueline_oracle::Effects;
use trueline_toolchain::JobError;
use trueline_trace::{Engine, Placements, TraceError, TraceRequest};

/// The -O0 side: watched once for each reader, used for every level.
#[derive(Debug)]
pub(crate) struct ReferenceEffects {
    build: Build,
    run: Run,
    places: Placements,
}

impl ReferenceEffects {
    /// Watches the -O0 build; `None` when it cannot be watched (too long a run, threads that do not repeat).
    pub(crate) fn watch(
        engine: &dyn Engine,
        request: &TraceRequest,
        debug: &Arc<Module>,
        executed: &BTreeSet<LineKey>,
    ) -> Result<Option<Self>, TraceError> {
        let Some(build) = Build::read(request, debug) else { return Ok(None) };
        let lines: Vec<LineKey> = build.lines().into_iter().filter(|l| executed.contains(l) && is_user(request, l)).collect();
        let places = engine.places(request, &lines)?;
        let hit: HashSet<u64> = places.values().flatten().map(|p| p.pc).collect();
        let run = unless_killed(Run::watch(&build, request, &hit, &HashSet::new()))?;
        Ok(run.map(|run| Self { build, run, places }))
    }
}

/// Watches an optimized build and ties what it does to the -O0 build. `idle` are lines with code that never runs at -O0.
pub(crate) fn compare(
    engine: &dyn Engine,
    reference: &ReferenceEffects,
    request: &TraceRequest,
    debug: &Arc<Module>,
    idle: &[LineKey],
) -> Result<Option<Effects>, TraceError> {
    let Some(build) = Build::read(request, debug) else { return Ok(None) };
    let idle: Vec<&LineKey> = idle.iter().filter(|l| is_user(request, l)).collect();
    let mut lines: Vec<LineKey> = reference.places.keys().cloned().collect();
    lines.extend(idle.iter().copied().cloned());
    let places = engine.places(request, &lines)?;
    let of = |line: &LineKey| places.get(line).into_iter().flatten();
    let hit: HashSet<u64> = reference.places.keys().flat_map(of).map(|p| p.pc).collect();
    let once: HashSet<u64> = idle
        .iter()
        .flat_map(|l| of(l).filter(move |p| p.shown.as_ref() == Some(*l)))
        .map(|p| p.pc)
        .filter(|pc| !hit.contains(pc))
        .collect();
    let Some(run) = unless_killed(Run::watch(&build, request, &hit, &once))? else { return Ok(None) };
    let optimized = ReferenceEffects { build, run, places };
    let mut effects = tie::tie(reference, &optimized);
    for line in idle {
        let seen: Vec<(u64, Arc<str>)> = optimized
            .places
            .get(line)
            .into_iter()
            .flatten()
            .filter(|p| p.shown.as_ref() == Some(line) && optimized.run.was_hit(p.pc))
            .filter_map(|p| Some((p.pc, optimized.build.function_at(p.pc)?)))
            .collect();
        if !seen.is_empty() {
            effects.hit_without_run.insert(line.clone(), seen);
        }
    }
    Ok(Some(effects))
}

/// A run that fails or does not repeat says nothing; one that was killed from outside is an error.
fn unless_killed(run: Result<Option<Run>, TraceError>) -> Result<Option<Run>, TraceError> {
    match run {
        Err(killed @ TraceError::Job(JobError::Killed { .. })) => Err(killed),
        Err(_) => Ok(None),
        Ok(run) => Ok(run),
    }
}

/// Whether a line is in one of the user's files, which what a library has inlined into them is not.
fn is_user(request: &TraceRequest, line: &LineKey) -> bool {
    request.user_files.is_empty() || request.user_files.iter().any(|file| file == line.file.base())
}
