//! The JSON document of `triage`; each finding's part is also what the store keeps.

use crate::explainer::Explained;
use crate::isolation;
use crate::update::{Update, WrongUpdate};
use schemars::JsonSchema;
use serde::Serialize;
use trueline_model::{BlamedPass, Explanation, ExplanationState, Fault, KnownAs, Verdict};
use trueline_triage::{Attribution, entry_text};

/// What `trueline triage --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Triage")]
pub struct TriageDocument<'a> {
    /// `trueline.triage/2`.
    schema: &'static str,
    /// The findings, explained.
    findings: Vec<Explanation<WrongUpdate>>,
    /// What else there is to say.
    notes: &'a [String],
}

impl<'a> TriageDocument<'a> {
    /// The document.
    pub fn new(explained: &[Explained], notes: &'a [String]) -> Self {
        Self { schema: "trueline.triage/2", findings: explained.iter().map(Explained::explanation).collect(), notes }
    }
}

fn blamed(attribution: &Attribution) -> BlamedPass {
    BlamedPass {
        role: attribution.role,
        name: attribution.name.clone(),
        execution: attribution.execution,
        of: attribution.of,
        function: attribution.function.clone(),
        with: attribution.with.command.clone(),
        with_all_passes: attribution.with.full.clone(),
        without: attribution.without.clone(),
        evidence: attribution.evidence.clone(),
        compilations: attribution.builds,
    }
}

impl Explained {
    /// What was found out, as documents have it.
    pub fn explanation(&self) -> Explanation<WrongUpdate> {
        let case = &self.case;
        // A debugger that misreads right debug information is the whole answer; no pass did it.
        let is_compilers = self.verdict.as_ref().is_none_or(|(v, _)| *v != Verdict::Debugger);
        let note = self.note();
        let (violation, fault) = match &case.fault {
            Fault::Violation(violation) => (Some(violation.clone()), None),
            other => (None, Some(other.clone())),
        };
        let known = |bug: &trueline_triage::KnownBug| KnownAs { id: bug.id.clone(), title: bug.title.clone(), url: bug.url.clone() };
        let shows = note.is_none() || self.shows();
        Explanation {
            id: case.id,
            kind: case.fault.kind().to_owned(),
            program: case.program.name.clone(),
            cflags: case.program.cflags.clone(),
            compiler: case.compiler.id.clone(),
            opt: case.opt,
            state: if shows { ExplanationState::Shows } else { ExplanationState::NotReproducible },
            note,
            verdict: self.verdict.as_ref().map(|(v, _)| *v),
            verdict_reason: self.verdict.as_ref().map(|(_, why)| why.clone()),
            readings: self.readings.clone(),
            pass: self.attribution.as_ref().filter(|_| is_compilers).map(blamed),
            fingerprint: self.fingerprint.0.iter().map(|(v, e)| (v.clone(), entry_text(e))).collect(),
            cluster: self.cluster,
            known: self.known.as_ref().map(known),
            dwarf: self.dwarf.clone(),
            update: self.update.as_ref().map(Update::seen),
            source_files: isolation::files(self),
            isolate: isolation::command_for_file(self).filter(|_| self.shows() && !isolation::is_settled(self)),
            unbuildable: self.levels.iter().filter_map(|l| Some((l.version.clone(), l.reason.clone()?))).collect(),
            violation,
            fault,
        }
    }
}
