//! What is told: errors by the place in LLVM that made them, with their instances counted.

use crate::history::{History, InstId, Place};
use crate::judge::{ErrorKind, Operation, Verdict, judge};
use crate::line;
use crate::naming::{self, Names};
use crate::observation::{LocationId, Locations, Observation, PassRun};
use crate::pairs::Manipulation;
use crate::picture::Picture;
use crate::rules::Rule;
use crate::site::{Site, Symbols};
use crate::skeleton::skeleton;
use crate::variables::{self, Attention, Described, VariableCount, VariableError, judge_variables};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueline_llvm_hook::wire::FunctionRecord;

/// An instruction, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct InstructionView {
    /// `%add = add`.
    pub text: String,
    /// The block it is in.
    pub block: String,
    /// Its file, where it has a location.
    pub file: Option<String>,
    /// Its line, where it has a location.
    pub line: Option<u32>,
    /// Its column, where it has a location.
    pub column: Option<u32>,
    /// The lines of the calls through which it was inlined, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub called_at: Vec<u32>,
}

impl InstructionView {
    /// Whether a debugger may show this line for it: its own, or that of a call through which it was inlined.
    pub fn shows(&self, line: u32) -> bool {
        self.line == Some(line) || self.called_at.contains(&line)
    }
}

/// The lines of the calls through which a location was inlined, the innermost first.
pub(crate) fn called_at(locations: &Locations, location: Option<LocationId>) -> Vec<u32> {
    let outer = |id: &LocationId| locations.get(*id).inlined_at;
    let first = location.and_then(|id| outer(&id));
    std::iter::successors(first, outer).map(|id| locations.get(id).line).collect()
}

/// The block that shows why a location does not belong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct EvidenceView {
    /// A block on a path through the destination that shares no path with a source.
    pub block: String,
    /// The line it carries; `None` when it ends an execution that passes no source.
    pub line: Option<u32>,
}

impl EvidenceView {
    /// In words.
    pub fn sentence(&self) -> String {
        match self.line {
            Some(line) => format!("{} (line {line}) is on a path through the destination, on none through a source", self.block),
            None => format!("{} is reached through the destination without passing a source", self.block),
        }
    }
}

/// Wrong updates of one place in LLVM.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct UpdateError {
    /// The pass.
    pub pass: String,
    /// The function of the first instance.
    pub function: String,
    /// The destination of the first instance.
    pub dst: InstructionView,
    /// Its sources.
    pub srcs: Vec<InstructionView>,
    /// What was done to the destination.
    pub manipulation: Manipulation,
    /// The operation that conformance asks for.
    pub expected: Operation,
    /// The operation that the pass did.
    pub observed: Operation,
    /// Lost or incorrect.
    pub kind: ErrorKind,
    /// Where in LLVM.
    pub site: Site,
    /// The update that is missing, in the paper's form and as LLVM code.
    pub skeleton: String,
    /// Control-flow evidence, where a drop is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceView>,
    /// The rule that hid it; only with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_by: Option<Rule>,
    /// How often it happened in this file.
    pub instances: usize,
    /// The control-flow graphs of the first instance.
    #[serde(skip)]
    pub picture: Option<Arc<Picture>>,
}

/// Counts of one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PassCount {
    /// Runs that manipulated something.
    pub runs: usize,
    /// Update pairs that were judged.
    pub pairs: usize,
    /// Pairs that are errors.
    pub errors: usize,
    /// Differences that a rule allows.
    pub hidden: usize,
    /// Counts of variables.
    pub variables: VariableCount,
}

/// What one run of `opt` showed.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// LLVM's major version.
    pub major: u32,
    /// How many passes ran.
    pub passes_run: usize,
    /// Pairs judged.
    pub pairs: usize,
    /// Errors by place.
    pub errors: Vec<UpdateError>,
    /// What rules hid, by place.
    pub hidden: Vec<UpdateError>,
    /// Wrong descriptions of variables by place.
    pub variable_errors: Vec<VariableError>,
    /// What rules hid of these, by place.
    pub variable_hidden: Vec<VariableError>,
    /// Counts of variables.
    pub variables: VariableCount,
    /// How many differences each rule allowed.
    pub by_rule: BTreeMap<String, usize>,
    /// Counts by pass.
    pub by_pass: BTreeMap<String, PassCount>,
    /// What could not be observed.
    pub losses: Vec<String>,
}

