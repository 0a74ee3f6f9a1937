//! The JSON document of `check`.

use super::baseline::Baseline;
use super::batch::{BuildRow, CheckView, Checked, CheckedProgram};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueline_check::{Cause, CheckError, Completeness, Dropped, Group, GroupBy, MomentCount, Note, cause_of, group_for_report};
use trueline_model::{CompilerId, EngineKind, OptLevel, Policy, Violation};

/// What `trueline check --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Check")]
pub struct Document<'a> {
    /// `trueline.check/2`.
    schema: &'static str,
    /// The inputs, as they were given.
    program: &'a str,
    /// Every build of every program.
    runs: Vec<&'a RunDocument>,
    /// What the baseline excused; only with `--baseline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Excused>,
}

#[derive(Serialize, JsonSchema)]
struct Excused {
    /// Known violations that were found again.
    known: usize,
    /// Known violations of these builds that are no longer there.
    gone: usize,
}

/// One build.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct RunDocument {
    /// The program's path.
    pub program: String,
    /// Who compiled; none for binaries built elsewhere.
    pub compiler: Option<CompilerId>,
    /// At which level; none for binaries built elsewhere.
    pub opt: Option<OptLevel>,
    /// Who traced.
    engine: EngineKind,
    /// Whose reading habits the native engine followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Policy>,
    /// Stops at -O0.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_steps: Option<u64>,
    /// Stops in this build.
    #[serde(skip_serializing_if = "Option::is_none")]
    optimized_steps: Option<u64>,
    /// What is wrong, without what the baseline knows.
    pub violations: Vec<Violation>,
    /// The violations put together as `--group-by` says, else by their cause, by shape where there are more than sixty; the worst first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// What is wrong and known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Violation>,
    /// How many of those are known by their cause.
    #[serde(skip)]
    pub known_by_cause: usize,
    /// The cause of each violation, then of each that is known.
    #[serde(skip)]
    pub causes: Vec<Cause>,
    /// Where source files are, by base name.
    #[serde(skip)]
    pub paths: BTreeMap<String, String>,
    /// What the rules dropped; only with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<Vec<Dropped>>,
    /// What was not seen or left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Note>,
    /// How many stops could be placed among the moments of the -O0 run; only where `stale` is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    moments: Option<MomentCount>,
    /// How much of the -O0 view is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    completeness: Option<Completeness>,
    /// True when the trace ran into `--max-steps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_off: Option<bool>,
    /// CPU seconds of this level's compilations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile_cpu: Option<f64>,
    /// CPU seconds of this level's runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_cpu: Option<f64>,
    /// The commands that made both builds.
    commands: Vec<String>,
    /// Why it could not be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// Why a build could not be checked.
#[derive(Serialize, JsonSchema)]
pub struct Failure {
    /// compiler-crashed, compiler-hung, wrong-code, not-compiled, bad-program, bad-binary,
    /// nothing-checked or failed.
    pub kind: String,
    /// For people.
    pub message: String,
    /// True when the baseline knows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(default)]
    pub known: bool,
}

/// The name of an error's kind.
pub fn kind_of(error: &CheckError) -> &'static str {
    match error {
        CheckError::CompilerCrashed { .. } => "compiler-crashed",
        CheckError::CompilerHung { .. } => "compiler-hung",
        CheckError::WrongCode { .. } => "wrong-code",
        CheckError::Build(_) => "not-compiled",
        CheckError::BadProgram { .. } | CheckError::TooLong { .. } => "bad-program",
        CheckError::BadBinary { .. } => "bad-binary",
        CheckError::NothingChecked { .. } => "nothing-checked",
        _ => "failed",
    }
}

/// The message with bare file names: two runs say the same, wherever they compiled.
fn without_scratch(message: &str) -> String {
    let place = format!("{}/trueline-", std::env::temp_dir().display());
    let mut parts = message.split(place.as_str());
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| text + part.split_once('/').map_or(part, |(_, rest)| rest))
}

