//! `do {`, labels, declarations, a brace alone: -O0 gives some lines no code, so it could not have executed them, and
//! nothing can be said about a build that attributes code to them.

use super::Rule;
use crate::case::{Candidate, Case};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "no-reference-row",
    invariants: &[Invariant::Line],
    reason: "-O0 has no code for this line, so its absence from the -O0 trace says nothing",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    !case.reference_facts.rows.contains(&candidate.key())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, line};

    #[test]
    fn a_line_without_code_at_o0_is_not_judged() {
        let mut bench = Bench::new();
        bench.reference_facts.rows.insert(line(8));
        bench.optimized_stop(7, &["main"], &[]);
        bench.optimized_stop(8, &["main"], &[]);
        assert_eq!(bench.verdicts(Invariant::Line), [Verdict::Reported, Verdict::Dropped("no-reference-row")]);
    }
}
