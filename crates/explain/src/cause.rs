//! What is behind a finding, said so that findings with the same cause say the same: the pass, its role, and the wrong update in it, or, where
//! no update was watched, the shape of the wrong debug information. No name or number of the program's is part of it.

use crate::error::ExplainError;
use crate::explainer::{ExplainStage, Explained, Explainer, FindingCase};
use crate::judge::{BuildJudge, Looking};
use crate::update::{Update, WrongUpdate};
use crate::versions::Versions;
use trueline_model::{Fault, PassRole, Verdict};
use trueline_triage::{KnownBugs, crash_key};

/// Explains one finding by its own compiler alone: which pass, which update. Nobody is asked whose fault it is.
pub fn explain_one(case: FindingCase, mut looking: Looking) -> Result<Explained, ExplainError> {
    if let Fault::Violation(violation) = &case.fault {
        looking.seek(violation.invariant());
    }
    let judge = BuildJudge::new(case.program.clone(), &looking)?;
    let (known, nothing) = (KnownBugs::default(), |_: ExplainStage| {});
    Explainer { looking, versions: &Versions::None, known: &known, readers: None, progress: &nothing }.explain(&judge, case)
}

impl Explained {
    /// The cause; `None` when the finding does not show again, when no pass is named, and when a debugger is to blame.
    pub fn cause(&self) -> Option<String> {
        let is_debuggers = self.verdict.as_ref().is_some_and(|(verdict, _)| *verdict == Verdict::Debugger);
        if !self.shows() || is_debuggers {
            return None;
        }
        let attribution = self.attribution.as_ref()?;
        let pass = attribution.fingerprint_name()?;
        let role = match attribution.role {
            PassRole::Guilty => "guilty",
            PassRole::Enabling => "enabling",
            PassRole::Set => "set",
            PassRole::None | PassRole::Unswitchable => return None,
        };
        let (kind, family) = (self.case.fault.kind(), self.case.compiler.id.kind);
        let mut cause = format!("{family} · {kind} · {role} {}", pass.0);
        if let Some(detail) = self.update.as_ref().and_then(update_of).or_else(|| shape_of(&self.case.fault)) {
            cause = format!("{cause} · {detail}");
        }
        Some(cause)
    }
}

/// The wrong update that is about the violated line or variable, by its kind and the function of the pass that made it.
fn update_of(update: &Update) -> Option<String> {
    let (kind, site) = match update.errors.first().filter(|_| update.on_the_line > 0)? {
        WrongUpdate::Location(e) => (format!("{:?} location", e.kind), &e.site),
        WrongUpdate::Variable(e) => (format!("{:?} variable", e.kind), &e.site),
    };
    Some(format!("{} in {}", kind.to_lowercase(), site.function))
}

fn shape_of(fault: &Fault) -> Option<String> {
    match fault {
        Fault::Violation(violation) => violation.breach.shape().map(str::to_owned),
        Fault::Crash { message } => Some(crash_key(message)),
        Fault::Hang { .. } | Fault::WrongCode { .. } | Fault::Explosion { .. } => None,
    }
}
