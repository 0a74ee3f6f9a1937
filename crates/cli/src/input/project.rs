//! `--project` and what goes with it: which tree is built, how, and what of it is run.

use super::LaunchFlags;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use trueline_campaign::is_of_project;
use trueline_check::Ownership;
use trueline_model::OptLevel;
use trueline_project::{BuildRequest, BuiltTree, CompilerChoice, RunCommand};
use trueline_store::{FindingEvidence, FindingRecord};
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

impl ProjectFlags {
    /// The project's directory, when the command is about one.
    pub fn directory(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The runs, as commands.
    pub fn runs(&self) -> anyhow::Result<Vec<RunCommand>> {
        if self.run.is_empty() {
            bail!("--project needs to know what to run: give --run './prog ARGS', or `run` below [project] in trueline.toml");
        }
        Ok(self.run.iter().map(|text| RunCommand::parse(text)).collect::<Result<_, _>>()?)
    }

    /// The flags that name one run of the project to another command.
    pub fn target(&self, project: &Path, run: &RunCommand, cflags: &[String]) -> String {
        let command = self.build_command.as_ref().map_or_else(String::new, |c| format!(" --build {}", quote(c)));
        let flags: String = cflags.iter().map(|flag| format!(" {}", quote(format!("--cflag={flag}")))).collect();
        format!("--project {}{command} --run {}{flags}", quote(project), quote(&run.text))
    }

    /// The build of the project at one level.
    pub fn request<'a>(&'a self, project: &'a Path, level: OptLevel, flags: &'a [String], choice: CompilerChoice) -> BuildRequest<'a> {
        let limits = Limits { memory: None, file_size: 16 << 30, ..Limits::seconds(self.build_limit) };
        BuildRequest { project, command: self.build_command.as_deref(), level, flags, choice, limits }
    }
}

/// Whose the files of a project's build are: headers that the build itself calls the system's are not the user's, unless
/// patterns say so.
pub fn ownership_of(tree: &BuiltTree, given: &Ownership) -> Ownership {
    let pattern = |dir: &PathBuf| format!("{}/*", glob::Pattern::escape(&dir.display().to_string()));
    Ownership { library: tree.system_directories().iter().map(pattern).collect(), ..given.clone() }
}

/// A finding of `hunt --project` cannot be built again from the text that is kept of it: says how it can.
pub fn refuse_project(record: &FindingRecord, evidence: &FindingEvidence) -> anyhow::Result<()> {
    if !is_of_project(&record.program) {
        return Ok(());
    }
    let (id, kind) = (record.id.0, record.finding.fault.kind());
    let again = evidence.optimized.command.replacen("trueline check", "trueline triage", 1);
    bail!("finding {id} is a project's, which must be built again: {again} --only {kind}")
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
