//! SI: what is visible at a stop is visible at -O0 stops on the same line. The literal definition asks
//! for every -O0 stop; a rule relaxes that to some.

use super::{ToldBy, at_stop, is_in_function, variables_of};
use crate::case::{Candidate, Case, Strictness, Subject};
use std::collections::BTreeSet;
use std::sync::Arc;
use trueline_model::{Breach, Line, OutOfScope, Step, Violation};

pub(super) const TOLD_BY: ToldBy = ToldBy::Address;

pub(super) fn list(case: &Case<'_>, found: &mut dyn FnMut(Candidate)) {
    for (key, digest) in &case.optimized.lines {
        let Some(reference) = case.reference.lines.get(key) else { continue };
        let mut strangers: BTreeSet<&Arc<str>> = BTreeSet::new();
        for (variable, stop) in digest.visible.iter().filter(|(v, _)| !reference.always_visible.contains(v)) {
            // A function that never stands on this line brings all of its variables: one of them tells it.
            let is_global = variable.function.is_empty();
            let is_native =
                is_global || case.reference.stops_on(key).any(|s| s.stack.first().is_some_and(|a| a.function == variable.function));
            if case.strictness == Strictness::Filtered && !is_native && !strangers.insert(&variable.function) {
                continue;
            }
            let breach = OutOfScope {
                variable: Arc::clone(&variable.name),
                owner: Arc::clone(&variable.function),
                declared: Line(variable.decl_line),
            };
            found(at_stop(case, key, *stop, Subject::Variable(variable.clone()), Breach::Scope(breach)));
        }
    }
}

pub(super) fn shows(violation: &Violation, _: &OutOfScope, step: &Step) -> bool {
    step.line == Some(violation.line) && is_in_function(violation, step) && variables_of(violation, step).next().is_some()
}

#[cfg(test)]
mod tests {
    use crate::case::Strictness;
    use crate::rules::bench::{Bench, local};
    use trueline_model::{Invariant, VarKind, Variable};

    #[test]
    fn a_global_of_another_function_is_out_of_scope_too() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.know("", "count", 9);
        bench.optimized_stop(5, &["main"], &[Variable { kind: VarKind::Global, ..local("count", 9, "1") }]);
        assert_eq!(bench.violations(Invariant::Scope).len(), 1);
        bench.reference_stop(5, &["main"], &[Variable { kind: VarKind::Global, ..local("count", 9, "1") }]);
        assert_eq!(bench.violations(Invariant::Scope).len(), 0);
    }

    #[test]
    fn strictly_every_variable_of_a_foreign_function_counts() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.know("pick", "a", 1);
        bench.know("pick", "b", 2);
        bench.optimized_stop(5, &["pick"], &[local("a", 1, "1"), local("b", 2, "1")]);
        assert_eq!(bench.violations(Invariant::Scope).len(), 1);
        bench.strictness = Strictness::Literal;
        assert_eq!(bench.violations(Invariant::Scope).len(), 2);
    }

    #[test]
    fn the_reported_address_is_that_of_a_stop_where_the_variable_shows() {
        let mut bench = Bench::new();
        bench.reference_stop(5, &["main"], &[]);
        bench.know("main", "x", 3);
        bench.optimized_stop(5, &["main"], &[]);
        let shows = bench.optimized_stop(5, &["main"], &[local("x", 3, "1")]);
        let reported: Vec<_> = bench.violations(Invariant::Scope).iter().map(|v| v.pc).collect();
        assert_eq!(reported, [Some(shows)]);
    }
}
