//! Why a project cannot be built or run.

use std::path::PathBuf;

/// Why a project cannot be built or run. Each says which step failed and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The directory is not one, or cannot be read.
    #[error("{dir} cannot be read as a project: {source}", dir = dir.display())]
    Unreadable {
        /// The directory that was named.
        dir: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// There is no build command, and none can be guessed.
    #[error(
        "{dir} has no Makefile, CMakeLists.txt, meson.build, configure or Cargo.toml; say how it is built with --build 'COMMAND'",
        dir = dir.display()
    )]
    UnknownSystem {
        /// The project's directory.
        dir: PathBuf,
    },
    /// A file of the copy cannot be written.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted, on what.
        what: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The build command could not be started.
    #[error("the build at {level} could not be started: {reason}")]
    NotStarted {
        /// The level of the build.
        level: String,
        /// What the system says.
        reason: String,
    },
    /// The build command failed.
    #[error("the build at {level} failed: `{command}` {ending}; the end of its output:\n{output}")]
    BuildFailed {
        /// The level of the build.
        level: String,
        /// The build command.
        command: String,
        /// How it ended.
        ending: String,
        /// The last lines that it printed.
        output: String,
    },
    /// The build command went well and no compiler was called.
    #[error(
        "`{command}` called no compiler that can be wrapped: it had nothing to do (give a command that builds anew, such as \
         'make clean all') or calls a compiler by its full path (it must take CC and CXX from the environment or find them on PATH)"
    )]
    NothingBuilt {
        /// The build command.
        command: String,
    },
    /// The run command is no command.
    #[error("`{command}` is not a run command: {reason}")]
    BadRun {
        /// The run command.
        command: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The run command's program is not there after the build.
    #[error("`{command}` runs {program}, which `{build}` did not make; programs that it made: {made}", program = program.display())]
    NotMade {
        /// The run command.
        command: String,
        /// The path of the program, from the project's directory.
        program: PathBuf,
        /// The build command.
        build: String,
        /// The programs that the build did make.
        made: String,
    },
    /// The run command's program is a script.
    #[error(
        "`{command}` runs {program}, which is a script and not a program of its own; name the program itself (libtool keeps it below .libs)",
        program = program.display()
    )]
    Script {
        /// The run command.
        command: String,
        /// The path of the program, from the project's directory.
        program: PathBuf,
    },
    /// A call that the build made does not go well the second time.
    #[error("`{call}` was part of the build and fails when it is repeated; the end of its output:\n{output}")]
    CallFailed {
        /// The call, as the project made it.
        call: String,
        /// The last lines that it printed.
        output: String,
    },
    /// No recorded call made an object.
    #[error("no compilation of {object} was seen in the build")]
    Unknown {
        /// The object, from the root of the tree.
        object: String,
    },
    /// The units of a program do not make one file.
    #[error("the units of `{command}` do not make one file: {reason}")]
    NotMerged {
        /// The run command.
        command: String,
        /// What stands against it.
        reason: String,
    },
}

impl ProjectError {
    /// Turns a failure of the system into an error that says what was attempted.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what: what.into(), source }
    }
}