/// What goes into a report beyond the errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Keep what rules hid.
    pub hidden: bool,
    /// Keep the control-flow graphs.
    pub pictures: bool,
    /// What is judged.
    pub watch: Watch,
    /// What is told as one.
    pub grouping: Grouping,
}

/// Which errors are told as one with the number of their instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Those of one place in LLVM.
    #[default]
    ByPlace,
    /// Those of one place in LLVM that are about the same line or variable: a fault is about one.
    BySubject,
}

/// What of a pass is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Locations and variables.
    #[default]
    Everything,
    /// Locations of instructions only.
    Locations,
    /// Descriptions of variables only.
    Variables,
}

impl Watch {
    /// Whether variables are watched.
    pub fn variables(self) -> bool {
        self != Watch::Locations
    }

    /// Whether locations are watched.
    pub fn locations(self) -> bool {
        self != Watch::Variables
    }
}

impl Report {
    /// Judges everything that was observed.
    pub fn of(observation: &Observation, detail: Detail) -> Self {
        Self::about(observation, detail, Attention::All)
    }

    /// Judges what was observed, with more attention to one variable.
    pub fn about(observation: &Observation, detail: Detail, attention: Attention<'_>) -> Self {
        let symbols = Symbols::of(&PathBuf::from(&observation.library));
        let mut report =
            Self { major: observation.major, passes_run: observation.passes_run, losses: observation.losses.clone(), ..Self::default() };
        for run in &observation.runs {
            let history = History::follow(run, &observation.locations);
            let verdicts = if detail.watch.locations() { judge(&history) } else { Vec::new() };
            report.count_rules(verdicts.iter().filter_map(|v| v.hidden_by).map(Rule::name));
            if detail.watch.variables() {
                report.add_variables(observation, &history, &symbols, detail, attention);
            }
            let count = report.by_pass.entry(run.pass.clone()).or_default();
            count.runs += 1;
            count.pairs += verdicts.len();
            count.errors += verdicts.iter().filter(|v| v.is_error()).count();
            count.hidden += verdicts.iter().filter(|v| v.hidden_by.is_some()).count();
            report.pairs += verdicts.len();
            let view = View { observation, history: &history, symbols: &symbols, names: std::cell::RefCell::default() };
            let told = verdicts.iter().filter(|v| v.is_error() || (detail.hidden && v.hidden_by.is_some()));
            told.for_each(|verdict| report.add(view.error(verdict, detail), detail.grouping));
        }
        report
    }

    /// What the runs did to the code of a line, the latest run first; see [`line`].
    pub fn line_changes(observation: &Observation, line: u32, wanted: line::LineChanges) -> Vec<UpdateError> {
        let symbols = Symbols::of(&PathBuf::from(&observation.library));
        let of_run = |run: &PassRun| -> Vec<UpdateError> {
            let history = History::follow(run, &observation.locations);
            let view = View { observation, history: &history, symbols: &symbols, names: std::cell::RefCell::default() };
            line::changes(&history, line, wanted).iter().map(|verdict| view.error(verdict, Detail::default())).collect()
        };
        observation.runs.iter().rev().flat_map(of_run).collect()
    }

