//! `triage --project`: the objects and the pass behind each finding of a project's run, and the finding in one file.

use super::print::role_name;
use crate::commands::check::project::about_stripping;
use crate::input::LaunchFlags;
use crate::input::project::{ProjectFlags, launch_of, ownership_of};
use anyhow::bail;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use trueline_check::{CheckOptions, Checker, Ownership, Repeat};
use trueline_explain::{FindingCase, Functions, Looking, ProjectCause, ProjectExplainer, check_options};
use trueline_model::{Fault, OptLevel, PassName, PassRole, Violation, wording};
use trueline_project::{CompilerChoice, Mixing, MixtureMaker, RunCommand, build};
use trueline_toolchain::{Compiler, Limits};
use trueline_trace::Patience;
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
    /// How many times the program was linked to find them.
    links: usize,
    /// How mixtures of -O0 and optimized objects were linked.
    mixing: Mixing,
    /// The functions of the unit that must be optimized for it to show, where one object alone is guilty.
    functions: Option<FunctionsFound>,
    /// The pass, where one object alone is guilty.
    pass: Option<PassFound>,
    /// Why the finding is not to be had in one file, where a draft was wanted and it is not.
    not_one_file: Option<String>,
    /// The same finding in one file that is made of the project's units, for a draft.
    #[serde(skip)]
    case: Option<FindingCase>,
}

/// What a pass has to do with a finding.
#[derive(Serialize, JsonSchema)]
pub struct PassFound {
    /// Guilty, enabling, a set, or none.
    role: PassRole,
    /// Its name, when one is to be named.
    name: Option<PassName>,
    /// What it ran on, where the compiler says so.
    function: Option<String>,
    /// Why this role and not another.
    evidence: String,
    /// Compilations of the object that it took.
    compilations: usize,
}

/// Which functions of a unit a finding needs.
#[derive(Serialize, JsonSchema)]
pub struct FunctionsFound {
    /// Each with its file and line; none where they could not be told apart.
    guilty: Vec<String>,
    /// How many functions of the project the unit has.
    of: usize,
    /// Compilations of the unit that it took.
    compilations: usize,
    /// Why they could not be told apart.
    reason: Option<String>,
}

impl From<Functions> for FunctionsFound {
    fn from(functions: Functions) -> Self {
        match functions {
            Functions::Guilty { functions, of, compilations } => Self { guilty: functions, of, compilations, reason: None },
            Functions::Unknown(reason) => Self { guilty: Vec::new(), of: 0, compilations: 0, reason: Some(reason) },
        }
    }
}

/// Whether a finding is to be had in one file, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneFile {
    /// It is, for a draft.
    Wanted,
    /// Unit and pass are enough.
    Needless,
}

impl ProjectFinding {
    fn new(run: &RunCommand, opt: OptLevel, violation: Violation, cause: ProjectCause, case: Option<Result<FindingCase, String>>) -> Self {
        let found = |a: trueline_triage::Attribution| PassFound {
            role: a.role,
            name: a.name,
            function: a.function,
            evidence: a.evidence,
            compilations: a.builds,
        };
        let objects = cause.objects.iter().map(ToString::to_string).collect();
        let (case, not_one_file) = match case {
            Some(Ok(case)) => (Some(case), None),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, None),
        };
        let (run, pass) = (run.text.clone(), cause.attribution.map(found));
        let ProjectCause { sources, links, mixing, functions, .. } = cause;
        let functions = functions.map(FunctionsFound::from);
        Self { run, opt, violation, objects, sources, links, mixing, functions, pass, not_one_file, case }
    }

    /// The finding in one file.
    pub fn take_case(&mut self) -> Option<FindingCase> {
        self.case.take()
    }

    /// Why there is no draft of it, as a note.
    pub fn note(&self) -> Option<String> {
        let reason = self.not_one_file.as_ref()?;
        Some(format!("{}: no draft of one file: {reason}", wording::identity(&Fault::Violation(self.violation.clone()))))
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
    /// Whether findings are to be had in one file.
    pub one_file: OneFile,
}

/// Seconds that one run of a project may take, as `check` has it.
const RUN_SECONDS: u64 = 120;
/// When addresses of a run that show nothing new are given up, as `check` has it.
const VISITS: u32 = 32;

