//! Witnesses of another kind: the failing program itself, compiled with one more flag that makes the
//! failure go away (a pass switched off). Nothing about the program changes, so what the failing
//! compilation runs beyond such a witness lies near the pass.
//!
//! Flags are tried in groups: a group that changes nothing as a whole is left alone as a whole.

use trueline_model::{Answer, Coverage, CoverageSet, Program, SeamError};

/// A flag that makes the failure go away.
#[derive(Clone, Debug)]
pub struct SwitchWitness {
    /// The flag.
    pub flag: String,
    /// What the compilation with it covers.
    pub covered: CoverageSet,
}

/// Finds the single flags among `candidates` that make the failure go away, and measures each.
pub fn switch_witnesses(
    program: &Program,
    flags: &[String],
    candidates: &[String],
    judge: &(dyn Fn(&[String]) -> Result<Answer, SeamError> + Sync),
    coverage: &dyn Coverage,
    within_budget: &mut dyn FnMut() -> bool,
) -> Result<Vec<SwitchWitness>, SeamError> {
    let mut found = Vec::new();
    let mut groups: Vec<&[String]> = candidates.chunks(16).rev().collect();
    while let Some(group) = groups.pop() {
        if !within_budget() {
            break;
        }
        match (judge(group)?, group) {
            (Answer::Yes, _) => {}
            (Answer::No, [flag]) => {
                let with: Vec<String> = std::iter::once(flag.clone()).chain(flags.iter().cloned()).collect();
                found.push(SwitchWitness { flag: flag.clone(), covered: coverage.measure(program, &with)? });
            }
            // Some passes cannot be left out, alone or together: a group that cannot be judged is split.
            (Answer::Unjudged, [_]) => {}
            (_, group) => {
                let (left, right) = group.split_at(group.len() / 2);
                groups.push(right);
                groups.push(left);
            }
        }
    }
    Ok(found)
}
