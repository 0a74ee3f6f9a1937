//! clang and rustc: prefix bisection with `-opt-bisect-limit`, code generation passes included.
//!
//! The first build runs everything and lists every pass execution; after that, each round probes two
//! prefixes at a time (two builds in parallel shrink the interval to a third), so a bisection over `n`
//! executions costs at most `2·log3(n) + 4` builds, below the `2·log2(n) + 4` that we promise.

use crate::attribution::{Attribution, Show};
use crate::llvm_names::class_of;
use crate::probe::{CachedProbe, Presence, Probe, ProbeError, Probed, Setting};
use trueline_model::{CompilerKind, PassName, PassRole};

/// One line of the bisection log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassExecution {
    /// Counted from 1, as `-opt-bisect-limit` counts.
    pub number: u64,
    /// The pass as LLVM prints it, the optimizer's by their class.
    pub name: String,
    /// What it ran on: a function's name, `[module]`, or a loop's description.
    pub unit: String,
}

/// Reads the executions that really ran from a compiler's standard error.
pub fn parse_bisect_log(log: &str) -> Vec<PassExecution> {
    let parse = |line: &str| {
        let rest = line.strip_prefix("BISECT: running pass (")?;
        let (number, rest) = rest.split_once(") ")?;
        // Pass names hold ` on ` nowhere; units may.
        let (name, unit) = rest.split_once(" on ")?;
        let unit = unit.strip_prefix("function ").unwrap_or(unit);
        let unit = unit.strip_prefix('(').and_then(|u| u.strip_suffix(')')).unwrap_or(unit);
        Some(PassExecution { number: number.parse().ok()?, name: class_of(name).to_owned(), unit: unit.to_owned() })
    };
    log.lines().filter_map(parse).collect()
}

/// True for what only computes, invalidates or prints: never the culprit.
fn is_analysis(name: &str) -> bool {
    const PARTS: [&str; 8] =
        ["InvalidateAnalysis", "RequireAnalysis", "RecomputeGlobalsAA", "Verifier", "Printer", "WarnMissed", "PassManager", "PassAdaptor"];
    PARTS.iter().any(|part| name.contains(part)) || name.to_ascii_lowercase().ends_with("analysis")
}

fn limit_flags(kind: CompilerKind, limit: i64) -> Vec<String> {
    if kind == CompilerKind::Rustc {
        vec!["-C".to_owned(), format!("llvm-args=-opt-bisect-limit={limit}")]
    } else {
        vec!["-mllvm".to_owned(), format!("-opt-bisect-limit={limit}")]
    }
}

/// Searches the first execution whose effect makes the fault appear. `full` is the judged build that
/// listed all executions.
pub(crate) fn bisect(cached: &CachedProbe<'_>, setting: &Setting, full: &Probed) -> Result<Attribution, ProbeError> {
    let kind = setting.compiler.id.kind;
    let executions = parse_bisect_log(&full.log);
    let at = |limit: u64| cached.probe(setting, &limit_flags(kind, limit as i64));
    let none = at(0)?;
    match none.presence {
        Presence::Present => {
            let evidence = "present with -opt-bisect-limit=0, that is with no optional pass at all".to_owned();
            return Ok(Attribution::without_pass(PassRole::None, Show::new(&none.command), evidence));
        }
        Presence::Unjudged(reason) => {
            let evidence = format!("without optional passes the build cannot be judged: {reason}");
            return Ok(Attribution::without_pass(PassRole::Unswitchable, Show::new(&full.command), evidence));
        }
        Presence::Absent => {}
    }
    // The highest limit known to hide it and the lowest known to show it.
    let mut hidden = (0u64, none);
    let mut shown = (executions.len() as u64, full.clone());
    // The highest limit behind which it is not known to show, with the reason where that build says nothing: a compiler
    // that crashes on a whole range of limits must not cost a build for each of them.
    let mut below: (u64, Option<String>) = (0, None);
    while shown.0 - below.0 > 1 {
        let gap = shown.0 - below.0;
        let mut cuts = vec![below.0 + gap / 3, below.0 + (2 * gap).div_ceil(3)];
        cuts.retain(|cut| *cut > below.0 && *cut < shown.0);
        cuts.dedup();
        if cuts.is_empty() {
            cuts.push(below.0 + gap / 2);
        }
        let sets: Vec<Vec<String>> = cuts.iter().map(|cut| limit_flags(kind, *cut as i64)).collect();
        for (cut, probed) in cuts.into_iter().zip(cached.probe_all(setting, &sets)?) {
            match &probed.presence {
                // Lowest cut first: the earliest execution that shows it wins, later answers no longer matter.
                Presence::Present => {
                    shown = (cut, probed);
                    break;
                }
                Presence::Absent => {
                    below = (cut, None);
                    hidden = (cut, probed);
                }
                Presence::Unjudged(reason) => below = (cut, Some(reason.clone())),
            }
        }
    }
    if let (before, Some(reason)) = below {
        let evidence = format!(
            "absent after {} pass executions, present after {}; the build after {before} cannot be judged: {reason}",
            hidden.0, shown.0
        );
        return Ok(named(PassRole::Enabling, &executions, shown, hidden, evidence, full));
    }
    let culprit = executions.iter().find(|e| e.number == shown.0);
    let name = culprit.map_or("", |e| e.name.as_str());
    if is_analysis(name) {
        let evidence = "its execution makes the fault appear, but it only computes: a later step uses the result".to_owned();
        return Ok(named(PassRole::Enabling, &executions, shown, hidden, evidence, full));
    }
    let evidence = format!("absent after {} pass executions, present after {}", hidden.0, shown.0);
    Ok(named(PassRole::Guilty, &executions, shown, hidden, evidence, full))
}

