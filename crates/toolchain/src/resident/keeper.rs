//! Starting a program so that it stops where `main` would begin, and ending it.
//!
//! One thread starts all of them and lives as long as the process: the kernel ends a child whose parent is gone when the
//! *thread* that started it ends, and the copies that residents make of themselves count as started by that thread too.

use super::wire::{self, MAGIC};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, OnceLock, mpsc};
use std::time::Duration;

/// The preloaded library, compiled by the build script.
static IMAGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/resident.so"));

/// The longest that starting up, or making a copy, may take: three orders of magnitude more than on an idle machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// How a program is started so that it may stay: without the arguments that are a job's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ResidentStart {
    /// The program, or the loader.
    pub program: PathBuf,
    /// The loader's arguments.
    pub args: Vec<OsString>,
    /// What it is told its name is.
    pub name: OsString,
    /// The environment that it starts in.
    pub env: Vec<(OsString, OsString)>,
}

/// A program that stands before its `main`.
#[derive(Debug)]
pub(super) struct Resident {
    pid: i32,
    pub control: OwnedFd,
    /// Bytes of code and constants that huge pages would hold.
    pub movable: u64,
}

impl Resident {
    /// Starts one and waits until it stands; an error when it does not get there.
    pub(super) fn start(start: &ResidentStart) -> io::Result<Self> {
        let (ours, theirs) = socket_pair()?;
        let (tell, told) = mpsc::channel();
        KEEPER.send((start.clone(), theirs, tell)).map_err(|_| io::Error::other("the thread that starts compilers has ended"))?;
        let pid = told.recv().map_err(io::Error::other)??;
        let mut resident = Self { pid, control: ours, movable: 0 };
        let [magic, movable] = wire::words(resident.control.as_raw_fd(), PATIENCE)?;
        resident.movable = movable;
        if magic == MAGIC { Ok(resident) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// Its process id.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// CPU time that it has used so far, its start included.
    pub(super) fn cpu_time(&self) -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both calls write to one place each, on this stack; a process that is gone makes the first fail.
        unsafe {
            let mut clock = 0;
            if libc::clock_getcpuclockid(self.pid, &mut clock) == 0 {
                libc::clock_gettime(clock, &mut time);
            }
        }
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // SAFETY: the process is a child of ours that nobody has waited for, so that its number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        reap(self.pid);
    }
}

/// Waits for a child that has ended, or is about to.
pub(super) fn reap(pid: i32) {
    // SAFETY: waitpid is given no place to write to.
    while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {}
}

type ResidentRequest = (ResidentStart, OwnedFd, mpsc::Sender<io::Result<i32>>);

/// The thread that starts residents. It ends with the process.
static KEEPER: LazyLock<mpsc::Sender<ResidentRequest>> = LazyLock::new(|| {
    let (orders, received) = mpsc::channel::<ResidentRequest>();
    std::thread::spawn(move || {
        for (start, control, tell) in received {
            let _ = tell.send(spawn(&start, &control));
        }
    });
    orders
});

fn spawn(start: &ResidentStart, control: &OwnedFd) -> io::Result<i32> {
    let image = image()?;
    let mut command = Command::new(&start.program);
    command.args(&start.args).arg0(&start.name).env_clear().envs(start.env.iter().map(|(k, v)| (k, v)));
    command.env("LD_PRELOAD", format!("/proc/self/fd/{image}"));
    command.env("TRUELINE_RESIDENT_SOCKET", control.as_raw_fd().to_string()).env("TRUELINE_RESIDENT_IMAGE", image.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (parent, control) = (std::process::id() as i32, control.as_raw_fd());
    // SAFETY: the closure makes system calls on integers only; it allocates nothing.
    unsafe {
        command.pre_exec(move || {
            let inherit = |fd: RawFd| if libc::fcntl(fd, libc::F_SETFD, 0) < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
            if libc::setsid() < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            inherit(image)?;
            inherit(control)
        });
    }
    Ok(command.spawn()?.id() as i32)
}

/// A descriptor of the library, in memory: nothing is written that would have to be found, trusted or removed.
fn image() -> io::Result<RawFd> {
    static MADE: OnceLock<File> = OnceLock::new();
    if let Some(file) = MADE.get() {
        return Ok(file.as_raw_fd());
    }
    // SAFETY: the name is a C string; the result is a new descriptor that nobody else owns.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"trueline-resident.so".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(fd)
    };
    file.write_all(IMAGE)?;
    Ok(MADE.get_or_init(|| file).as_raw_fd())
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: socketpair writes two descriptors, which nobody else owns.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}
