//! Which moments of the reference run a stop of the optimized run can be in, and whether a value shown there is one that the
//! variable has at one of them.
//!
//! The moments of a stop on a line are the points of the reference run from the line's first to its last instruction, in the
//! same call, with the same observable state. Where there is none the stop is not placed, and nothing is said. A second look
//! at both runs (`order`) tells the assignment that is shown too late or too early, and whether lines or values were moved.
//!
//! Pure: the runs are `check`'s to make. Deliberately absent: what a state consists of.

mod order;

pub use order::{Beginning, Code, Kept, LineOf, Making, Order, Place, Sequence};

use crate::calls::Calls;
use crate::leaves::split;
use crate::visits::Suspect;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use trueline_model::{CallId, Line};

/// The program at an address that it was stopped at.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The link-time address it stands at.
    pub pc: u64,
    /// The call it is in.
    pub call: CallId,
    /// The observable state, equal in two runs when it is the same.
    pub state: u64,
    /// The variables that were asked for.
    pub values: Box<[Option<Arc<str>>]>,
}

/// A run, stopped at chosen addresses.
#[derive(Clone, Debug, Default)]
pub struct MarkedRun {
    /// Its calls.
    pub calls: Calls,
    /// Its stops in order.
    pub marks: Vec<Mark>,
}

/// A line in the reference's code.
#[derive(Clone, Debug, Default)]
pub struct LineCode {
    /// The addresses of its instructions.
    pub own: BTreeSet<u64>,
    /// Where control goes from them, out of the line: target and origins.
    pub after: BTreeMap<u64, BTreeSet<u64>>,
    /// The addresses where a debugger stops on the line.
    pub stops: BTreeSet<u64>,
}

/// A scalar of a variable, by the variable's place in what was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// The place of the variable.
    pub place: usize,
    /// Which of its scalars.
    pub leaf: usize,
}

impl Scalar {
    /// What it is at a mark.
    pub fn at(self, mark: &Mark) -> Option<&str> {
        split(mark.values.get(self.place)?.as_deref()?).nth(self.leaf)
    }
}

/// A point of the reference run on the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its place among the marks.
    pub mark: usize,
    /// The line's instruction there; none behind the last one.
    pub own: Option<u64>,
    /// The debugger's stops on the line so far.
    pub visit: u32,
    /// The observable state at the point.
    pub state: u64,
    /// What the scalar is; none before it is initialised.
    pub value: Option<Arc<str>>,
}

/// The points of a line in some calls. What two runs with two fillings of the stack do not agree on is not initialised.
pub fn points(run: &MarkedRun, again: Option<&MarkedRun>, calls: &[CallId], code: &LineCode, scalar: Scalar) -> Vec<Point> {
    let mut last: HashMap<CallId, u64> = HashMap::new();
    let mut found = Vec::new();
    let mut visit = 0;
    for (number, mark) in run.marks.iter().enumerate().filter(|(_, m)| calls.contains(&m.call)) {
        let before = last.insert(mark.call, mark.pc);
        let leaves = || before.is_some_and(|pc| code.own.contains(&pc) && code.after.get(&mark.pc).is_some_and(|o| o.contains(&pc)));
        let is_own = code.own.contains(&mark.pc);
        if is_own && code.stops.contains(&mark.pc) {
            visit += 1;
        }
        if is_own || leaves() {
            let value = scalar.at(mark).filter(|v| again.is_none_or(|a| scalar.at(&a.marks[number]) == Some(*v)));
            found.push(Point { mark: number, own: is_own.then_some(mark.pc), visit, state: mark.state, value: value.map(Arc::from) });
        }
    }
    found
}

/// Whether two runs of the reference stopped at the same places.
pub fn is_same_way(one: &MarkedRun, other: &MarkedRun) -> bool {
    let places = |r: &MarkedRun| r.marks.iter().map(|m| (m.pc, m.call)).collect::<Vec<_>>();
    places(one) == places(other)
}

/// What came of placing a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// No moment has the line, the call and the state.
    Unplaced,
    /// At a moment of the stop the variable is not initialised.
    Uninitialised,
    /// The variable has the value at a moment of the stop.
    Right,
    /// The variable has the value nowhere in the run.
    NeverHeld,
    /// It has other values at all of them.
    Stale(StaleValue),
}

/// A value of another moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleValue {
    /// What the variable is at the moments of the stop.
    pub expected: Vec<Arc<str>>,
    /// The moments, by their places among the marks.
    pub moments: Vec<usize>,
    /// Which of several visits of the line the stop is in.
    pub iteration: Iteration,
    /// Whether the line runs at all where the source runs it.
    pub runs: Runs,
    /// Whether it is known which of the moments the stop is at.
    pub aligned: Aligned,
}

/// Whether a stop is tied to one visit of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aligned {
    /// All moments are of one visit: there is only one, or the address is come by as often as an instruction of the line is at
    /// -O0, so that the n-th time is the n-th time.
    One,
    /// The moments are of several visits.
    Several,
}

