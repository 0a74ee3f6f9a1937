//! Looking for one program's faults in builds of it: what `triage` and `reduce` ask over and over.
//!
//! A [`BuildJudge`] builds, traces and judges, and remembers every build, so that ten violations of one program
//! share their compilations. A [`Sought`] fault turns it into the probe of a search.

use crate::error::ExplainError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use trueline_check::{Behaviour, BuildExtent, CheckError, CheckOptions, CheckRun, Checker, Compilation, Reference, Strictness};
use trueline_model::{EngineKind, Fault, Invariant, OptLevel, Policy, Program, Violation};
use trueline_toolchain::{BuildError, Compiler, DebugInfo, Limits, Scratch, cpu_time};
use trueline_triage::{Presence, Probe, ProbeError, Probed, Setting, crash_key};

/// Seconds after which a compilation counts as hung, and a run of the program as endless.
const LIMIT: u64 = 20;

/// What one build showed.
#[derive(Clone, Debug)]
pub enum ShownBuild {
    /// It was traced; these invariants are broken.
    Violations(Vec<Violation>),
    /// The compiler crashed, or hung, or the program does something else: as a fault.
    Other(Fault),
    /// Nothing can be said.
    Unjudged(String),
}

/// One judged build.
pub struct JudgedLevel {
    /// What it showed.
    pub shown: ShownBuild,
    /// The command, with bare file names.
    pub command: String,
    /// The compiler's standard error.
    pub log: String,
}

type Key = (PathBuf, OptLevel, Vec<String>, Depth);

/// How far a build is followed. No further than the fault needs: a program without `main` can crash a compiler, and one
/// that is miscompiled need not be traceable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Depth {
    /// To an object: crashes and hangs of the compiler.
    Compile,
    /// The program is run: wrong code.
    Run,
    /// It is traced: broken invariants.
    Trace,
}

/// Builds and judges one program.
pub struct BuildJudge {
    program: Program,
    checker: Checker,
    references: Mutex<HashMap<PathBuf, Arc<Result<Reference, String>>>>,
    behaviours: Mutex<HashMap<PathBuf, Result<Behaviour, String>>>,
    judged: Mutex<HashMap<Key, Arc<JudgedLevel>>>,
}

/// How a judge looks.
#[derive(Clone, Debug)]
pub struct Looking {
    /// The engine that traces each build.
    pub engine: EngineKind,
    /// How the native engine reads.
    pub policy: Policy,
    /// CPU time that a run of the program may take.
    pub patience: Duration,
    /// What is looked for beyond the usual, which costs more.
    pub demanded: Vec<Invariant>,
}

/// CPU time that a changed program may take: this many times what the -O0 side of the original took in all, and at least
/// some seconds.
const MOST_CPU_OVER_ORIGINAL: u32 = 10;
const LEAST_CPU: Duration = Duration::from_secs(2);

/// The CPU time for changes of a program whose -O0 side took `spent`, of `most` at the most: some loop for ever, and must not
/// take long to say nothing.
pub fn patience_for_changes(spent: Duration, most: Duration) -> Duration {
    (spent * MOST_CPU_OVER_ORIGINAL).max(LEAST_CPU).min(most)
}

impl Looking {
    /// Looks this way, with the patience that any program deserves.
    pub fn new(engine: EngineKind, policy: Policy) -> Self {
        Self { engine, policy, patience: Duration::from_secs(LIMIT), demanded: Vec::new() }
    }

    /// Looks for an invariant that may be one of those that are looked for on demand only.
    pub fn seek(&mut self, invariant: Invariant) {
        if !Invariant::usual().any(|usual| usual == invariant) && !self.demanded.contains(&invariant) {
            self.demanded.push(invariant);
        }
    }

    /// The same for what is made of `program`.
    pub fn at_changes_of(&self, program: &Program, compiler: &Compiler) -> Result<Self, ExplainError> {
        let judge = BuildJudge::new(program.clone(), self)?;
        let started = cpu_time();
        let _ = judge.reference(compiler);
        Ok(Self { patience: patience_for_changes(cpu_time() - started, self.patience), ..self.clone() })
    }
}

/// The options of a checker that looks this way.
pub fn check_options(looking: &Looking) -> CheckOptions {
    CheckOptions {
        engine: looking.engine,
        policy: looking.policy,
        strictness: Strictness::Filtered,
        // Comparing code with and without -g costs two more compilations and has no trace to bisect on.
        invariants: Invariant::usual().filter(|i| *i != Invariant::Codegen).chain(looking.demanded.iter().copied()).collect(),
        limits: Limits { cpu: looking.patience, ..Limits::seconds(LIMIT) },
        ..CheckOptions::default()
    }
}

