//! Temporaries that a macro declares have no place in the source that a person could compare scopes with: the
//! line of their declaration is that of the macro's use, and their block is invisible.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "macro-temporary",
    invariants: &[Invariant::Scope, Invariant::SelfContradiction],
    reason: "the variable is declared inside a macro: its name does not stand on the line of its declaration",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    *case.source.file == *candidate.violation.file.as_str() && case.source.has_word(variable.decl_line, &variable.name) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SourceFacts;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn a_name_that_only_the_macro_spells_is_not_judged() {
        let mut bench = Bench::new();
        bench.reference_stop(3, &["main"], &[]);
        bench.optimized_stop(3, &["main"], &[local("_a", 2, "1"), local("m", 2, "1")]);
        bench.know("main", "_a", 2);
        bench.know("main", "m", 2);
        bench.source = SourceFacts::of("a.c", "int main(void) {\n  int m = MAX(p, q);\n  return m;\n}\n");
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Reported, Verdict::Dropped("macro-temporary")]);
    }
}