/// The times that the optimized build came by a stop's address in its call.
#[derive(Clone, Debug, Default)]
pub struct Hits {
    /// The observable state each time.
    pub states: Vec<u64>,
    /// Which of them the stop is, from 0.
    pub rank: usize,
}

impl Hits {
    /// The moments that the stop is at when instructions of the line at -O0 run as often as its address.
    fn tied<'p>(&self, points: &'p [Point], state: u64) -> Vec<&'p Point> {
        let mut by_instruction: BTreeMap<u64, Vec<&Point>> = BTreeMap::new();
        for point in points {
            if let Some(pc) = point.own {
                by_instruction.entry(pc).or_default().push(point);
            }
        }
        let as_often = by_instruction.into_values().filter(|times| times.len() == self.states.len());
        as_often.filter_map(|times| times.get(self.rank).copied()).filter(|p| p.state == state).collect()
    }
}

/// How often an instruction of a line runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// No more often than some instruction of the line does in the source.
    AsInSource,
    /// More often, so that it also runs where the source does not run the line.
    MoreOften,
}

impl Runs {
    /// Compares the hits of one address in the optimized build, by the states they are in, with the points of its line: in the
    /// whole call, and in the state of the stop.
    pub fn of(hits: &Hits, points: &[Point], state: u64) -> Self {
        let most = |wanted: &dyn Fn(u64) -> bool| {
            let mut counts: HashMap<u64, usize> = HashMap::new();
            points.iter().filter(|p| wanted(p.state)).filter_map(|p| p.own).for_each(|pc| *counts.entry(pc).or_default() += 1);
            counts.into_values().max().unwrap_or(0)
        };
        let here = hits.states.iter().filter(|s| **s == state).count();
        let is_more = hits.states.len() > most(&|_| true) || here > most(&|s| s == state);
        if is_more { Self::MoreOften } else { Self::AsInSource }
    }
}

/// How far it is known which visit of its line a stop is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// The variable has the value on no visit of the line in the call, so it does not matter.
    Any,
    /// The debugger stops on the line equally often in both builds, and the count says what the state says.
    Counted,
    /// The variable has the value on another visit, and the count of stops does not say the same as the state.
    Doubtful,
}

/// Places a stop: `stops` are how often the debugger stopped on the line in the call, at -O0 and in the optimized build, and
/// `hits` the times that the optimized build came by the stop's address there.
pub fn place(suspect: &Suspect, state: u64, points: &[Point], stops: (u32, u32), hits: &Hits) -> Placement {
    let moments: Vec<&Point> = points.iter().filter(|p| p.state == state).collect();
    let shows = |p: &&Point| p.value.as_deref() == Some(&*suspect.value);
    if moments.is_empty() {
        return Placement::Unplaced;
    }
    if moments.iter().any(|p| p.value.is_none()) {
        return Placement::Uninitialised;
    }
    if moments.iter().any(&shows) {
        return Placement::Right;
    }
    let visits = points.last().map_or(0, |p| p.visit);
    let iteration = match points.iter().any(|p| shows(&p)) {
        false => Iteration::Any,
        true if stops.0 == stops.1 && visits == stops.0 && moments.iter().any(|p| p.visit == suspect.nth) => Iteration::Counted,
        true => Iteration::Doubtful,
    };
    // A moment with the value would have made it right, whichever visit it is of: tying leaves only moments without.
    let tied = hits.tied(points, state);
    let (moments, aligned) = match tied.is_empty() {
        false => (tied, Aligned::One),
        true if moments.iter().all(|p| p.visit == moments[0].visit) => (moments, Aligned::One),
        true => (moments, Aligned::Several),
    };
    let mut expected: Vec<Arc<str>> = moments.iter().filter_map(|p| p.value.clone()).collect();
    expected.dedup();
    let runs = Runs::of(hits, points, state);
    Placement::Stale(StaleValue { expected, moments: moments.iter().map(|p| p.mark).collect(), iteration, runs, aligned })
}

/// A suspicion that was looked into, with all that is said of it.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What was suspected.
    pub suspect: Suspect,
    /// What came of it.
    pub placement: Placement,
    /// The order of lines and assignments around the stop, where it could be told.
    pub order: Option<Order>,
    /// The same for the assignment on the other side of the stop, where the variable has the value there too.
    pub other: Option<Order>,
    /// The location behind the value, as far as it goes on from the stop.
    pub location: Option<trueline_model::LocationSpan>,
}

