//! A project's finding: the objects that must be optimized for it to show, and the pass, within the project's own build; and
//! the same finding in one file that is made of the project's units.
//!
//! Objects are found by mixtures of an -O0 and an optimized build; the pass by the same searches as for one file, with the
//! guilty object compiled anew under each set of flags and everything else at -O0.

use crate::error::ExplainError;
use crate::expectation::{faults_of, pass_of};
use crate::explainer::FindingCase;
use crate::judge::{Looking, Sought, functions_of, shown};
use crate::project_functions::Functions;
use parking_lot::Mutex;
use trueline_check::{CheckOptions, Checker, Reference, Repeat};
use trueline_model::{Debugger, EngineKind, Fault, Violation};
use trueline_project::{Mixed, Mixing, MixtureMaker, ObjectPath, Rest, find_guilty, merge};
use trueline_toolchain::Compiler;
use trueline_trace::Focus;
use trueline_triage::{Attribution, CachedProbe, Presence, Probe, ProbeError, Probed, Setting, attribute};

/// Explains findings of one run of a project.
pub struct ProjectExplainer<'a> {
    /// The two builds.
    pub mixer: MixtureMaker<'a>,
    /// How the run is checked.
    pub options: CheckOptions,
    /// Compiler and level of the optimized build.
    pub setting: Setting,
}

/// What is behind a finding of a project.
#[derive(Clone, Debug)]
pub struct ProjectCause {
    /// The objects that must be optimized together for it to show.
    pub objects: Vec<ObjectPath>,
    /// Their sources, as the project names them.
    pub sources: Vec<String>,
    /// How many times the program was linked to find them.
    pub links: usize,
    /// How the mixtures were made.
    pub mixing: Mixing,
    /// The functions of the guilty unit, where one object alone is guilty.
    pub functions: Option<Functions>,
    /// The pass, where one object alone is guilty.
    pub attribution: Option<Attribution>,
}

impl ProjectExplainer<'_> {
    /// Finds the objects, and the pass where there is one object.
    pub fn explain(&self, violation: &Violation) -> Result<ProjectCause, ExplainError> {
        let question = self.question(violation)?;
        let before = self.mixer.links();
        let mut shows = |objects: &[ObjectPath]| {
            let mixed = self.mixer.link(objects)?;
            Ok::<bool, ExplainError>(question.presence(&mixed, self)? == Presence::Present)
        };
        let objects = find_guilty(&self.mixer.linked_objects(), &mut shows)?;
        let links = self.mixer.links() - before + self.mixer.trials();
        let functions = match objects.as_slice() {
            [object] => Some(self.guilty_functions(&question, object)?),
            _ => None,
        };
        let attribution = match objects.as_slice() {
            [object] => {
                let probe = ObjectProbe { explainer: self, question: &question, object, alone: Mutex::new(()) };
                Some(attribute(&CachedProbe::new(&probe), &self.setting)?)
            }
            _ => None,
        };
        let source = |object: &ObjectPath| self.mixer.optimized().source_of(object).unwrap_or("?").to_owned();
        let sources = objects.iter().map(source).collect();
        Ok(ProjectCause { objects, sources, links, mixing: self.mixer.mixing(), functions, attribution })
    }

    /// How one finding is looked for: in its function alone, which lets the rest of the run go at full speed, if it shows
    /// there; else in the whole run.
    fn question(&self, violation: &Violation) -> Result<AskedFinding, ExplainError> {
        let whole = CheckOptions { invariants: vec![violation.invariant()], repeat: Repeat::Once, ..self.options.clone() };
        let function = glob::Pattern::new(&glob::Pattern::escape(&violation.function)).ok();
        let may_focus = whole.engine == EngineKind::Native && whole.policy.debugger() != Some(Debugger::Lldb);
        if let Some(function) = function.filter(|_| may_focus) {
            let focus = Focus { functions: vec![function], ..whole.focus.clone() };
            // A run without a stop in that function at -O0 is an error here, and no reason to give up.
            if let Ok(asked) = self.asked(CheckOptions { focus, ..whole.clone() }, violation)
                && asked.presence_in(&self.mixer.run().program_in(self.mixer.optimized())?, self)? == Presence::Present
            {
                return Ok(asked);
            }
        }
        self.asked(whole, violation)
    }

    fn asked(&self, options: CheckOptions, violation: &Violation) -> Result<AskedFinding, ExplainError> {
        let checker = Checker::new(options)?;
        let run = self.mixer.run();
        let reference = checker.reference_pair(&run.program_in(self.mixer.reference())?, &run.args)?;
        Ok(AskedFinding { checker, reference, sought: Sought(Fault::Violation(violation.clone())) })
    }

    /// The finding in one file that is made of the project's units, with the same pass behind it; the reason where there is
    /// no such file.
    pub fn as_one_program(&self, violation: &Violation, cause: &ProjectCause, looking: &Looking) -> Result<FindingCase, String> {
        let pass = cause.attribution.as_ref().and_then(|a| a.name.as_ref()).map(|n| n.0.clone());
        let mut reasons: Vec<String> = Vec::new();
        for rest in [Rest::Optimized, Rest::Plain] {
            match self.try_as_one(rest, violation, cause, looking, pass.as_deref()) {
                Ok(case) => return Ok(case),
                Err(reason) if !reasons.contains(&reason) => reasons.push(reason),
                Err(_) => {}
            }
        }
        reasons.extend(self.input().map(|file| format!("the run reads {file}, which is no part of the one file")));
        Err(reasons.join("; "))
    }

    /// A file that the run reads, as far as its arguments and its standard input tell.
    fn input(&self) -> Option<String> {
        let root = self.mixer.reference().root();
        let named = self.mixer.run().args.iter().find(|word| root.join(word).is_file()).cloned();
        named.or_else(|| Some(self.options.launch.stdin.as_ref()?.display().to_string()))
    }

    fn try_as_one(
        &self,
        rest: Rest,
        violation: &Violation,
        cause: &ProjectCause,
        looking: &Looking,
        pass: Option<&str>,
    ) -> Result<FindingCase, String> {
        let said = |e: ExplainError| e.to_string();
        let merged = merge(&self.mixer, &cause.objects, rest, &self.setting.compiler).map_err(|e| e.to_string())?;
        let program = merged.program;
        let compiler: Compiler = self.setting.compiler.driver(program.language).map_err(|e| e.to_string())?;
        let setting = Setting { compiler, opt: self.setting.opt };
        let kind = violation.invariant().name();
        let mut faults: Vec<(usize, Fault)> = faults_of(program.clone(), looking, &setting)
            .map_err(said)?
            .into_iter()
            .filter_map(|f| Some((likeness(&f, violation)?, f)))
            .collect();
        faults.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
        let mut other = None;
        for (likeness, fault) in faults.into_iter().take(MOST_CANDIDATES) {
            let found = match pass {
                Some(_) => pass_of(program.clone(), looking, &setting, kind, Some(&fault)).map_err(said)?,
                // Without a pass nothing ties another function's fault to this one.
                None if likeness < SAME_PLACE => continue,
                None => None,
            };
            if found.as_deref() == pass {
                return Ok(FindingCase { id: None, program, compiler: setting.compiler, opt: setting.opt, fault });
            }
            other = found.or(other);
        }
        let place = match rest {
            Rest::Optimized => "in one file",
            Rest::Plain => "in one file with the other units at -O0",
        };
        Err(match other {
            Some(other) => format!("{place} it shows with another pass behind it ({other})"),
            None => format!("{place} it does not show"),
        })
    }
}

