//! A condition and the block it guards share a line at one of the braces: `while (n > 0) {`, `} while (n > 0);`. A loop that is
//! turned around or unrolled has the condition's code in one piece with the block's, and by lines nobody can say
//! on which side of the brace a stop there is.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "brace-line",
    invariants: &[Invariant::Scope, Invariant::SelfContradiction],
    reason: "the block that declares the variable opens or closes on this line",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Variable(variable) = &candidate.subject else { return false };
    let line = candidate.violation.line.0;
    *case.source.file == *candidate.violation.file.as_str()
        && case.source.block_of(variable.decl_line).is_some_and(|block| block.open == line || block.close == line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SourceFacts;
    use crate::rules::bench::{Bench, Verdict, local};

    fn assert_shown_on(text: &str, expectations: &[(u32, Verdict)]) {
        for (line, verdict) in expectations {
            let mut bench = Bench::new();
            bench.source = SourceFacts::of("a.c", text);
            bench.reference_stop(*line, &["main"], &[]);
            bench.optimized_stop(*line, &["main"], &[local("x", 5, "1")]);
            bench.know("main", "x", 5);
            assert_eq!(bench.verdicts(Invariant::Scope), [*verdict], "line {line}");
        }
    }

    #[test]
    fn a_variable_may_show_on_the_line_where_its_block_opens_but_on_no_line_before() {
        let text = "int main(void) {\n  int n = 3;\n  n--;\n  while (n > 0) {\n    int x = n;\n    n -= x;\n  }\n  return 0;\n}\n";
        assert_shown_on(text, &[(4, Verdict::Dropped("brace-line")), (3, Verdict::Reported), (8, Verdict::Reported)]);
    }

    #[test]
    fn a_variable_may_show_on_the_line_where_its_block_closes_but_on_no_line_behind() {
        let text = "int main(void) {\n  int n = 3;\n  n--;\n  do {\n    int x = n;\n    n -= x;\n  } while (n > 0);\n  return 0;\n}\n";
        assert_shown_on(text, &[(7, Verdict::Dropped("brace-line")), (3, Verdict::Reported), (8, Verdict::Reported)]);
    }
}
