//! What is kept of a trace: enough to judge it, and no more, however long it is.
//!
//! Stops are deduplicated by (pc, line, functions on the stack), variables keep the set of their values
//! with where each was first seen. A loop of a million steps costs what its body costs.

use crate::leaves::split;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use trueline_model::{FileName, Frame, FrameKind, Line, LineKey, News, Observation, Statics, Step, StepSink, VarKey, VarKind, Variable};

/// Values kept per scalar; a variable with more can no longer be judged by its set.
const VALUES_PER_LEAF: usize = 1 << 16;
/// Values kept per trace, which bounds its memory to some 60 MB whatever the program does.
const VALUES_PER_TRACE: usize = 600_000;
/// Distinct stops kept per trace.
const STOPS_PER_TRACE: usize = 200_000;

/// Number of a distinct stop in its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StopId(pub u32);

/// One function on the stack, by name, with the line it stands on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Activation {
    /// The function that it is about.
    pub function: Arc<str>,
    /// Whether the frame is real or inlined.
    pub kind: FrameKind,
    /// Where it stands: base name of the file and line; for outer frames, of the call.
    pub at: Option<LineKey>,
}

/// The stack at a stop, each activation once: recursion adds nothing that the invariants look at.
pub type Stack = Arc<[Activation]>;

/// A stop, told apart by address and stack.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Its line, `None` where the debug information has none.
    pub line: Option<LineKey>,
    /// The link-time address of the stop.
    pub pc: u64,
    /// The functions that were active.
    pub stack: Stack,
}

impl Stop {
    /// Function names, innermost first, each once.
    pub fn functions(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for a in self.stack.iter() {
            if !names.contains(&a.function) {
                names.push(Arc::clone(&a.function));
            }
        }
        names
    }
}

/// Everything seen on one line.
#[derive(Clone, Debug, Default)]
pub struct LineDigest {
    /// The distinct stops on the line.
    pub stops: Vec<StopId>,
    /// Variables visible at some stop, each with the first that shows it.
    pub visible: BTreeMap<VarKey, StopId>,
    /// Variables visible at every stop.
    pub always_visible: BTreeSet<VarKey>,
    /// Locals and parameters that had a value at some stop.
    pub available: BTreeSet<VarKey>,
}

/// Where a value was seen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting(pub StopId);

/// The values of one scalar of a variable.
#[derive(Clone, Debug, Default)]
pub struct LeafDigest {
    /// Each value with the stops where it was first seen, one per line.
    pub values: BTreeMap<Box<str>, Vec<Sighting>>,
    /// True when values were left out: the set says nothing about absent ones.
    pub overflow: bool,
}

/// Everything seen of one variable.
#[derive(Clone, Debug)]
pub struct VarDigest {
    /// What it is to its function.
    pub kind: VarKind,
    /// Its type as the reader spells it.
    pub type_name: Arc<str>,
    /// True when values of the type hold pointers.
    pub holds_pointer: bool,
    /// Its scalars in order; one for a scalar variable.
    pub leaves: Vec<LeafDigest>,
    /// Stops (one per line) where a location was given but could not be read.
    pub unreadable: Vec<Sighting>,
    /// True when it had a value anywhere.
    pub ever_available: bool,
    last: Option<(Observation, StopId)>,
}

/// Whether the sightings of a value are kept per line (to be judged) or once (to be compared with).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The build that was not optimized.
    Reference,
    /// The build under test.
    Optimized,
}

/// What a trace did not look at to the end: what is absent from it there may still have been.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenUp {
    /// Lines of addresses that were no longer stopped at.
    pub lines: BTreeSet<LineKey>,
    /// Functions in whose code such addresses are.
    pub functions: BTreeSet<Arc<str>>,
    /// True when the trace as a whole began late or ended early.
    pub everything: bool,
}

impl GivenUp {
    /// Whether a line may have been come to in another way than the trace shows.
    pub fn has_line(&self, line: &LineKey) -> bool {
        self.everything || self.lines.contains(line)
    }

    /// Whether a variable may have had other values than the trace shows.
    pub fn has_variable(&self, variable: &VarKey) -> bool {
        let is_global = variable.function.is_empty();
        self.everything || self.functions.contains(&variable.function) || is_global && !self.functions.is_empty()
    }

