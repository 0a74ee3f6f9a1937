//! A SARIF 2.1.0 log of `check`, for code-scanning services.

use super::batch::Checked;
use super::json::RunDocument;
use serde_json::{Value, json};
use trueline_model::{Invariant, Violation, wording};

/// The name of a file for people's repositories: from the working directory where it is below that.
fn uri(run: &RunDocument, violation: &Violation) -> String {
    let path = run.paths.get(violation.file.base()).map_or(violation.file.as_str(), String::as_str);
    let here = std::env::current_dir().map(|dir| format!("{}/", dir.display())).unwrap_or_default();
    path.strip_prefix(here.as_str()).filter(|_| !here.is_empty()).unwrap_or(path).to_owned()
}

fn result(run: &RunDocument, build: &str, number: usize, violation: &Violation, state: &str) -> Value {
    let mut result = json!({
        "ruleId": violation.invariant().name(),
        "level": "warning",
        "baselineState": state,
        "message": { "text": format!("{build}: {}", wording::words(violation).title) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(run, violation) },
                "region": { "startLine": violation.line.0 },
            },
            "logicalLocations": [{ "name": &*violation.function, "kind": "function" }],
        }],
        "properties": { "violation": violation },
    });
    // Services keep one alert for each fingerprint: the violations of one cause are one.
    if let Some(cause) = run.causes.get(number) {
        result["partialFingerprints"] = json!({ "cause/v1": format!("{build}: {cause}") });
    }
    result
}

/// The log as text. Known violations are in it, marked as unchanged: code-scanning services keep count of them.
pub fn log(checked: &[Checked]) -> serde_json::Result<String> {
    let rules: Vec<Value> =
        Invariant::ALL.iter().map(|i| json!({ "id": i.name(), "shortDescription": { "text": wording::rule(*i) } })).collect();
    let mut results = Vec::new();
    for run in checked.iter().flat_map(|c| &c.runs) {
        let build = super::text::build_name(run.compiler.as_ref(), run.opt);
        let new = run.violations.len();
        results.extend(run.violations.iter().enumerate().map(|(i, v)| result(run, &build, i, v, "new")));
        results.extend(run.known.iter().enumerate().map(|(i, v)| result(run, &build, new + i, v, "unchanged")));
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
