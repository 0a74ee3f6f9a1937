//! One child process under limits.
//!
//! Built on `std::process` and a few system calls rather than a wrapper crate because three things are
//! needed together: the CPU time of the finished group leader (`wait4`), death of the whole group at the
//! wall-clock limit, and a child that stops under ptrace before its first instruction.

mod child;
mod outcome;
#[cfg(test)]
mod tests;
mod traced;

pub use outcome::{Exit, JobError, Limits, Outcome};
pub use traced::Traced;

use crate::Permission;
use crate::confine::{Confinement, PreparedRules};
use crate::network;
use crate::pipes::{Collected, collect};
use crate::resident::{self, RequestNumbers};
use crate::running::{self, RunningChild};
use crate::session;
use crate::shell::quote;
use child::{prepare_child, process_limit};
use outcome::exit_of;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use traced::{ProcessGroup, Watchdog};

/// The least share of the CPU limit that a child has used by exact clocks when the kernel ends it at the hard limit. The kernel
/// counts whole ticks, and a machine that shares its processors runs fewer instructions in a tick than it counts.
const LEAST_SHARE: f64 = 0.75;

/// A child to be run.
#[derive(Clone, Debug)]
pub struct Job {
    program: PathBuf,
    argv0: Option<OsString>,
    args: Vec<OsString>,
    environment: Environment,
    env: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    stdin: Vec<u8>,
    stdin_from: Option<Arc<OwnedFd>>,
    limits: Limits,
    confinement: Confinement,
    layout: AddressLayout,
    residence: Residence,
    stand_in: Option<PathBuf>,
}

