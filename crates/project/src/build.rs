//! One build of a project at one level, in a copy of its tree.

use crate::calls::{ObjectPath, ToolCall, plain};
use crate::run::{FileKind, kind_of};
use crate::shims::{CompilerShims, MakingCall, archives};
use crate::{BuildSystem, ProjectError, tree};
use std::path::{Path, PathBuf};
use trueline_model::OptLevel;
use trueline_toolchain::{Compiler, Exit, Job, Limits, Outcome, Scratch};

/// Which compiler builds the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompilerChoice {
    /// The one that the project calls.
    Own,
    /// This one, by whatever name the project calls its own.
    Given(Compiler),
}

/// What to build, and how.
#[derive(Clone, Debug)]
pub struct BuildRequest<'a> {
    /// The project's directory, which is only read.
    pub project: &'a Path,
    /// The build command, run by a shell in the copy; guessed by the build system where there is none.
    pub command: Option<&'a str>,
    /// The level that replaces the project's own.
    pub level: OptLevel,
    /// Flags that every compilation gets behind the project's own.
    pub flags: &'a [String],
    /// Which compiler builds it.
    pub choice: CompilerChoice,
    /// What the build may use.
    pub limits: Limits,
}

/// A project that was built. The tree goes away with the value.
#[derive(Debug)]
pub struct BuiltTree {
    root: PathBuf,
    project: PathBuf,
    command: String,
    /// What was compiled and linked.
    pub compilations: Vec<ToolCall>,
    /// What was put into archives.
    pub(crate) archivings: Vec<ToolCall>,
    /// What the build printed on standard error.
    pub log: String,
    _scratch: Scratch,
}

impl BuiltTree {
    /// The copy of the project's directory, with what was built.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The command that built it.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The directories whose headers the build calls the system's (`-isystem`), as debug information names them.
    pub fn system_directories(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for call in &self.compilations {
            for dir in call.system_directories() {
                let dir = plain(&call.directory.join(dir));
                let dir = dir.strip_prefix(&self.root).map_or_else(|_| dir.clone(), |within| self.project.join(within));
                if !found.contains(&dir) {
                    found.push(dir);
                }
            }
        }
        found
    }

    /// The objects that the build made, each once, in the order of the sorted calls.
    pub fn objects(&self) -> Vec<ObjectPath> {
        let mut objects: Vec<ObjectPath> = self.compilations.iter().filter_map(|c| c.object(&self.root)).collect();
        objects.retain(|o| self.root.join(&o.0).is_file());
        objects.sort();
        objects.dedup();
        objects
    }

    /// The source that an object was made of, as the project named it.
    pub fn source_of(&self, object: &ObjectPath) -> Option<&str> {
        self.call_of(object).and_then(ToolCall::source)
    }

    /// The compiler that the build called, when it is one and the same: by the name that compiled, `rustc` for Cargo.
    pub fn compiler_name(&self) -> Option<String> {
        let mut names: Vec<&str> = self.compilations.iter().filter(|c| c.makes_object()).map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [name] => Some((*name).to_owned()),
            // Its links are calls of the C compiler, its compilations are not.
            [] if self.root.join("Cargo.toml").is_file() => Some("rustc".to_owned()),
            _ => None,
        }
    }

    /// The call that made an object, the last one where there are several.
    pub(crate) fn call_of(&self, object: &ObjectPath) -> Option<&ToolCall> {
        self.compilations.iter().filter(|c| c.object(&self.root).as_ref() == Some(object)).max_by_key(|c| c.at)
    }

    /// The programs that the build made, for a message; at most eight.
    pub(crate) fn programs_made(&self) -> String {
        let mut found = Vec::new();
        list_programs(&self.root, &self.root, &mut found);
        found.sort();
        match found.len() {
            0 => "none".to_owned(),
            1..=8 => found.join(", "),
            more => format!("{} and {} more", found[..8].join(", "), more - 8),
        }
    }
}

fn list_programs(root: &Path, dir: &Path, found: &mut Vec<String>) {
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, Ok(meta)) = (entry.path(), entry.metadata()) else { continue };
        if meta.is_dir() {
            list_programs(root, &path, found);
        } else if meta.is_file() && meta.permissions().mode() & 0o111 != 0 && kind_of(&path) == FileKind::Program {
            found.push(format!("./{}", path.strip_prefix(root).unwrap_or(&path).display()));
        }
    }
}

/// Copies the project and builds the copy.
pub fn build(request: &BuildRequest<'_>) -> Result<BuiltTree, ProjectError> {
    build_by(request, MakingCall::Compile)
}

