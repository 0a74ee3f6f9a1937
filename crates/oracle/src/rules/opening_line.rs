//! A condition and the block it guards begin on one line, `while (n > 0) {`. A loop that is turned around has the condition's
//! code behind the block's, often in one piece with it, and by lines nobody can say whether a stop there is before the
//! brace or behind it.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "opening-line",
    invariants: &[Invariant::Scope, Invariant::Consistency],
    reason: "the block that declares the variable opens on this line",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    *case.source.file == *candidate.violation.file.as_str()
        && case.source.block_of(variable.decl_line).is_some_and(|block| block.open == candidate.violation.line.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SourceFacts;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn a_variable_may_show_on_the_line_of_its_blocks_brace_but_on_no_line_before() {
        let text = "int main(void) {\n  int n = 3;\n  n--;\n  while (n > 0) {\n    int x = n;\n    n -= x;\n  }\n  return 0;\n}\n";
        for (line, verdict) in [(4, Verdict::Dropped("opening-line")), (3, Verdict::Reported), (8, Verdict::Reported)] {
            let mut bench = Bench::new();
            bench.source = SourceFacts::of("a.c", text);
            bench.reference_stop(line, &["main"], &[]);
            bench.optimized_stop(line, &["main"], &[local("x", 5, "1")]);
            bench.know("main", "x", 5);
            assert_eq!(bench.verdicts(Invariant::Scope), [verdict], "line {line}");
        }
    }
}