impl BuildJudge {
    /// A judge of one program.
    pub fn new(program: Program, looking: &Looking) -> Result<Self, ExplainError> {
        let checker = Checker::new(check_options(looking))?;
        Ok(Self { program, checker, references: Mutex::default(), behaviours: Mutex::default(), judged: Mutex::default() })
    }

    /// The -O0 side for a compiler, made once.
    pub fn reference(&self, compiler: &Compiler) -> Arc<Result<Reference, String>> {
        let mut references = self.references.lock();
        let make = || Arc::new(self.checker.reference(&self.program, compiler).map_err(|e| e.to_string()));
        Arc::clone(references.entry(compiler.id.path.clone()).or_insert_with(make))
    }

    /// How the -O0 build of a compiler behaves, asked once.
    fn behaviour(&self, compiler: &Compiler) -> Result<Behaviour, String> {
        let mut behaviours = self.behaviours.lock();
        let make = || self.checker.expected_behaviour(&self.program, compiler).map_err(|e| e.to_string());
        behaviours.entry(compiler.id.path.clone()).or_insert_with(make).clone()
    }

    /// Builds, traces and judges, or remembers.
    pub fn judge(&self, setting: &Setting, flags: &[String]) -> Result<Arc<JudgedLevel>, ProbeError> {
        self.judge_to(Depth::Trace, setting, flags)
    }

    fn judge_to(&self, depth: Depth, setting: &Setting, flags: &[String]) -> Result<Arc<JudgedLevel>, ProbeError> {
        let key = (setting.compiler.id.path.clone(), setting.opt, flags.to_vec(), depth);
        if let Some(known) = self.judged.lock().get(&key) {
            return Ok(Arc::clone(known));
        }
        let judged = Arc::new(self.build_and_look(depth, setting, flags)?);
        self.judged.lock().insert(key, Arc::clone(&judged));
        Ok(judged)
    }

    /// Builds and judges, whatever is remembered.
    pub fn judge_anew(&self, setting: &Setting, flags: &[String]) -> Result<JudgedLevel, ProbeError> {
        self.build_and_look(Depth::Trace, setting, flags)
    }

    fn build_and_look(&self, depth: Depth, setting: &Setting, flags: &[String]) -> Result<JudgedLevel, ProbeError> {
        let failed = |what: &str, error: std::io::Error| ProbeError(format!("{what}: {error}"));
        let scratch = Scratch::new().map_err(|e| failed("no temporary directory", e))?;
        let source = scratch.write(&self.program.name, &self.program.source).map_err(|e| failed("cannot write the program", e))?;
        let compilation = Compilation {
            program: &self.program,
            compiler: &setting.compiler,
            opt: setting.opt,
            flags: &self.program.cflags.iter().chain(flags).cloned().collect::<Vec<_>>(),
            extent: if depth == Depth::Compile { BuildExtent::Object } else { BuildExtent::Program },
            debug: DebugInfo::Full,
            output: "a.out".to_owned(),
            limits: Some(Limits::seconds(LIMIT)),
        };
        let command = compilation.command(&source, &scratch);
        let build = match compilation.run(&source, &scratch) {
            Ok(build) => build,
            Err(error) => {
                let log = match &error {
                    BuildError::Crashed { log, .. } | BuildError::Hung { log, .. } => log.clone(),
                    _ => String::new(),
                };
                let shown = match shown(Err(CheckError::of_build(error, setting.opt)))? {
                    ShownBuild::Other(Fault::Crash { message }) => {
                        ShownBuild::Other(Fault::Crash { message: message.replace(&format!("{}/", scratch.path().display()), "") })
                    }
                    other => other,
                };
                return Ok(JudgedLevel { shown, command, log });
            }
        };
        let shown = match depth {
            Depth::Compile => ShownBuild::Violations(Vec::new()),
            Depth::Run => self.run(setting, &build.binary)?,
            Depth::Trace => match &*self.reference(&setting.compiler) {
                Ok(reference) => shown(self.checker.check_build(reference, &build.binary, setting.opt).map(|run| run.violations))?,
                // What cannot be traced may still be miscompiled.
                Err(reason) => match self.run(setting, &build.binary)? {
                    ShownBuild::Violations(_) => ShownBuild::Unjudged(format!("at -O0: {reason}")),
                    other => other,
                },
            },
        };
        // The binary goes with the scratch directory; whoever asks other readers builds it again.
        Ok(JudgedLevel { shown, command, log: build.log })
    }

    fn run(&self, setting: &Setting, binary: &Path) -> Result<ShownBuild, ProbeError> {
        match self.behaviour(&setting.compiler) {
            Ok(expected) => shown(self.checker.check_behaviour(&expected, binary, setting.opt).map(|()| Vec::new())),
            Err(reason) => Ok(ShownBuild::Unjudged(format!("at -O0: {reason}"))),
        }
    }

