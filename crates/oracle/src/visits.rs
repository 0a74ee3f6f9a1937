//! What was shown on which line in which call, call by call, as two traces stream by: where the optimized one shows a value
//! that the reference does not show on the line in the same call, there is something to look at more closely. Nothing is
//! judged here: a debugger's stops do not see all values of a line.
//!
//! Values are kept as hashes: a collision makes one suspicion less.

use crate::calls::{CallName, Calls, Way, way_of};
use crate::facts::Home;
use crate::leaves::{is_gap, split};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;
use trueline_model::{CallId, FileName, Frame, FrameKind, LineKey, News, Observation, Statics, Step, StepSink, VarKey, VarKind, Variable};

/// Values kept of a reference trace, some 60 MB; after that nothing more is suspected.
const MOST_VALUES: usize = 1 << 21;
/// Suspicions kept of one variable's scalar at one address: others of the same kind tell no more.
const PER_PLACE: usize = 3;
/// Suspicions kept of one variable: an array has a scalar for each element, and would leave no room for others.
const PER_VARIABLE: usize = 64;
/// Suspicions kept in all.
const MOST_SUSPECTS: usize = 4096;

/// Looks at a trace as it streams by, beside the digest that keeps it.
pub trait Looks {
    /// A function was called.
    fn call(&mut self, call: CallId, caller: Option<CallId>, frames: &[Frame]);
    /// The stops that follow are in this call.
    fn stand(&mut self, call: CallId);
    /// One stop.
    fn look(&mut self, step: &Step);
}

/// Whoever keeps a trace, and somebody who looks at the same one. Where stops are left out calls can no longer be counted,
/// and nobody looks any more.
pub struct Attended<'d, L> {
    /// Keeps the trace.
    pub sink: &'d mut dyn StepSink,
    /// Looks on, if anybody does.
    pub onlooker: Option<&'d mut L>,
}

impl<L: Looks> StepSink for Attended<'_, L> {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.look(&step);
        }
        self.sink.step(step)
    }

    fn wants_passes(&self) -> bool {
        self.sink.wants_passes()
    }

    fn pass(&mut self, lines: &[LineKey], frames: &Arc<[Frame]>) {
        self.sink.pass(lines, frames);
    }

    fn news(&self) -> News {
        self.sink.news()
    }

    fn statics(&self) -> Statics {
        self.sink.statics()
    }

    fn give_up(&mut self, lines: &[LineKey], functions: &[Arc<str>]) {
        self.onlooker = None;
        self.sink.give_up(lines, functions);
    }

    fn wants_calls(&self) -> bool {
        self.onlooker.is_some()
    }

    fn call(&mut self, call: CallId, caller: Option<CallId>, frames: &[Frame]) {
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.call(call, caller, frames);
        }
    }

    fn stand(&mut self, call: CallId) {
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.stand(call);
        }
    }
}

/// Values on one line in one call.
#[derive(Clone, Debug, Default)]
struct LineVisits {
    stops: u32,
    seen: HashSet<u64>,
}

/// What the reference shows.
#[derive(Clone, Debug, Default)]
pub struct Visits {
    calls: Calls,
    current: Option<CallId>,
    lines: HashMap<(CallId, LineKey), LineVisits>,
    last: HashMap<CallId, LineKey>,
    values: usize,
    is_full: bool,
}

impl Visits {
    /// The calls of the reference run.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// How often the debugger stopped on a line in a call.
    pub fn stops(&self, call: CallId, line: &LineKey) -> u32 {
        self.lines.get(&(call, line.clone())).map_or(0, |v| v.stops)
    }

    /// How often it stopped on each line in all calls.
    pub fn totals(&self) -> HashMap<&LineKey, usize> {
        let mut totals = HashMap::new();
        for ((_, line), visits) in &self.lines {
            *totals.entry(line).or_default() += visits.stops as usize;
        }
        totals
    }
}

