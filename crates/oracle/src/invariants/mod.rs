//! One module per invariant, named in the table of `trueline-model`. Each has
//!
//! - `list`, which lists candidates by the invariant's literal definition and drops nothing,
//! - `shows`, which says whether a stop of another reader shows a violation of it,
//! - `TOLD_BY`, what it takes to tell that.

use crate::case::{Candidate, Case, Subject};
use crate::digest::StopId;
use std::sync::Arc;
use trueline_model::{Breach, FrameKind, Invariant, Line, LineKey, Observation, Step, Variable, Violation};

/// What decides whether a stop shows a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToldBy {
    /// The address alone: lines and scopes are functions of it, whether the program runs or not.
    Address,
    /// The address where it shows another line, the callers of a running program where it shows this one.
    Callers,
    /// The values of a running program.
    Values,
    /// Where a debugger puts a breakpoint, and whether a run comes by there.
    Placement,
    /// Nothing that a stop shows: the build as a whole is wrong.
    Build,
}

macro_rules! dispatch {
    ($($(#[$doc:meta])* $module:ident $variant:ident($payload:ident) $name:literal,)*) => {
        $(mod $module;)*

        /// Hands over the candidates of every wanted invariant, one by one: a long program has a million of them.
        pub(crate) fn list(case: &Case<'_>, wanted: &[Invariant], found: &mut dyn FnMut(Candidate)) {
            for invariant in wanted {
                match invariant {
                    $(Invariant::$variant => $module::list(case, found),)*
                }
            }
        }

        /// Whether a stop at the address of a violation shows it, whoever stopped there.
        pub fn shows(violation: &Violation, step: &Step) -> bool {
            match &violation.breach {
                $(Breach::$variant(breach) => $module::shows(violation, breach, step),)*
            }
        }

        /// What it takes to tell whether a stop shows a violation of an invariant.
        pub fn told_by(invariant: Invariant) -> ToldBy {
            match invariant {
                $(Invariant::$variant => $module::TOLD_BY,)*
            }
        }
    };
}

trueline_model::with_invariants!(dispatch);

/// A candidate at a stop, with everything that the stop says filled in.
fn at_stop(case: &Case<'_>, key: &LineKey, stop: StopId, subject: Subject, breach: Breach) -> Candidate {
    let place = case.optimized.stop(stop);
    let frames = place.functions();
    let function = frames.first().cloned().unwrap_or_else(|| Arc::from(""));
    let violation = Violation { file: key.file.clone(), line: key.line, function, frames, pc: Some(place.pc), breach };
    Candidate { violation, subject, stop: Some(stop) }
}

/// True when the innermost frame of a stop is the violation's function.
fn is_in_function(violation: &Violation, step: &Step) -> bool {
    step.frames.first().is_some_and(|f| f.function == violation.function)
}

/// The variables that the violation may be about: one of several that shadow one another, innermost first.
pub fn variables_of<'s>(violation: &'s Violation, step: &'s Step) -> impl Iterator<Item = &'s Variable> {
    step.vars.iter().filter(|v| violation.variable() == Some(&v.name))
}

/// What a stop can be taken for: at the entry of an inlined function debuggers show its callers first.
pub fn views(step: &Step) -> impl Iterator<Item = (Option<Line>, Vec<Arc<str>>)> + '_ {
    let inlined = step.frames.iter().take_while(|f| f.kind == FrameKind::Inlined).count();
    (0..=inlined.min(step.frames.len().saturating_sub(1))).map(|depth| {
        let line = if depth == 0 { step.line } else { step.frames[depth].line };
        (line, step.frames[depth..].iter().map(|f| Arc::clone(&f.function)).collect())
    })
}

/// Whether what a reader shows of a variable has the wrong value where the violation says: in the same scalar, by the
/// splitter that the digests of traces use.
pub fn has_wrong_value(violation: &Violation, shown: &Observation) -> bool {
    let (Some(held), Observation::Value(text)) = (violation.breach.wrong_value(), shown) else { return false };
    crate::leaves::split(text).nth(held.element.unwrap_or(0)) == Some(&**held.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A violation of `v` in `main`, with a field of its payload as JSON.
    fn wrong(element: &str, value: &str) -> Violation {
        let document = format!(
            r#"{{"invariant":"value","file":"a.rs","line":7,"function":"main","frames":["main"],"pc":64,"variable":"v",{element}
                "value":"{value}","allowed":{{"first":[],"cut":false}}}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    fn stop(value: &str) -> Step {
        let document = format!(
            r#"{{"step":0,"file":"a.rs","line":7,"pc":64,"frames":[{{"function":"main","kind":"real","file":"a.rs","line":7}}],
                "vars":[{{"name":"v","kind":"local","decl_line":3,"state":"value","value":"{value}"}}]}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    #[test]
    fn a_scalar_is_found_wherever_the_digest_found_it() {
        // Inside an enum of Rust, inside nested members, and in a structure of one member.
        assert!(shows(&wrong(r#""element":1,"#, "5"), &stop("Some{5}")));
        assert!(!shows(&wrong(r#""element":1,"#, "5"), &stop("Some{6}")));
        assert!(shows(&wrong(r#""element":2,"#, "3"), &stop("{1, {2, 3}}")));
        assert!(!shows(&wrong(r#""element":1,"#, "3"), &stop("{1, {2, 3}}")));
        assert!(shows(&wrong("", "5"), &stop("{5}")) && shows(&wrong("", "5"), &stop("5")));
    }

    #[test]
    fn a_value_is_told_only_by_a_running_program_and_a_line_by_its_address() {
        assert_eq!(told_by(Invariant::Value), ToldBy::Values);
        assert_eq!(told_by(Invariant::Line), ToldBy::Address);
        assert_eq!(told_by(Invariant::Codegen), ToldBy::Build);
    }
}
