//! Who sees a violation: asks as many readers as the plan wants, and no more than the answers so far require.

use crate::plan::Confirm;
use crate::run::Campaign;
use crate::tally::Advice;
use trueline_explain::{BuildReaders, is_confirmed};
use trueline_model::{EngineKind, Reading};

impl Campaign<'_> {
    /// What the readers say about one of a build's violations; `None` when the debuggers that were asked do not see it.
    pub(crate) fn confirm(&self, build: &BuildReaders<'_, '_>, index: usize) -> Option<Vec<Reading>> {
        let class = &build.questions()[index].class;
        let readings = match (self.plan.confirm, self.tally.advice(class)) {
            (Confirm::Nothing, _) => Some(vec![build.screening(index)]),
            (Confirm::All, _) | (Confirm::Distinct, Advice::Ask) => self.step_through(build, index),
            (Confirm::Distinct, Advice::Accept) => {
                let detail = "the screening engine; others of this class were confirmed".to_owned();
                Some(vec![Reading { detail: Some(detail), ..build.screening(index) }])
            }
            (Confirm::Distinct | Confirm::Spot, Advice::Drop) => None,
            (Confirm::Spot, _) => self.look(build, index),
        };
        for reading in readings.iter().flatten() {
            if let Some(reason) = &reading.reason {
                self.warn_once(&format!("{:?} could not be asked: {reason}", reading.reader));
            }
        }
        readings
    }

    /// Every reader steps through the build.
    fn step_through(&self, build: &BuildReaders<'_, '_>, index: usize) -> Option<Vec<Reading>> {
        let readings = build.step_through(index);
        let yes = is_confirmed(&readings, self.plan.engine);
        self.tally.answer(&build.questions()[index].class, yes);
        yes.then_some(readings)
    }

    /// The debuggers look at the address; where none of them sees it, everybody steps through the build.
    fn look(&self, build: &BuildReaders<'_, '_>, index: usize) -> Option<Vec<Reading>> {
        let class = &build.questions()[index].class;
        let mut answers = build.debuggers_at_the_spot(index).iter().filter_map(|r| r.sees).peekable();
        if answers.peek().is_some() && !answers.any(|sees| sees) && self.plan.engine == EngineKind::Native {
            // Stepping costs what ten units cost: once it has agreed with the look about a class, the look is enough.
            return if self.tally.was_refuted(class) { None } else { self.step_through(build, index) };
        }
        self.tally.answer(class, true);
        Some(build.at_the_spot(index))
    }
}
