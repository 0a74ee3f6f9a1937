//! The closing check of `repair`: the new file against the reference, next to the old one.

use super::repair::Args;
use std::collections::BTreeMap;
use std::path::Path;
use trueline_check::{CheckOptions, CheckRun, Checker};
use trueline_repair::image::{Image, ImageKind};
use trueline_toolchain::Limits;

/// Stops after which the closing check gives up: it is a check, not a campaign.
const MAX_STEPS: u64 = 4_000;

/// Violations by invariant before and after, or why there is no answer.
pub fn compare(args: &Args, image: &Image, reference: &Path) -> Option<serde_json::Value> {
    if image.kind == ImageKind::Relocatable || trueline_repair::snapshot::elf_entry(image).0 == 0 {
        return None;
    }
    let options = CheckOptions { max_steps: MAX_STEPS, limits: Limits::seconds(30), ..CheckOptions::default() };
    let answer = || -> Result<serde_json::Value, trueline_check::CheckError> {
        let checker = Checker::new(options)?;
        let source = checker.reference_pair(reference, args.program_args())?;
        let before = count(&checker.check_against(&source, args.binary())?);
        let after = count(&checker.check_against(&source, args.output())?);
        let more: Vec<&String> = after.iter().filter(|(k, n)| before.get(*k).copied().unwrap_or(0) < **n).map(|(k, _)| k).collect();
        Ok(serde_json::json!({ "before": before, "after": after, "increased": more }))
    };
    Some(answer().unwrap_or_else(|e| serde_json::json!({ "not_run": e.to_string() })))
}

fn count(run: &CheckRun) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for violation in &run.violations {
        *found.entry(violation.invariant.to_string()).or_insert(0) += 1;
    }
    found
}
