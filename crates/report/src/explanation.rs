//! What triage found out about a finding, read back from the document that it keeps in the store.

use serde_json::Value;
use std::collections::BTreeMap;
use trueline_store::{Store, StoreError};

/// An explanation as triage wrote it (`trueline.triage/1`, one finding).
pub struct Explanation(Value);

impl Explanation {
    /// Reads a document; one that cannot be read explains nothing.
    pub fn read(document: &str) -> Option<Self> {
        serde_json::from_str(document).ok().map(Self)
    }

    /// The pass with its role, `guilty tree-ccp1`; the role alone where no pass is named.
    pub fn pass(&self) -> Option<String> {
        let pass = &self.0["pass"];
        let role = pass["role"].as_str()?;
        Some(pass["name"].as_str().map_or_else(|| role.to_owned(), |name| format!("{role} {name}")))
    }

    /// In lines for people: pass, commands, the update inside the pass, versions.
    pub fn lines(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut lines: Vec<String> = text(&self.0["note"]).into_iter().collect();
        lines.extend(self.pass().map(|pass| format!("pass: {pass}")));
        let pass = &self.0["pass"];
        let labelled = [
            ("why", &pass["evidence"]),
            ("shows it", &pass["with"]),
            ("hides it", &pass["without"]),
            ("verdict", &self.0["verdict_reason"]),
        ];
        lines.extend(labelled.into_iter().filter_map(|(label, value)| Some(format!("{label}: {}", text(value)?))));
        let update = &self.0["update"];
        lines.extend(text(&update["summary"]).map(|summary| format!("update: {summary}")));
        lines.extend(update["errors"].as_array().into_iter().flatten().filter_map(|error| text(&error["skeleton"])));
        let versions = self.0["fingerprint"].as_object().into_iter().flatten();
        lines.extend(versions.filter_map(|(version, entry)| Some(format!("{version}: {}", text(entry)?))));
        lines.extend(text(&self.0["known"]["title"]).map(|title| format!("known: {title}")));
        lines
    }
}

/// How many findings each pass is behind, most first; what has not been explained is left out.
pub fn passes_of(store: &Store) -> Result<Vec<(String, usize)>, StoreError> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for record in store.findings()? {
        let pass = record.triage.as_deref().and_then(Explanation::read).and_then(|e| e.pass());
        if let Some(pass) = pass {
            *counts.entry(pass).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_reads_as_sentences() {
        let document = r#"{"pass":{"role":"guilty","name":"LICMPass","evidence":"absent before","with":"clang a.c","without":null},
            "update":{"summary":"1 of 3 wrong","errors":[{"skeleton":"Drop(%1)"}]},"fingerprint":{"clang 16.0.6":"LICMPass"},"known":null}"#;
        let explanation = Explanation::read(document).unwrap();
        assert_eq!(explanation.pass().unwrap(), "guilty LICMPass");
        let lines = explanation.lines();
        assert_eq!(
            lines,
            [
                "pass: guilty LICMPass",
                "why: absent before",
                "shows it: clang a.c",
                "update: 1 of 3 wrong",
                "Drop(%1)",
                "clang 16.0.6: LICMPass"
            ]
        );
        assert!(Explanation::read("no document").is_none());
    }
}
