//! Variables that go and come back: shown, then optimized out, then shown again with the same value and no assignment in
//! between, within one visit of their function.
//!
//! The visit is told by the stack: its depth, the function, and the lines of its callers. Where the program comes back to the
//! first line of the visit, a new one may have begun. Only scalars whose address -O0 never takes count, since only of these
//! every assignment can be seen in the code.

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
    /// Lines that were stopped at since it was shown last.
    passed: BTreeSet<LineKey>,
    gap: Option<Gap>,
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
        visit.courses.values_mut().for_each(|c| {
            c.passed.insert(here.clone());
        });
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
                    if let Some(Course { value: before, passed, gap: Some(gap) }) = visit.courses.get(&key)
                        && before == value
                        && passed.is_disjoint(assigned)
                    {
                        let evidence = Recovery::Returns { value: Arc::clone(value), back_on: line };
                        let note =
                            LostNote { line: gap.line.clone(), variable: key.clone(), pc: gap.pc, frames: gap.frames.clone(), evidence };
                        self.found.entry((gap.line.clone(), key.clone())).or_insert(note);
                    }
                    visit.courses.insert(key, Course { value: Arc::clone(value), passed: BTreeSet::from([here.clone()]), gap: None });
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
