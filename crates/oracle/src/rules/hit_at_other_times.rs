//! Debuggers set one breakpoint for all copies of a line in a block, and an optimizer copies, turns around and reorders code:
//! the breakpoint is then hit on some visits, or after the effect, and the line is not lost to its user.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "hit-at-other-times",
    invariants: &[Invariant::Breakpoint],
    reason: "the breakpoint is hit on other visits of the line, or later",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Effect(number) = candidate.subject else { return false };
    let same_line = |t: &&crate::effects::Tied| t.line == case.effects.tied[number].line;
    case.effects.tied.iter().filter(same_line).any(|t| t.exact().any(|p| p.hits > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line, tied};

    #[test]
    fn a_breakpoint_that_is_hit_after_the_effect_is_not_reported() {
        let mut bench = Bench::new();
        bench.effects.tied.push(tied(5, 0x40));
        bench.effects.tied[0].places[0].hits = 1;
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Dropped("hit-at-other-times")]);
        bench.effects.tied[0].places[0].shown = Some(line(6));
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Reported]);
    }
}