impl RunDocument {
    /// A run that found these, for tests of what is made of runs.
    #[cfg(test)]
    pub fn of_violations(program: &str, violations: Vec<Violation>) -> Self {
        Self {
            program: program.to_owned(),
            compiler: None,
            opt: None,
            engine: EngineKind::Native,
            policy: None,
            reference_steps: None,
            optimized_steps: None,
            violations,
            groups: Vec::new(),
            known: Vec::new(),
            known_by_cause: 0,
            causes: Vec::new(),
            paths: BTreeMap::new(),
            dropped: None,
            notes: Vec::new(),
            moments: None,
            completeness: None,
            cut_off: None,
            compile_cpu: None,
            trace_cpu: None,
            commands: Vec::new(),
            error: None,
        }
    }

    /// One build of a program.
    pub fn of(outcome: &CheckedProgram, row: &BuildRow, view: &CheckView) -> Self {
        let ok = row.result.as_ref().ok();
        let reference = row.reference.map(|index| &outcome.references[index]);
        let commands = reference.into_iter().flat_map(|r| &r.commands).chain(ok.into_iter().flat_map(|r| &r.commands));
        Self {
            program: outcome.program.clone(),
            compiler: row.compiler.as_ref().map(|c| c.id.clone()),
            opt: row.opt,
            engine: view.engine,
            policy: view.policy,
            reference_steps: ok.map(|r| r.reference_steps),
            optimized_steps: ok.map(|r| r.optimized_steps),
            violations: ok.map(|r| r.violations.clone()).unwrap_or_default(),
            groups: ok.map(|r| group_for_report(&r.violations, &r.debug, view.group_by)).unwrap_or_default(),
            known: row.known.clone(),
            known_by_cause: row.known_by_cause,
            causes: ok.map_or_else(Vec::new, |r| {
                let all = r.violations.iter().chain(&row.known);
                all.map(|v| cause_of(v, &r.debug, GroupBy::Cause)).collect()
            }),
            paths: ok
                .into_iter()
                .flat_map(|r| r.violations.iter().chain(&row.known))
                .filter_map(|v| Some((v.file.base().to_owned(), outcome.sources.path(&v.file)?.to_owned())))
                .collect(),
            dropped: ok.filter(|_| view.explain).map(|r| r.dropped.clone()),
            notes: ok.map(|r| r.notes.clone()).unwrap_or_default(),
            moments: ok.and_then(|r| r.moments),
            completeness: ok.map(|r| r.completeness.clone()),
            cut_off: ok.map(|r| r.cut_off),
            compile_cpu: ok.map(|r| r.compile_cpu.as_secs_f64()),
            trace_cpu: ok.map(|r| r.trace_cpu.as_secs_f64()),
            commands: commands.cloned().collect(),
            error: row.result.as_ref().err().map(|e| Failure {
                kind: kind_of(e).to_owned(),
                message: without_scratch(&e.to_string()),
                known: row.excused,
            }),
        }
    }
}

/// The document.
pub fn document(program: &str, checked: &[Checked], baseline: Option<&Baseline>) -> serde_json::Result<String> {
    let runs: Vec<&RunDocument> = checked.iter().flat_map(|c| &c.runs).collect();
    let baseline = baseline.map(|b| Excused { known: runs.iter().map(|r| r.known.len()).sum(), gone: b.gone(checked) });
    serde_json::to_string_pretty(&Document { schema: "trueline.check/2", program, runs, baseline })
}

#[cfg(test)]
mod tests {
    #[test]
    fn scratch_directories_are_not_told() {
        let place = std::env::temp_dir().join("trueline-12-abc");
        let message = format!("gcc fails on {0}/a.c:\n{0}/a.c:1: error", place.display());
        assert_eq!(super::without_scratch(&message), "gcc fails on a.c:\na.c:1: error");
        assert_eq!(super::without_scratch("no path"), "no path");
    }
}
