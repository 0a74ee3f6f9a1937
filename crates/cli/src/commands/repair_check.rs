//! The closing check of `repair`: the new file against the reference, next to the old one.

use super::repair::Args;
use std::collections::BTreeMap;
use std::path::Path;
use trueline_check::{CheckOptions, CheckRun, Checker};
use trueline_machine::image::{Image, ImageKind};
use trueline_toolchain::Limits;

/// Stops after which the closing check gives up: it is a check, not a campaign.
const MAX_STEPS: u64 = 4_000;

/// What the closing check says.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Closing {
    /// Both files were checked.
    Compared {
        /// Violations by invariant in the old file.
        before: BTreeMap<String, usize>,
        /// Violations by invariant in the new file.
        after: BTreeMap<String, usize>,
        /// Invariants with more violations than before.
        increased: Vec<String>,
    },
    /// There is no answer.
    NotRun {
        /// Why.
        not_run: String,
    },
}

impl Closing {
    /// The invariants that the new file breaks more often than the old one.
    pub fn increased(&self) -> &[String] {
        match self {
            Self::Compared { increased, .. } => increased,
            Self::NotRun { .. } => &[],
        }
    }
}

impl std::fmt::Display for Closing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotRun { not_run } => write!(f, "not run: {not_run}"),
            Self::Compared { before, after, increased } => {
                let side = |counts: &BTreeMap<String, usize>| {
                    let parts: Vec<String> = counts.iter().map(|(invariant, n)| format!("{n} {invariant}")).collect();
                    if parts.is_empty() { "no violations".to_owned() } else { parts.join(", ") }
                };
                write!(f, "{} before, {} after; ", side(before), side(after))?;
                if increased.is_empty() { f.write_str("no invariant got worse") } else { write!(f, "WORSE: {}", increased.join(", ")) }
            }
        }
    }
}

/// Violations by invariant before and after, or why there is no answer.
pub fn compare(args: &Args, image: &Image, reference: &Path, repaired: &Path) -> Option<Closing> {
    if image.kind == ImageKind::Relocatable || trueline_repair::snapshot::elf_entry(image).0 == 0 {
        return None;
    }
    let options = CheckOptions { max_steps: MAX_STEPS, limits: Limits::seconds(30), ..CheckOptions::default() };
    let answer = || -> Result<Closing, trueline_check::CheckError> {
        let checker = Checker::new(options)?;
        let source = checker.reference_pair(reference, args.program_args())?;
        let before = count(&checker.check_against(&source, args.binary())?);
        let after = count(&checker.check_against(&source, repaired)?);
        let more = |(kind, n): &(&String, &usize)| before.get(*kind).copied().unwrap_or(0) < **n;
        let increased = after.iter().filter(more).map(|(kind, _)| kind.clone()).collect();
        Ok(Closing::Compared { before, after, increased })
    };
    Some(answer().unwrap_or_else(|e| Closing::NotRun { not_run: e.to_string() }))
}

fn count(run: &CheckRun) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for violation in &run.violations {
        *found.entry(violation.invariant().to_string()).or_insert(0) += 1;
    }
    found
}
