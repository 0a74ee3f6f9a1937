//! Runs both builds again for values that the traces leave in doubt, and places them among the moments of the reference run.
//!
//! First with few stops: the doubtful addresses of the optimized build, and every instruction of their lines at -O0. What is
//! still in doubt then is looked at with many (`close`). Most programs need no run at all.

mod close;

use self::close::{Close, Doubt};
use crate::line_code::{LineTable, Purpose};
use crate::thin::{thin, visits};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use trueline_dwarf::Module;
use trueline_model::{CallId, LineKey, VarKey};
use trueline_oracle::moments::{Hits, LineCode, Mark, MarkedRun, Placed, Placement, Scalar, place, points};
use trueline_oracle::{Calls, Digest, Suspect, Visits};
use trueline_toolchain::JobError;
use trueline_trace::native::{MomentPlan, Moments, record_moments};
use trueline_trace::{TraceError, TraceRequest};

/// Suspicions that are looked into, per build: each line and variable once or twice.
const MOST_SUSPECTS: usize = 96;
/// Suspicions of which those are chosen: what is cheap to look into goes first.
const MOST_CHOSEN_FROM: usize = 384;
/// Suspicions that are looked into of one line and variable.
const PER_COMPLAINT: usize = 2;
/// Stops of one run.
const MOST_MARKS: usize = 60_000;
/// Runs that are tried, each for less, until one is short enough.
const TRIES: usize = 4;
/// What the stack is filled with.
const PATTERNS: [u8; 2] = [0xa5, 0x5a];

/// A build to be run again, and what its traces said.
pub(crate) struct Placing<'a> {
    pub reference_request: &'a TraceRequest,
    pub request: &'a TraceRequest,
    /// The digests of the reference and of the optimized build.
    pub digests: (&'a Digest, &'a Digest),
    pub visits: &'a Visits,
}

/// What became of the suspicions of one build.
pub(crate) struct Placings {
    pub placed: Vec<Placed>,
    pub count: MomentCount,
}

/// Values at stops of the optimized build that -O0 does not show on the line in the same call, and for how many of them the
/// moments of the stop are not known. Of those nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct MomentCount {
    /// Such values.
    pub suspected: usize,
    /// Those whose stop is at no moment of the -O0 run: no point of the line has its call and its observable state.
    pub unplaced: usize,
    /// Those that were not looked into: of one kind with others, or in a run that is too long or of which only a part was
    /// looked at.
    pub not_looked_at: usize,
}

impl fmt::Display for MomentCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { suspected, unplaced, not_looked_at } = self;
        write!(f, "{suspected} values that -O0 does not show there in the same call")?;
        write!(f, "; {unplaced} of them at stops without a known moment, {not_looked_at} not looked into")
    }
}

/// What came of a run.
enum Ran {
    Whole(Moments),
    /// It was too long, and this is its beginning.
    Cut(Moments),
    Failed,
}

/// A suspicion on the way to its placement.
struct Open {
    suspect: Suspect,
    /// The debugger's stops on the line in the call, at -O0 and in the optimized build.
    stops: (u32, u32),
    /// The calls of the reference that the stop can be in.
    calls: Vec<CallId>,
    scalar: Scalar,
}

