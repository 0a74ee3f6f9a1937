//! A SARIF 2.1.0 log of `check`, for code-scanning services.

use super::batch::Checked;
use serde_json::{Value, json};
use trueline_model::{Invariant, Violation, wording};

fn result(program: &str, build: &str, violation: &Violation, state: &str) -> Value {
    json!({
        "ruleId": violation.invariant().name(),
        "level": "warning",
        "baselineState": state,
        "message": { "text": format!("{build}: {}", wording::words(violation).title) },
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

/// The log as text. Known violations are in it, marked as unchanged: code-scanning services keep count of them.
pub fn log(checked: &[Checked]) -> serde_json::Result<String> {
    let rules: Vec<Value> =
        Invariant::ALL.iter().map(|i| json!({ "id": i.name(), "shortDescription": { "text": wording::rule(*i) } })).collect();
    let mut results = Vec::new();
    for run in checked.iter().flat_map(|c| &c.runs) {
        let build = super::text::build_name(run.compiler.as_ref(), run.opt);
        results.extend(run.violations.iter().map(|v| result(&run.program, &build, v, "new")));
        results.extend(run.known.iter().map(|v| result(&run.program, &build, v, "unchanged")));
    }
    serde_json::to_string_pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "trueline", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": results,
        }],
    }))
}
