//! `triage --project`: the objects and the pass behind each finding of a project's run.

use super::print::role_name;
use crate::commands::check::project::{ProjectFlags, launch_of};
use crate::input::LaunchFlags;
use anyhow::bail;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use trueline_check::{CheckOptions, Checker};
use trueline_explain::{Looking, ProjectCause, ProjectExplainer, check_options};
use trueline_model::{Fault, OptLevel, PassName, PassRole, Violation, wording};
use trueline_project::{Choice, Mixer, RunCommand, build};
use trueline_toolchain::Compiler;
use trueline_triage::Setting;

/// The document that `triage --project --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Project")]
pub struct Document<'a> {
    schema: &'static str,
    findings: &'a [ProjectFinding],
}

/// A finding of a project with what is behind it.
#[derive(Serialize, JsonSchema)]
pub struct ProjectFinding {
    /// The command that was run.
    run: String,
    /// The level of the optimized build.
    opt: OptLevel,
    /// What is wrong there.
    violation: Violation,
    /// The objects that must be optimized together for it to show.
    objects: Vec<String>,
    /// Their sources, as the project names them.
    sources: Vec<String>,
    /// Mixtures of -O0 and optimized objects that were linked for it.
    links: usize,
    /// The pass, where one object alone is guilty.
    pass: Option<PassFound>,
}

/// What a pass has to do with a finding.
#[derive(Serialize, JsonSchema)]
pub struct PassFound {
    /// Guilty, enabling, a set, or none.
    role: PassRole,
    /// Its name, when one is to be named.
    name: Option<PassName>,
    /// Why this role and not another.
    evidence: String,
    /// Compilations of the object that it took.
    compilations: usize,
}

impl ProjectFinding {
    fn new(run: &RunCommand, opt: OptLevel, violation: Violation, cause: ProjectCause) -> Self {
        let pass = cause.attribution.map(|a| PassFound { role: a.role, name: a.name, evidence: a.evidence, compilations: a.builds });
        let objects = cause.objects.iter().map(ToString::to_string).collect();
        Self { run: run.text.clone(), opt, violation, objects, sources: cause.sources, links: cause.links, pass }
    }
}

/// What is asked about.
pub struct ProjectQuestion<'a> {
    /// The project, its build command and its runs.
    pub project: &'a ProjectFlags,
    /// How the runs are started.
    pub launch: &'a LaunchFlags,
    /// The compiler that builds it.
    pub compiler: &'a Compiler,
    /// The levels to look at.
    pub levels: &'a [OptLevel],
    /// Flags behind the project's own.
    pub cflags: &'a [String],
    /// How the searches look.
    pub looking: &'a Looking,
}

impl ProjectQuestion<'_> {
    /// Builds, checks and explains what `is_wanted` lets through; says whether there was anything.
    pub fn answer(&self, dir: &Path, is_wanted: impl Fn(&Fault) -> bool, as_json: bool) -> anyhow::Result<bool> {
        let runs = self.project.runs()?;
        let choice = Choice::Given(self.compiler.clone());
        let reference = build(&self.project.request(dir, OptLevel::O0, self.cflags, choice.clone()))?;
        let mut findings = Vec::new();
        for &opt in self.levels {
            let request = self.project.request(dir, opt, self.cflags, choice.clone());
            let optimized = build(&request)?;
            for run in &runs {
                let mixer = Mixer { request: request.clone(), reference: &reference, optimized: &optimized };
                findings.extend(self.explain_run(run, mixer, opt, &is_wanted)?);
            }
        }
        if as_json {
            println!("{}", serde_json::to_string_pretty(&Document { schema: "trueline.project/1", findings: &findings })?);
        } else {
            findings.iter().for_each(print);
            if findings.is_empty() {
                println!("{}: nothing to explain", dir.display());
            }
        }
        Ok(!findings.is_empty())
    }

    fn explain_run(
        &self,
        run: &RunCommand,
        mixer: Mixer<'_>,
        opt: OptLevel,
        is_wanted: &impl Fn(&Fault) -> bool,
    ) -> anyhow::Result<Vec<ProjectFinding>> {
        let launch = launch_of(run, mixer.reference, self.launch)?;
        let checker = Checker::new(CheckOptions { launch, ..check_options(self.looking) })?;
        let reference = checker.reference_pair(&run.program_in(mixer.reference)?, &run.args)?;
        let checked = checker.check_build(&reference, &run.program_in(mixer.optimized)?, opt)?;
        if mixer.objects().is_empty() {
            bail!("the build of `{}` makes no objects: nothing can be mixed; compile with -c and link apart", run.text);
        }
        let setting = Setting { compiler: self.compiler.clone(), opt };
        let explainer = ProjectExplainer { mixer, run, checker: &checker, reference: &reference, setting };
        let wanted = checked.violations.into_iter().filter(|v| is_wanted(&Fault::Violation(v.clone())));
        wanted
            .map(|violation| {
                let cause = explainer.explain(&violation)?;
                Ok(ProjectFinding::new(run, opt, violation, cause))
            })
            .collect()
    }
}

fn print(finding: &ProjectFinding) {
    let ProjectFinding { run, opt, violation, objects, sources, links, pass } = finding;
    println!("{}  ·  {run} {opt}", wording::identity(&Fault::Violation(violation.clone())));
    for (object, source) in objects.iter().zip(sources) {
        println!("  unit      {source} ({object})");
    }
    println!("            {links} links of -O0 and optimized objects");
    match pass {
        Some(found) => {
            let name = found.name.as_ref().map_or("", |n| n.0.as_str());
            println!("  pass      {} {name}", role_name(found.role));
            println!("            {} · {} compilations of this unit\n", found.evidence, found.compilations);
        }
        None => println!("  pass      several units are needed together: no single one was searched\n"),
    }
}