impl Placing<'_> {
    /// Places what was suspected. An empty list costs nothing. Where a trace left stops out, no call is known for certain.
    pub(crate) fn place(&self, suspects: Vec<Suspect>, is_whole: bool) -> Result<Placings, JobError> {
        let suspected = suspects.len();
        let placed = if is_whole { self.place_all(suspects)? } else { Vec::new() };
        let unplaced = placed.iter().filter(|p| p.placement == Placement::Unplaced).count();
        let count = MomentCount { suspected, unplaced, not_looked_at: suspected.saturating_sub(placed.len()) };
        Ok(Placings { placed, count })
    }

    fn place_all(&self, suspects: Vec<Suspect>) -> Result<Vec<Placed>, JobError> {
        let mut variables = Vec::new();
        let mut open = self.open(suspects, &mut variables);
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let reference = LineTable::new(debug_of(self.reference_request), Purpose::Read);
        let optimized = LineTable::new(debug_of(self.request), Purpose::Pass);
        let lines: BTreeSet<LineKey> = open.iter().map(|o| o.suspect.line.clone()).collect();
        let codes: HashMap<LineKey, LineCode> = lines.into_iter().map(|l| (l.clone(), self.code_of(&reference, &l))).collect();
        let totals = self.visits.totals();
        let estimate = |o: &Open| totals.get(&o.suspect.line).copied().unwrap_or(0) * codes[&o.suspect.line].own.len().max(1);
        thin(&mut open, MOST_MARKS, |o| o.suspect.line.clone(), estimate);
        open.truncate(MOST_SUSPECTS);
        let Some((first, other)) = self.look(&mut open, &codes, &variables)? else { return Ok(Vec::new()) };
        let (first, other) = same_states(&first, &other);
        let mut placed: Vec<Placed> = Vec::new();
        let mut stale: Vec<Doubt> = Vec::new();
        for open in open {
            let of = |again| {
                let stop = stop_of(&open, &other)?;
                let points = points(&first, again, &open.calls, &codes[&open.suspect.line], open.scalar);
                Some(place(&open.suspect, other.marks[stop].state, &points, open.stops, &hits_of(&open, &other, stop)))
            };
            let placement = of(None).unwrap_or(Placement::Unplaced);
            let is_stale = matches!(placement, Placement::Stale(_));
            placed.push(Placed { suspect: open.suspect.clone(), placement, order: None, other: None, location: None });
            if is_stale {
                stale.push((open, placed.len() - 1));
            }
        }
        if !stale.is_empty() {
            let close = Close { placing: self, reference: &reference, optimized: &optimized, codes: &codes, variables: &variables };
            close.look(stale, &mut placed)?;
        }
        Ok(placed)
    }

    /// Runs both builds with few stops, for fewer suspicions where the runs are too long.
    fn look(
        &self,
        open: &mut Vec<Open>,
        codes: &HashMap<LineKey, LineCode>,
        variables: &[VarKey],
    ) -> Result<Option<(Moments, Moments)>, JobError> {
        let plan = |points, fill| MomentPlan { points, variables: variables.to_vec(), fill, most: MOST_MARKS };
        for _ in 0..TRIES {
            if open.is_empty() {
                return Ok(None);
            }
            let own = |o: &Open| codes[&o.suspect.line].own.iter().chain(codes[&o.suspect.line].after.keys());
            let at_line = open.iter().flat_map(own).map(|pc| (*pc, None)).collect();
            let first = run(self.reference_request, &plan(at_line, Some(PATTERNS[0])))?;
            let first = match first {
                Ran::Whole(moments) => moments,
                Ran::Failed => return Ok(None),
                Ran::Cut(part) => {
                    let counts = visits(&part, |pc| pc);
                    let cost = |o: &Open| own(o).map(|pc| counts.get(pc).copied().unwrap_or(0)).sum();
                    thin(open, MOST_MARKS / 2, |o| o.suspect.line.clone(), cost);
                    continue;
                }
            };
            let at_stop = open.iter().map(|o| (o.suspect.pc, Some(o.suspect.inlined))).collect();
            match run(self.request, &plan(at_stop, None))? {
                Ran::Whole(other) => return Ok(Some((first, other))),
                Ran::Failed => return Ok(None),
                Ran::Cut(part) => {
                    let counts = visits(&part, |pc| pc);
                    thin(open, MOST_MARKS / 2, |o| o.suspect.pc, |o| counts.get(&o.suspect.pc).copied().unwrap_or(0));
                }
            }
        }
        Ok(None)
    }

    /// What is worth a run.
    fn open(&self, suspects: Vec<Suspect>, variables: &mut Vec<VarKey>) -> Vec<Open> {
        let mut complaints: HashMap<(LineKey, VarKey), usize> = HashMap::new();
        let mut open = Vec::new();
        for suspect in suspects {
            if !self.digests.0.vars.contains_key(&suspect.variable) {
                continue;
            }
            let calls = self.visits.calls();
            let Some(root) = calls.find(&suspect.root) else { continue };
            let count = complaints.entry((suspect.line.clone(), suspect.variable.clone())).or_default();
            *count += 1;
            if *count > PER_COMPLAINT || open.len() >= MOST_CHOSEN_FROM {
                continue;
            }
            let calls = calls.within(&suspect.way, root, suspect.inlined);
            let at_reference = calls.iter().map(|c| self.visits.stops(*c, &suspect.line)).sum();
            let known = variables.iter().position(|v| *v == suspect.variable);
            let place = known.unwrap_or_else(|| {
                variables.push(suspect.variable.clone());
                variables.len() - 1
            });
            let scalar = Scalar { place, leaf: suspect.leaf };
            let stops = (at_reference, suspect.stops);
            open.push(Open { suspect, stops, calls, scalar });
        }
        open
    }

    fn code_of(&self, table: &LineTable<'_>, line: &LineKey) -> LineCode {
        let stops = self.digests.0.stops_on(line).map(|s| s.pc).collect();
        let (own, after) = table.code(line);
        LineCode { own, after, stops }
    }
}

