//! A project's finding: the objects that must be optimized for it to show, and the pass, within the project's own build.
//!
//! Objects are found by mixtures of an -O0 and an optimized build; the pass by the same searches as for one file, with the
//! guilty object compiled anew under each set of flags and everything else at -O0.

use crate::error::ExplainError;
use crate::judge::{Sought, functions_of, shown};
use parking_lot::Mutex;
use trueline_check::{Checker, Reference};
use trueline_model::{Fault, Violation};
use trueline_project::{BuiltTree, Mixer, ObjectPath, RunCommand, find_guilty};
use trueline_triage::{Attribution, CachedProbe, Presence, Probe, ProbeError, Probed, Setting, attribute};

/// Explains findings of one run of a project.
pub struct ProjectExplainer<'a> {
    /// The two builds.
    pub mixer: Mixer<'a>,
    /// What is run.
    pub run: &'a RunCommand,
    /// Who judges.
    pub checker: &'a Checker,
    /// The -O0 side of the run.
    pub reference: &'a Reference,
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
    /// How many mixtures were linked for it.
    pub links: usize,
    /// The pass, where one object alone is guilty.
    pub attribution: Option<Attribution>,
}

impl ProjectExplainer<'_> {
    /// Finds the objects, and the pass where there is one object.
    pub fn explain(&self, violation: &Violation) -> Result<ProjectCause, ExplainError> {
        let sought = Sought(Fault::Violation(violation.clone()));
        let mut links = 0;
        let mut shows = |objects: &[ObjectPath]| {
            links += 1;
            let mixed = self.mixer.link(objects)?;
            Ok::<bool, ExplainError>(self.presence(&sought, &mixed)? == Presence::Present)
        };
        let objects = find_guilty(&self.mixer.objects(), &mut shows)?;
        let attribution = match objects.as_slice() {
            [object] => {
                let probe = ObjectProbe { explainer: self, sought, object, alone: Mutex::new(()) };
                Some(attribute(&CachedProbe::new(&probe), &self.setting)?)
            }
            _ => None,
        };
        let source = |object: &ObjectPath| self.mixer.optimized.source_of(object).unwrap_or("?").to_owned();
        let sources = objects.iter().map(source).collect();
        Ok(ProjectCause { objects, sources, links, attribution })
    }

    fn presence(&self, sought: &Sought, built: &BuiltTree) -> Result<Presence, ExplainError> {
        let binary = self.run.program_in(built)?;
        let run = self.checker.check_build(self.reference, &binary, self.setting.opt);
        Ok(sought.presence(&shown(run.map(|r| r.violations))?))
    }
}

/// Compiles one object with further flags, links it to the others at -O0, and looks.
struct ObjectProbe<'a> {
    explainer: &'a ProjectExplainer<'a>,
    sought: Sought,
    object: &'a ObjectPath,
    /// Runs of a project share the directory that they write in.
    alone: Mutex<()>,
}

impl Probe for ObjectProbe<'_> {
    fn probe(&self, setting: &Setting, flags: &[String]) -> Result<Probed, ProbeError> {
        let _alone = self.alone.lock();
        let explainer = self.explainer;
        let words = std::iter::once(setting.opt.to_string()).chain(flags.iter().cloned()).collect::<Vec<_>>().join(" ");
        let command = format!("{} with {words} for {}", explainer.mixer.optimized.command(), self.object);
        let built = match explainer.mixer.compile(self.object, flags) {
            Ok(built) => built,
            Err(error) => return Ok(Probed { presence: Presence::Unjudged(error.to_string()), command, log: String::new() }),
        };
        let presence = explainer.presence(&self.sought, &built).map_err(|e| ProbeError(e.to_string()))?;
        Ok(Probed { presence, command, log: built.log })
    }

    fn functions(&self) -> Vec<String> {
        functions_of(&self.sought.0)
    }
}
