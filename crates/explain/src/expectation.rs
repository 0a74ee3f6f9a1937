//! What a program shows in one build: the question that reducers and the start of every explanation ask.

use crate::error::ExplainError;
use crate::judge::{BuildJudge, FaultProbe, Looking, ShownBuild, Sought};
use trueline_model::{Fault, Invariant, Program};
use trueline_triage::{CachedProbe, Presence, Setting, confirm};

/// Whether a program shows a fault of this kind, and with this pass behind it.
pub fn shows_expected(
    program: Program,
    looking: &Looking,
    setting: &Setting,
    kind: &str,
    pass: Option<&str>,
) -> Result<bool, ExplainError> {
    let judge = BuildJudge::new(program, looking)?;
    let judged = judge.judge(setting, &[])?;
    let sought: Vec<Sought> = match (&judged.shown, kind.parse::<Invariant>()) {
        (ShownBuild::Violations(all), Ok(invariant)) => {
            let those = all.iter().filter(|v| v.invariant() == invariant);
            those.map(|v| Sought(Fault::Violation(v.clone()))).collect()
        }
        (ShownBuild::Other(fault), _) if fault.kind() == kind => vec![Sought(fault.clone())],
        _ => Vec::new(),
    };
    for sought in sought {
        if sought.presence(&judged.shown) != Presence::Present {
            continue;
        }
        let Some(pass) = pass else { return Ok(true) };
        let probe = FaultProbe { judge: &judge, sought };
        if confirm(&CachedProbe::new(&probe), setting, pass)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The faults of a program in one build.
pub fn faults_of(program: Program, looking: &Looking, setting: &Setting) -> Result<Vec<Fault>, ExplainError> {
    let judge = BuildJudge::new(program, looking)?;
    let judged = judge.judge(setting, &[])?;
    match &judged.shown {
        ShownBuild::Violations(all) => Ok(all.iter().cloned().map(Fault::Violation).collect()),
        ShownBuild::Other(fault) => Ok(vec![fault.clone()]),
        ShownBuild::Unjudged(reason) => {
            Err(ExplainError::Unjudged { compiler: setting.compiler.id.to_string(), opt: setting.opt, reason: reason.clone() })
        }
    }
}

/// The pass behind a fault, or behind the first of a kind; `None` when no pass can be named.
pub fn pass_of(
    program: Program,
    looking: &Looking,
    setting: &Setting,
    kind: &str,
    fault: Option<&Fault>,
) -> Result<Option<String>, ExplainError> {
    let judge = BuildJudge::new(program, looking)?;
    let judged = judge.judge(setting, &[])?;
    let fault = match &judged.shown {
        shown if fault.is_some_and(|f| Sought(f.clone()).presence(shown) == Presence::Present) => fault.cloned(),
        ShownBuild::Violations(all) => all.iter().find(|v| v.invariant().name() == kind).cloned().map(Fault::Violation),
        ShownBuild::Other(fault) if fault.kind() == kind => Some(fault.clone()),
        _ => None,
    };
    let absent = || ExplainError::Absent { compiler: setting.compiler.id.to_string(), opt: setting.opt, kind: kind.to_owned() };
    let probe = FaultProbe { judge: &judge, sought: Sought(fault.ok_or_else(absent)?) };
    let attribution = trueline_triage::attribute(&CachedProbe::new(&probe), setting)?;
    Ok(attribution.name.map(|n| n.0))
}