fn debug_of(request: &TraceRequest) -> &Arc<Module> {
    request.debug.as_ref().expect("a check reads debug information once and hands it on")
}

/// Runs a plan. Where the run fails or is too long nothing is claimed.
fn run(request: &TraceRequest, plan: &MomentPlan) -> Result<Ran, JobError> {
    match record_moments(request, plan) {
        Ok(part) if part.is_cut => Ok(Ran::Cut(part)),
        Ok(moments) => Ok(Ran::Whole(moments)),
        Err(TraceError::Job(killed @ JobError::Killed { .. })) => Err(killed),
        Err(_) => Ok(Ran::Failed),
    }
}

/// Two runs with states that can be compared: of what both builds have, and only that which is equal at the end. What an
/// optimizer leaves out altogether, such as stores to a variable that nobody reads, does not tell one moment from another.
fn same_states(reference: &Moments, optimized: &Moments) -> (MarkedRun, MarkedRun) {
    let places: HashMap<&str, usize> = optimized.components.iter().enumerate().map(|(i, name)| (&**name, i)).collect();
    let shared: Vec<(usize, usize)> = reference.components.iter().enumerate().filter_map(|(i, n)| Some((i, *places.get(&**n)?))).collect();
    let shared: Vec<(usize, usize)> = shared.into_iter().filter(|(a, b)| reference.last.get(*a) == optimized.last.get(*b)).collect();
    let digest = |states: &[Arc<[u64]>], pick: &dyn Fn(&(usize, usize)) -> usize| -> Vec<u64> {
        let one = |state: &Arc<[u64]>| {
            let mut hasher = DefaultHasher::new();
            shared.iter().for_each(|s| state[pick(s)].hash(&mut hasher));
            hasher.finish()
        };
        states.iter().map(one).collect()
    };
    let marked = |moments: &Moments, states: Vec<u64>| {
        let mut calls = Calls::default();
        moments.calls.iter().for_each(|c| calls.note(c.call, c.caller, &c.frames));
        let marks = moments.moments.iter();
        let mark =
            |m: &trueline_trace::native::Moment| Mark { pc: m.pc, call: m.call, state: states[m.state as usize], values: m.values.clone() };
        MarkedRun { calls, marks: marks.map(mark).collect() }
    };
    let (one, two) = (digest(&reference.states, &|s| s.0), digest(&optimized.states, &|s| s.1));
    (marked(reference, one), marked(optimized, two))
}

/// The place of a suspicion's stop among the marks of the optimized run: the same visit of the address where it shows the
/// value, or else the first that does.
fn stop_of(open: &Open, run: &MarkedRun) -> Option<usize> {
    let call = run.calls.find(&open.suspect.root)?;
    let here = run.marks.iter().enumerate().filter(|(_, m)| m.pc == open.suspect.pc && m.call == call);
    let shows = |m: &Mark| open.scalar.at(m) == Some(&*open.suspect.value);
    let hits: Vec<(usize, &Mark)> = here.collect();
    let same = hits.get((open.suspect.hit as usize).checked_sub(1)?).filter(|(_, m)| shows(m));
    same.or_else(|| hits.iter().find(|(_, m)| shows(m))).map(|(i, _)| *i)
}

/// The times that the optimized run comes by a suspicion's address in its call.
fn hits_of(open: &Open, run: &MarkedRun, stop: usize) -> Hits {
    let Some(call) = run.calls.find(&open.suspect.root) else { return Hits::default() };
    let here = run.marks.iter().enumerate().filter(|(_, m)| m.pc == open.suspect.pc && m.call == call);
    let hits: Vec<(usize, u64)> = here.map(|(i, m)| (i, m.state)).collect();
    let rank = hits.iter().filter(|(i, _)| *i < stop).count();
    Hits { states: hits.into_iter().map(|h| h.1).collect(), rank }
}
