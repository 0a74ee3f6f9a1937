//! A copy of a library's function that lost its scope leaves the library's lines to the user's function around it. What a
//! debugger then shows is text of a header that the user did not write and seldom looks at.

use super::Rule;
use crate::case::{Candidate, Case, Subject};
use trueline_model::Invariant;

pub(super) const RULE: Rule = Rule {
    name: "library-line",
    invariants: &[Invariant::SelfContradiction],
    reason: "the line is in a file that is not the user's: a header of a library",
    drop,
};

fn drop(candidate: &Candidate, case: &Case<'_>) -> bool {
    let Subject::Activation(_, at) = &candidate.subject else { return false };
    let users = &case.reference_facts.user_files;
    !users.is_empty() && users.iter().all(|file| file != at.file.base())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::bench::{Bench, Verdict};

    #[test]
    fn a_frame_on_a_line_of_a_library_is_not_reported_and_one_on_a_line_of_the_users_is() {
        let mut bench = Bench::new();
        bench.optimized_stop(90, &["main"], &[]);
        bench.function("main", 1, 9);
        bench.reference_facts.user_files = vec!["main.cpp".to_owned()];
        assert_eq!(bench.verdicts(Invariant::SelfContradiction), [Verdict::Dropped("library-line")]);
        bench.reference_facts.user_files.push("a.c".to_owned());
        assert_eq!(bench.verdicts(Invariant::SelfContradiction), [Verdict::Reported]);
    }
}
