//! Whether a value is late, or its line early: what both runs execute around a stop, and in which order.
//!
//! A line's instructions may be moved over an assignment by right, and then the value is right for where the program is. So a
//! value counts as late only when the assignment's own instructions do not come after the stop, and nothing else that the
//! source has before the line does; as early, the other way round.

use super::{Aligned, MarkedRun, Misplaced, Scalar, StaleValue};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use trueline_model::{CallId, LineKey, Timing};

/// The line of an address.
pub type LineOf<'a> = &'a dyn Fn(u64) -> Option<LineKey>;

/// What both runs do around a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The assignment behind the difference.
    pub assignment: Misplaced,
    /// Whether the assignment's own instructions run on the other side of the stop.
    pub crosses: bool,
    /// Whether another line runs on the other side of the stop than in the source, so that the stop's line was moved.
    pub is_moved: bool,
    /// Whether the assignment left code that runs in the call.
    pub code: Code,
    /// Whether a line that the source has between the stop's and the assignment runs on the stop's other side, as it should.
    pub kept: Kept,
    /// When the value that should be shown comes into being.
    pub making: Making,
    /// Where the line table says that the assignment's line begins.
    pub beginning: Beginning,
}

/// Where the line table says that the assignment's line begins, in rows with or without code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// After the stop and not before it, since or until the stop's line was or is come by.
    AfterStop,
    /// Before it, or nowhere.
    Unseen,
}

/// Whether the stop's line kept its place before or after the assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// A line in between did, so that the stop's line was not moved over the assignment.
    ByLineBetween,
    /// No line tells.
    Unknown,
}

/// When the value that should be shown comes into being, whatever line the instruction that makes it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// An instruction that runs after the stop makes it.
    AfterStop,
    /// None is seen to.
    Unseen,
}

/// A stop of the optimized run that is looked at closely.
pub struct Place<'a> {
    /// Its place among the marks.
    pub stop: usize,
    /// Its line.
    pub line: &'a LineKey,
    /// The addresses of stops on its line.
    pub visits: &'a BTreeSet<u64>,
    /// The scalar that it shows.
    pub scalar: Scalar,
    /// What it shows.
    pub shown: &'a str,
    /// What the scalar is in the source.
    pub expected: &'a [Arc<str>],
    /// Whether the instruction in front of an address makes the variable's value there.
    pub is_made_before: &'a dyn Fn(u64) -> bool,
    /// Whether a line begins at an address, with or without code of its own.
    pub begins: &'a dyn Fn(u64, &LineKey) -> bool,
}

impl Place<'_> {
    /// Looks at the first other value that the scalar shows after the stop, before the run comes by there again.
    fn making(&self, run: &MarkedRun) -> Making {
        let stop = &run.marks[self.stop];
        let after = run.marks[self.stop + 1..].iter().filter(|m| m.call == stop.call).take_while(|m| m.pc != stop.pc);
        let other = after.filter_map(|m| Some((m.pc, self.scalar.at(m)?))).find(|(_, value)| *value != self.shown);
        match other {
            Some((pc, value)) if self.expected.iter().any(|e| **e == *value) && (self.is_made_before)(pc) => Making::AfterStop,
            _ => Making::Unseen,
        }
    }
}

/// What is left of an assignment in the optimized build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Instructions of its line run in the call.
    Runs,
    /// None does: only the debug information knows of it.
    Gone,
}

/// The reference's part: what its run does between the assignment and the moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The assignment and which way it is misplaced.
    pub assignment: Misplaced,
    /// The assignment's line.
    pub line: LineKey,
    /// How often it is made in the calls, and how often of these before the moments.
    pub made: (usize, usize),
    /// Whether `made` is about one visit of the line.
    pub aligned: Aligned,
    /// The lines before the moments, back to the visit of the line before; for an early assignment those after them, to the
    /// next visit.
    pub around: BTreeSet<LineKey>,
    /// The lines between the moments and the assignment.
    pub between: BTreeSet<LineKey>,
}