/// The scalars of a local or parameter at a stop, as hashes, with their places and texts.
fn scalars(variable: &Variable) -> impl Iterator<Item = (usize, &str, u64)> {
    let text = match &variable.observation {
        Observation::Value(text) if variable.kind != VarKind::Global && !variable.holds_pointer => &**text,
        _ => "",
    };
    split(text).enumerate().filter(|(_, leaf)| !is_gap(leaf)).map(move |(index, leaf)| {
        let mut hasher = DefaultHasher::new();
        (&*variable.name, variable.decl_line, index, leaf).hash(&mut hasher);
        (index, leaf, hasher.finish())
    })
}

fn line_of(step: &Step) -> Option<LineKey> {
    Some(LineKey { file: FileName::new(step.file.as_ref()?.base()), line: step.line? })
}

impl Looks for Visits {
    fn call(&mut self, call: CallId, caller: Option<CallId>, frames: &[Frame]) {
        self.calls.note(call, caller, frames);
    }

    fn stand(&mut self, call: CallId) {
        self.current = Some(call);
    }

    fn look(&mut self, step: &Step) {
        let is_real = step.frames.first().is_some_and(|f| f.kind == FrameKind::Real);
        let (Some(call), Some(line), true, false) = (self.current, line_of(step), is_real, self.is_full) else { return };
        let hashes: Vec<u64> = step.vars.iter().flat_map(scalars).map(|s| s.2).collect();
        // What a line leaves behind shows at the stop after it.
        if let Some(before) = self.last.insert(call, line.clone())
            && let Some(entry) = self.lines.get_mut(&(call, before))
        {
            let known = entry.seen.len();
            entry.seen.extend(hashes.iter().copied());
            self.values += entry.seen.len() - known;
        }
        let entry = self.lines.entry((call, line)).or_default();
        let known = entry.seen.len();
        entry.stops += 1;
        entry.seen.extend(hashes);
        self.values += entry.seen.len() - known + 1;
        self.is_full = self.values > MOST_VALUES;
    }
}

/// A value at a stop of the optimized run that the reference does not show on the line in the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The address of the stop.
    pub pc: u64,
    /// Its line.
    pub line: LineKey,
    /// The functions shown, innermost first.
    pub way: Way,
    /// How many of them are inlined at the stop.
    pub inlined: usize,
    /// The call of the function with code.
    pub root: CallName,
    /// The stops on the line in the call so far, this one counted.
    pub nth: u32,
    /// The stops at the address in the call so far, this one counted.
    pub hit: u32,
    /// The stops on the line in the call altogether.
    pub stops: u32,
    /// Whether calls of the functions on the way by themselves are calls in the optimized build too.
    pub recursion: Recursion,
    /// The variable whose value it is.
    pub variable: VarKey,
    /// Which scalar of it.
    pub leaf: usize,
    /// Whether it has more than one.
    pub is_part: bool,
    /// What is shown.
    pub value: Arc<str>,
}

/// What became of a function's calls of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recursion {
    /// There are none at -O0, or the optimized build makes as many calls.
    Kept,
    /// The optimized build makes fewer or more: a call may have become a loop.
    Lost,
}

/// What is kept of one call.
type PerCall<K, V> = HashMap<(CallId, K), V>;

/// The optimized run on one line with the same frames in one call.
#[derive(Debug, Default)]
struct OnLine<'r> {
    stops: u32,
    /// What the reference shows there: looked up once, since a function that is inlined into a loop has as many calls as the loop
    /// has passes.
    known: Option<Known<'r>>,
}

/// Values that the reference shows on a line in the calls that a stop can be in.
#[derive(Debug)]
enum Known<'r> {
    /// It does not come to the line.
    Nothing,
    InOne(&'r HashSet<u64>),
    InSeveral(HashSet<u64>),
}

