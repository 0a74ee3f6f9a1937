//! A line without a statement of its own has its breakpoint moved to the next line that has one. Where the program stops
//! there, in the same function and before the effect, the user has what he asked for.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "moved-in-function",
    invariants: &[Invariant::Breakpoint],
    reason: "the debugger moved the breakpoint within the function, and it is hit there before the effect",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Effect(number) = candidate.subject else { return false };
    let tied = &case.effects.tied[number];
    tied.moved == tied.missed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line, tied};

    #[test]
    fn a_breakpoint_that_is_hit_on_the_next_line_of_the_function_is_not_reported() {
        let mut bench = Bench::new();
        bench.effects.tied.push(tied(5, 0x40));
        bench.effects.tied[0].places[0].shown = Some(line(6));
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Reported]);
        bench.effects.tied[0].moved = 1;
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Dropped("moved-in-function")]);
    }
}