impl Sequence {
    /// Finds the assignments that a stale value can be about in the reference's run, which is stopped at every line and after
    /// every store: the likely one first, then the one on the other side of the moments, if the scalar has the value there too.
    pub fn of(run: &MarkedRun, calls: &[CallId], stale: &StaleValue, shown: &str, scalar: Scalar, line_of: LineOf<'_>) -> Vec<Self> {
        let Some(around) = Around::of(run, calls, stale) else { return Vec::new() };
        let value = |i: usize| scalar.at(&run.marks[i]);
        let changes = |marks: &[usize]| marks.windows(2).map(|w| (w[0], w[1])).filter(|c| value(c.0) != value(c.1)).collect::<Vec<_>>();
        let (before, after) = (changes(&around.before), changes(&around.after));
        let (last, next) = (before.last().copied(), after.first().copied());
        let to_shown = after.iter().copied().find(|c| value(c.1) == Some(shown));
        let was_shown = around.before.iter().any(|&i| value(i) == Some(shown));
        let is_likely_late = match (last, next) {
            (Some(change), _) if value(change.0) == Some(shown) => true,
            (_, Some(next)) if value(next.1) == Some(shown) => false,
            (Some(_), _) => was_shown || to_shown.is_none(),
            (None, _) => false,
        };
        let late = last.filter(|_| was_shown || is_likely_late).map(|change| (change, Timing::Late));
        let early = to_shown.map(|change| (change, Timing::Early));
        let in_order = if is_likely_late { [late, early] } else { [early, late] };
        in_order.into_iter().flatten().filter_map(|(made, timing)| around.sequence(made, timing, stale.aligned, line_of)).collect()
    }

    /// Looks at the optimized run, stopped at every address where a debugger stops, at every instruction of the assignment's
    /// line and where the variable's value may come into being: what of it is before and after the stop.
    pub fn compare(&self, run: &MarkedRun, place: &Place<'_>, line_of: LineOf<'_>) -> Order {
        let (stop, own_line) = (place.stop, place.line);
        let call = run.marks[stop].call;
        let own: Vec<(usize, u64)> = run.marks.iter().enumerate().filter(|(_, m)| m.call == call).map(|(i, m)| (i, m.pc)).collect();
        let is_visit = |pc: &u64| place.visits.contains(pc);
        let previous = own.iter().filter(|(i, pc)| *i < stop && is_visit(pc)).map(|m| m.0).next_back();
        let next = own.iter().find(|(i, pc)| *i > stop && is_visit(pc)).map(|m| m.0);
        let inside = |i: usize, low: Option<usize>, high: Option<usize>| low.is_none_or(|l| i > l) && high.is_none_or(|h| i < h);
        let around = |low: Option<usize>, high: Option<usize>| {
            let pcs = own.iter().filter(move |(i, _)| inside(*i, low, high)).map(|m| m.1);
            pcs.collect::<BTreeSet<u64>>()
        };
        let begins = |low: Option<usize>, high: Option<usize>| {
            let is_within = |i: usize| low.is_none_or(|l| i > l) && high.is_none_or(|h| i <= h);
            own.iter().any(|(i, pc)| is_within(*i) && (place.begins)(*pc, &self.line))
        };
        // A row without code may share its address with the line's next visit.
        let is_later = self.line != *own_line && begins(Some(stop), next) && !begins(previous, Some(stop));
        let beginning = if is_later { Beginning::AfterStop } else { Beginning::Unseen };
        // Going on inside the line does not begin another visit of it.
        let (before, after) = (around(previous, Some(stop)), around(Some(stop), next));
        let is_assignment = |pc: &u64| line_of(*pc).as_ref() == Some(&self.line);
        let mut counts: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        for (i, pc) in own.iter().filter(|(_, pc)| is_assignment(pc)) {
            let count = counts.entry(*pc).or_default();
            count.0 += 1;
            count.1 += usize::from(*i < stop);
        }
        // Where the visit is not known, an assignment that comes by on the other side may be the one, whatever else it does.
        let is_open = self.aligned == Aligned::Several;
        let may_cross = |pc: &u64| is_open && if self.assignment.shown == Timing::Late { after.contains(pc) } else { before.contains(pc) };
        let crosses = counts.iter().any(|(pc, (total, so_far))| match (*total == self.made.0, self.assignment.shown) {
            _ if may_cross(pc) => true,
            (true, Timing::Late) => *so_far < self.made.1,
            (true, Timing::Early) => *so_far > self.made.1,
            (false, Timing::Late) => after.contains(pc) && !before.contains(pc),
            (false, Timing::Early) => before.contains(pc) && !after.contains(pc),
        });
        let lines = |pcs: &BTreeSet<u64>| pcs.iter().filter_map(|pc| line_of(*pc)).collect::<BTreeSet<LineKey>>();
        let (before, after) = (lines(&before), lines(&after));
        let (right, wrong) = if self.assignment.shown == Timing::Late { (before, after) } else { (after, before) };
        let is_moved = self.around.iter().any(|l| l != own_line && wrong.contains(l) && !right.contains(l));
        let is_kept = self.between.iter().any(|l| right.contains(l) && !wrong.contains(l));
        let kept = if is_kept { Kept::ByLineBetween } else { Kept::Unknown };
        let code = if counts.is_empty() { Code::Gone } else { Code::Runs };
        Order { assignment: self.assignment, crosses, is_moved, code, kept, making: place.making(run), beginning }
    }
}

