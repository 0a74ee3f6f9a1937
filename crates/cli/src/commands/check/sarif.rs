//! A SARIF 2.1.0 log of `check`, for code-scanning services.

use super::Outcome;
use serde_json::{Value, json};
use trueline_model::{Invariant, Violation};

fn rule_text(invariant: Invariant) -> &'static str {
    match invariant {
        Invariant::Line => "A line is stepped on that never runs",
        Invariant::Backtrace => "A backtrace names a function that was not active there",
        Invariant::Scope => "A variable is visible where it is not in scope",
        Invariant::Parameter => "A parameter shows a value that it never had",
        Invariant::Value => "A variable shows a value that it never had",
        Invariant::Codegen => "-g changes the generated code",
        Invariant::Consistency => "The trace contradicts the source",
        Invariant::Dwarf => "The debug information cannot be evaluated",
    }
}

fn result(program: &str, build: &str, violation: &Violation) -> Value {
    json!({
        "ruleId": violation.invariant.name(),
        "level": "warning",
        "message": { "text": format!("{build}: {}", super::text::title(violation)) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": program },
                "region": { "startLine": violation.line.0 },
            },
            "logicalLocations": [{ "name": &*violation.function, "kind": "function" }],
        }],
        "properties": { "violation": violation },
    })
}

/// The log as text.
pub fn log(outcome: &Outcome<'_>) -> serde_json::Result<String> {
    let rules: Vec<Value> =
        Invariant::ALL.iter().map(|i| json!({ "id": i.name(), "shortDescription": { "text": rule_text(*i) } })).collect();
    let results: Vec<Value> = outcome
        .rows
        .iter()
        .flat_map(|row| {
            let build = super::text::build_name(row);
            let found = row.result.as_ref().ok().map(|r| &r.violations[..]).unwrap_or_default();
            found.iter().map(move |v| result(&outcome.program, &build, v)).collect::<Vec<_>>()
        })
        .collect();
    serde_json::to_string_pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "trueline", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": results,
        }],
    }))
}