    pub(crate) fn count_rules<'r>(&mut self, names: impl Iterator<Item = &'r str>) {
        names.for_each(|name| *self.by_rule.entry(name.to_owned()).or_default() += 1);
    }

    fn add_variables(
        &mut self,
        observation: &Observation,
        history: &History<'_>,
        symbols: &Symbols,
        detail: Detail,
        attention: Attention<'_>,
    ) {
        let described = Described::of(history, &observation.referents);
        let judged = judge_variables(history, &observation.referents, &described, attention, observation.major);
        let hidden = judged.verdicts.iter().filter(|v| v.hidden_by.is_some()).count();
        let errors = judged.verdicts.len() - hidden;
        let count = VariableCount { compared: judged.compared, reshaped: judged.reshaped, errors, hidden };
        self.variables.add(count);
        self.by_pass.entry(history.run.pass.clone()).or_default().variables.add(count);
        self.count_rules(judged.verdicts.iter().filter_map(|v| v.hidden_by).map(variables::VariableRule::name));
        let view = variables::report::View { observation, history, described: &described, symbols };
        for verdict in judged.verdicts.iter().filter(|v| v.hidden_by.is_none() || detail.hidden) {
            self.add_variable(view.error(verdict), detail.grouping);
        }
    }

    pub(crate) fn add_variable(&mut self, error: VariableError, grouping: Grouping) {
        let list = if error.hidden_by.is_some() { &mut self.variable_hidden } else { &mut self.variable_errors };
        let subject = |other: &VariableError| (&other.variable, other.line) == (&error.variable, error.line);
        match list.iter_mut().find(|other| other.is_like(&error) && (grouping == Grouping::ByPlace || subject(other))) {
            Some(other) => other.instances += error.instances,
            None => list.push(error),
        }
    }

    pub(crate) fn add(&mut self, error: UpdateError, grouping: Grouping) {
        let list = if error.hidden_by.is_some() { &mut self.hidden } else { &mut self.errors };
        let same = |other: &&mut UpdateError| {
            (&other.pass, &other.site.function, other.site.address) == (&error.pass, &error.site.function, error.site.address)
                && (other.kind, other.expected, other.manipulation, other.hidden_by)
                    == (error.kind, error.expected, error.manipulation, error.hidden_by)
                && (grouping == Grouping::ByPlace || (other.dst.line, &other.dst.called_at) == (error.dst.line, &error.dst.called_at))
        };
        match list.iter_mut().find(same) {
            Some(other) => other.instances += error.instances,
            None => list.push(error),
        }
    }

    /// Takes over the errors of another run on the same file; those of the same place are one.
    pub fn absorb(&mut self, other: Report) {
        self.major = other.major;
        self.passes_run += other.passes_run;
        self.pairs += other.pairs;
        for (pass, count) in other.by_pass {
            let mine = self.by_pass.entry(pass).or_default();
            mine.runs += count.runs;
            mine.pairs += count.pairs;
            mine.errors += count.errors;
            mine.hidden += count.hidden;
            mine.variables.add(count.variables);
        }
        self.variables.add(other.variables);
        for (rule, count) in other.by_rule {
            *self.by_rule.entry(rule).or_default() += count;
        }
        other.variable_errors.into_iter().chain(other.variable_hidden).for_each(|error| self.add_variable(error, Grouping::ByPlace));
        self.losses.extend(other.losses.into_iter().filter(|l| !self.losses.contains(l)).collect::<Vec<_>>());
        other.errors.into_iter().chain(other.hidden).for_each(|error| self.add(error, Grouping::ByPlace));
    }
}

struct View<'a, 'h> {
    observation: &'a Observation,
    history: &'a History<'h>,
    symbols: &'a Symbols,
    names: std::cell::RefCell<HashMap<*const FunctionRecord, Arc<Names>>>,
}

impl View<'_, '_> {
    fn names(&self, function: &FunctionRecord) -> Arc<Names> {
        let mut names = self.names.borrow_mut();
        Arc::clone(names.entry(std::ptr::from_ref(function)).or_insert_with(|| Arc::new(Names::of(function))))
    }

    fn instruction(&self, functions: &[Arc<FunctionRecord>], place: Place, location: Option<LocationId>) -> InstructionView {
        let (function, inst) = naming::at(functions, place);
        let names = self.names(function);
        let called_at = called_at(&self.observation.locations, location);
        let location = location.map(|l| self.observation.locations.get(l));
        InstructionView {
            text: names.short(inst),
            block: names.block(function.blocks[place.block.0 as usize].at).to_owned(),
            file: location.map(|l| l.file.to_string()),
            line: location.map(|l| l.line),
            column: location.map(|l| l.column),
            called_at,
        }
    }

