//! `check --project`: a project's own build, made twice, and each of its runs as a pair.

use super::baseline::Baseline;
use super::batch::{BuildRow, CheckView, Checked, CheckedProgram};
use crate::input::{BuildFlags, LaunchFlags};
use anyhow::{Context, bail};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use trueline_check::{CheckError, CheckOptions, Checker};
use trueline_model::OptLevel;
use trueline_project::{BuildRequest, BuiltTree, Choice, RunCommand, build};
use trueline_toolchain::{Launch, Limits, Permission, quote};

/// A project and how it is built and run.
#[derive(clap::Args)]
pub struct ProjectFlags {
    /// A project's directory: it is copied, built at -O0 and at each level by wrapped compilers, and run.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The project's build command; it runs with your rights. [default: by Makefile, CMakeLists.txt, meson.build, configure or Cargo.toml]
    #[arg(long = "build", value_name = "COMMAND", requires = "project")]
    build_command: Option<String>,
    /// A program of the project with its arguments, from the project's directory; may be repeated.
    #[arg(long, value_name = "COMMAND", requires = "project")]
    run: Vec<String>,
    /// Seconds one build of the project may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, requires = "project")]
    build_limit: u64,
}

/// All builds of a project by one compiler.
struct Builds {
    choice: Choice,
    reference: BuiltTree,
    levels: Vec<(OptLevel, BuiltTree)>,
}

impl ProjectFlags {
    /// The project's directory, when the command is about one.
    pub fn directory(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Builds the project with each compiler at each level, and checks every run of each build.
    pub fn check(
        &self,
        project: &Path,
        options: &CheckOptions,
        flags: (&BuildFlags, &LaunchFlags),
        baseline: Option<&Baseline>,
        view: &CheckView,
    ) -> anyhow::Result<Vec<Checked>> {
        let (build, launch) = flags;
        let runs = self.runs()?;
        let named = build.named_compilers()?;
        let choices = if named.is_empty() { vec![Choice::Own] } else { named.into_iter().map(Choice::Given).collect() };
        let mut checked = Vec::new();
        for choice in choices {
            let builds = self.build_all(project, choice, build)?;
            for run in &runs {
                checked.push(check_run(run, self.target(project, run), &builds, options, launch, baseline, view)?);
            }
        }
        Ok(checked)
    }

    /// The runs, as commands.
    pub fn runs(&self) -> anyhow::Result<Vec<RunCommand>> {
        if self.run.is_empty() {
            bail!("--project needs to know what to run: give --run './prog ARGS', or `run` below [project] in trueline.toml");
        }
        Ok(self.run.iter().map(|text| RunCommand::parse(text)).collect::<Result<_, _>>()?)
    }

    /// The flags that name one run of the project to another command.
    fn target(&self, project: &Path, run: &RunCommand) -> String {
        let command = self.build_command.as_ref().map_or_else(String::new, |c| format!(" --build {}", quote(c)));
        format!("--project {}{command} --run {}", quote(project), quote(&run.text))
    }

    /// The build of the project at one level.
    pub fn request<'a>(&'a self, project: &'a Path, level: OptLevel, flags: &'a [String], choice: Choice) -> BuildRequest<'a> {
        let limits = Limits { memory: None, file_size: 16 << 30, ..Limits::seconds(self.build_limit) };
        BuildRequest { project, command: self.build_command.as_deref(), level, flags, choice, limits }
    }

    fn build_all(&self, project: &Path, choice: Choice, flags: &BuildFlags) -> anyhow::Result<Builds> {
        let mut levels = vec![OptLevel::O0];
        levels.extend(flags.levels().into_iter().filter(|l| *l != OptLevel::O0));
        let names: Vec<String> = levels.iter().map(ToString::to_string).collect();
        eprintln!("building {} at {}", project.display(), names.join(", "));
        let made: Vec<BuiltTree> = levels
            .par_iter()
            .map(|&level| build(&self.request(project, level, &flags.cflags, choice.clone())))
            .collect::<Result<_, _>>()?;
        let mut made = made.into_iter();
        let reference = made.next().context("there is no -O0 build")?;
        Ok(Builds { choice, reference, levels: levels.into_iter().skip(1).zip(made).collect() })
    }
}

/// One run of every build.
fn check_run(
    run: &RunCommand,
    target: String,
    builds: &Builds,
    options: &CheckOptions,
    flags: &LaunchFlags,
    baseline: Option<&Baseline>,
    view: &CheckView,
) -> anyhow::Result<Checked> {
    let launch = launch_of(run, &builds.reference, flags)?;
    let checker = Checker::new(CheckOptions { launch, ..options.clone() })?;
    let binary = run.program_in(&builds.reference)?;
    let reference = checker.reference_pair(&binary, &run.args).map_err(|e| about_stripping(e, run))?;
    let mut rows = Vec::new();
    for (level, tree) in &builds.levels {
        let result = checker.check_build(&reference, &run.program_in(tree)?, *level);
        let compiler = match &builds.choice {
            Choice::Own => None,
            Choice::Given(compiler) => Some(compiler.clone()),
        };
        rows.push(BuildRow::new(compiler, Some(*level), result, Some(0)));
    }
    let sources = rows.iter().find(|row| row.result.as_ref().is_ok_and(|r| !r.violations.is_empty())).map(BuildRow::sources);
    let sources = sources.unwrap_or_default();
    let outcome = CheckedProgram { program: run.text.clone(), target, sources, references: vec![reference], rows };
    Ok(Checked::of(outcome, baseline, view))
}

/// How a run is started: in a copy of the -O0 tree, by the name that the user knows.
pub fn launch_of(run: &RunCommand, reference: &BuiltTree, flags: &LaunchFlags) -> anyhow::Result<Launch> {
    let mut launch = flags.launch(&run.args)?;
    let given = |name: &str, env: &[(String, String)]| env.iter().any(|(n, _)| n == name);
    let own: Vec<_> = run.env.iter().filter(|(name, _)| !given(name, &launch.env)).cloned().collect();
    launch.env.extend(own);
    launch.name.get_or_insert_with(|| run.program.display().to_string());
    launch.directory.get_or_insert_with(|| reference.root().to_owned());
    launch.allowed = launch.allowed.with(Permission::Write);
    launch.set_stage().context("cannot make a directory for the program to write in")
}

/// The wrapped compilers add `-g`: a program without debug information lost it afterwards.
fn about_stripping(error: CheckError, run: &RunCommand) -> anyhow::Error {
    let lacks_debug = error.to_string().contains("no debug information");
    let error = anyhow::Error::new(error);
    if !lacks_debug {
        return error;
    }
    error.context(format!(
        "the build strips {} or makes it without the wrapped compilers; leave that step out of --build",
        run.program.display()
    ))
}