/// Copies the project and builds the copy; objects come from where `making` says.
pub(crate) fn build_by(request: &BuildRequest<'_>, making: MakingCall<'_>) -> Result<BuiltTree, ProjectError> {
    let unreadable = |source| ProjectError::Unreadable { dir: request.project.to_owned(), source };
    let project = std::fs::canonicalize(request.project).map_err(unreadable)?;
    std::fs::read_dir(&project).map_err(unreadable)?;
    let (system, command) = match (request.command, BuildSystem::detect(&project)) {
        (Some(command), system) => (system.ok(), command.to_owned()),
        (None, Ok(system)) => (Some(system), system.command(jobs())),
        (None, Err(error)) => return Err(error),
    };
    let scratch = Scratch::new().map_err(ProjectError::io("cannot make a scratch directory"))?;
    let root = scratch.join("tree");
    tree::copy_project(&project, &root)?;
    let shims = CompilerShims::write(&scratch.join("compilers"), request, (&root, &project), making)?;
    let job = job(request, &command, &root, &project, &shims);
    let level = request.level.to_string();
    let outcome = job.run().map_err(|e| ProjectError::NotStarted { level: level.clone(), reason: e.to_string() })?;
    if !outcome.success() {
        return Err(ProjectError::BuildFailed { level, command, ending: ending(&outcome, request), output: last_lines(&outcome) });
    }
    let (archivings, compilations): (Vec<_>, Vec<_>) = shims.calls()?.into_iter().partition(|call| archives(&call.name));
    if compilations.is_empty() && system != Some(BuildSystem::Cargo) {
        return Err(ProjectError::NothingBuilt { command });
    }
    Ok(BuiltTree { root, project, command, compilations, archivings, log: outcome.stderr_text(), _scratch: scratch })
}

fn jobs() -> usize {
    std::thread::available_parallelism().map_or(2, Into::into)
}

/// The build's process: the user's environment, with the wrapped compilers in front.
fn job(request: &BuildRequest<'_>, command: &str, root: &Path, project: &Path, shims: &CompilerShims) -> Job {
    let variable = |name: &str| std::env::var(name).ok();
    let job = with_environment(Job::new("/bin/sh").args(["-c", command]).cwd(root).limits(request.limits.clone()), shims);
    let flags = format!("{} --remap-path-prefix={}={}", variable("RUSTFLAGS").unwrap_or_default(), root.display(), project.display());
    let mut job = job.env("RUSTFLAGS", flags.trim_start());
    for profile in ["DEV", "RELEASE"] {
        let settings = [("OPT_LEVEL", cargo_level(request.level)), ("DEBUG", "2"), ("STRIP", "none"), ("INCREMENTAL", "false")];
        for (name, value) in settings {
            job = job.env(format!("CARGO_PROFILE_{profile}_{name}"), value);
        }
    }
    job
}

/// A job in the user's environment, with the wrapped compilers in front.
pub(crate) fn with_environment(mut job: Job, shims: &CompilerShims) -> Job {
    let variable = |name: &str| std::env::var(name).ok();
    let mut path = vec![shims.dir().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    // Cargo would build in the user's own directory; a cache would answer with objects of another level.
    let dropped = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTC_WRAPPER", "MAKEFLAGS", "MAKELEVEL"];
    for (name, value) in std::env::vars_os().filter(|(name, _)| !dropped.iter().any(|d| *d == name)) {
        job = job.env(name, value);
    }
    if let Ok(joined) = std::env::join_paths(path) {
        job = job.env("PATH", joined);
    }
    if let Some(rustc) = shims.rustc() {
        job = job.env("RUSTC", rustc);
    }
    job.env("CC", shims.choose(variable("CC"), "cc")).env("CXX", shims.choose(variable("CXX"), "c++")).env("CCACHE_DISABLE", "1")
}

/// A level as Cargo's profiles have it.
fn cargo_level(level: OptLevel) -> &'static str {
    match level {
        OptLevel::O0 => "0",
        OptLevel::Og | OptLevel::O1 => "1",
        OptLevel::O2 => "2",
        OptLevel::O3 | OptLevel::Ofast => "3",
        OptLevel::Os => "s",
        OptLevel::Oz => "z",
    }
}

fn ending(outcome: &Outcome, request: &BuildRequest<'_>) -> String {
    match outcome.exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
        Exit::TimedOut => format!("did not finish within {} s", request.limits.wall.as_secs()),
        Exit::TooMuchOutput | Exit::Stopped => "wrote too much".to_owned(),
    }
}

/// What a person would look at first: the end of what the build said.
pub(crate) fn last_lines(outcome: &Outcome) -> String {
    const LINES: usize = 20;
    let text = format!("{}{}", outcome.stdout_text(), outcome.stderr_text());
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|l| format!("  {l}\n")).collect()
}