/// The marks around the moments, in their call.
struct Around<'a> {
    run: &'a MarkedRun,
    calls: &'a [CallId],
    /// The first and the last moment.
    moments: (usize, usize),
    before: Vec<usize>,
    after: Vec<usize>,
}

impl<'a> Around<'a> {
    fn of(run: &'a MarkedRun, calls: &'a [CallId], stale: &StaleValue) -> Option<Self> {
        let moments = (*stale.moments.first()?, *stale.moments.last()?);
        let call = run.marks.get(moments.0)?.call;
        let own: Vec<usize> = (0..run.marks.len()).filter(|&i| run.marks[i].call == call).collect();
        let before = own.iter().copied().filter(|&i| i <= moments.0).collect();
        let after = own.iter().copied().filter(|&i| i >= moments.1).collect();
        Some(Self { run, calls, moments, before, after })
    }

    /// An assignment made between two marks.
    fn sequence(&self, made: (usize, usize), timing: Timing, aligned: Aligned, line_of: LineOf<'_>) -> Option<Sequence> {
        let (run, (first, last)) = (self.run, self.moments);
        // The mark after the store: the instruction before it made the assignment.
        let store = run.marks[made.1].pc;
        let line = line_of(store.wrapping_sub(1))?;
        let comes_by = made_at(run, self.calls, store, &line, line_of);
        let limit = if timing == Timing::Late { first } else { last };
        let (total, so_far) = (comes_by.len(), comes_by.iter().filter(|i| **i <= limit).count());
        let lines = |i: &usize| line_of(run.marks[*i].pc);
        let own_line = lines(&first);
        let is_other = |line: &Option<LineKey>| *line != own_line;
        // Back over the moments' own visit of the line to the visit before, or on to the one after.
        let around: BTreeSet<LineKey> = match timing {
            Timing::Late => self.before.iter().rev().map(lines).skip_while(|l| !is_other(l)).take_while(is_other).flatten().collect(),
            Timing::Early => self.after.iter().map(lines).skip_while(|l| !is_other(l)).take_while(is_other).flatten().collect(),
        };
        let is_between = |i: &&usize| match timing {
            Timing::Late => **i >= made.1,
            Timing::Early => **i <= made.0,
        };
        let side = if timing == Timing::Late { &self.before } else { &self.after };
        let between = side.iter().filter(is_between).filter_map(lines).filter(|l| *l != line && is_other(&Some(l.clone()))).collect();
        let assignment = Misplaced { line: Some(line.line), shown: timing };
        Some(Sequence { assignment, line, made: (total, so_far), aligned, around, between })
    }
}

/// The marks behind an assignment that are come to from its line. What follows a loop's statement may be come to from elsewhere.
fn made_at(run: &MarkedRun, calls: &[CallId], store: u64, line: &LineKey, line_of: LineOf<'_>) -> Vec<usize> {
    let mut before: HashMap<CallId, u64> = HashMap::new();
    let mut all = Vec::new();
    let mut from_line = Vec::new();
    for (i, mark) in run.marks.iter().enumerate() {
        let from = before.insert(mark.call, mark.pc);
        if mark.pc == store && calls.contains(&mark.call) {
            all.push(i);
            if from.and_then(line_of).as_ref() == Some(line) {
                from_line.push(i);
            }
        }
    }
    // An assignment without a mark of its own line in front of it: then every time counts.
    if from_line.is_empty() { all } else { from_line }
}
