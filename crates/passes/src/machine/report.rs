//! Machine passes' wrong updates in the form of the optimizer's: one report for both.

use super::catalog;
use super::function::{MirFunction, MirInstruction};
use super::locations::{MirVerdict, judge_locations};
use super::matching::{Matching, MirPlace};
use super::metadata::ModuleMetadata;
use super::selection::judge_selection;
use super::text::{MirDump, Moment};
use super::variables::{MirJudged, MirVariableVerdict, Numbering, Substitutions, judge_variables};
use crate::judge::Operation;
use crate::observation::LocationId;
use crate::report::{Detail, EvidenceView, InstructionView, Report, UpdateError};
use crate::site::Site;
use crate::variables::{Certainty, VariableCount, VariableError};
use std::collections::{HashMap, HashSet};

/// What a compilation printed, read.
#[derive(Debug, Default)]
pub struct MirObservation {
    /// Locations, scopes and variables.
    pub metadata: ModuleMetadata,
    /// The functions as IR in front of instruction selection.
    pub ir: Vec<MirFunction>,
    /// The machine functions, in the order of the passes.
    pub dumps: Vec<MirDump>,
    /// Which numbers stand for which others, by function.
    pub substitutions: HashMap<String, Substitutions>,
}

/// What is wrong with one execution of one pass on one function.
#[derive(Debug, Default)]
pub struct MachineFindings {
    /// Pairs that were judged.
    pub pairs: usize,
    /// Wrong locations, those that rules hid included.
    pub locations: Vec<UpdateError>,
    /// Wrong descriptions of variables, those that rules hid included.
    pub variables: Vec<VariableError>,
    /// Counts of variables.
    pub count: VariableCount,
}

/// Judges every printed execution of the passes that are asked for and puts them into one report.
pub fn judge_dumps(seen: &MirObservation, detail: Detail, major: u32, wanted: impl Fn(&MirDump) -> bool) -> Report {
    let mut report = Report { major, ..Report::default() };
    for_each_execution(seen, wanted, |dump, findings| {
        report.passes_run += 1;
        report.pairs += if detail.watch.locations() { findings.pairs } else { 0 };
        let count = report.by_pass.entry(dump.pass.clone()).or_default();
        count.runs += 1;
        if detail.watch.locations() {
            count.pairs += findings.pairs;
            count.errors += findings.locations.iter().filter(|e| e.hidden_by.is_none()).count();
            count.hidden += findings.locations.iter().filter(|e| e.hidden_by.is_some()).count();
        }
        if detail.watch.variables() {
            count.variables.add(findings.count);
            report.variables.add(findings.count);
        }
        let locations = if detail.watch.locations() { findings.locations } else { Vec::new() };
        let variables = if detail.watch.variables() { findings.variables } else { Vec::new() };
        report.count_rules(locations.iter().filter_map(|e| e.hidden_by).map(crate::Rule::name));
        report.count_rules(variables.iter().filter_map(|e| e.hidden_by).map(crate::VariableRule::name));
        locations.into_iter().filter(|e| e.hidden_by.is_none() || detail.hidden).for_each(|e| report.add(e, detail.grouping));
        variables.into_iter().filter(|e| e.hidden_by.is_none() || detail.hidden).for_each(|e| report.add_variable(e, detail.grouping));
    });
    report
}

/// What is known of a function while its passes go by.
#[derive(Default)]
struct Progress<'a> {
    /// As the last pass left it.
    last: Option<&'a MirFunction>,
    /// Numbers of phis that were replaced by copies: LLVM keeps their places in a table until registers are allocated.
    kept_aside: HashSet<u32>,
    /// As it was when LLVM took all descriptions out of the code, to put them back once registers are allocated.
    described: Option<&'a MirFunction>,
}

/// Judges one execution after the other.
pub fn for_each_execution(seen: &MirObservation, wanted: impl Fn(&MirDump) -> bool, mut each: impl FnMut(&MirDump, MachineFindings)) {
    let nothing = Substitutions::new();
    let mut functions: HashMap<&str, Progress<'_>> = HashMap::new();
    for dump in &seen.dumps {
        let name = dump.function.name.as_str();
        let progress = functions.entry(name).or_default();
        let before = progress.last.replace(&dump.function);
        match (dump.pass.as_str(), before) {
            ("phi-node-elimination", Some(before)) => {
                let all = before.blocks.iter().flat_map(|b| &b.instructions);
                progress.kept_aside.extend(all.filter(|i| i.opcode == "PHI").filter_map(|i| i.number));
            }
            ("livedebugvars", before) => progress.described = before,
            _ => {}
        }
        // Descriptions are compared over register allocation as a whole.
        let taken_out = progress.described.is_some();
        let described = match dump.pass.as_str() {
            "virtregrewriter" => progress.described.take(),
            _ => before.filter(|_| !taken_out),
        };
        if dump.moment == Moment::Before || !wanted(dump) {
            continue;
        }
        let substitutions = seen.substitutions.get(name).unwrap_or(&nothing);
        let judge = Judge { dump, metadata: &seen.metadata, numbers: Numbering { substitutions, kept_aside: &progress.kept_aside } };
        match before {
            Some(before) => each(dump, judge.pass(before, described)),
            None => {
                if let Some(ir) = seen.ir.iter().find(|f| f.name == name) {
                    each(dump, judge.selection(ir));
                }
            }
        }
        if dump.pass == "virtregrewriter" {
            progress.kept_aside.clear();
        }
    }
}