/// How many faults of one file are searched for their pass before it is given up.
const MOST_CANDIDATES: usize = 4;

/// The likeness of a fault in the same function and of the same variable.
const SAME_PLACE: usize = 2;

/// How like a finding of the project a fault of the one file is; none for one of another kind. Optimizing across units may move
/// a finding to another variable, as reducing a program does.
fn likeness(fault: &Fault, violation: &Violation) -> Option<usize> {
    match fault {
        Fault::Violation(v) if v.invariant() == violation.invariant() => {
            Some(usize::from(v.function == violation.function) + usize::from(v.variable() == violation.variable()))
        }
        _ => None,
    }
}

/// A finding with those who look for it.
pub(crate) struct AskedFinding {
    checker: Checker,
    reference: Reference,
    sought: Sought,
}

impl AskedFinding {
    pub(crate) fn presence(&self, mixed: &Mixed, explainer: &ProjectExplainer<'_>) -> Result<Presence, ExplainError> {
        self.presence_in(&mixed.program, explainer)
    }

    fn presence_in(&self, program: &std::path::Path, explainer: &ProjectExplainer<'_>) -> Result<Presence, ExplainError> {
        let run = self.checker.check_build(&self.reference, program, explainer.setting.opt);
        Ok(self.sought.presence(&shown(run.map(|r| r.violations))?))
    }
}

/// Compiles one object with further flags, links it to the others at -O0, and looks.
struct ObjectProbe<'a> {
    explainer: &'a ProjectExplainer<'a>,
    question: &'a AskedFinding,
    object: &'a ObjectPath,
    /// Mixtures stand in one place, and runs of a project share the directory that they write in.
    alone: Mutex<()>,
}

impl Probe for ObjectProbe<'_> {
    fn probe(&self, setting: &Setting, flags: &[String]) -> Result<Probed, ProbeError> {
        let explainer = self.explainer;
        let words = std::iter::once(setting.opt.to_string()).chain(flags.iter().cloned()).collect::<Vec<_>>().join(" ");
        let command = format!("{} with {words} for {}", explainer.mixer.optimized().command(), self.object);
        let unjudged = |error: trueline_project::ProjectError| Probed {
            presence: Presence::Unjudged(error.to_string()),
            command: command.clone(),
            log: String::new(),
        };
        let compiled = match explainer.mixer.compile(self.object, flags) {
            Ok(compiled) => compiled,
            Err(error) => return Ok(unjudged(error)),
        };
        let _alone = self.alone.lock();
        let built = match explainer.mixer.link_with(self.object, &compiled) {
            Ok(built) => built,
            Err(error) => return Ok(unjudged(error)),
        };
        let presence = self.question.presence(&built, explainer).map_err(|e| ProbeError(e.to_string()))?;
        Ok(Probed { presence, command, log: compiled.log().to_owned() })
    }

    fn functions(&self) -> Vec<String> {
        functions_of(&self.question.sought.0)
    }
}
