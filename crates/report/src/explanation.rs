//! What triage found out about a finding, read back from the document that it keeps in the store.

use std::collections::BTreeMap;
use trueline_model::{BlamedPass, Explanation, Invariant};
use trueline_store::{Store, StoreError};

/// Reads a document; one that cannot be read explains nothing.
pub fn read_explanation(document: &str) -> Option<Explanation> {
    serde_json::from_str(document).ok()
}

/// In lines for people: pass, commands, the update inside the pass, versions.
pub fn explanation_lines(explanation: &Explanation) -> Vec<String> {
    let mut lines: Vec<String> = explanation.note.iter().cloned().collect();
    let mut say = |label: &str, text: Option<&str>| lines.extend(text.map(|text| format!("{label}: {text}")));
    let pass = explanation.pass.as_ref();
    say("pass", pass.map(BlamedPass::title).as_deref());
    say("why", pass.map(|p| p.evidence.as_str()));
    say("shows it", pass.map(|p| p.with.as_str()));
    say("hides it", pass.and_then(|p| p.without.as_deref()));
    say("verdict", explanation.verdict_reason.as_deref());
    if let Some(update) = &explanation.update {
        say("update", Some(&update.summary));
        lines.extend(update.errors.iter().map(|error| error.skeleton.clone()));
    }
    lines.extend(explanation.fingerprint.iter().map(|(version, entry)| format!("{version}: {entry}")));
    lines.extend(explanation.known.iter().map(|known| format!("known: {}", known.title)));
    lines
}

/// How many findings, of one invariant or of all, each pass is behind, most first; what has not been explained is left out.
pub fn passes_of(store: &Store, wanted: Option<Invariant>) -> Result<Vec<(String, usize)>, StoreError> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for record in store.findings()? {
        let explained = record.triage.as_deref().and_then(read_explanation);
        let explained = explained.filter(|e| wanted.is_none_or(|invariant| e.kind == invariant.name()));
        if let Some(pass) = explained.and_then(|e| e.pass) {
            *counts.entry(pass.title()).or_default() += 1;
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
        let document = r#"{"id":null,"kind":"line","program":"a.c","cflags":[],"opt":"-O2","state":"shows","note":null,
            "compiler":{"path":"/usr/bin/clang-16","kind":"clang","version":"16.0.6"},"verdict":null,"verdict_reason":null,"readings":[],
            "pass":{"role":"guilty","name":"LICMPass","execution":3,"of":9,"function":"main","evidence":"absent before",
                "with":"clang a.c","with_all_passes":null,"without":null,"compilations":4},
            "update":{"state":"watched","summary":"1 of 3 wrong","on_the_line":0,"errors":[{"skeleton":"Drop(%1)","pass":"LICMPass"}]},
            "fingerprint":{"clang 16.0.6":"LICMPass"},"cluster":1,"known":null,"dwarf":null,"source_files":[],"isolate":null,
            "unbuildable":{}}"#;
        let explanation = read_explanation(document).unwrap();
        assert_eq!(explanation.pass.as_ref().unwrap().title(), "guilty LICMPass");
        let lines = explanation_lines(&explanation);
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
        assert!(read_explanation("no document").is_none());
    }
}
