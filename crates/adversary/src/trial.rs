//! One program on trial: built, repaired on its ordinary run, then run on the hostile rounds in gdb and judged.

use crate::gdb::{GdbError, GdbSession, Places};
use crate::judge::{self, JudgedShown, ReferenceMoments, ValueVerdict};
use crate::program::{HostileProgram, Round, SHARED};
use crate::repaired::Sidecar;
use crate::tally::TrialTally;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueline_toolchain::{Exit, Job, Limits, Scratch, find_compiler};

/// Stops after which a run in gdb is cut off.
const STOPS: usize = 200_000;

/// A compiler and its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialBuild {
    /// The compiler.
    pub cc: String,
    /// The level.
    pub level: String,
}

impl TrialBuild {
    /// Reads `gcc-12:-O2`.
    pub fn parse(text: &str) -> Option<Self> {
        let (cc, level) = text.split_once(':')?;
        Some(Self { cc: cc.to_owned(), level: level.to_owned() })
    }
}

/// A wrong value, with what is needed to see it again.
#[derive(Clone, Debug)]
pub struct WrongShown {
    /// The build.
    pub build: TrialBuild,
    /// The kind of the function.
    pub kind: &'static str,
    /// The round on which it shows.
    pub round: Round,
    /// The value.
    pub judged: JudgedShown,
}

/// What came out of one program.
#[derive(Clone, Debug, Default)]
pub struct TrialFindings {
    /// The counts.
    pub tally: TrialTally,
    /// Wrong values under a new location, one for each function and variable.
    pub wrong: Vec<WrongShown>,
}

/// Why a program could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A build failed, or the system did.
    #[error("{0}")]
    Build(String),
    /// gdb failed.
    #[error(transparent)]
    Gdb(#[from] GdbError),
}

fn other(e: impl std::fmt::Display) -> TrialError {
    TrialError::Build(e.to_string())
}

