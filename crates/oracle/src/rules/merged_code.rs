//! Two lines that do the same can become one piece of code, which has room for one line. The compiler keeps one of them, or
//! says that there is none (line 0). Where the whole program has fewer instructions with the effect than at -O0, some were made
//! one.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "merged-code",
    invariants: &[Invariant::Breakpoint],
    reason: "the code that has the effect is that of several lines of the function, which do the same",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Effect(number) = candidate.subject else { return false };
    let tied = &case.effects.tied[number];
    let other_row = tied.row.as_ref().is_some_and(|row| *row != tied.line && tied.alike.contains(row));
    let is_fewer = tied.sites.1 < tied.sites.0;
    other_row || is_fewer || case.effects.tied.iter().any(|t| t.pc == tied.pc && t.line != tied.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line, tied};

    #[test]
    fn code_that_carries_the_line_of_another_with_the_same_effect_is_merged() {
        let mut bench = Bench::new();
        bench.effects.tied.push(tied(5, 0x40));
        bench.effects.tied[0].row = Some(line(9));
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Reported]);
        bench.effects.tied[0].alike.insert(line(9));
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Dropped("merged-code")]);
    }

    #[test]
    fn fewer_instructions_than_at_o0_are_merged_ones() {
        let mut bench = Bench::new();
        bench.effects.tied.push(tied(5, 0x40));
        bench.effects.tied[0].sites = (2, 1);
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Dropped("merged-code")]);
    }

    #[test]
    fn an_instruction_that_two_lines_share_is_merged() {
        let mut bench = Bench::new();
        bench.effects.tied = vec![tied(5, 0x40), tied(9, 0x40)];
        assert_eq!(bench.verdicts(Invariant::Breakpoint), [Verdict::Dropped("merged-code"); 2]);
    }
}
