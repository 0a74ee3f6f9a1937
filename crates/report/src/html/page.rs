//! The page of one finding: both traces side by side, the readers, what they read, how to see it oneself.

use super::{CSS, ReportError, words};
use askama::Template;
use serde::Serialize;
use std::collections::HashMap;
use trueline_model::{Fault, Observation, Trace, VarKind, Violation, wording};
use trueline_store::{FindingEvidence, FindingRecord, InsertionRecord};

#[derive(Template)]
#[template(path = "finding.html")]
struct Page<'a> {
    css: &'a str,
    script: &'a str,
    id: i64,
    title: String,
    program: String,
    kind: &'static str,
    verdict: &'static str,
    verdict_sentence: &'static str,
    compiler: String,
    opt: String,
    sentence: String,
    source: Vec<String>,
    fault_line: usize,
    has_traces: bool,
    shortened: bool,
    panes: Vec<(&'static str, String)>,
    readers: Vec<(String, bool, String)>,
    dwarf: Vec<String>,
    is_minimized: bool,
    insertions: Vec<InsertionRecord>,
    triage: String,
    commands: Vec<String>,
    class: String,
    data: String,
}

/// Renders the page of one finding.
pub fn render(record: &FindingRecord, evidence: Option<&FindingEvidence>) -> Result<String, ReportError> {
    let violation = match &record.finding.fault {
        Fault::Violation(v) => Some(v),
        _ => None,
    };
    let has_traces = evidence.is_some_and(|e| !e.optimized.trace.steps.is_empty());
    let program = evidence.map_or_else(|| format!("{} {}", record.program.source, record.program.seed), |e| e.program.name.clone());
    let source = evidence.map_or("", |e| &e.program.source).lines().map(str::to_owned).collect();
    let opt = record.finding.opt.to_string();
    let page = Page {
        css: CSS,
        script: include_str!("../../templates/finding.js"),
        id: record.id.0,
        title: wording::clause(&record.finding.fault),
        program,
        kind: record.kind(),
        verdict: words::verdict(record.finding.verdict),
        verdict_sentence: words::verdict_sentence(record.finding.verdict),
        compiler: record.finding.compiler.to_string(),
        opt: opt.clone(),
        sentence: wording::details(&record.finding.fault),
        source,
        fault_line: violation.map_or(0, |v| v.line.0 as usize),
        has_traces,
        shortened: evidence.is_some_and(|e| e.optimized.shortened || e.reference.shortened),
        panes: vec![("ref", "-O0, what happens".to_owned()), ("opt", format!("{opt}, what is shown"))],
        readers: evidence.map_or(&[][..], |e| &e.readers).iter().map(|r| (words::reader(r.reader), r.sees, r.detail.clone())).collect(),
        dwarf: evidence.map_or_else(Vec::new, |e| e.dwarf.clone()),
        triage: record
            .triage
            .as_deref()
            .and_then(crate::read_explanation)
            .map_or_else(String::new, |e| crate::explanation_lines(&e).join("\n")),
        is_minimized: evidence.is_some_and(|e| e.minimal.is_some()),
        insertions: evidence.and_then(|e| e.minimal.as_ref()).map_or_else(Vec::new, |m| m.insertions.clone()),
        commands: commands(record, evidence),
        class: record.class.clone(),
        data: match evidence {
            Some(e) if has_traces => embed(&TraceData::of(e, violation))?,
            _ => String::new(),
        },
    };
    page.render().map_err(|e| ReportError::Render(e.to_string()))
}

fn commands(record: &FindingRecord, evidence: Option<&FindingEvidence>) -> Vec<String> {
    let finding = &record.finding;
    let mut lines = Vec::new();
    if let Some(e) = evidence {
        lines.extend(e.reference.command.lines().map(str::to_owned));
        lines.extend(e.optimized.command.lines().map(str::to_owned));
        lines.push(format!("trueline check {} --cc {} --opt {}", e.program.name, finding.compiler.path.display(), finding.opt));
    }
    lines.push(format!("trueline triage {}", record.id.0));
    lines.retain(|line| !line.is_empty());
    lines
}

