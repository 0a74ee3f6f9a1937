//! LI: the lines stepped on in the optimized trace are a subset of those stepped on at -O0.

use super::{ToldBy, at_stop, views};
use crate::case::{Candidate, Case, Subject};
use trueline_model::{Breach, Line, NeverRun, Step, Violation};

pub(super) const TOLD_BY: ToldBy = ToldBy::Address;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    for (key, digest) in &case.optimized.lines {
        if case.reference.lines.contains_key(key) {
            continue;
        }
        // Every stop counts: a rule may explain one address and not another.
        for stop in &digest.stops {
            let breach = NeverRun { rows: rows_at(case, case.optimized.stop(*stop).pc) };
            found(at_stop(case, key, *stop, Subject::Stop, Breach::Line(breach)));
        }
    }
}

pub(super) fn shows(violation: &Violation, _: &NeverRun, step: &Step) -> bool {
    views(step).any(|(line, _)| line == Some(violation.line))
}

/// The lines that the line table gives an address, each once.
fn rows_at(case: &Case<'_>, pc: u64) -> Vec<Option<Line>> {
    let mut lines = Vec::new();
    for row in case.optimized_facts.rows_at.get(&pc).into_iter().flatten() {
        let line = row.line.as_ref().map(|l| l.line);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::case::Strictness;
    use crate::rules::bench::{Bench, Verdict};
    use trueline_model::Invariant;

    #[test]
    fn strictly_a_declaration_without_code_at_o0_counts() {
        let mut bench = Bench::new();
        bench.optimized_stop(7, &["main"], &[]);
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Dropped("no-reference-row")]);
        bench.strictness = Strictness::Literal;
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Reported]);
    }
}
