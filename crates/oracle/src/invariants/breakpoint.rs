//! A breakpoint on a line that has a visible effect at -O0 is hit, on that line and in its function, before each time that
//! the effect takes place; a breakpoint on a line that never runs is not hit.

use super::ToldBy;
use crate::case::{Candidate, Case, Subject};
use std::sync::Arc;
use trueline_model::{Astray, Breach, Line, LineKey, Step, Violation};

pub(super) const TOLD_BY: ToldBy = ToldBy::Placement;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    for (number, tied) in case.effects.tied.iter().enumerate().filter(|(_, t)| t.missed > 0) {
        let mut lines: Vec<Line> = tied.places.iter().filter_map(|p| p.shown.as_ref()).map(|l| l.line).collect();
        lines.sort_unstable();
        lines.dedup();
        let effect = tied.effect.clone();
        let breach = match tied.exact().next() {
            Some(_) => Astray::NeverHit { effect, places: tied.exact().map(|p| p.pc).collect() },
            None => Astray::Moved { effect, to: lines },
        };
        found(candidate(&tied.line, &tied.function, tied.pc, breach, Subject::Effect(number)));
    }
    for (line, hits) in &case.effects.hit_without_run {
        let Some((pc, function)) = hits.first() else { continue };
        let breach = Astray::NotRun { places: hits.iter().map(|h| h.0).collect() };
        found(candidate(line, function, *pc, breach, Subject::Stop));
    }
}

fn candidate(line: &LineKey, function: &Arc<str>, pc: u64, breach: Astray, subject: Subject) -> Candidate {
    let violation = Violation {
        file: line.file.clone(),
        line: line.line,
        function: Arc::clone(function),
        frames: vec![Arc::clone(function)],
        pc: Some(pc),
        breach: Breach::Breakpoint(breach),
    };
    Candidate { violation, subject, stop: None }
}

/// No stop shows where breakpoints go: the debugger is asked for their places.
pub(super) fn shows(_: &Violation, _: &Astray, _: &Step) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use crate::rules::bench::{Bench, Verdict, line, tied};
    use trueline_model::Invariant;

    #[test]
    fn a_line_whose_breakpoint_is_never_hit_is_reported() {
        let mut bench = Bench::new();
        bench.effects.tied.push(tied(5, 0x40));
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Reported]);
        bench.effects.tied[0].missed = 0;
        assert_eq!(bench.verdicts(Invariant::Breakpoint), []);
    }

    #[test]
    fn a_breakpoint_that_is_hit_on_a_line_that_never_runs_is_reported_once() {
        let mut bench = Bench::new();
        bench.effects.hit_without_run.insert(line(7), vec![(0x40, "main".into()), (0x50, "main".into())]);
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Reported]);
        bench.reference_facts.rows.insert(line(7));
        bench.optimized_stop(7, &["main"], &[]);
        let both = [Invariant::Line, Invariant::Breakpoint];
        assert_eq!(bench.verdicts_of(&both), [Verdict::Reported, Verdict::Dropped("already-told")]);
    }
}