impl<'r> Known<'r> {
    fn of(mut visits: impl Iterator<Item = &'r LineVisits>) -> Self {
        match (visits.next(), visits.next()) {
            (None, _) => Self::Nothing,
            (Some(one), None) => Self::InOne(&one.seen),
            (Some(one), Some(two)) => Self::InSeveral([one, two].into_iter().chain(visits).flat_map(|v| &v.seen).copied().collect()),
        }
    }

    fn has(&self, value: u64) -> bool {
        match self {
            Self::Nothing => false,
            Self::InOne(seen) => seen.contains(&value),
            Self::InSeveral(seen) => seen.contains(&value),
        }
    }
}

/// Looks at the optimized trace, with the reference's at hand.
pub struct Suspects<'r> {
    reference: &'r Visits,
    homes: Option<&'r BTreeMap<VarKey, Home>>,
    calls: Calls,
    current: Option<CallId>,
    /// The reference's calls that a stop with these frames and so many inlined calls can be in, by the call that has the code.
    places: HashMap<(Way, usize), HashMap<CallId, Vec<CallId>>>,
    ways: Option<(Arc<[Frame]>, Way)>,
    on_line: PerCall<(Way, LineKey), OnLine<'r>>,
    at: PerCall<u64, u32>,
    per_place: HashMap<(u64, VarKey, usize), usize>,
    per_variable: HashMap<VarKey, usize>,
    found: Vec<Suspect>,
}

impl<'r> Suspects<'r> {
    /// Suspects nothing yet. What lives in memory by these homes never will be: arrays alone would leave no room for others.
    pub fn new(reference: &'r Visits, homes: Option<&'r BTreeMap<VarKey, Home>>) -> Self {
        Self {
            reference,
            homes,
            calls: Calls::default(),
            current: None,
            places: HashMap::new(),
            ways: None,
            on_line: HashMap::new(),
            at: HashMap::new(),
            per_place: HashMap::new(),
            per_variable: HashMap::new(),
            found: Vec::new(),
        }
    }

    /// What was suspected in calls that both runs make equally often.
    pub fn finish(self) -> Vec<Suspect> {
        let Self { reference, calls, on_line, mut found, .. } = self;
        found.retain(|s| calls.count(&s.root.way) == reference.calls.count(&s.root.way));
        for suspect in &mut found {
            let on_line = calls.find(&suspect.root).and_then(|c| on_line.get(&(c, (Arc::clone(&suspect.way), suspect.line.clone()))));
            suspect.stops = on_line.map_or(0, |l| l.stops);
            let is_lost = |f: &Arc<str>| reference.calls.is_recursive(f) && calls.count_of(f) != reference.calls.count_of(f);
            if suspect.way.iter().any(|link| is_lost(&link.function)) {
                suspect.recursion = Recursion::Lost;
            }
        }
        found
    }

    fn way(&mut self, frames: &Arc<[Frame]>) -> Way {
        match &self.ways {
            Some((known, way)) if Arc::ptr_eq(known, frames) => Arc::clone(way),
            _ => {
                let way = way_of(frames);
                self.ways = Some((Arc::clone(frames), Arc::clone(&way)));
                way
            }
        }
    }
}

