//! Debuggers at the spot: gdb and lldb are asked what they show at the addresses of a build's violations.
//!
//! Stepping a build through both costs several times what compiling it does; reading single addresses costs next to
//! nothing, so that every finding can say who sees it.

use std::path::Path;
use std::sync::OnceLock;
use trueline_model::{EngineKind, FrameKind, Invariant, Observation, Reader, Step, Variable, Violation};
use trueline_store::ReaderRecord;
use trueline_trace::{Residents, Spot, SpotRequest};

/// Visits of an address at which values and callers are looked at. The programs here seldom come by more often.
const VISITS: u32 = 64;

/// A debugger, started when first needed.
struct Post {
    reader: Reader,
    kind: EngineKind,
    residents: OnceLock<Result<Residents, String>>,
}

/// The debuggers beside the one that screens.
pub struct Posts(Vec<Post>);

/// What one debugger says about one violation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sight {
    Seen(String),
    Unseen(String),
    /// It does not come by there, or came by too often to look at every visit.
    Unknown,
}

/// Everything the debuggers said about the violations of one build.
pub struct Glances {
    /// One list per violation, in their order.
    pub records: Vec<Vec<ReaderRecord>>,
    /// Who could not be asked, and why.
    pub silent: Vec<(Reader, String)>,
}

impl Posts {
    /// gdb and lldb, without the one that screens.
    pub fn beside(screen: Reader) -> Self {
        let all = [(Reader::Gdb, EngineKind::Gdb), (Reader::Lldb, EngineKind::Lldb)];
        let post = |(reader, kind)| Post { reader, kind, residents: OnceLock::new() };
        Self(all.into_iter().filter(|(reader, _)| *reader != screen).map(post).collect())
    }

    /// Ends the debuggers that wait for questions.
    pub fn dismiss(&self) {
        self.0.iter().filter_map(|post| post.residents.get()?.as_ref().ok()).for_each(Residents::dismiss);
    }

    /// Shows the violations of a build to each debugger.
    pub fn look(&self, binary: &Path, user_files: &[String], violations: &[&Violation]) -> Glances {
        let mut glances = Glances { records: violations.iter().map(|_| Vec::new()).collect(), silent: Vec::new() };
        for post in &self.0 {
            match post.sights(binary, user_files, violations) {
                Ok(sights) => {
                    for (records, sight) in glances.records.iter_mut().zip(sights) {
                        let (sees, detail) = match sight {
                            Sight::Seen(detail) => (true, detail),
                            Sight::Unseen(detail) => (false, detail),
                            Sight::Unknown => continue,
                        };
                        records.push(ReaderRecord { reader: post.reader, sees, detail });
                    }
                }
                Err(reason) => glances.silent.push((post.reader, reason)),
            }
        }
        glances
    }
}

impl Post {
    fn sights(&self, binary: &Path, user_files: &[String], violations: &[&Violation]) -> Result<Vec<Sight>, String> {
        let made = self.residents.get_or_init(|| match Residents::find(self.kind) {
            Ok(Some(residents)) => Ok(residents),
            Ok(None) => Err("no debugger".to_owned()),
            Err(e) => Err(e.to_string()),
        });
        let residents = made.as_ref().map_err(Clone::clone)?;
        let mut sights = vec![Sight::Unknown; violations.len()];
        // First what can be read without running; then whatever needs values or callers, or was not seen so.
        for visits in [0, VISITS] {
            let open = |i: &usize| !matches!(sights[*i], Sight::Seen(_)) && (visits > 0 || is_static(violations[*i]));
            let asked: Vec<usize> = (0..violations.len()).filter(open).collect();
            let mut spots: Vec<Spot> = asked.iter().filter_map(|i| violations[*i].pc).map(|pc| Spot(pc, visits)).collect();
            spots.sort();
            spots.dedup();
            if spots.is_empty() {
                continue;
            }
            let request = SpotRequest { binary, args: &[], user_files, spots: &spots };
            let trace = residents.look(&request).map_err(|e| e.to_string())?;
            for i in asked {
                let steps: Vec<&Step> = trace.steps.iter().filter(|s| Some(s.pc) == violations[i].pc).collect();
                match sight(violations[i], &steps, visits) {
                    // A run that does not come by takes nothing back.
                    Sight::Unknown => {}
                    known => sights[i] = known,
                }
            }
        }
        Ok(sights)
    }
}