    /// Compiles and checks once more, keeping the binary, so that other readers can be asked about it.
    pub fn build_again(&self, setting: &Setting) -> Option<CheckRun> {
        let reference = self.reference(&setting.compiler);
        let reference = reference.as_ref().as_ref().ok()?;
        self.checker.check(&self.program, reference, &setting.compiler, setting.opt, &[]).ok()
    }
}

/// What a check says about a build; trouble with tools is no answer.
pub(crate) fn shown(result: Result<Vec<Violation>, CheckError>) -> Result<ShownBuild, ProbeError> {
    let error = match result {
        Ok(violations) => return Ok(ShownBuild::Violations(violations)),
        Err(error) => error,
    };
    match (error.fault(), error) {
        (Some(fault), _) => Ok(ShownBuild::Other(fault)),
        (None, error @ (CheckError::Tool(_) | CheckError::Io { .. } | CheckError::Build(BuildError::Job(_)))) => {
            Err(ProbeError(error.to_string()))
        }
        (None, error) => Ok(ShownBuild::Unjudged(error.to_string())),
    }
}

/// The fault that a search follows.
#[derive(Clone, Debug)]
pub struct Sought(pub Fault);

impl Sought {
    fn depth(&self) -> Depth {
        match self.0 {
            Fault::Crash { .. } | Fault::Hang { .. } | Fault::Explosion { .. } => Depth::Compile,
            Fault::WrongCode { .. } => Depth::Run,
            Fault::Violation(_) => Depth::Trace,
        }
    }

    /// Whether a build shows it.
    pub fn presence(&self, shown: &ShownBuild) -> Presence {
        let said = |yes: bool| if yes { Presence::Present } else { Presence::Absent };
        match (&self.0, shown) {
            (Fault::Explosion { .. }, _) => {
                Presence::Unjudged("what a build costs is told by comparing levels, which this search does not do".to_owned())
            }
            (_, ShownBuild::Unjudged(reason)) => Presence::Unjudged(reason.clone()),
            (Fault::Violation(sought), ShownBuild::Violations(all)) => said(all.iter().any(|v| v.same_as(sought))),
            (Fault::Crash { message }, ShownBuild::Other(Fault::Crash { message: other })) => {
                if crash_key(message) == crash_key(other) {
                    Presence::Present
                } else {
                    Presence::Unjudged(other.clone())
                }
            }
            (Fault::Hang { .. }, ShownBuild::Other(Fault::Hang { .. })) => Presence::Present,
            (Fault::WrongCode { .. }, ShownBuild::Other(Fault::WrongCode { .. })) => Presence::Present,
            // Looked for a crash, a hang or wrong code, and the build is in order.
            (_, ShownBuild::Violations(_)) => Presence::Absent,
            (_, ShownBuild::Other(fault)) => Presence::Unjudged(fault.kind().to_owned()),
        }
    }
}

/// The probe of a search for one fault.
pub struct FaultProbe<'a> {
    /// Builds and judges.
    pub judge: &'a BuildJudge,
    /// What is looked for.
    pub sought: Sought,
}

impl Probe for FaultProbe<'_> {
    fn probe(&self, setting: &Setting, flags: &[String]) -> Result<Probed, ProbeError> {
        let judged = self.judge.judge_to(self.sought.depth(), setting, flags)?;
        Ok(Probed { presence: self.sought.presence(&judged.shown), command: judged.command.clone(), log: judged.log.clone() })
    }

    fn functions(&self) -> Vec<String> {
        functions_of(&self.sought.0)
    }
}

/// The functions that a fault shows in, innermost first.
pub(crate) fn functions_of(fault: &Fault) -> Vec<String> {
    let Fault::Violation(violation) = fault else { return Vec::new() };
    let mut functions: Vec<String> = Vec::new();
    for name in [violation.function.to_string()].into_iter().chain(violation.frames.iter().map(std::string::ToString::to_string)) {
        if !name.is_empty() && !functions.contains(&name) {
            functions.push(name);
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueline_model::{Language, Origin};
    use trueline_toolchain::find_compiler;

    #[test]
    fn a_change_that_loops_for_ever_costs_seconds() {
        let program = |source: &str| Program {
            name: "a.c".to_owned(),
            language: Language::C,
            source: source.to_owned(),
            origin: Origin::File { path: "a.c".into() },
            cflags: Vec::new(),
        };
        let compiler = find_compiler("gcc").unwrap();
        let looking = Looking::new(EngineKind::Native, Policy::Gdb);
        let hurried = looking.at_changes_of(&program("int main(void) { return 0; }\n"), &compiler).unwrap();
        assert!(hurried.patience < looking.patience, "{:?}", hurried.patience);
        let endless = BuildJudge::new(program("int main(void) { for (volatile int i = 0;; i = 1); }\n"), &hurried).unwrap();
        assert!(endless.reference(&compiler).is_err());
        assert!(endless.behaviour(&compiler).is_err());
    }
}