impl ProjectQuestion<'_> {
    /// Builds, checks and explains what `is_wanted` lets through.
    pub fn answer(&self, dir: &Path, is_wanted: impl Fn(&Fault) -> bool) -> anyhow::Result<Vec<ProjectFinding>> {
        let runs = self.project.runs()?;
        let choice = CompilerChoice::Given(self.compiler.clone());
        let reference = build(&self.project.request(dir, OptLevel::O0, self.cflags, choice.clone()))?;
        let mut findings = Vec::new();
        for &opt in self.levels {
            let request = self.project.request(dir, opt, self.cflags, choice.clone());
            let optimized = build(&request)?;
            for run in &runs {
                let mixer = MixtureMaker::new(request.clone(), &reference, &optimized, run)?;
                findings.extend(self.explain_run(run, mixer, opt, &is_wanted)?);
            }
        }
        Ok(findings)
    }

    fn explain_run(
        &self,
        run: &RunCommand,
        mixer: MixtureMaker<'_>,
        opt: OptLevel,
        is_wanted: &impl Fn(&Fault) -> bool,
    ) -> anyhow::Result<Vec<ProjectFinding>> {
        let options = CheckOptions {
            launch: launch_of(run, mixer.reference(), self.launch)?,
            ownership: ownership_of(mixer.reference(), &Ownership::default()),
            repeat: Repeat::Twice,
            patience: Patience::Visits(VISITS),
            limits: Limits::seconds(RUN_SECONDS),
            ..check_options(self.looking)
        };
        let checker = Checker::new(options.clone())?;
        let binary = run.program_in(mixer.reference())?;
        let reference = checker.reference_pair(&binary, &run.args).map_err(|e| about_stripping(e, run, &binary))?;
        let checked = checker.check_build(&reference, &run.program_in(mixer.optimized())?, opt)?;
        if mixer.objects().is_empty() {
            bail!("the build of `{}` makes no objects: nothing can be mixed; compile with -c and link apart", run.text);
        }
        let setting = Setting { compiler: self.compiler.clone(), opt };
        let explainer = ProjectExplainer { mixer, options, setting };
        let wanted = checked.violations.into_iter().filter(|v| is_wanted(&Fault::Violation(v.clone())));
        wanted
            .map(|violation| {
                let cause = explainer.explain(&violation)?;
                let one_file = self.one_file == OneFile::Wanted;
                let case = one_file.then(|| explainer.as_one_program(&violation, &cause, self.looking));
                Ok(ProjectFinding::new(run, opt, violation, cause, case))
            })
            .collect()
    }
}

/// Prints the document.
pub fn json(findings: &[ProjectFinding]) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(&Document { schema: "trueline.project/1", findings })?);
    Ok(())
}

/// Prints what was found out, for people.
pub fn text(findings: &[ProjectFinding], dir: &Path) {
    findings.iter().for_each(print);
    if findings.is_empty() {
        println!("{}: nothing to explain", dir.display());
    }
}

fn print(finding: &ProjectFinding) {
    let ProjectFinding { run, opt, violation, objects, sources, links, mixing, functions, pass, .. } = finding;
    println!("{}  ·  {run} {opt}", wording::identity(&Fault::Violation(violation.clone())));
    for (object, source) in objects.iter().zip(sources) {
        println!("  unit      {source} ({object})");
    }
    let how = match mixing {
        Mixing::Replay => "by the recorded link",
        Mixing::BuildCommand => "by the build command",
    };
    println!("            {links} links of -O0 and optimized objects, {how}");
    if let Some(found) = functions {
        for (index, function) in found.guilty.iter().enumerate() {
            println!("  {}  {function}", if index == 0 { "function" } else { "        " });
        }
        match &found.reason {
            Some(reason) => println!("  function  not told apart: {reason}"),
            None => println!("            of {} in the unit · {} compilations", found.of, found.compilations),
        }
    }
    match pass {
        Some(found) => {
            let name = found.name.as_ref().map_or("", |n| n.0.as_str());
            let place = found.function.as_ref().map_or_else(String::new, |f| format!(" (on {f})"));
            println!("  pass      {} {name}{place}", role_name(found.role));
            println!("            {} · {} compilations of this unit\n", found.evidence, found.compilations);
        }
        None => println!("  pass      several units are needed together: no single one was searched\n"),
    }
}