/// Whether an address alone decides it: lines and scopes are functions of the address, values and callers are not.
fn is_static(violation: &Violation) -> bool {
    matches!(violation.invariant, Invariant::Line | Invariant::Scope | Invariant::Consistency)
}

fn sight(violation: &Violation, steps: &[&Step], visits: u32) -> Sight {
    let Some(first) = steps.first() else { return Sight::Unknown };
    if let Some(detail) = steps.iter().find_map(|step| shows(violation, step)) {
        return Sight::Seen(detail);
    }
    let exhausted = visits > 0 && steps.len() >= visits as usize;
    if exhausted && !is_static(violation) { Sight::Unknown } else { Sight::Unseen(format!("shows {}", describe(violation, first))) }
}

/// How a stop shows the violation, if it does.
fn shows(violation: &Violation, step: &Step) -> Option<String> {
    let function = step.frames.first().is_some_and(|f| f.function == violation.function);
    let on_line = step.line == Some(violation.line);
    let variable = || variable_of(violation, step);
    let yes = match (violation.invariant, &violation.variable) {
        (Invariant::Line, _) => views(step).any(|(line, _)| line == Some(violation.line)),
        (Invariant::Backtrace, _) => views(step).any(|(line, frames)| {
            line == Some(violation.line) && frames.len() == violation.frames.len() && frames.iter().eq(violation.frames.iter())
        }),
        (Invariant::Scope, _) | (Invariant::Consistency, Some(_)) => on_line && function && variable().is_some(),
        (Invariant::Consistency, None) => step.frames.iter().any(|f| f.function == violation.function && f.line == Some(violation.line)),
        (Invariant::Parameter | Invariant::Value, _) => {
            function && variable().is_some_and(|v| matches!(&v.observation, Observation::Value(text) if has_value(violation, text)))
        }
        (Invariant::Dwarf, _) => variable().is_some_and(|v| v.observation == Observation::Unreadable),
        (Invariant::Codegen, _) => false,
    };
    yes.then(|| describe(violation, step))
}

/// What a stop can be taken for: at the entry of an inlined function debuggers show its callers first.
fn views(step: &Step) -> impl Iterator<Item = (Option<trueline_model::Line>, Vec<std::sync::Arc<str>>)> + '_ {
    let inlined = step.frames.iter().take_while(|f| f.kind == FrameKind::Inlined).count();
    (0..=inlined.min(step.frames.len().saturating_sub(1))).map(|depth| {
        let line = if depth == 0 { step.line } else { step.frames[depth].line };
        (line, step.frames[depth..].iter().map(|f| std::sync::Arc::clone(&f.function)).collect())
    })
}

fn variable_of<'s>(violation: &Violation, step: &'s Step) -> Option<&'s Variable> {
    let name = violation.variable.as_ref()?;
    step.vars.iter().find(|v| v.name == *name)
}

/// Whether a rendered value, or the part of an aggregate that the violation is about, is the one complained of.
fn has_value(violation: &Violation, text: &str) -> bool {
    let Some(wanted) = &violation.value else { return false };
    let element = violation.why.as_deref().and_then(|w| w.strip_prefix("element ")?.split(' ').next()?.parse::<usize>().ok());
    match element {
        Some(index) => text.replace(['{', '}'], "").split(", ").nth(index) == Some(&**wanted),
        None => text == &**wanted,
    }
}

fn describe(violation: &Violation, step: &Step) -> String {
    let frames: Vec<&str> = step.frames.iter().map(|f| &*f.function).collect();
    let line = step.line.map_or_else(|| "no line".to_owned(), |l| format!("line {l}"));
    let place = format!("{line} in {}", frames.join(" < "));
    let Some(name) = &violation.variable else { return place };
    match variable_of(violation, step).map(|v| &v.observation) {
        Some(Observation::Value(value)) => format!("{place}: {name} = {value}"),
        Some(Observation::Unreadable) => format!("{place}: {name} cannot be read"),
        Some(_) => format!("{place}: {name} is in scope"),
        None => format!("{place}: no {name}"),
    }
}