impl Job {
    /// A child that runs `program` with no arguments, an environment of `PATH`, `HOME`, `TMPDIR` and
    /// `LC_ALL=C` only, and the default limits.
    pub fn new(program: impl AsRef<Path>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            argv0: None,
            args: Vec::new(),
            environment: Environment::Scrubbed,
            env: Vec::new(),
            cwd: None,
            stdin: Vec::new(),
            stdin_from: None,
            limits: Limits::default(),
            confinement: Confinement::default(),
            layout: AddressLayout::Usual,
            residence: Residence::Fresh,
            stand_in: None,
        }
    }

    /// Adds one argument behind those that are there.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments behind those that are there.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Tells it another name than the path it is started by.
    pub fn argv0(mut self, name: impl AsRef<OsStr>) -> Self {
        self.argv0 = Some(name.as_ref().to_owned());
        self
    }

    /// Gives it no environment but the variables that are added.
    pub fn bare(mut self) -> Self {
        self.environment = Environment::Bare;
        self
    }

    /// Adds a variable to the scrubbed environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Lets the kernel choose another address-space layout for each traced run.
    pub fn randomized(mut self) -> Self {
        self.layout = AddressLayout::Random;
        self
    }

    /// Gives it the same address-space layout in every run, so that what depends on addresses (hash tables
    /// of pointers, say) repeats itself.
    pub fn fixed_layout(mut self) -> Self {
        self.layout = AddressLayout::Fixed;
        self
    }

    /// Lets a copy of the program that started earlier and stays do it, where that is possible: for programs that are started
    /// again and again and take long to start. Nobody can tell the difference but by the clock.
    pub fn kept(mut self) -> Self {
        self.residence = Residence::Kept;
        self
    }

    /// As [`Job::kept`], for a program that does nothing but run another: the other stays.
    pub(crate) fn kept_as(mut self, stand_in: Option<PathBuf>) -> Self {
        self.stand_in = stand_in;
        self.kept()
    }

    /// Has a process of its own do it, started now.
    pub fn afresh(mut self) -> Self {
        self.residence = Residence::Fresh;
        self
    }

    /// Sets the working directory.
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.cwd = Some(dir.as_ref().to_owned());
        self
    }

    /// Has it work in a directory that goes away afterwards, its temporary files included: a compiler that is killed
    /// leaves some behind.
    pub fn inside(self, dir: impl AsRef<Path>) -> Self {
        let job = self.env("TMPDIR", dir.as_ref());
        job.cwd(dir)
    }

    /// Gives it bytes to read; without this, standard input is empty.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Lets it read from an open file or pipe; whoever keeps another handle sees how much of it was read.
    pub fn stdin_from(mut self, source: impl Into<OwnedFd>) -> Self {
        self.stdin_from = Some(Arc::new(source.into()));
        self
    }

    /// Sets the limits that the child runs under.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Says how far it is trusted.
    pub fn confine(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// The program it runs.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command as a person would type it, quoted for a shell.
    pub fn command_line(&self) -> String {
        std::iter::once(self.program.as_os_str()).chain(self.args.iter().map(OsString::as_os_str)).map(quote).collect::<Vec<_>>().join(" ")
    }

    /// Runs it to its end and collects both outputs.
    pub fn run(&self) -> Result<Outcome, JobError> {
        let mut stdout = Vec::new();
        let mut outcome = self.stream(|chunk| {
            stdout.extend_from_slice(chunk);
            ControlFlow::Continue(())
        })?;
        outcome.stdout = stdout;
        Ok(outcome)
    }

    /// Runs it and hands standard output to `consume` in chunks as it comes; `Break` kills the group.
    pub fn stream(&self, mut consume: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<Outcome, JobError> {
        let started = Instant::now();
        let failed = |source| JobError::Spawn { program: self.program.clone(), source: network::explain(source) };
        let RunningChild { pid, stdin, stdout, stderr } = self.start().map_err(failed)?;
        let group = ProcessGroup(pid);
        if let Some(mut pipe) = stdin {
            let bytes = self.stdin.clone();
            // A child that does not read its input closes the pipe: not an error of ours. Not joined: a
            // stranger that inherited the other end must not be able to hold us.
            thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let watchdog = Watchdog::start(group, self.limits.wall);
        let broken = |source| JobError::Pipe { program: self.program.clone(), source };
        let collected = collect(pid, stdout, stderr, self.limits.output, &mut consume);
        // Before the leader is reaped, so that its number cannot have gone to somebody else: whatever it
        // started and did not wait for ends here.
        group.kill();
        let timed_out = watchdog.stop();
        let cut_short = timed_out || !matches!(collected, Ok(Collected { ended: None, .. }));
        if cut_short || matches!(self.confinement, Confinement::Guarded { .. }) {
            session::end(group.0);
        }
        let (status, usage) = running::wait(pid).map_err(broken)?;
        let Collected { stderr, ended } = collected.map_err(broken)?;
        let exit = match ended {
            Some(exit) => exit,
            None if timed_out => Exit::TimedOut,
            None => match exit_of(status) {
                // The kernel's hard limit, for those that ignore the soft one.
                Exit::Signal(libc::SIGKILL) if usage.cpu > self.limits.cpu.mul_f64(LEAST_SHARE) => Exit::TimedOut,
                Exit::Signal(libc::SIGKILL) => return Err(JobError::Killed { program: self.program.clone() }),
                exit => exit,
            },
        };
        Ok(Outcome { exit, stdout: Vec::new(), stderr, cpu: usage.cpu, wall: started.elapsed(), max_rss: usage.max_rss })
    }

    /// Starts it as a ptrace tracee of the calling thread, without address-space randomisation (unless [`Job::randomized`]), stopped
    /// before its first instruction (at the exec's SIGTRAP). Output goes to nowhere. The caller drives
    /// it with ptrace from this same thread; dropping the value kills the group.
    pub fn spawn_traced(&self) -> Result<Traced, JobError> {
        let failed = |source| JobError::Spawn { program: self.program.clone(), source: network::explain(source) };
        let mut command = self.command(Tracing::On).map_err(failed)?;
        command.stdin(match &self.stdin_from {
            Some(source) => Stdio::from(source.try_clone().map_err(failed)?),
            None => Stdio::null(),
        });
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(failed)?;
        let group = ProcessGroup(child.id() as i32);
        let watchdog = Watchdog::start(group, self.limits.wall);
        let leaves_others = self.confinement.allows(Permission::Fork);
        Ok(Traced { pid: child.id() as i32, group, watchdog: Some(watchdog), leaves_others })
    }

    /// Starts it: a copy of a program that stays, or a process of its own.
    fn start(&self) -> io::Result<RunningChild> {
        let usual =
            self.confinement == Confinement::Tool && self.layout == AddressLayout::Usual && self.environment == Environment::Scrubbed;
        if self.residence == Residence::Kept
            && usual
            && let Some(running) = self.start_copy()?
        {
            return Ok(running);
        }
        let mut command = self.command(Tracing::Off)?;
        command.stdin(match &self.stdin_from {
            Some(source) => Stdio::from(source.try_clone()?),
            None if self.stdin.is_empty() => Stdio::null(),
            None => Stdio::piped(),
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map(RunningChild::from)
    }

    fn start_copy(&self) -> io::Result<Option<RunningChild>> {
        let (program, args) = (self.stand_in.as_deref().unwrap_or(&self.program), &self.args[..]);
        let (name, directory) = (self.argv0.as_ref(), self.cwd.as_deref());
        let Limits { cpu, memory, file_size, .. } = self.limits;
        let numbers = RequestNumbers {
            parent: u64::from(std::process::id()),
            cpu: cpu.as_secs().max(1),
            timer: if cpu < Duration::from_secs(1) && !cpu.is_zero() { u64::from(cpu.subsec_micros().max(1)) } else { 0 },
            file_size,
            processes: process_limit(),
            memory: memory.unwrap_or(resident::UNLIMITED),
        };
        let env = self.variables(Tracing::Off).into_iter().collect();
        let order = resident::ResidentRequest { program, name, args, directory, usual: usual_variables().collect(), env, numbers };
        running::of_copy(&order, self.stdin_from.as_deref(), !self.stdin.is_empty())
    }

    /// The whole environment, sorted by name.
    fn variables(&self, tracing: Tracing) -> BTreeMap<OsString, OsString> {
        // A traced program sees nothing but what it was given: its stack must not depend on the user's environment, and
        // debuggers give theirs an empty one too.
        let is_usual = tracing == Tracing::Off && self.environment == Environment::Scrubbed;
        let usual = is_usual.then(usual_variables).into_iter().flatten();
        usual.chain(self.env.iter().cloned()).collect()
    }

    fn command(&self, tracing: Tracing) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear();
        if let Some(name) = &self.argv0 {
            command.arg0(name);
        }
        command.envs(self.variables(tracing));
        if let Some(dir) = &self.cwd {
            command.current_dir(dir);
        }
        let cell = PreparedRules::prepare(&self.confinement)?;
        let limits = self.limits.clone();
        let processes = process_limit();
        let layout = self.layout;
        let parent = std::process::id() as i32;
        // SAFETY: the closure runs between fork and exec and makes only async-signal-safe system calls
        // (setsid, prctl, getppid, setrlimit, setitimer, personality, ptrace, landlock, seccomp); it allocates nothing.
        unsafe {
            command.pre_exec(move || prepare_child(&limits, processes, parent, tracing, layout, cell.as_ref()));
        }
        Ok(command)
    }
}

/// What tools find in their environment. rustup's proxies find their toolchain through the last two; nothing else reads them.
fn usual_variables() -> impl Iterator<Item = (OsString, OsString)> {
    let ours = ["PATH", "HOME", "TMPDIR", "RUSTUP_HOME", "CARGO_HOME"].into_iter();
    ours.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).chain([("LC_ALL".into(), "C".into())])
}

/// Whether a copy of the program that stays may do a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Residence {
    Fresh,
    Kept,
}

/// What a child finds in its environment besides the variables that are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Environment {
    /// What tools need.
    Scrubbed,
    /// Nothing of ours but what the job adds.
    Bare,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tracing {
    Off,
    On,
}

/// Whether a program's address space is the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressLayout {
    /// The same when traced, the kernel's choice otherwise.
    Usual,
    Fixed,
    Random,
}
