//! A block whose addresses reach too far brings all of its variables along: one of them tells it. Like `already-told`, the
//! rule looks at the other reports, so it stands apart from [`RULES`](super::RULES).

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::{Invariant, LineKey, VarKey};

/// Told by another variable of the block.
pub const RULE: Rule = Rule {
    name: "same-block",
    invariants: &[Invariant::Scope, Invariant::SelfContradiction],
    reason: "another variable of the same block is reported on this line",
    drop: |_, _| false,
};

/// What was reported of variables so far.
#[derive(Debug, Default)]
pub(crate) struct Told(Vec<(Invariant, LineKey, VarKey)>);

impl Told {
    /// Remembers a report.
    pub fn note(&mut self, candidate: &Candidate) {
        if let Subject::Variable(variable) = &candidate.subject {
            self.0.push((candidate.violation.invariant(), candidate.key(), variable.clone()));
        }
    }

    /// True when a variable of the candidate's block was reported on its line, under the same invariant.
    pub fn covers(&self, candidate: &Candidate, case: &Case<'_>) -> bool {
        let Subject::Variable(variable) = &candidate.subject else { return false };
        if *case.source.file != *candidate.violation.file.as_str() {
            return false;
        }
        let Some(block) = case.source.block_of(variable.decl_line) else { return false };
        let key = candidate.key();
        let is_sibling = |v: &VarKey| v.function == variable.function && case.source.block_of(v.decl_line) == Some(block);
        self.0.iter().any(|(invariant, line, v)| *invariant == candidate.violation.invariant() && *line == key && is_sibling(v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::SourceFacts;
    use crate::rules::bench::{Bench, Verdict, local};

    #[test]
    fn of_the_variables_of_one_block_one_is_reported() {
        let text = "int main(void) {\n  {\n    int x = 1;\n    int y = 2;\n  }\n  {\n    int z = 3;\n  }\n  return 0;\n}\n";
        let mut bench = Bench::new();
        bench.source = SourceFacts::of("a.c", text);
        bench.reference_stop(9, &["main"], &[]);
        bench.optimized_stop(9, &["main"], &[local("x", 3, "1"), local("y", 4, "2"), local("z", 7, "3")]);
        for (name, line) in [("x", 3), ("y", 4), ("z", 7)] {
            bench.know("main", name, line);
        }
        assert_eq!(bench.verdicts(Invariant::Scope), [Verdict::Reported, Verdict::Reported, Verdict::Dropped("same-block")]);
    }
}