/// Whether an execution of `expected` is the first whose effect makes the fault appear. Only the boundaries around
/// executions of that pass are asked, which a whole bisection would reach last.
pub(crate) fn confirm(cached: &CachedProbe<'_>, setting: &Setting, expected: &str) -> Result<bool, ProbeError> {
    let kind = setting.compiler.id.kind;
    let full = cached.probe(setting, &listing_flags(kind))?;
    if full.presence != Presence::Present {
        return Ok(false);
    }
    let candidates: Vec<u64> = parse_bisect_log(&full.log).into_iter().filter(|e| e.name == expected).map(|e| e.number).collect();
    let at = |limit: u64| cached.probe(setting, &limit_flags(kind, limit as i64)).map(|p| p.presence);
    // The first candidate behind which it shows.
    let (mut low, mut high) = (0, candidates.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match at(candidates[middle])? {
            Presence::Present => high = middle,
            Presence::Absent | Presence::Unjudged(_) => low = middle + 1,
        }
    }
    match candidates.get(low) {
        Some(first) => Ok(at(first - 1)? != Presence::Present),
        None => Ok(false),
    }
}

fn named(
    role: PassRole,
    executions: &[PassExecution],
    shown: (u64, Probed),
    hidden: (u64, Probed),
    evidence: String,
    full: &Probed,
) -> Attribution {
    // The prefix of the run with this very limit is the authority; the full run has the same prefix.
    let own = parse_bisect_log(&shown.1.log);
    let execution = own.iter().chain(executions).find(|e| e.number == shown.0).cloned();
    let execution = execution.unwrap_or_else(|| PassExecution { number: shown.0, name: "unknown".to_owned(), unit: String::new() });
    Attribution {
        role,
        name: Some(PassName(execution.name)),
        execution: Some(execution.number),
        of: executions.len().max(own.len()) as u64,
        function: Some(execution.unit),
        with: Show { command: shown.1.command, full: Some(full.command.clone()) },
        without: Some(hidden.1.command),
        evidence,
        builds: 0,
    }
}

/// The flags of the first build: run everything, list everything.
pub(crate) fn listing_flags(kind: CompilerKind) -> Vec<String> {
    limit_flags(kind, -1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_logs_of_old_and_new_pass_managers_are_read() {
        let log = "BISECT: running pass (1) InlinerPass on (main)\nBISECT: NOT running pass (2) X on y\n\
                   BISECT: running pass (3) CodeGen Prepare on function (b)\nnoise\n\
                   BISECT: running pass (4) LoopRotatePass on loop %for.cond in function f\n\
                   BISECT: running pass (5) X86 DAG->DAG Instruction Selection on function (b)\n";
        let read: Vec<_> = parse_bisect_log(log).into_iter().map(|e| (e.number, e.name, e.unit)).collect();
        let expected = [
            (1, "InlinerPass", "main"),
            (3, "CodeGen Prepare", "b"),
            (4, "LoopRotatePass", "loop %for.cond in function f"),
            (5, "X86 DAG->DAG Instruction Selection", "b"),
        ];
        assert_eq!(read, expected.map(|(n, p, u)| (n, p.to_owned(), u.to_owned())));
    }

    #[test]
    fn analyses_are_never_culprits() {
        for name in ["InvalidateAnalysisPass<llvm::AAManager>", "RecomputeGlobalsAAPass", "Shrink Wrapping analysis"] {
            assert!(is_analysis(name), "{name}");
        }
        for name in ["SimplifyCFGPass", "Stack Slot Coloring", "LCSSAPass"] {
            assert!(!is_analysis(name), "{name}");
        }
    }
}
