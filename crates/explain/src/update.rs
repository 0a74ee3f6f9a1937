//! The wrong update inside a guilty pass of clang: the pass is watched at the very execution that the bisection
//! found, on the very program, and what it did to locations and variables is told with the missing update. Machine passes
//! are read from the text that clang prints of them, gcc's passes from its dumps.

use crate::explainer::FindingCase;
use serde::Serialize;
use std::fmt::Write as _;
use trueline_model::{Astray, Breach, CompilerKind, Fault, Language, PassRole, Violation, WatchState, WatchedUpdates};
use trueline_passes::{
    Certainty, ErrorKind, Execution, GccExecution, LineInQuestion, Manipulation, Operation, Rule, UpdateError, VariableError,
    VariableErrorKind, VariableRule, Watched, analyze_execution, analyze_gcc_pass,
};
use trueline_toolchain::Scratch;
use trueline_triage::Attribution;

/// A wrong update of a location or of a variable.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum WrongUpdate {
    /// Of an instruction's location.
    Location(UpdateError),
    /// Of what describes a variable.
    Variable(VariableError),
}

/// How many updates of earlier executions are told at most.
const MOST_EARLIER: usize = 2;

/// What watching the guilty pass showed about one violation.
#[derive(Clone, Debug)]
pub struct Update {
    /// How far the pass could be watched.
    pub state: WatchState,
    /// One sentence on what was seen.
    pub summary: String,
    /// The wrong updates, those about the violated line or variable first.
    pub errors: Vec<WrongUpdate>,
    /// How many of the errors, which stand first, are about the violated line or variable.
    pub on_the_line: usize,
}

/// Watches the pass behind a violation. `None` for what no update of debug information can explain: other compilers,
/// faults that are no violations, and answers that name no single pass. Of gcc only what is about the violated line or
/// variable is told, since its dumps say what was lost and not what should have been done.
pub fn watch(case: &FindingCase, attribution: &Attribution) -> Option<Update> {
    let Fault::Violation(violation) = &case.fault else { return None };
    if case.program.language == Language::Rust || !matches!(attribution.role, PassRole::Guilty | PassRole::Enabling) {
        return None;
    }
    let pass = attribution.name.as_ref()?;
    match case.compiler.id.kind {
        CompilerKind::Clang => {}
        CompilerKind::Gcc => {
            let watched = watch_gcc(case, &pass.0).unwrap_or_else(Watched::Unwatched);
            return Some(Update::of(watched, violation)).filter(|update| update.on_the_line > 0);
        }
        _ => return None,
    }
    let watched = watch_execution(case, &pass.0, attribution, violation)?.unwrap_or_else(Watched::Unwatched);
    Some(Update::of(watched, violation))
}

fn watch_gcc(case: &FindingCase, pass: &str) -> Result<Watched, String> {
    let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
    let source = scratch.write(&case.program.name, &case.program.source).map_err(|e| format!("cannot write the program: {e}"))?;
    let (compiler, cflags) = (&case.compiler, case.program.cflags.as_slice());
    Ok(analyze_gcc_pass(&GccExecution { compiler, source: &source, opt: case.opt, cflags, pass }))
}

/// `None` where the attribution names no execution.
fn watch_execution(case: &FindingCase, pass: &str, attribution: &Attribution, violation: &Violation) -> Option<Result<Watched, String>> {
    let number = attribution.execution?;
    let frames: Vec<String> = violation.frames.iter().map(|f| (**f).to_owned()).collect();
    let watch = || {
        let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
        let source = scratch.write(&case.program.name, &case.program.source).map_err(|e| format!("cannot write the program: {e}"))?;
        let execution = Execution {
            compiler: &case.compiler,
            source: &source,
            opt: case.opt,
            cflags: case.program.cflags.as_slice(),
            pass,
            number,
            function: attribution.function.as_deref(),
            variable: violation.variable().map(|name| &**name),
            shown: shown(&violation.breach),
            frames: &frames,
            line: line_in_question(violation),
        };
        analyze_execution(&execution).map_err(|e| e.to_string())
    };
    Some(watch())
}

