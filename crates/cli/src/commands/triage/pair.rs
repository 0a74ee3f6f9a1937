//! `triage --reference A --optimized B`: what can be known of a pair's findings without a compiler.

use super::print::{unasked, verdict_name};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use trueline_check::{CheckOptions, Checker, Repeat};
use trueline_explain::{PairFinding, Readers, explain_pair};
use trueline_model::{Fault, Reading, Verdict, Violation, wording};
use trueline_toolchain::Limits;
use trueline_trace::Patience;

/// A pair as flags have it.
#[derive(clap::Args)]
pub struct PairFlags {
    /// A binary built elsewhere at -O0 with -g; goes with --optimized.
    #[arg(long, value_name = "BINARY", requires = "optimized", conflicts_with_all = ["project", "targets"])]
    reference: Option<PathBuf>,
    /// The optimized build of the same program. No pass can be searched: the readers and the debug information are asked.
    #[arg(long, value_name = "BINARY", requires = "reference")]
    optimized: Option<PathBuf>,
    /// Arguments of the programs of a pair.
    #[arg(last = true, value_name = "ARGS", requires = "reference")]
    args: Vec<String>,
}

impl PairFlags {
    /// The two binaries, when the command is about a pair.
    pub fn binaries(&self) -> Option<(&Path, &Path)> {
        Some((self.reference.as_deref()?, self.optimized.as_deref()?))
    }

    /// The arguments of the programs.
    pub fn args(&self) -> &[String] {
        &self.args
    }
}

/// The document that `triage --reference A --optimized B --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Pair")]
pub struct Document<'a> {
    schema: &'static str,
    /// The optimized build.
    program: &'a Path,
    findings: Vec<Finding<'a>>,
}

/// A finding of a pair with what is known of it.
#[derive(Serialize, JsonSchema)]
pub struct Finding<'a> {
    /// What is wrong.
    violation: &'a Violation,
    /// Whose fault it is.
    verdict: Option<Verdict>,
    /// Why.
    verdict_reason: Option<&'a str>,
    /// What each reader said.
    readings: &'a [Reading],
    /// The wrong part of the debug information.
    dwarf: Option<&'a str>,
}

/// Checks the pair and asks the readers about what `is_wanted` lets through.
pub fn explain(
    (reference, optimized): (&Path, &Path),
    args: &[String],
    options: CheckOptions,
    with_readers: bool,
    is_wanted: impl Fn(&Fault) -> bool,
) -> anyhow::Result<Vec<PairFinding>> {
    // As `check` looks at pairs.
    const SECONDS: u64 = 120;
    const VISITS: u32 = 32;
    let options = CheckOptions { repeat: Repeat::Twice, patience: Patience::Visits(VISITS), limits: Limits::seconds(SECONDS), ..options };
    let checker = Checker::new(options.clone())?;
    let reference = checker.reference_pair(reference, args)?;
    let run = checker.check_against(&reference, optimized)?;
    let wanted = run.violations.iter().filter(|v| is_wanted(&Fault::Violation((*v).clone()))).cloned().collect();
    let readers = with_readers.then(|| Readers::beside(&options));
    Ok(explain_pair(readers.as_ref(), &reference, &run, wanted))
}

/// Prints the document.
pub fn json(optimized: &Path, findings: &[PairFinding]) -> anyhow::Result<()> {
    let told = findings.iter().map(|f| Finding {
        violation: &f.violation,
        verdict: f.verdict.as_ref().map(|(verdict, _)| *verdict),
        verdict_reason: f.verdict.as_ref().map(|(_, why)| why.as_str()),
        readings: &f.readings,
        dwarf: f.dwarf.as_deref(),
    });
    let findings = told.collect();
    println!("{}", serde_json::to_string_pretty(&Document { schema: "trueline.pair/1", program: optimized, findings })?);
    Ok(())
}

/// Prints what was found out, for people.
pub fn text(optimized: &Path, findings: &[PairFinding]) {
    for finding in findings {
        println!("{}", wording::identity(&Fault::Violation(finding.violation.clone())));
        if let Some((verdict, why)) = &finding.verdict {
            println!("  verdict   {}: {why}", verdict_name(*verdict));
        }
        unasked(&finding.readings);
        if let Some(dwarf) = &finding.dwarf {
            println!("  dwarf     {}", dwarf.replace('\n', "\n            "));
        }
        println!();
    }
    if findings.is_empty() {
        println!("{}: nothing to explain", optimized.display());
    } else {
        println!("no pass is searched: a pair cannot be built again; triage a FILE or a --project for that");
    }
}