    /// True when nothing was given up.
    pub fn is_empty(&self) -> bool {
        !self.everything && self.lines.is_empty() && self.functions.is_empty()
    }
}

/// A trace, digested as it streams by.
#[derive(Clone, Debug)]
pub struct Digest {
    role: Role,
    /// How many stops were made.
    pub steps: u64,
    /// The lines that are stepped on.
    pub lines: BTreeMap<LineKey, LineDigest>,
    /// The distinct stops, by number.
    pub stops: Vec<Stop>,
    /// The variables that were seen.
    pub vars: BTreeMap<VarKey, VarDigest>,
    /// Functions that were active together on a line, at rows that the run came to without a stop; the reference's only.
    pub passed: BTreeMap<LineKey, BTreeSet<BTreeSet<Arc<str>>>>,
    /// True when distinct stops were left out.
    pub stops_overflow: bool,
    /// What was not looked at to the end.
    pub given_up: GivenUp,
    statics: Statics,
    news: News,
    /// Addresses with the functions that were active there, in any order.
    together: HashSet<(u64, BTreeSet<Arc<str>>)>,
    index: HashMap<(u64, Option<LineKey>, Stack), StopId>,
    stacks: HashMap<Stack, ()>,
    bases: HashMap<FileName, FileName>,
    last_frames: Option<(Arc<[Frame]>, Stack)>,
    recent: Recent,
    values: usize,
    familiar: Familiar,
}