struct Judge<'a> {
    dump: &'a MirDump,
    metadata: &'a ModuleMetadata,
    numbers: Numbering<'a>,
}

impl Judge<'_> {
    fn pass(&self, before: &MirFunction, described: Option<&MirFunction>) -> MachineFindings {
        let after = &self.dump.function;
        let matching = Matching::of(before, after);
        let verdicts = judge_locations(before, after, &matching, &self.metadata.locations);
        let judged = match described {
            Some(described) if std::ptr::eq(described, before) => judge_variables(before, after, &matching, self.numbers, self.metadata),
            Some(described) => judge_variables(described, after, &Matching::of(described, after), self.numbers, self.metadata),
            None => MirJudged::default(),
        };
        let wrong = verdicts.iter().filter(|v| v.kind.is_some());
        let locations = wrong.map(|v| self.location_error(before, v)).collect();
        MachineFindings { pairs: verdicts.len(), locations, ..self.variables(&judged) }
    }

    fn selection(&self, ir: &MirFunction) -> MachineFindings {
        self.variables(&judge_selection(ir, &self.dump.function, self.numbers, self.metadata))
    }

    fn variables(&self, judged: &MirJudged) -> MachineFindings {
        let hidden = judged.verdicts.iter().filter(|v| v.hidden_by.is_some()).count();
        let count = VariableCount { compared: judged.compared, reshaped: judged.reshaped, errors: judged.verdicts.len() - hidden, hidden };
        MachineFindings { variables: judged.verdicts.iter().map(|v| self.variable_error(v)).collect(), count, ..MachineFindings::default() }
    }

    fn site(&self) -> Site {
        let home = catalog::home(&self.dump.pass);
        let entry = home.map_or_else(|| self.dump.title.clone(), |h| format!("llvm::{}::runOnMachineFunction", h.class));
        Site {
            function: entry.clone(),
            address: 0,
            chain: vec![format!("{} ({})", self.dump.title, self.dump.pass), entry],
            file: home.map(|h| h.file.to_owned()),
            line: None,
        }
    }

    fn skeleton(&self, site: &Site, update: &str) -> String {
        format!("In {}: {update}", site.file.as_deref().unwrap_or(&self.dump.title))
    }

    fn view(&self, function: &MirFunction, place: MirPlace) -> InstructionView {
        let inst: &MirInstruction = place.of(function);
        let called_at = crate::report::called_at(&self.metadata.locations, inst.location);
        let location = inst.location.map(|id: LocationId| self.metadata.locations.get(id));
        InstructionView {
            text: inst.text.clone(),
            block: function.blocks[place.block].title(),
            file: location.map(|l| l.file.to_string()),
            line: location.map(|l| l.line),
            column: location.map(|l| l.column),
            called_at,
        }
    }

    fn location_error(&self, before: &MirFunction, verdict: &MirVerdict) -> UpdateError {
        let after = &self.dump.function;
        let site = self.site();
        let dst = self.view(after, verdict.pair.destination);
        let srcs: Vec<InstructionView> = verdict.pair.sources.iter().map(|s| self.view(before, *s)).collect();
        let update = match verdict.expected {
            Operation::Preserve => format!("Preserve(`{}`)  // DstMI.setDebugLoc(SrcMI.getDebugLoc());", dst.text),
            Operation::Merge => format!(
                "Merge(`{}`)  // DstMI.setDebugLoc(DILocation::getMergedLocation(SrcMI1.getDebugLoc(), SrcMI2.getDebugLoc()));",
                dst.text
            ),
            Operation::Drop => format!("Drop(`{}`)  // DstMI.setDebugLoc(DebugLoc());", dst.text),
        };
        UpdateError {
            pass: self.dump.pass.clone(),
            function: after.name.clone(),
            skeleton: self.skeleton(&site, &update),
            dst,
            srcs,
            manipulation: verdict.pair.manipulation,
            expected: verdict.expected,
            observed: verdict.observed,
            kind: verdict.kind.expect("only errors are shown"),
            site,
            evidence: verdict.evidence.map(|e| EvidenceView {
                block: after.blocks[e.block.0 as usize].title(),
                line: e.location.map(|l| self.metadata.locations.get(l).line),
            }),
            hidden_by: verdict.hidden_by,
            instances: 1,
            picture: None,
        }
    }

    fn variable_error(&self, verdict: &MirVariableVerdict) -> VariableError {
        let site = self.site();
        VariableError {
            pass: self.dump.pass.clone(),
            function: self.dump.function.name.clone(),
            variable: verdict.variable.name.clone(),
            line: verdict.variable.line,
            fragment: verdict.variable.fragment,
            kind: verdict.kind,
            point: Some(self.view(&self.dump.function, verdict.point)),
            before: verdict.before.clone(),
            after: verdict.after.clone(),
            evidence: verdict.evidence.clone(),
            counterexample: None,
            certainty: Certainty::Known,
            skeleton: self.skeleton(&site, &verdict.update),
            site,
            hidden_by: verdict.hidden_by,
            instances: 1,
        }
    }
}
