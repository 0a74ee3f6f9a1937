//! The first instruction of an inlined call often lies in front of the call's range: a breakpoint on it is hit and shows the
//! right line, with the caller as the function. The user stops where he asked to.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "shown-in-caller",
    invariants: &[Invariant::Breakpoint],
    reason: "the breakpoint is hit on the line itself, in code that the debug information gives to another function",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Effect(number) = candidate.subject else { return false };
    let tied = &case.effects.tied[number];
    tied.places.iter().any(|place| !place.in_function && place.hits > 0 && place.shown.as_ref() == Some(&tied.line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, tied};

    #[test]
    fn a_breakpoint_that_is_hit_on_its_line_in_front_of_an_inlined_call_is_not_reported() {
        let mut bench = Bench::new();
        bench.effects.tied.push(tied(5, 0x40));
        bench.effects.tied[0].places[0].in_function = false;
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Reported]);
        bench.effects.tied[0].places[0].hits = 1;
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Dropped("shown-in-caller")]);
    }
}
