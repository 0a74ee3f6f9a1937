//! Variables that go and come back: shown, then optimized out, then shown again with the same value and no assignment in
//! between, within one visit of their function.
//!
//! The visit is told by the stack: its depth, the function, and the lines of its callers. Where the program comes back to the
//! first line of the visit, a new one may have begun. Only scalars whose address -O0 never takes count, since only of these
//! every assignment can be seen in the code.
//!
//! An assignment may have left no code, and then no stop tells of it. So the stops from where the variable was shown to where
//! it is shown again must go forward through the source, and no line of the source between the two may assign it.

use crate::effects::Assignments;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use trueline_model::{Frame, LineKey, News, Observation, Recovery, Statics, Step, StepSink, VarKey, VarKind};
use trueline_oracle::LostNote;

/// A stop without the variable.
#[derive(Clone)]
struct Gap {
    line: LineKey,
    pc: u64,
    frames: Vec<Arc<str>>,
}

/// What is known of a variable in the present visit.
struct Course {
    value: Arc<str>,
    /// Where it was shown last.
    shown_on: LineKey,
    /// The last stop.
    latest: LineKey,
    direction: Direction,
    gap: Option<Gap>,
}

/// How the stops since a variable was shown go through the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    /// At least once back, or into another file: lines that were not stopped at may have run.
    Unknown,
}

impl Course {
    fn begin(value: &Arc<str>, here: &LineKey) -> Self {
        Self { value: Arc::clone(value), shown_on: here.clone(), latest: here.clone(), direction: Direction::Forward, gap: None }
    }

    fn go_on(&mut self, here: &LineKey) {
        if here.file != self.latest.file || here.line < self.latest.line {
            self.direction = Direction::Unknown;
        }
        self.latest = here.clone();
    }

    /// Whether the source may have assigned it since it was shown.
    fn may_be_assigned(&self, assigned: &BTreeSet<LineKey>) -> bool {
        self.direction == Direction::Unknown || assigned.range(self.shown_on.clone()..=self.latest.clone()).next().is_some()
    }
}

/// A visit of a function.
struct Visit {
    frames: Arc<[Frame]>,
    first: Option<LineKey>,
    courses: HashMap<VarKey, Course>,
}

/// Watches a trace as it streams by, and hands every stop on.
pub(crate) struct Returns<'s> {
    sink: &'s mut dyn StepSink,
    assignments: &'s Assignments,
    visits: Vec<Visit>,
    found: BTreeMap<(LineKey, VarKey), LostNote>,
}

impl<'s> Returns<'s> {
    pub(crate) fn new(sink: &'s mut dyn StepSink, assignments: &'s Assignments) -> Self {
        Self { sink, assignments, visits: Vec::new(), found: BTreeMap::new() }
    }

    /// What came back.
    pub(crate) fn found(self) -> Vec<LostNote> {
        self.found.into_values().collect()
    }

    fn look(&mut self, step: &Step) {
        let (Some(file), Some(line), Some(top)) = (&step.file, step.line, step.frames.first()) else { return };
        let here = LineKey { file: trueline_model::FileName::new(file.base()), line };
        let callers = |frames: &[Frame]| frames.get(1..).map(<[Frame]>::to_vec);
        // What is deeper than this, or beside it, has been left.
        let is_same = |v: &Visit| v.frames[0].function == top.function && callers(&v.frames) == callers(&step.frames);
        while self.visits.last().is_some_and(|v| v.frames.len() > step.frames.len() || (v.frames.len() == step.frames.len() && !is_same(v)))
        {
            self.visits.pop();
        }
        match self.visits.last_mut() {
            Some(visit) if visit.frames.len() == step.frames.len() => {
                if visit.first.as_ref() == Some(&here) {
                    visit.courses.clear();
                }
            }
            _ => self.visits.push(Visit { frames: Arc::clone(&step.frames), first: Some(here.clone()), courses: HashMap::new() }),
        }
        let visit = self.visits.last_mut().expect("just looked up or pushed");
        visit.courses.values_mut().for_each(|course| course.go_on(&here));
        // gdb lists a variable twice where a copy of its function leaves one out: the one with a value counts.
        let has_value = |name: &Arc<str>, decl_line: u32| {
            step.vars.iter().any(|v| v.name == *name && v.decl_line == decl_line && matches!(v.observation, Observation::Value(_)))
        };
        for variable in step.vars.iter().filter(|v| v.kind != VarKind::Global) {
            let is_shown = matches!(variable.observation, Observation::Value(_));
            if !is_shown && has_value(&variable.name, variable.decl_line) {
                continue;
            }
            let key = VarKey { function: Arc::clone(&top.function), name: Arc::clone(&variable.name), decl_line: variable.decl_line };
            let Some(assigned) = self.assignments.of(&key) else { continue };
            match &variable.observation {
                Observation::Value(value) => {
                    if let Some(course) = visit.courses.get(&key)
                        && let Some(gap) = &course.gap
                        && course.value == *value
                        && !course.may_be_assigned(assigned)
                    {
                        let evidence = Recovery::Returns { value: Arc::clone(value), back_on: line };
                        let note =
                            LostNote { line: gap.line.clone(), variable: key.clone(), pc: gap.pc, frames: gap.frames.clone(), evidence };
                        self.found.entry((gap.line.clone(), key.clone())).or_insert(note);
                    }
                    visit.courses.insert(key, Course::begin(value, &here));
                }
                Observation::OptimizedOut => {
                    if let Some(course) = visit.courses.get_mut(&key)
                        && course.gap.is_none()
                    {
                        let frames = step.frames.iter().map(|f| Arc::clone(&f.function)).collect();
                        course.gap = Some(Gap { line: here.clone(), pc: step.pc, frames });
                    }
                }
                Observation::Unreadable | Observation::NotInScope => drop(visit.courses.remove(&key)),
            }
        }
    }
}

