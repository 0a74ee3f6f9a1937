//! The wrong update inside a guilty pass of clang: the pass is watched at the very execution that the bisection
//! found, on the very program, and what it did to locations is told with the missing update.

use crate::explainer::FindingCase;
use std::fmt::Write as _;
use trueline_model::{CompilerKind, Fault, Invariant, Language, PassRole, Violation, WatchState, WatchedUpdates};
use trueline_passes::{Execution, UpdateError, Watched, analyze_execution};
use trueline_toolchain::Scratch;
use trueline_triage::Attribution;

/// What watching the guilty pass showed about one violation.
#[derive(Clone, Debug)]
pub struct Update {
    /// What was seen.
    pub watched: Watched,
    /// How many of the errors, which stand first, are about the violated line.
    pub on_the_line: usize,
}

/// Watches the pass behind a violation. `None` for what no location update can explain: other compilers, faults
/// that are no violations of lines, frames or scopes, and answers that name no single pass.
pub fn watch(case: &FindingCase, attribution: &Attribution) -> Option<Update> {
    let Fault::Violation(violation) = &case.fault else { return None };
    let of_locations = matches!(violation.invariant(), Invariant::Line | Invariant::Backtrace | Invariant::Scope);
    let of_clang = case.compiler.id.kind == CompilerKind::Clang && case.program.language == Language::C;
    if !of_locations || !of_clang || !matches!(attribution.role, PassRole::Guilty | PassRole::Enabling) {
        return None;
    }
    let (pass, number) = (attribution.name.as_ref()?, attribution.execution?);
    let watched = watch_execution(case, &pass.0, number).unwrap_or_else(Watched::Unwatched);
    Some(Update::of(watched, violation))
}

fn watch_execution(case: &FindingCase, pass: &str, number: u64) -> Result<Watched, String> {
    let scratch = Scratch::new().map_err(|e| format!("no scratch directory: {e}"))?;
    let source = scratch.write(&case.program.name, &case.program.source).map_err(|e| format!("cannot write the program: {e}"))?;
    let execution = Execution { compiler: &case.compiler, source: &source, opt: case.opt, cflags: &case.program.cflags, pass, number };
    analyze_execution(&execution).map_err(|e| e.to_string())
}

impl Update {
    /// Puts the errors about the violated line first.
    fn of(mut watched: Watched, violation: &Violation) -> Self {
        let mut on_the_line = 0;
        if let Watched::Judged { errors, .. } = &mut watched {
            let concerns = |e: &UpdateError| e.srcs.iter().chain([&e.dst]).any(|i| i.line == Some(violation.line.0));
            errors.sort_by_key(|e| !concerns(e));
            on_the_line = errors.iter().filter(|e| concerns(e)).count();
        }
        Self { watched, on_the_line }
    }

    /// One sentence on what was seen.
    fn sentence(&self) -> String {
        match &self.watched {
            Watched::CodeGeneration => {
                "the pass belongs to code generation, which the hooks on LLVM's IR do not see: no update can be named".to_owned()
            }
            Watched::Unwatched(reason) => format!("the pass could not be watched: {reason}"),
            Watched::Judged { pairs: 0, .. } => {
                "this execution created, moved or replaced nothing that had a location to hand on; the fault arises otherwise".to_owned()
            }
            Watched::Judged { pairs, errors } if errors.is_empty() => {
                format!("all {pairs} updates of locations in this execution are what control flow asks for; the fault arises otherwise")
            }
            Watched::Judged { pairs, errors } => {
                let wrong: usize = errors.iter().map(|e| e.instances).sum();
                let line = match self.on_the_line {
                    0 => "none of them carries the violated line itself".to_owned(),
                    n if n == errors.len() => "all about the violated line".to_owned(),
                    n => format!("{n} of the {} places about the violated line", errors.len()),
                };
                format!("{wrong} of the {pairs} updates of locations in this execution are wrong, {line}")
            }
        }
    }

    fn errors(&self) -> &[UpdateError] {
        match &self.watched {
            Watched::Judged { errors, .. } => errors,
            _ => &[],
        }
    }

    /// For people: a line on what was seen and a block per wrong update.
    pub fn text(&self) -> Vec<String> {
        let mut lines = vec![self.sentence()];
        for error in self.errors() {
            lines.push(summary(error));
            lines.push(format!("  at {}", error.site.chain.join(" → ")));
            lines.push(format!("  {}", error.skeleton));
        }
        lines
    }

    /// For a bug draft.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let mut sentence = self.sentence();
        if let Some(first) = sentence.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        let _ = writeln!(text, "{sentence}.");
        for error in self.errors() {
            let _ = writeln!(text, "\n- **{}**", summary(error));
            let _ = writeln!(text, "  - destination: `{}`", place(&error.dst));
            for source in &error.srcs {
                let _ = writeln!(text, "  - source: `{}`", place(source));
            }
            if let Some(evidence) = &error.evidence {
                let _ = writeln!(text, "  - control flow: {}", evidence.sentence());
            }
            let _ = writeln!(text, "  - place: `{}`", error.site.chain.join(" → "));
            let _ = writeln!(text, "  - missing update: `{}`", error.skeleton);
        }
        text
    }

    /// For scripts.
    pub fn seen(&self) -> WatchedUpdates<UpdateError> {
        let state = match &self.watched {
            Watched::Judged { .. } => WatchState::Watched,
            Watched::CodeGeneration => WatchState::CodeGeneration,
            Watched::Unwatched(_) => WatchState::Unwatched,
        };
        WatchedUpdates { state, summary: self.sentence(), on_the_line: self.on_the_line, errors: self.errors().to_vec() }
    }
}

fn summary(error: &UpdateError) -> String {
    let word = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
    let times = if error.instances > 1 { format!(", {} times", error.instances) } else { String::new() };
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
