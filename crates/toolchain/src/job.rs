//! One child process under limits.
//!
//! Built on `std::process` and a few system calls rather than a wrapper crate because three things are
//! needed together: the CPU time of the finished group leader (`wait4`), death of the whole group at the
//! wall-clock limit, and a child that stops under ptrace before its first instruction.

use crate::Permission;
use crate::confine::{Confinement, PreparedRules};
use crate::network;
use crate::pipes::{Collected, collect};
use crate::resident::{self, RequestNumbers};
use crate::running::{self, RunningChild};
use crate::session;
use crate::shell::quote;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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

/// The least share of the CPU limit that a child has used by exact clocks when the kernel ends it at the hard limit. The kernel
/// counts whole ticks, and a machine that shares its processors runs fewer instructions in a tick than it counts.
const LEAST_SHARE: f64 = 0.75;

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
    /// Nothing.
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

fn prepare_child(
    limits: &Limits,
    processes: u64,
    parent: i32,
    tracing: Tracing,
    layout: AddressLayout,
    cell: Option<&PreparedRules>,
) -> io::Result<()> {
    // SAFETY: plain system calls on integers and one stack-allocated struct; see `Job::command`.
    unsafe {
        if libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let cpu = limits.cpu.as_secs().max(1);
        set_limit(libc::RLIMIT_CPU, cpu, cpu + 1)?;
        if limits.cpu < Duration::from_secs(1) && !limits.cpu.is_zero() {
            let once = libc::timeval { tv_sec: 0, tv_usec: limits.cpu.subsec_micros().max(1).into() };
            // Timers outlive exec, and SIGPROF ends what does not expect it.
            libc::setitimer(libc::ITIMER_PROF, &libc::itimerval { it_interval: std::mem::zeroed(), it_value: once }, std::ptr::null_mut());
        }
        set_limit(libc::RLIMIT_CORE, 0, 0)?;
        set_limit(libc::RLIMIT_FSIZE, limits.file_size, limits.file_size)?;
        set_limit(libc::RLIMIT_NPROC, processes, processes)?;
        if let Some(memory) = limits.memory {
            set_limit(libc::RLIMIT_AS, memory, memory)?;
        }
        if layout == AddressLayout::Fixed || (layout == AddressLayout::Usual && tracing == Tracing::On) {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
        if tracing == Tracing::On && libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    cell.map_or(Ok(()), PreparedRules::enter)
}

/// How many processes the user may have while a child runs: as many as the machine has now and room for any
/// tool. The kernel counts them per user and not per child, so a fixed number would depend on what else runs.
fn process_limit() -> u64 {
    const ROOM: u64 = 1024;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: getrlimit writes one struct that lives on this stack.
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) };
    // "0.20 0.18 0.12 1/80 11206": the fourth field is running and existing threads.
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let threads = load.split_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse::<u64>().ok());
    threads.map_or(limit.rlim_max, |threads| limit.rlim_max.min(threads + ROOM))
}