impl Looks for Suspects<'_> {
    fn call(&mut self, call: CallId, caller: Option<CallId>, frames: &[Frame]) {
        self.calls.note(call, caller, frames);
    }

    fn stand(&mut self, call: CallId) {
        self.current = Some(call);
    }

    fn look(&mut self, step: &Step) {
        let (Some(call), Some(line)) = (self.current, line_of(step)) else { return };
        let way = self.way(&step.frames);
        let on_line = self.on_line.entry((call, (Arc::clone(&way), line.clone()))).or_default();
        on_line.stops += 1;
        let nth = on_line.stops;
        let hit = self.at.entry((call, step.pc)).or_default();
        *hit += 1;
        let hit = *hit;
        let inlined = step.frames.iter().take_while(|f| f.kind == FrameKind::Inlined).count();
        let Some(root) = self.calls.name(call) else { return };
        let (reference, places) = (self.reference, &mut self.places);
        let known = on_line.known.get_or_insert_with(|| {
            let by_root = places.entry((Arc::clone(&way), inlined)).or_insert_with(|| reference.calls.by_root(&way, inlined));
            let calls = reference.calls.find(root).and_then(|there| by_root.get(&there)).into_iter().flatten();
            Known::of(calls.filter_map(|c| reference.lines.get(&(*c, line.clone()))))
        });
        if matches!(known, Known::Nothing) || reference.is_full || self.found.len() >= MOST_SUSPECTS {
            return;
        }
        let function = step.frames.first().map_or_else(|| Arc::from(""), |f| Arc::clone(&f.function));
        for variable in &step.vars {
            for (leaf, text, hash) in scalars(variable) {
                if known.has(hash) {
                    continue;
                }
                let key = VarKey { function: Arc::clone(&function), name: Arc::clone(&variable.name), decl_line: variable.decl_line };
                if self.homes.is_some_and(|h| h.get(&key) == Some(&Home::Memory)) {
                    break;
                }
                if self.found.len() >= MOST_SUSPECTS || self.per_variable.get(&key).is_some_and(|n| *n >= PER_VARIABLE) {
                    break;
                }
                let count = self.per_place.entry((step.pc, key.clone(), leaf)).or_default();
                *count += 1;
                if *count > PER_PLACE {
                    continue;
                }
                *self.per_variable.entry(key.clone()).or_default() += 1;
                let is_part = matches!(&variable.observation, Observation::Value(all) if split(all).nth(1).is_some());
                self.found.push(Suspect {
                    pc: step.pc,
                    line: line.clone(),
                    way: Arc::clone(&way),
                    inlined,
                    root: root.clone(),
                    nth,
                    hit,
                    stops: nth,
                    recursion: Recursion::Kept,
                    variable: key,
                    leaf,
                    is_part,
                    value: Arc::from(text),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::Line;

    fn frames() -> Arc<[Frame]> {
        let file = Some(FileName::new("a.c"));
        [Frame { function: "f".into(), kind: FrameKind::Real, file, line: Some(Line(5)) }].into()
    }

    fn step(values: &[(&str, String)]) -> Step {
        let variable = |(name, value): &(&str, String)| Variable {
            name: (*name).into(),
            kind: VarKind::Local,
            decl_line: 2,
            type_name: "int".into(),
            holds_pointer: false,
            observation: Observation::Value(value.as_str().into()),
        };
        let vars = values.iter().map(variable).collect();
        Step { step: 0, file: Some(FileName::new("a.c")), line: Some(Line(5)), pc: 64, frames: frames(), vars }
    }

    fn array(first: usize) -> String {
        format!("{{{}}}", (first..first + 200).map(|n| n.to_string()).collect::<Vec<_>>().join(", "))
    }

    /// What is suspected where -O0 shows one thing and the optimized build another.
    fn suspected(homes: Option<&BTreeMap<VarKey, Home>>) -> (usize, bool) {
        let mut reference = Visits::default();
        reference.call(CallId(0), None, &frames());
        reference.stand(CallId(0));
        reference.look(&step(&[("all", array(0)), ("x", "1".to_owned())]));
        let mut suspects = Suspects::new(&reference, homes);
        suspects.call(CallId(0), None, &frames());
        suspects.stand(CallId(0));
        suspects.look(&step(&[("all", array(1000)), ("x", "2".to_owned())]));
        let found = suspects.finish();
        (found.len(), found.iter().any(|s| &*s.variable.name == "x"))
    }

    #[test]
    fn an_array_leaves_room_for_other_variables() {
        assert_eq!(suspected(None), (PER_VARIABLE + 1, true));
    }

    #[test]
    fn what_lives_in_memory_is_not_suspected() {
        let all = VarKey { function: "f".into(), name: "all".into(), decl_line: 2 };
        assert_eq!(suspected(Some(&BTreeMap::from([(all, Home::Memory)]))), (1, true));
    }
}
