//! The JSON document of `check`.

use super::{Outcome, Row};
use serde::Serialize;
use trueline_check::{CheckError, Completeness, Dropped};
use trueline_model::{CompilerId, EngineKind, OptLevel, Policy, Violation};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    program: &'a str,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    compiler: Option<&'a CompilerId>,
    opt: Option<OptLevel>,
    engine: EngineKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<Policy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    optimized_steps: Option<u64>,
    violations: &'a [Violation],
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<&'a [Dropped]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completeness: Option<&'a Completeness>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_off: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compile_cpu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_cpu: Option<f64>,
    commands: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

#[derive(Serialize)]
struct Failure {
    kind: &'static str,
    message: String,
}

fn kind_of(error: &CheckError) -> &'static str {
    match error {
        CheckError::CompilerCrashed { .. } => "compiler-crashed",
        CheckError::CompilerHung { .. } => "compiler-hung",
        CheckError::WrongCode { .. } => "wrong-code",
        CheckError::Build(_) => "not-compiled",
        CheckError::BadProgram { .. } => "bad-program",
        CheckError::BadBinary { .. } => "bad-binary",
        _ => "failed",
    }
}

fn run<'a>(outcome: &'a Outcome<'_>, row: &'a Row) -> Run<'a> {
    let ok = row.result.as_ref().ok();
    let commands = outcome.references[row.reference].commands.iter().chain(ok.into_iter().flat_map(|r| &r.commands));
    Run {
        compiler: row.compiler.as_ref().map(|c| &c.id),
        opt: row.opt,
        engine: outcome.engine,
        policy: outcome.policy,
        reference_steps: ok.map(|r| r.reference_steps),
        optimized_steps: ok.map(|r| r.optimized_steps),
        violations: ok.map_or(&[], |r| &r.violations),
        dropped: ok.filter(|_| outcome.explain).map(|r| &r.dropped[..]),
        completeness: ok.map(|r| &r.completeness),
        cut_off: ok.map(|r| r.cut_off),
        compile_cpu: ok.map(|r| r.compile_cpu.as_secs_f64()),
        trace_cpu: ok.map(|r| r.trace_cpu.as_secs_f64()),
        commands: commands.map(String::as_str).collect(),
        error: row.result.as_ref().err().map(|e| Failure { kind: kind_of(e), message: e.to_string() }),
    }
}

/// The document.
pub fn document(outcome: &Outcome<'_>) -> serde_json::Result<String> {
    let runs = outcome.rows.iter().map(|row| run(outcome, row)).collect();
    serde_json::to_string_pretty(&Document { schema: "trueline.check/1", program: &outcome.program, runs })
}