/// The number that a variable is shown with.
fn shown(breach: &Breach) -> Option<u64> {
    let (Breach::Parameter(held) | Breach::Value(held)) = breach else { return None };
    held.value.parse::<i64>().map(|number| number as u64).or_else(|_| held.value.parse()).ok()
}

/// What is looked for about the line of a violation that is about no variable.
fn line_in_question(violation: &Violation) -> LineInQuestion {
    match &violation.breach {
        Breach::Breakpoint(Astray::NeverHit { .. } | Astray::Moved { .. }) => LineInQuestion::Missed(violation.line.0),
        _ if violation.variable().is_none() => LineInQuestion::Shown(violation.line.0),
        _ => LineInQuestion::None,
    }
}

impl WrongUpdate {
    /// Whether it is about the line or the variable that is violated, in a way that the violation can come of.
    fn concerns(&self, violation: &Violation) -> bool {
        match self {
            WrongUpdate::Location(e) => match line_in_question(violation) {
                // A line that is shown where it does not run comes of a location that is there.
                LineInQuestion::Shown(line) => e.kind == ErrorKind::Incorrect && e.dst.shows(line),
                LineInQuestion::Missed(_) | LineInQuestion::None => shows(e, violation.line.0),
            },
            WrongUpdate::Variable(e) => violation.variable().is_some_and(|name| **name == *e.variable) && explains(e, &violation.breach),
        }
    }

    /// Whether it is known to be wrong.
    fn certainty(&self) -> Certainty {
        match self {
            WrongUpdate::Location(_) => Certainty::Known,
            WrongUpdate::Variable(e) => e.certainty,
        }
    }

    /// Whether LLVM's guide allows it, so that it counts only where it explains the fault.
    fn is_allowed(&self) -> bool {
        match self {
            WrongUpdate::Location(e) => e.hidden_by.is_some(),
            WrongUpdate::Variable(e) => e.hidden_by.is_some(),
        }
    }
}

/// Whether one of its instructions is shown on a line.
fn shows(error: &UpdateError, line: u32) -> bool {
    error.srcs.iter().chain([&error.dst]).any(|i| i.shows(line))
}

/// Whether a wrong description can be what a violation of the variable shows: nothing is shown where it was lost, and an expression
/// that cannot be evaluated gives no value.
fn explains(error: &VariableError, breach: &Breach) -> bool {
    let is_unreadable = error.hidden_by == Some(VariableRule::MixedTypes);
    match breach {
        Breach::Dwarf(_) => is_unreadable,
        Breach::Lost(_) => is_unreadable || error.kind == VariableErrorKind::Lost,
        _ => !is_unreadable && error.kind != VariableErrorKind::Lost,
    }
}