impl Digest {
    /// A digest of nothing yet.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            steps: 0,
            lines: BTreeMap::new(),
            stops: Vec::new(),
            vars: BTreeMap::new(),
            passed: BTreeMap::new(),
            stops_overflow: false,
            given_up: GivenUp::default(),
            statics: Statics::All,
            news: News::Nothing,
            together: HashSet::new(),
            index: HashMap::new(),
            stacks: HashMap::new(),
            bases: HashMap::new(),
            last_frames: None,
            recent: Recent::default(),
            values: 0,
            familiar: Familiar::default(),
        }
    }

    /// A digest for a judgement by the rules, which call nothing wrong that memory holds at a fixed address.
    pub fn for_rules(role: Role) -> Self {
        let statics = match role {
            Role::Reference => Statics::Changed,
            Role::Optimized => Statics::None,
        };
        Self { statics, ..Self::new(role) }
    }

    /// A stop by its number.
    pub fn stop(&self, id: StopId) -> &Stop {
        &self.stops[id.0 as usize]
    }

    /// The stops on one line.
    pub fn stops_on<'a>(&'a self, line: &LineKey) -> impl Iterator<Item = &'a Stop> + use<'a> {
        self.lines.get(line).into_iter().flat_map(|l| l.stops.iter()).map(|id| self.stop(*id))
    }

    /// Files are compared by base name: the two builds of a pair may come from different directories.
    fn base(&mut self, file: &FileName) -> FileName {
        if let Some(base) = self.bases.get(file) {
            return base.clone();
        }
        let base = FileName::new(file.base());
        self.bases.insert(file.clone(), base.clone());
        base
    }

    fn key(&mut self, file: Option<&FileName>, line: Option<Line>) -> Option<LineKey> {
        Some(LineKey { file: self.base(file?), line: line? })
    }

    fn stack(&mut self, frames: &Arc<[Frame]>) -> Stack {
        if let Some((known, stack)) = &self.last_frames
            && (Arc::ptr_eq(known, frames) || known == frames)
        {
            return Arc::clone(stack);
        }
        let mut list: Vec<Activation> = Vec::new();
        for frame in frames.iter() {
            let at = self.key(frame.file.as_ref(), frame.line);
            let activation = Activation { function: Arc::clone(&frame.function), kind: frame.kind, at };
            if !list.contains(&activation) {
                list.push(activation);
            }
        }
        let fresh: Stack = Arc::from(list);
        let stack = match self.stacks.get_key_value(&fresh) {
            Some((known, ())) => Arc::clone(known),
            None => {
                self.stacks.insert(Arc::clone(&fresh), ());
                fresh
            }
        };
        self.last_frames = Some((Arc::clone(frames), Arc::clone(&stack)));
        stack
    }

    fn stop_id(&mut self, pc: u64, line: Option<LineKey>, stack: Stack) -> Option<(StopId, bool)> {
        if let Some(id) = self.index.get(&(pc, line.clone(), Arc::clone(&stack))) {
            return Some((*id, false));
        }
        if self.stops.len() >= STOPS_PER_TRACE {
            self.stops_overflow = true;
            return None;
        }
        let id = StopId(self.stops.len() as u32);
        self.index.insert((pc, line.clone(), Arc::clone(&stack)), id);
        let active = stack.iter().map(|a| Arc::clone(&a.function)).collect();
        self.news = self.news.max(if self.together.insert((pc, active)) { News::Frames } else { News::Values });
        self.stops.push(Stop { line, pc, stack });
        Some((id, true))
    }

    fn observe(&mut self, step: &Step, stop: StopId, is_new: bool) {
        let function: Arc<str> = step.frames.first().map_or_else(|| Arc::from(""), |f| Arc::clone(&f.function));
        let empty: Arc<str> = Arc::from("");
        let line = self.stop(stop).line.clone();
        let mut visible = BTreeSet::new();
        let mut available = BTreeSet::new();
        for variable in &step.vars {
            let owner = if variable.kind == VarKind::Global { &empty } else { &function };
            let has_value = variable.kind != VarKind::Global && matches!(variable.observation, Observation::Value(_));
            if !is_new && self.familiar.has(self.role, owner, variable, stop, has_value) {
                continue;
            }
            self.familiar.note(owner, variable, stop, has_value);
            let key = VarKey { function: Arc::clone(owner), name: Arc::clone(&variable.name), decl_line: variable.decl_line };
            if is_new {
                visible.insert(key.clone());
            }
            if has_value {
                available.insert(key.clone());
            }
            let digest = self.vars.entry(key).or_insert_with(|| VarDigest {
                kind: variable.kind,
                type_name: Arc::clone(&variable.type_name),
                holds_pointer: variable.holds_pointer,
                leaves: Vec::new(),
                unreadable: Vec::new(),
                ever_available: false,
                last: None,
            });
            // The same value as at the last stop, on a stop seen before: nothing to learn.
            let same_place = self.role == Role::Reference || digest.last.as_ref().is_some_and(|(_, s)| *s == stop);
            if same_place && digest.last.as_ref().is_some_and(|(o, _)| *o == variable.observation) {
                continue;
            }
            match &variable.observation {
                Observation::Value(text) => {
                    digest.ever_available = true;
                    if !digest.holds_pointer {
                        let before = digest.last.take();
                        let added = remember(digest, before.as_ref(), text, stop, &self.stops, self.role, self.values);
                        self.values += added;
                        self.news = self.news.max(if added > 0 { News::Values } else { News::Nothing });
                    }
                }
                Observation::Unreadable => push_per_line(&mut digest.unreadable, stop, &self.stops),
                Observation::OptimizedOut | Observation::NotInScope => {}
            }
            digest.last = Some((variable.observation.clone(), stop));
        }
        let Some(line) = line else { return };
        let entry = self.lines.entry(line).or_default();
        if is_new {
            if entry.stops.is_empty() {
                entry.always_visible.clone_from(&visible);
            } else {
                entry.always_visible.retain(|v| visible.contains(v));
            }
            entry.stops.push(stop);
            for variable in visible {
                entry.visible.entry(variable).or_insert(stop);
            }
        }
        if !available.is_subset(&entry.available) {
            self.news = self.news.max(News::Values);
            entry.available.extend(available);
        }
    }
}

/// Where a backtrace is in memory, the address of a stop and its line.
type SeenPlace = (usize, u64, Option<Line>);

/// Stops by the place of their backtraces in memory: an engine hands the same backtrace out again and again, and to compare all of
/// its names at each stop would cost more than to look at the variables.
#[derive(Clone, Debug, Default)]
struct Recent {
    /// As long as a backtrace is kept, no other can be at its place.
    stops: HashMap<SeenPlace, (StopId, Arc<[Frame]>)>,
}

/// Backtraces that are kept for that.
const MOST_RECENT: usize = 1 << 14;