/// Builds the program: the driver without debug information, the other units at the level.
pub fn build(program: &HostileProgram, dir: &Path, cc: &str, flags: &[&str], output: &str) -> Result<PathBuf, TrialError> {
    let compiler = find_compiler(cc).map_err(other)?;
    let mut objects = Vec::new();
    for (name, text) in program.units() {
        let source = dir.join(name);
        std::fs::write(&source, text).map_err(other)?;
        let object = dir.join(format!("{output}-{name}.o"));
        let own: &[&str] = if name == "driver.c" { &["-O1"] } else { flags };
        let outcome = compiler
            .job()
            .args(own)
            .args(["-w", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .limits(Limits::seconds(120))
            .run()
            .map_err(other)?;
        if !outcome.success() {
            return Err(TrialError::Build(format!("{cc} on {name} of seed {}: {}", program.seed, outcome.stderr_text())));
        }
        objects.push(object);
    }
    let file = dir.join(output);
    let outcome = compiler.job().args(&objects).arg("-o").arg(&file).limits(Limits::seconds(120)).run().map_err(other)?;
    if outcome.success() { Ok(file) } else { Err(TrialError::Build(outcome.stderr_text())) }
}

/// Tries a program with every build. `trueline` is the command to be judged.
pub fn run(program: &HostileProgram, builds: &[TrialBuild], trueline: &Path) -> Result<TrialFindings, TrialError> {
    let mut findings = TrialFindings::default();
    let compilers: BTreeSet<&str> = builds.iter().map(|b| b.cc.as_str()).collect();
    for cc in compilers {
        let scratch = Scratch::new().map_err(other)?;
        let reference = build(program, scratch.path(), cc, &["-O0", "-g"], "reference")?;
        let mut repaired = Vec::new();
        for of in builds.iter().filter(|b| b.cc == cc) {
            let name = format!("optimized{}", of.level);
            let optimized = build(program, scratch.path(), cc, &[of.level.as_str(), "-g"], &name)?;
            repaired
                .extend(repair(program, &reference, &optimized, trueline, &mut findings.tally)?.map(|(file, sidecar)| (of, file, sidecar)));
        }
        // Functions without a new location cost time in gdb and say nothing about the repair.
        let improved: BTreeSet<String> = repaired.iter().flat_map(|r| r.2.improved()).collect();
        let concerned = |r: &Round| {
            let text = &program.functions[r.function];
            improved.iter().any(|name| text.first.contains(&format!("{name}(")) || text.second.contains(&format!("{name}(")))
        };
        let rounds: Vec<Round> = program.ordinary().into_iter().chain(program.hostile()).filter(concerned).collect();
        if rounds.is_empty() {
            continue;
        }
        let session = |binary, places| GdbSession {
            binary,
            units: vec!["first.c".to_owned(), "second.c".to_owned()],
            shared: SHARED.iter().map(|s| (s.0.to_owned(), s.3 as u64)).collect(),
            mark: Some("round_no".to_owned()),
            args: rounds.iter().map(Round::argument).collect(),
            places,
            limit: STOPS,
        };
        let arrivals = session(&reference, Places::Functions(improved.iter().cloned().collect())).run()?;
        let moments = ReferenceMoments::new(&arrivals);
        for (of, file, sidecar) in &repaired {
            let stops = session(file, Places::Ranges(sidecar.ranges())).run()?;
            findings.tally.stops += stops.len() as u64;
            collect(program, of, &rounds, judge::judge(&moments, &stops, &sidecar.index()), &mut findings);
        }
    }
    Ok(findings)
}

fn collect(program: &HostileProgram, build: &TrialBuild, rounds: &[Round], judged: Vec<JudgedShown>, findings: &mut TrialFindings) {
    let mut seen = BTreeSet::new();
    for one in judged {
        let Some(round) = one.mark.checked_sub(1).and_then(|n| rounds.get(n)) else { continue };
        let kind = program.functions[round.function].kind;
        findings.tally.count(kind, &one);
        let own = one.label != crate::repaired::LocationLabel::Compiler;
        if own && matches!(one.verdict, ValueVerdict::Wrong { .. }) && seen.insert((one.function.clone(), one.variable.clone(), one.label))
        {
            findings.wrong.push(WrongShown { build: build.clone(), kind, round: *round, judged: one });
        }
    }
}

/// Repairs on the program's own run.
fn repair(
    program: &HostileProgram,
    reference: &Path,
    optimized: &Path,
    trueline: &Path,
    tally: &mut TrialTally,
) -> Result<Option<(PathBuf, Sidecar)>, TrialError> {
    let mut repaired = optimized.to_owned().into_os_string();
    repaired.push(".repaired");
    let repaired = PathBuf::from(repaired);
    let seconds = Duration::from_secs(60 * program.functions.len() as u64);
    let outcome = Job::new(trueline)
        .arg("repair")
        .arg(optimized)
        .arg("-o")
        .arg(&repaired)
        .arg("--reference")
        .arg(reference)
        .args(["--no-check", "--trust", "validated", "--"])
        .args(program.ordinary().iter().map(Round::argument))
        .limits(Limits { wall: seconds * 4, cpu: seconds, memory: Some(16 << 30), ..Limits::default() })
        .run()
        .map_err(other)?;
    if !outcome.success() {
        let text = outcome.stderr_text();
        let last = text.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().to_owned();
        let how = if outcome.exit == Exit::TimedOut { "time limit".to_owned() } else { format!("{:?}", outcome.exit) };
        *tally.failures.entry(format!("{how}: {last}")).or_default() += 1;
        return Ok(None);
    }
    let mut name = repaired.clone().into_os_string();
    name.push(".repair.json");
    let sidecar = Sidecar::read(Path::new(&name)).map_err(TrialError::Build)?;
    tally.functions += sidecar.functions.len() as u64;
    for reason in sidecar.functions.iter().filter_map(|f| f.reason.as_ref()) {
        let general: String = reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
        *tally.left_alone.entry(general).or_default() += 1;
    }
    Ok(Some((repaired, sidecar)))
}