impl Update {
    /// Puts the errors about the violated line or variable first.
    fn of(watched: Watched, violation: &Violation) -> Self {
        let (state, pairs, mut errors, mut earlier): (_, _, _, Vec<WrongUpdate>) = match watched {
            Watched::CodeGeneration(reason) => {
                let summary = format!("the pass belongs to code generation, and no update can be named: {reason}");
                return Self { state: WatchState::CodeGeneration, summary, errors: Vec::new(), on_the_line: 0 };
            }
            Watched::Unwatched(reason) => {
                let summary = format!("the pass could not be watched: {reason}");
                return Self { state: WatchState::Unwatched, summary, errors: Vec::new(), on_the_line: 0 };
            }
            Watched::Judged { pairs, errors, variables, earlier, earlier_on_line } => {
                let all = errors.into_iter().map(WrongUpdate::Location).chain(variables.into_iter().map(WrongUpdate::Variable));
                let on_line = earlier_on_line.into_iter().map(WrongUpdate::Location);
                let earlier = earlier.into_iter().map(WrongUpdate::Variable).chain(on_line).collect();
                (WatchState::Watched, pairs, all.collect::<Vec<_>>(), earlier)
            }
        };
        // Of no variable, a violation is of lines, frames or scopes, which descriptions of variables do not explain.
        errors.retain(|e| violation.variable().is_some() || matches!(e, WrongUpdate::Location(_)));
        // What LLVM permits itself is told only where it is what the violation shows, and nothing that it forbids explains it.
        let forbidden = errors.iter().any(|e| !e.is_allowed() && e.concerns(violation));
        errors.retain(|e| !e.is_allowed() || (!forbidden && e.concerns(violation)));
        errors.sort_by_key(|e| (!e.concerns(violation), e.is_allowed()));
        let on_the_line = errors.iter().filter(|e| e.concerns(violation)).count();
        let mut summary = summarize(pairs, &errors, on_the_line, violation);
        // What an earlier execution did is told only where this one did nothing that the violation can come of.
        earlier.retain(|e| on_the_line == 0 && e.concerns(violation));
        // What is known comes before what is possible, the latest first in both.
        earlier.sort_by_key(WrongUpdate::certainty);
        earlier.truncate(MOST_EARLIER);
        if let Some(first) = earlier.first() {
            let (pass, subject) = match first {
                WrongUpdate::Variable(e) => (&e.pass, format!("`{}`", e.variable)),
                WrongUpdate::Location(e) => (&e.pass, format!("line {}", violation.line.0)),
            };
            summary = match first.certainty() {
                Certainty::Known => format!(
                    "what an earlier execution of {pass} did to {subject} shows from this execution on, which itself does nothing wrong to it"
                ),
                Certainty::Possible => format!(
                    "this execution does nothing wrong to {subject}; what an earlier one of {pass} did to it may be what shows, unless that \
                     pass knew both values to be the same"
                ),
            };
        }
        let on_the_line = on_the_line + earlier.len();
        errors.splice(0..0, earlier);
        Self { state, summary, errors, on_the_line }
    }

    /// For people: a line on what was seen and a block per wrong update.
    pub fn text(&self) -> Vec<String> {
        let mut lines = vec![self.summary.clone()];
        for error in &self.errors {
            let (title, site, skeleton) = match error {
                WrongUpdate::Location(e) => (location_title(e), &e.site, &e.skeleton),
                WrongUpdate::Variable(e) => (variable_title(e), &e.site, &e.skeleton),
            };
            lines.push(title);
            lines.push(format!("  at {}", site.chain.join(" → ")));
            lines.push(format!("  {skeleton}"));
        }
        lines
    }

    /// For a bug draft.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let mut sentence = self.summary.clone();
        if let Some(first) = sentence.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        let _ = writeln!(text, "{sentence}.");
        for error in &self.errors {
            match error {
                WrongUpdate::Location(error) => write_location(&mut text, error),
                WrongUpdate::Variable(error) => write_variable(&mut text, error),
            }
        }
        text
    }

    /// For scripts.
    pub fn seen(&self) -> WatchedUpdates<WrongUpdate> {
        WatchedUpdates { state: self.state, summary: self.summary.clone(), on_the_line: self.on_the_line, errors: self.errors.clone() }
    }
}

/// One sentence on what was seen of a pass that could be watched.
fn summarize(pairs: usize, errors: &[WrongUpdate], on_the_line: usize, violation: &Violation) -> String {
    if errors.is_empty() {
        return match pairs {
            0 => {
                "this execution created, moved or replaced nothing that had a location or a variable to hand on; the fault arises otherwise"
                    .to_owned()
            }
            _ => format!(
                "all {pairs} updates of locations in this execution are what control flow asks for, and no variable is described wrongly; \
                 the fault arises otherwise"
            ),
        };
    }
    let subject = if violation.variable().is_some() { "the violated variable" } else { "the violated line" };
    let share = match on_the_line {
        0 => format!("none of them about {subject} itself"),
        n if n == errors.len() => format!("all about {subject}"),
        n => format!("{n} of the {} places about {subject}", errors.len()),
    };
    let is_elsewhere = |e: &&WrongUpdate| matches!(e, WrongUpdate::Location(e) if e.hidden_by == Some(Rule::LineElsewhere));
    if errors.iter().all(|e| is_elsewhere(&e)) {
        return format!("what this execution did to the code of line {} is allowed, and its breakpoint fails by it", violation.line.0);
    }
    let counts = |e: &&WrongUpdate| !is_elsewhere(e);
    let errors: Vec<&WrongUpdate> = errors.iter().filter(counts).collect();
    let wrong: usize = errors.iter().map(|e| if let WrongUpdate::Location(e) = e { e.instances } else { 0 }).sum();
    let variables = errors.iter().filter(|e| matches!(e, WrongUpdate::Variable(_))).count();
    let parts =
        [(wrong, format!("{wrong} of the {pairs} updates of locations")), (variables, format!("{variables} descriptions of variables"))];
    let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    format!("{} in this execution are wrong, {share}", parts.join(" and "))
}