impl Recent {
    fn find(&self, step: &Step) -> Option<StopId> {
        self.stops.get(&(step.frames.as_ptr().addr(), step.pc, step.line)).map(|known| known.0)
    }

    fn note(&mut self, step: &Step, stop: StopId) {
        if self.stops.len() >= MOST_RECENT {
            self.stops.clear();
        }
        self.stops.insert((step.frames.as_ptr().addr(), step.pc, step.line), (stop, Arc::clone(&step.frames)));
    }
}

/// What was last seen of each variable, found by the place of its names in memory: most variables show at most stops what they showed
/// before, and to compare names at each would cost more than all else.
#[derive(Clone, Debug, Default)]
struct Familiar {
    last: HashMap<(usize, usize, u32), LastSeen>,
    /// Stops at which a variable is known to have a value, by its number.
    available: HashSet<(StopId, usize)>,
}

#[derive(Clone, Debug)]
struct LastSeen {
    number: usize,
    observation: Observation,
    stop: StopId,
    /// As long as they are kept, no other name can be at their place.
    #[expect(dead_code, reason = "kept and never read")]
    names: (Arc<str>, Arc<str>),
}

impl Familiar {
    fn key(owner: &Arc<str>, variable: &Variable) -> (usize, usize, u32) {
        // Variables of the whole program have no owner, and an empty name has no place of its own.
        let owner = if owner.is_empty() { 0 } else { owner.as_ptr().addr() };
        (owner, variable.name.as_ptr().addr(), variable.decl_line)
    }

    /// True where nothing can be learned: the same as the last time, at a stop that was seen before.
    fn has(&self, role: Role, owner: &Arc<str>, variable: &Variable, stop: StopId, has_value: bool) -> bool {
        let Some(last) = self.last.get(&Self::key(owner, variable)) else { return false };
        let same_place = role == Role::Reference || last.stop == stop;
        same_place && last.observation == variable.observation && (!has_value || self.available.contains(&(stop, last.number)))
    }

    fn note(&mut self, owner: &Arc<str>, variable: &Variable, stop: StopId, has_value: bool) {
        let next = self.last.len();
        let observation = || variable.observation.clone();
        let last = self.last.entry(Self::key(owner, variable)).or_insert_with(|| {
            let names = (Arc::clone(owner), Arc::clone(&variable.name));
            LastSeen { number: next, observation: observation(), stop, names }
        });
        (last.observation, last.stop) = (observation(), stop);
        if has_value {
            self.available.insert((stop, last.number));
        }
    }
}

/// Adds the scalars of `text`; returns how many entries that cost. Of a large aggregate most scalars are what they were `before`,
/// and are in the digest since then.
fn remember(
    digest: &mut VarDigest,
    before: Option<&(Observation, StopId)>,
    text: &str,
    stop: StopId,
    stops: &[Stop],
    role: Role,
    total: usize,
) -> usize {
    let line_of = |stop: StopId| &stops[stop.0 as usize].line;
    let mut known = before.and_then(|(observation, at)| match observation {
        Observation::Value(text) if role == Role::Reference || line_of(*at) == line_of(stop) => Some(split(text)),
        _ => None,
    });
    let mut added = 0;
    for (index, leaf) in split(text).enumerate() {
        if known.as_mut().and_then(Iterator::next) == Some(leaf) {
            continue;
        }
        if digest.leaves.len() <= index {
            digest.leaves.push(LeafDigest::default());
        }
        let set = &mut digest.leaves[index];
        let is_full = set.values.len() >= VALUES_PER_LEAF || total + added >= VALUES_PER_TRACE;
        match set.values.get_mut(leaf) {
            Some(sightings) => {
                if role == Role::Optimized {
                    let before = sightings.len();
                    push_per_line(sightings, stop, stops);
                    added += sightings.len() - before;
                }
            }
            None if is_full => set.overflow = true,
            None => {
                set.values.insert(Box::from(leaf), vec![Sighting(stop)]);
                added += 1;
            }
        }
    }
    added
}

fn push_per_line(sightings: &mut Vec<Sighting>, stop: StopId, stops: &[Stop]) {
    let line = &stops[stop.0 as usize].line;
    if sightings.len() < 64 && !sightings.iter().any(|s| stops[s.0.0 as usize].line == *line) {
        sightings.push(Sighting(stop));
    }
}