/// JSON for inside a script element: no text of a program can end it or open a comment.
fn embed(data: &TraceData) -> Result<String, ReportError> {
    let json = serde_json::to_string(data).map_err(|e| ReportError::Render(e.to_string()))?;
    Ok(json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"))
}

/// Both traces with every text once: a trace repeats itself a thousand times.
#[derive(Serialize)]
struct TraceData {
    strings: Vec<String>,
    /// Name, kind, state, value.
    vars: Vec<(usize, u8, u8, usize)>,
    r#ref: Steps,
    opt: Steps,
    /// The variable the fault is about.
    variable: Option<String>,
}

/// One trace: line, address, backtrace, variables.
#[derive(Serialize)]
struct Steps {
    start: usize,
    steps: Vec<(u32, usize, usize, Vec<usize>)>,
}

#[derive(Default)]
struct TextPool {
    strings: Vec<String>,
    known: HashMap<String, usize>,
    vars: Vec<(usize, u8, u8, usize)>,
    known_vars: HashMap<(usize, u8, u8, usize), usize>,
}

impl TextPool {
    fn string(&mut self, text: String) -> usize {
        if let Some(index) = self.known.get(&text) {
            return *index;
        }
        self.strings.push(text.clone());
        self.known.insert(text, self.strings.len() - 1);
        self.strings.len() - 1
    }

    fn var(&mut self, var: (usize, u8, u8, usize)) -> usize {
        if let Some(index) = self.known_vars.get(&var) {
            return *index;
        }
        self.vars.push(var);
        self.known_vars.insert(var, self.vars.len() - 1);
        self.vars.len() - 1
    }

    fn steps(&mut self, trace: &Trace) -> Vec<(u32, usize, usize, Vec<usize>)> {
        let mut steps = Vec::new();
        for step in &trace.steps {
            let frames: Vec<String> = step
                .frames
                .iter()
                .map(|f| {
                    let line = f.line.map(|l| format!(":{l}")).unwrap_or_default();
                    let inlined = if f.kind == trueline_model::FrameKind::Inlined { " (inlined)" } else { "" };
                    format!("{}{line}{inlined}", f.function)
                })
                .collect();
            let mut vars = Vec::new();
            for v in &step.vars {
                let kind = match v.kind {
                    VarKind::Local => 0,
                    VarKind::Param => 1,
                    VarKind::Global => 2,
                };
                let (state, value) = match &v.observation {
                    Observation::Value(text) => (0, text.to_string()),
                    Observation::OptimizedOut => (1, String::new()),
                    Observation::Unreadable => (2, String::new()),
                    Observation::NotInScope => (3, String::new()),
                };
                let entry = (self.string(v.name.to_string()), kind, state, self.string(value));
                vars.push((kind, self.var(entry)));
            }
            vars.sort_by_key(|(kind, _)| [1, 0, 2][usize::from(*kind)]);
            let pc = self.string(format!("{:#x}", step.pc));
            let stack = self.string(frames.join("  <  "));
            steps.push((step.line.map_or(0, |l| l.0), pc, stack, vars.into_iter().map(|(_, v)| v).collect()));
        }
        steps
    }
}

impl TraceData {
    fn of(evidence: &FindingEvidence, violation: Option<&Violation>) -> Self {
        let mut pool = TextPool::default();
        let (reference, optimized) = (&evidence.reference.trace, &evidence.optimized.trace);
        let at = |trace: &Trace, wanted: &dyn Fn(&trueline_model::Step) -> bool| trace.steps.iter().position(wanted);
        let line = violation.map(|v| v.line);
        let opt_start = violation
            .and_then(|v| at(optimized, &|s| s.line == Some(v.line) && s.pc == v.pc.unwrap_or(s.pc)))
            .or_else(|| at(optimized, &|s| s.line == line))
            .unwrap_or(0);
        // Where -O0 never reaches the line, the function is the nearest thing to look at.
        let ref_start = at(reference, &|s| s.line == line)
            .or_else(|| violation.and_then(|v| at(reference, &|s| s.function() == &*v.function)))
            .unwrap_or(0);
        let ref_steps = pool.steps(reference);
        let opt_steps = pool.steps(optimized);
        Self {
            r#ref: Steps { start: ref_start, steps: ref_steps },
            opt: Steps { start: opt_start, steps: opt_steps },
            variable: violation.and_then(|v| v.variable()).map(ToString::to_string),
            strings: pool.strings,
            vars: pool.vars,
        }
    }
}