fn write_location(text: &mut String, error: &UpdateError) {
    let _ = writeln!(text, "\n- **{}**", location_title(error));
    let _ = writeln!(text, "  - destination: `{}`", place(&error.dst));
    for source in &error.srcs {
        let _ = writeln!(text, "  - source: `{}`", place(source));
    }
    if let Some(evidence) = &error.evidence {
        let _ = writeln!(text, "  - control flow: {}", evidence.sentence());
    }
    if let Some(rule) = error.hidden_by {
        let _ = writeln!(text, "  - a rule allows this: {}", rule.reason());
    }
    let _ = writeln!(text, "  - place: `{}`", error.site.chain.join(" → "));
    let _ = writeln!(text, "  - missing update: `{}`", error.skeleton);
}

fn write_variable(text: &mut String, error: &VariableError) {
    let _ = writeln!(text, "\n- **{}**", variable_title(error));
    if let Some(point) = &error.point {
        let _ = writeln!(text, "  - at: `{}`", place(point));
    }
    for (moment, descriptions) in [("before the pass", &error.before), ("after it", &error.after)] {
        for description in descriptions {
            let _ = writeln!(text, "  - {moment}: `{description}`");
        }
    }
    let _ = writeln!(text, "  - evidence: {}", error.evidence);
    if let Some(numbers) = &error.counterexample {
        let _ = writeln!(text, "  - numbers: {numbers}");
    }
    if let Some(rule) = error.hidden_by {
        let _ = writeln!(text, "  - a rule allows this: {}", rule.reason());
    }
    let _ = writeln!(text, "  - place: `{}`", error.site.chain.join(" → "));
    let _ = writeln!(text, "  - missing update: `{}`", error.skeleton);
}

fn variable_title(error: &VariableError) -> String {
    let times = if error.instances > 1 { format!(", {} times", error.instances) } else { String::new() };
    let kind = format!("{:?}", error.kind).to_lowercase();
    let kind = if error.certainty == Certainty::Possible { format!("possibly {kind}") } else { kind };
    format!("{kind} description of `{}` (line {}) in `{}` by {}{times}", error.variable, error.line, error.function, error.pass)
}

fn location_title(error: &UpdateError) -> String {
    let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
    let times = if error.instances > 1 { format!(", {} times", error.instances) } else { String::new() };
    if error.hidden_by == Some(Rule::LineElsewhere) {
        let line = error.srcs.first().and_then(|s| s.line).or(error.dst.line).unwrap_or(0);
        let what = match (error.manipulation, error.observed) {
            (Manipulation::Delete, _) => "deleted",
            (Manipulation::Insert | Manipulation::Clone, _) => "made in another block",
            (_, Operation::Preserve) => "moved to another block",
            (_, Operation::Merge) => "given another line",
            (_, Operation::Drop) => "left without a line",
        };
        return format!("code of line {line} {what} in `{}` by {}: {}{times}", error.function, error.pass, error.dst.text);
    }
    format!(
        "{} location in `{}`: expected {}, observed {} ({}{times})",
        word(&error.kind),
        error.function,
        word(&error.expected),
        word(&error.observed),
        word(&error.manipulation)
    )
}

fn place(view: &trueline_passes::report::InstructionView) -> String {
    match view.line {
        Some(line) => format!("{} in {}, line {line}", view.text, view.block),
        None => format!("{} in {}, no line", view.text, view.block),
    }
}