    fn source(&self, id: InstId) -> InstructionView {
        let life = self.history.life(id);
        self.instruction(&self.history.run.before, life.before.expect("an original"), life.location_before)
    }

    fn error(&self, verdict: &Verdict, detail: Detail) -> UpdateError {
        let run: &PassRun = self.history.run;
        let life = self.history.life(verdict.pair.destination);
        // What was deleted is shown as it was.
        let (functions, place, location) = match life.after {
            Some(place) => (&run.after, place, life.location_after),
            None => (&run.before, life.before.expect("an original"), life.location_before),
        };
        let function = &functions[place.function];
        let dst = self.instruction(functions, place, location);
        let srcs: Vec<InstructionView> = verdict.located.iter().map(|id| self.source(*id)).collect();
        // Incorrect locations were written last where they were written; otherwise the manipulation counts.
        let frames = self.observation.stacks.get(&verdict.pair.stack).map_or(&[][..], Vec::as_slice);
        let site = Site::of(frames, self.symbols, self.observation.major);
        let evidence = verdict.evidence.map(|e| EvidenceView {
            block: self.names(function).block(function.blocks[e.block.0 as usize].at).to_owned(),
            line: e.location.map(|l| self.observation.locations.get(l).line),
        });
        let picture = detail.pictures.then(|| {
            let marked: Vec<Place> = verdict.located.iter().filter_map(|id| self.history.life(*id).before).collect();
            let before = &run.before[marked.first().map_or(0, |p| p.function)];
            let locations: &Locations = &self.observation.locations;
            Arc::new(Picture::draw((before, &marked), (function, &[place]), locations))
        });
        UpdateError {
            pass: run.pass.clone(),
            function: function.name.clone(),
            skeleton: match verdict.hidden_by {
                Some(Rule::LineElsewhere) => crate::skeleton::at(&site, "no update of the guide is missing"),
                _ => skeleton(verdict.expected, &dst, &srcs, &site),
            },
            dst,
            srcs,
            manipulation: verdict.pair.manipulation,
            expected: verdict.expected,
            observed: verdict.observed,
            kind: verdict.kind.expect("only errors are shown"),
            site,
            evidence,
            hidden_by: verdict.hidden_by,
            instances: 1,
            picture,
        }
    }
}

/// A file and what came of it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct FileReport {
    /// The file.
    pub file: PathBuf,
    /// The `opt` that ran.
    pub tool: String,
    /// What it was asked to run.
    pub pass: String,
    /// The findings.
    #[serde(flatten)]
    pub report: Report,
    /// How many of its commands could be analysed.
    pub analysed: usize,
    /// What went wrong, in words.
    pub problems: Vec<Problem>,
}

/// What went wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Problem {
    /// What sort of problem.
    pub kind: ProblemKind,
    /// What failed, on what, what to do.
    pub message: String,
}

/// Sorts of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The file cannot be read.
    Unreadable,
    /// There is nothing in it that can be run here.
    Skipped,
    /// The tool refuses the file or the pass.
    Refused,
    /// The tool crashed.
    Crashed,
    /// The tool did not come back.
    TimedOut,
    /// This LLVM cannot be observed.
    Unobservable,
    /// With the hooks `opt` gave another result than without.
    Disturbed,
}

impl FileReport {
    /// An empty report.
    pub fn new(file: &Path, tool: &str) -> Self {
        Self {
            file: file.to_owned(),
            tool: tool.to_owned(),
            pass: String::new(),
            report: Report::default(),
            analysed: 0,
            problems: Vec::new(),
        }
    }

    /// Adds a problem.
    pub fn problem(&mut self, kind: ProblemKind, message: impl Into<String>) {
        self.problems.push(Problem { kind, message: message.into() });
    }
}
