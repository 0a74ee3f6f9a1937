//! A child that runs: started afresh or by a program that stays, it is waited for in the same way.

use crate::resident;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// A child of ours and our ends of its streams.
pub(crate) struct RunningChild {
    pub pid: i32,
    /// Where its input goes, when it is given bytes.
    pub stdin: Option<File>,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

impl From<Child> for RunningChild {
    /// A child whose two outputs are pipes.
    fn from(mut child: Child) -> Self {
        let stdin = child.stdin.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        Self { pid: child.id() as i32, stdin, stdout: stdout.into(), stderr: stderr.into() }
    }
}

/// A copy of a program that stays, reading from a file, from us, or nothing; `None` when there is no such program.
pub(crate) fn of_copy(order: &resident::ResidentRequest<'_>, source: Option<&OwnedFd>, is_fed: bool) -> io::Result<Option<RunningChild>> {
    let (stdin_theirs, stdin_ours) = match source {
        Some(source) => (source.try_clone()?, None),
        None if is_fed => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some(File::from(OwnedFd::from(writer))))
        }
        None => (File::open("/dev/null")?.into(), None),
    };
    let (stdout, stdout_theirs) = io::pipe()?;
    let (stderr, stderr_theirs) = io::pipe()?;
    let pid = resident::start(order, [stdin_theirs.as_fd(), stdout_theirs.as_fd(), stderr_theirs.as_fd()]);
    Ok(pid.map(|pid| RunningChild { pid, stdin: stdin_ours, stdout: stdout.into(), stderr: stderr.into() }))
}

/// What a child used.
pub(crate) struct Usage {
    pub cpu: Duration,
    pub max_rss: u64,
}

/// Waits for the end of a child.
pub(crate) fn wait(pid: i32) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value, and wait4 writes only to the two places it is given.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: as above.
        let done = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
        if done == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    let usage = Usage { cpu: time(usage.ru_utime) + time(usage.ru_stime), max_rss: usage.ru_maxrss as u64 * 1024 };
    Ok((ExitStatus::from_raw(status), usage))
}