/// The assignment that is not shown yet or shown too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The line of the assignment.
    pub line: Option<Line>,
    /// Which of the two it is.
    pub shown: trueline_model::Timing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallName;
    use crate::visits::Recursion;
    use trueline_model::{FileName, LineKey, VarKey};

    fn suspect(value: &str, nth: u32) -> Suspect {
        let line = LineKey { file: FileName::new("a.c"), line: Line(5) };
        let variable = VarKey { function: "main".into(), name: "a".into(), decl_line: 3 };
        let root = CallName { way: Arc::from([]), nth: 0 };
        let way = Arc::from([]);
        Suspect {
            pc: 64,
            line,
            way,
            inlined: 0,
            root,
            nth,
            hit: nth,
            stops: nth,
            recursion: Recursion::Kept,
            variable,
            leaf: 0,
            is_part: false,
            value: value.into(),
        }
    }

    fn point(visit: u32, state: u64, value: Option<&str>) -> Point {
        Point { mark: 0, own: Some(16), visit, state, value: value.map(Arc::from) }
    }

    fn hits(states: &[u64]) -> Hits {
        Hits { states: states.to_vec(), rank: 0 }
    }

    #[test]
    fn the_second_of_two_times_is_the_second_visit() {
        let points = [point(1, 7, Some("1")), point(2, 7, Some("2"))];
        let expected = |states: &[u64]| {
            let hits = Hits { states: states.to_vec(), rank: 1 };
            let Placement::Stale(stale) = place(&suspect("0", 2), 7, &points, (2, 2), &hits) else { panic!() };
            (stale.expected.iter().map(std::string::ToString::to_string).collect::<Vec<_>>().join(" "), stale.aligned)
        };
        assert_eq!(expected(&[7, 7]), ("2".to_owned(), Aligned::One));
        // Three times of two visits cannot be told apart.
        assert_eq!(expected(&[7, 7, 7]), ("1 2".to_owned(), Aligned::Several));
    }

    fn iteration(placement: Placement) -> Option<Iteration> {
        match placement {
            Placement::Stale(stale) => Some(stale.iteration),
            _ => None,
        }
    }

    #[test]
    fn a_stop_without_a_moment_is_not_judged() {
        assert_eq!(place(&suspect("0", 1), 8, &[point(1, 7, Some("1"))], (1, 1), &hits(&[8])), Placement::Unplaced);
    }

    #[test]
    fn a_variable_must_be_initialised_at_each_moment() {
        let points = [point(1, 7, None), point(1, 7, Some("1"))];
        assert_eq!(place(&suspect("0", 1), 7, &points, (1, 1), &hits(&[7])), Placement::Uninitialised);
    }

    #[test]
    fn one_moment_with_the_value_makes_it_right() {
        let points = [point(1, 7, Some("1")), point(1, 7, Some("0"))];
        assert_eq!(place(&suspect("0", 1), 7, &points, (1, 1), &hits(&[7])), Placement::Right);
    }

    #[test]
    fn a_value_that_no_visit_has_is_stale_whatever_the_visit() {
        let points = [point(1, 7, Some("1")), point(2, 8, Some("2"))];
        assert_eq!(iteration(place(&suspect("0", 3), 8, &points, (2, 3), &hits(&[8]))), Some(Iteration::Any));
    }

    #[test]
    fn a_value_of_another_visit_is_stale_only_where_count_and_state_agree() {
        let points = [point(1, 7, Some("1")), point(2, 8, Some("2"))];
        assert_eq!(iteration(place(&suspect("1", 2), 8, &points, (2, 2), &hits(&[8]))), Some(Iteration::Counted));
        // A store moved past the stop: the count says the first visit, the state the second.
        assert_eq!(iteration(place(&suspect("1", 1), 8, &points, (2, 2), &hits(&[8]))), Some(Iteration::Doubtful));
        // An unrolled loop stops less often.
        assert_eq!(iteration(place(&suspect("1", 2), 8, &points, (2, 1), &hits(&[8]))), Some(Iteration::Doubtful));
    }

    #[test]
    fn a_line_that_runs_more_often_than_in_the_source_runs_ahead_of_its_condition() {
        let points = [point(1, 7, Some("1")), point(2, 8, Some("2"))];
        assert_eq!(Runs::of(&hits(&[7, 8]), &points, 7), Runs::AsInSource);
        assert_eq!(Runs::of(&hits(&[8]), &points, 8), Runs::AsInSource);
        assert_eq!(Runs::of(&hits(&[7, 8, 9]), &points, 8), Runs::MoreOften);
        assert_eq!(Runs::of(&hits(&[7, 7]), &points, 7), Runs::MoreOften);
        // Two instructions of one visit are not two visits.
        let piece = Point { own: Some(20), ..point(1, 7, Some("1")) };
        assert_eq!(Runs::of(&hits(&[7, 7]), &[point(1, 7, Some("1")), piece], 7), Runs::MoreOften);
    }

    #[test]
    fn what_a_line_leaves_behind_belongs_to_it_only_when_the_run_comes_from_it() {
        let mark = |pc, value: &str| Mark { pc, call: CallId(0), state: 0, values: Box::new([Some(Arc::from(value))]) };
        let run = MarkedRun { calls: Calls::default(), marks: vec![mark(30, "9"), mark(10, "1"), mark(30, "2"), mark(30, "9")] };
        let code = LineCode { own: BTreeSet::from([10]), after: BTreeMap::from([(30, BTreeSet::from([10]))]), stops: BTreeSet::from([10]) };
        let values: Vec<_> = points(&run, None, &[CallId(0)], &code, Scalar { place: 0, leaf: 0 }).into_iter().map(|p| p.value).collect();
        assert_eq!(values, [Some(Arc::from("1")), Some(Arc::from("2"))]);
    }
}