fn set_limit(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: setrlimit reads the struct it is given.
    if unsafe { libc::setrlimit(resource, &limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A child that stands still under ptrace.
#[derive(Debug)]
pub struct Traced {
    pid: i32,
    group: ProcessGroup,
    watchdog: Option<Watchdog>,
    /// Whether processes that it started may be in other groups.
    leaves_others: bool,
}

impl Traced {
    /// The process id, for ptrace.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// True when the wall-clock limit killed it.
    pub fn timed_out(&self) -> bool {
        self.watchdog.as_ref().is_some_and(Watchdog::fired)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.group.kill();
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.stop();
        }
        if self.leaves_others {
            session::end(self.group.0);
        }
        reap(self.group);
    }
}

/// Time in which the kernel takes apart what was killed: it has always been milliseconds, and giving up leaves a zombie, not a hang.
const DYING: Duration = Duration::from_secs(5);

/// Reaps what is left of a killed group. Each traced thread has to be waited for by itself, and the leader reports its end only
/// after all others are gone, so that waiting for the leader alone would never end.
fn reap(group: ProcessGroup) {
    let started = Instant::now();
    while started.elapsed() < DYING {
        let mut status = 0;
        // SAFETY: waitpid writes one integer that lives on this stack; only children in the child's own group
        // are waited for, and nobody else asks about those.
        match unsafe { libc::waitpid(-group.0, &mut status, libc::__WALL | libc::WNOHANG) } {
            // Somebody is reaped, or stood still once more on the way to the end.
            pid if pid > 0 => {}
            0 => thread::sleep(Duration::from_micros(200)),
            // ECHILD: nobody is left.
            _ => break,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct ProcessGroup(i32);

impl ProcessGroup {
    fn kill(self) {
        // SAFETY: kill on a process group that this crate created; no memory is touched.
        unsafe {
            libc::kill(-self.0, libc::SIGKILL);
        }
    }
}

/// Kills a group when its time is up, unless stopped before.
#[derive(Debug)]
struct Watchdog {
    cancel: mpsc::Sender<()>,
    fired: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Watchdog {
    fn start(group: ProcessGroup, wall: Duration) -> Self {
        let (cancel, cancelled) = mpsc::channel::<()>();
        let fired = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&fired);
        let thread = thread::spawn(move || {
            if cancelled.recv_timeout(wall) == Err(mpsc::RecvTimeoutError::Timeout) {
                flag.store(true, Ordering::SeqCst);
                group.kill();
            }
        });
        Self { cancel, fired, thread }
    }

    fn fired(&self) -> bool {
        self.fired.load(Ordering::SeqCst)
    }

    fn stop(self) -> bool {
        let _ = self.cancel.send(());
        let _ = self.thread.join();
        self.fired.load(Ordering::SeqCst)
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        // The CPU limit: SIGPROF below a second, SIGXCPU at the soft limit, SIGKILL at the hard one.
        (None, Some(libc::SIGXCPU | libc::SIGPROF)) => Exit::TimedOut,
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Signal(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Job {
        Job::new("/bin/sh").args(["-c", script])
    }

    #[test]
    fn a_job_inside_a_directory_leaves_its_temporary_files_there() {
        let scratch = crate::Scratch::new().unwrap();
        let made = sh("mktemp; pwd").inside(scratch.path()).run().unwrap().stdout_text();
        assert!(made.lines().count() == 2 && made.lines().all(|line| Path::new(line).starts_with(scratch.path())), "{made}");
    }

    #[test]
    fn outputs_and_exit_code_come_back() {
        let outcome = sh("echo out; echo err >&2; exit 3").run().unwrap();
        assert_eq!(outcome.exit, Exit::Code(3));
        assert_eq!(outcome.stdout, b"out\n");
        assert_eq!(outcome.stderr, b"err\n");
    }

    #[test]
    fn a_grandchild_dies_with_the_group_at_the_limit() {
        let scratch = crate::Scratch::new().unwrap();
        let mark = scratch.join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", mark.display());
        let limits = Limits { wall: Duration::from_millis(400), ..Limits::default() };
        let outcome = sh(&script).limits(limits).run().unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
        let pid: i32 = std::fs::read_to_string(mark).unwrap().trim().parse().unwrap();
        let gone = (0..50).any(|_| {
            thread::sleep(Duration::from_millis(20));
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        });
        assert!(gone, "the grandchild {pid} outlived its group");
    }

    #[test]
    fn a_grandchild_that_escaped_and_holds_the_pipes_does_not_hold_us() {
        let started = Instant::now();
        let outcome = sh("setsid sleep 20 & echo started").run().unwrap();
        assert_eq!((outcome.exit, outcome.stdout.as_slice()), (Exit::Code(0), &b"started\n"[..]));
        assert!(started.elapsed() < Duration::from_secs(15), "waited for the escaped process");
    }

    #[test]
    fn a_child_that_somebody_kills_has_no_outcome() {
        let killed = sh("echo half; kill -KILL $$").run();
        assert!(matches!(killed, Err(JobError::Killed { .. })), "{killed:?}");
    }

    #[test]
    fn a_child_that_ignores_its_cpu_limit_ran_out_of_time() {
        let limits = Limits { cpu: Duration::from_secs(1), ..Limits::default() };
        let outcome = sh("trap '' XCPU; while :; do :; done").limits(limits).run().unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
    }

    #[test]
    fn a_gigabyte_of_output_is_cut_off() {
        let limits = Limits { output: 1 << 20, ..Limits::default() };
        let outcome = sh("yes").limits(limits).run().unwrap();
        assert_eq!(outcome.exit, Exit::TooMuchOutput);
    }

    #[test]
    fn a_busy_loop_ends_at_a_limit_below_a_second() {
        let limits = Limits { cpu: Duration::from_millis(150), ..Limits::default() };
        let outcome = sh("while :; do :; done").limits(limits).run().unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
        assert!(outcome.cpu < Duration::from_millis(900), "{:?}", outcome.cpu);
    }

    #[test]
    fn a_busy_loop_ends_at_its_cpu_limit() {
        let limits = Limits { cpu: Duration::from_secs(1), ..Limits::default() };
        let outcome = sh("while :; do :; done").limits(limits).run().unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
    }

    #[test]
    fn the_environment_is_scrubbed() {
        let outcome = sh("echo $DEBUGINFOD_URLS$CARGO_MANIFEST_DIR$LC_ALL").run().unwrap();
        assert_eq!(outcome.stdout, b"C\n");
    }

    #[test]
    fn a_missing_program_is_named_in_the_error() {
        let error = Job::new("/nonexistent/tool").run().unwrap_err();
        assert!(error.to_string().contains("/nonexistent/tool"));
    }

    #[test]
    fn command_lines_can_be_pasted_into_a_shell() {
        let line = Job::new("cc").args(["-DX=a b", "it's"]).command_line();
        assert_eq!(line, "cc '-DX=a b' \"it's\"");
    }
}
