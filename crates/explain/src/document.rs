//! The JSON document of `triage`; each finding's part is also what the store keeps.

use crate::explainer::Explained;
use crate::isolation;
use crate::update::{Seen, Update};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use trueline_model::{CompilerId, Fault, FindingId, OptLevel, PassName, PassRole, Verdict, Violation};
use trueline_triage::{Attribution, Reading, entry_text};

/// What `trueline triage --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Triage")]
pub struct Document<'a> {
    /// `trueline.triage/1`.
    schema: &'static str,
    /// The findings, explained.
    findings: Vec<Finding<'a>>,
    /// What else there is to say.
    notes: &'a [String],
}

impl<'a> Document<'a> {
    /// The document.
    pub fn new(explained: &'a [Explained], notes: &'a [String]) -> Self {
        Self { schema: "trueline.triage/1", findings: explained.iter().map(Finding::of).collect(), notes }
    }
}

/// One finding.
#[derive(Serialize, JsonSchema)]
pub struct Finding<'a> {
    /// Its number, when it comes from a store.
    id: Option<FindingId>,
    /// An invariant, or crash, hang, wrong-code.
    kind: &'a str,
    /// The program's file name.
    program: &'a str,
    /// Flags of every compilation of the program.
    cflags: &'a [String],
    /// The compiler.
    compiler: &'a CompilerId,
    /// The level.
    opt: OptLevel,
    /// `shows` or `not-reproducible`.
    state: &'static str,
    /// What is to be said of that.
    note: Option<String>,
    /// Whose fault, when several readers were asked.
    verdict: Option<Verdict>,
    /// Why.
    verdict_reason: Option<&'a str>,
    /// What each reader said.
    readings: &'a [Reading],
    /// The pass behind it; none when a debugger is to blame.
    pass: Option<Pass<'a>>,
    /// By compiler version: a pass, `absent`, or why nothing can be said.
    fingerprint: BTreeMap<&'a str, String>,
    /// Findings with the same number are the same bug.
    cluster: usize,
    /// The known bug that it is.
    known: Option<Known<'a>>,
    /// The wrong debug information.
    dwarf: Option<&'a str>,
    /// What watching the guilty pass of clang showed.
    update: Option<Seen<'a>>,
    /// The compiler's source files that the pass lives in.
    source_files: Vec<String>,
    /// The command that ranks the compiler's files, where no pass is to blame.
    isolate: Option<String>,
    /// Versions that could not build the program, and why.
    unbuildable: BTreeMap<&'a str, &'a str>,
    /// What is wrong, for a broken invariant.
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<&'a Violation>,
    /// What is wrong, otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'a Fault>,
}

/// A pass and the two command lines that prove it.
#[derive(Serialize, JsonSchema)]
struct Pass<'a> {
    /// guilty, enabling, set, none or unswitchable.
    role: PassRole,
    /// Its name; several joined with `+` for a set.
    name: Option<&'a PassName>,
    /// Which of its executions.
    execution: Option<u64>,
    /// How many a whole compilation has.
    of: u64,
    /// What it ran on.
    function: Option<&'a str>,
    /// Shows the fault.
    with: &'a str,
    /// The whole pipeline, when that is another command.
    with_all_passes: Option<&'a str>,
    /// Hides it.
    without: Option<&'a str>,
    /// Why this role.
    evidence: &'a str,
    /// Compilations that the search took.
    compilations: usize,
}

#[derive(Serialize, JsonSchema)]
struct Known<'a> {
    /// Its short name.
    id: &'a str,
    /// Its title.
    title: &'a str,
    /// Where it is tracked.
    url: Option<&'a str>,
}

impl<'a> Pass<'a> {
    fn of(attribution: &'a Attribution) -> Self {
        Self {
            role: attribution.role,
            name: attribution.name.as_ref(),
            execution: attribution.execution,
            of: attribution.of,
            function: attribution.function.as_deref(),
            with: &attribution.with.command,
            with_all_passes: attribution.with.full.as_deref(),
            without: attribution.without.as_deref(),
            evidence: &attribution.evidence,
            compilations: attribution.builds,
        }
    }
}

impl<'a> Finding<'a> {
    /// What was found out.
    pub fn of(explained: &'a Explained) -> Self {
        let case = &explained.case;
        // A debugger that misreads right debug information is the whole answer; no pass did it.
        let blamed = explained.verdict.as_ref().is_none_or(|(v, _)| *v != Verdict::Debugger);
        let note = explained.note();
        let (violation, fault) = match &case.fault {
            Fault::Violation(violation) => (Some(violation), None),
            other => (None, Some(other)),
        };
        Self {
            id: case.id,
            kind: case.fault.kind(),
            program: &case.program.name,
            cflags: &case.program.cflags,
            compiler: &case.compiler.id,
            opt: case.opt,
            state: if note.is_none() || explained.shows() { "shows" } else { "not-reproducible" },
            note,
            verdict: explained.verdict.as_ref().map(|(v, _)| *v),
            verdict_reason: explained.verdict.as_ref().map(|(_, why)| why.as_str()),
            readings: &explained.readings,
            pass: explained.attribution.as_ref().filter(|_| blamed).map(Pass::of),
            fingerprint: explained.fingerprint.0.iter().map(|(v, e)| (v.as_str(), entry_text(e))).collect(),
            cluster: explained.cluster,
            known: explained.known.as_ref().map(|k| Known { id: &k.id, title: &k.title, url: k.url.as_deref() }),
            dwarf: explained.dwarf.as_deref(),
            update: explained.update.as_ref().map(Update::seen),
            source_files: isolation::files(explained),
            isolate: isolation::command_for_file(explained).filter(|_| explained.shows() && !isolation::is_settled(explained)),
            unbuildable: explained.levels.iter().filter_map(|l| Some((l.version.as_str(), l.reason.as_deref()?))).collect(),
            violation,
            fault,
        }
    }
}
