//! -Ofast and -ffast-math allow other results of floating-point arithmetic.

use super::Rule;
use crate::case::{Candidate, Case, FloatMath};
use crate::leaves::is_float;
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "relaxed-floats",
    invariants: &[Invariant::Parameter, Invariant::Value, Invariant::Stale],
    reason: "the build may compute floating-point values differently",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    case.float_math == FloatMath::Relaxed && candidate.violation.breach.wrong_value().is_some_and(|held| is_float(held.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn fast_math_may_round_otherwise() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[local("x", 3, "0.5")]);
        bench.optimized_stop(5, &["main"], &[local("x", 3, "0.25")]);
        let x = bench.know("main", "x", 3);
        bench.testify(&x, &["0.5"], &[5], &[]);
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Reported]);
        bench.float_math = FloatMath::Relaxed;
        assert_eq!(bench.verdicts(Invariant::Value), [Verdict::Dropped("relaxed-floats")]);
    }
}