impl StepSink for Returns<'_> {
    fn step(&mut self, step: Step) -> ControlFlow<()> {
        self.look(&step);
        self.sink.step(step)
    }

    fn news(&self) -> News {
        self.sink.news()
    }

    fn statics(&self) -> Statics {
        self.sink.statics()
    }

    fn give_up(&mut self, lines: &[LineKey], functions: &[Arc<str>]) {
        self.sink.give_up(lines, functions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{FileName, FrameKind, Line, Variable};
    use trueline_oracle::{Digest, Role};

    fn line(number: u32) -> LineKey {
        LineKey { file: FileName::new("a.c"), line: Line(number) }
    }

    fn step(number: u32, shown: Option<&str>) -> Step {
        let frame = Frame { function: "f".into(), kind: FrameKind::Real, file: Some(FileName::new("a.c")), line: Some(Line(number)) };
        let observation = shown.map_or(Observation::OptimizedOut, |value| Observation::Value(value.into()));
        let kind = VarKind::Local;
        let x = Variable { name: "x".into(), kind, decl_line: 2, type_name: "int".into(), holds_pointer: false, observation };
        let (file, line, pc) = (Some(FileName::new("a.c")), Some(Line(number)), u64::from(number));
        Step { step: 0, file, line, pc, frames: [frame].into(), vars: vec![x] }
    }

    /// The lines on which `x`, assigned on some lines, is lost.
    fn lost(stops: &[(u32, Option<&str>)], assigned: &[u32]) -> Vec<u32> {
        let x = VarKey { function: "f".into(), name: "x".into(), decl_line: 2 };
        let assignments = Assignments::of_lines([(x, assigned.iter().map(|l| line(*l)).collect())]);
        let mut digest = Digest::new(Role::Optimized);
        let mut returns = Returns::new(&mut digest, &assignments);
        for (number, shown) in stops {
            let _ = returns.step(step(*number, *shown));
        }
        returns.found().into_iter().map(|note| note.line.line.0).collect()
    }

    #[test]
    fn a_variable_that_nothing_assigns_must_not_go_and_come_back() {
        assert_eq!(lost(&[(1, None), (3, Some("7")), (4, None), (6, Some("7"))], &[2]), [4]);
        // With another value it is another assignment's.
        assert!(lost(&[(1, None), (3, Some("7")), (4, None), (6, Some("8"))], &[2]).is_empty());
    }

    #[test]
    fn an_assignment_without_a_stop_of_its_own_may_have_brought_it_back() {
        assert!(lost(&[(1, None), (3, Some("7")), (4, None), (6, Some("7"))], &[2, 5]).is_empty());
        // Behind the place it does not matter.
        assert_eq!(lost(&[(1, None), (3, Some("7")), (4, None), (6, Some("7"))], &[2, 9]), [4]);
    }

    #[test]
    fn what_ran_on_the_way_back_through_a_loop_is_not_known() {
        assert!(lost(&[(1, None), (5, Some("7")), (6, None), (4, None), (7, Some("7"))], &[2]).is_empty());
    }
}