impl StepSink for Digest {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        self.steps += 1;
        self.news = News::Nothing;
        let known = self.recent.find(&step).map(|id| (id, false));
        let found = known.or_else(|| {
            let line = self.key(step.file.as_ref(), step.line);
            let stack = self.stack(&step.frames);
            let found = self.stop_id(step.pc, line, stack)?;
            self.recent.note(&step, found.0);
            Some(found)
        });
        if let Some((id, is_new)) = found {
            // Visibility is a function of pc and stack; values are not.
            self.observe(&step, id, is_new);
        }
        ControlFlow::Continue(())
    }

    fn wants_passes(&self) -> bool {
        self.role == Role::Reference
    }

    fn pass(&mut self, lines: &[LineKey], frames: &Arc<[Frame]>) {
        let active: BTreeSet<Arc<str>> = frames.iter().map(|f| Arc::clone(&f.function)).collect();
        self.news = News::Nothing;
        for line in lines {
            let key = LineKey { file: self.base(&line.file), line: line.line };
            let known = self.passed.entry(key).or_default();
            if !known.contains(&active) {
                known.insert(active.clone());
                self.news = News::Frames;
            }
        }
    }

    fn news(&self) -> News {
        self.news
    }

    fn statics(&self) -> Statics {
        self.statics
    }

    fn give_up(&mut self, lines: &[LineKey], functions: &[Arc<str>]) {
        for line in lines {
            let key = LineKey { file: self.base(&line.file), line: line.line };
            self.given_up.lines.insert(key);
        }
        self.given_up.functions.extend(functions.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{line, local};

    fn step(number: u32, pc: u64, frames: &Arc<[Frame]>, value: &str) -> Step {
        let key = line(number);
        let vars = vec![Variable { type_name: "int [3]".into(), ..local("all", 2, value) }];
        Step { step: 0, file: Some(key.file), line: Some(key.line), pc, frames: Arc::clone(frames), vars }
    }

    fn frames(number: u32) -> Arc<[Frame]> {
        let key = line(number);
        Arc::from([Frame { function: "main".into(), kind: FrameKind::Real, file: Some(key.file), line: Some(key.line) }])
    }

    fn values(digest: &Digest, leaf: usize) -> Vec<(&str, usize)> {
        let all = digest.vars.values().next().expect("a variable was seen");
        all.leaves[leaf].values.iter().map(|(value, sightings)| (&**value, sightings.len())).collect()
    }

    #[test]
    fn every_scalar_of_an_aggregate_is_known_with_each_line_that_shows_it() {
        let here = [frames(5), frames(6)];
        let stops = [(5, 0x10, 0, "{1, 2, 3}"), (5, 0x10, 0, "{1, 9, 3}"), (6, 0x20, 1, "{1, 9, 4}"), (5, 0x10, 0, "{1, 9, 4}")];
        for (role, of_three, of_four) in [(Role::Reference, 1, 1), (Role::Optimized, 1, 2)] {
            let mut digest = Digest::new(role);
            for (number, pc, frames, value) in stops {
                let _ = digest.step(step(number, pc, &here[frames], value));
            }
            let lines = if role == Role::Reference { 1 } else { 2 };
            assert_eq!(values(&digest, 0), [("1", lines)], "{role:?}");
            assert_eq!(values(&digest, 1), [("2", 1), ("9", lines)], "{role:?}");
            assert_eq!(values(&digest, 2), [("3", of_three), ("4", of_four)], "{role:?}");
            assert_eq!(digest.stops.len(), 2, "{role:?}");
        }
    }

    #[test]
    fn backtraces_at_one_place_in_memory_are_one_stop_only_as_long_as_they_are_kept() {
        let mut digest = Digest::new(Role::Optimized);
        for number in 0..MOST_RECENT as u32 + 10 {
            let _ = digest.step(step(number + 1, u64::from(number), &frames(number + 1), "{1, 2, 3}"));
        }
        assert_eq!(digest.stops.len(), MOST_RECENT + 10);
        assert!(digest.recent.stops.len() <= MOST_RECENT);
    }
}
