//! How much a child may use, how it ended, and why there may be no outcome.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// What a child may use. Everything has a finite default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time, after which the whole group is killed.
    pub wall: Duration,
    /// CPU time of each process. Below one second only the child itself is held to it: the kernel's limit counts whole
    /// seconds, and the timer that counts finer is not inherited.
    pub cpu: Duration,
    /// Address space of each process in bytes; `None` for tools that reserve much more than they use
    /// (sanitizers, Chromium).
    pub memory: Option<u64>,
    /// Largest file that may be written, in bytes.
    pub file_size: u64,
    /// Bytes of each output stream that are kept; a child that writes more is killed.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wall: Duration::from_secs(60), cpu: Duration::from_secs(60), memory: Some(4 << 30), file_size: 1 << 30, output: 64 << 20 }
    }
}

impl Limits {
    /// The defaults with another time limit, wall clock and CPU alike.
    pub fn seconds(seconds: u64) -> Self {
        let time = Duration::from_secs(seconds);
        Self { wall: time, cpu: time, ..Self::default() }
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It exited by itself.
    Code(i32),
    /// A signal ended it. Not SIGKILL, which no program sends itself: see [`JobError::Killed`].
    Signal(i32),
    /// It ran into the wall-clock or CPU limit and its group was killed.
    TimedOut,
    /// It wrote more than the output limit and its group was killed.
    TooMuchOutput,
    /// The consumer of its output had seen enough and its group was killed.
    Stopped,
}

/// How a child ended and what it left.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether it exited, was killed or hit a limit.
    pub exit: Exit,
    /// What it wrote to standard output (empty when streamed).
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// CPU time of the child and the children it waited for, user and system.
    pub cpu: Duration,
    /// How long it took by the clock.
    pub wall: Duration,
    /// Largest resident set in bytes.
    pub max_rss: u64,
}

impl Outcome {
    /// True for exit code 0.
    pub fn success(&self) -> bool {
        self.exit == Exit::Code(0)
    }

    /// Standard output as text, invalid bytes replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text, invalid bytes replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Why a child could not be run at all. How a child *ended* is an error here only when a stranger ended it.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// It could not be started.
    #[error("cannot start `{program}`: {source}")]
    Spawn {
        /// The program that could not be started.
        program: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// Talking to it failed.
    #[error("cannot talk to `{program}`: {source}")]
    Pipe {
        /// The program that does not listen or answer.
        program: PathBuf,
        /// The reason that the system gives.
        source: io::Error,
    },
    /// It was killed, and not by us: says nothing about the program, and is worth another try.
    #[error("`{program}` was killed (signal 9), as the kernel does when memory is short; try again")]
    Killed {
        /// The program that somebody else killed.
        program: PathBuf,
    },
}

pub(super) fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        // The CPU limit: SIGPROF below a second, SIGXCPU at the soft limit, SIGKILL at the hard one.
        (None, Some(libc::SIGXCPU | libc::SIGPROF)) => Exit::TimedOut,
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Signal(0),
    }
}
