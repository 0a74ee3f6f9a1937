//! Both output pipes of a child, read until it ends.
//!
//! The end of the *leader* ends the reading, not the end of the pipes: a grandchild that escaped its group
//! may hold them open for ever.

use crate::Exit;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What came out of a child besides the streamed standard output.
pub(crate) struct Collected {
    /// What came through standard error.
    pub stderr: Vec<u8>,
    /// Why reading stopped before the child's own end, if it did.
    pub ended: Option<Exit>,
}

/// Reads both pipes until the leader has ended and nothing more is waiting in them, or until one of the
/// reasons to stop early. The caller kills and reaps.
pub(crate) fn collect(
    leader: i32,
    stdout: OwnedFd,
    stderr: OwnedFd,
    limit: usize,
    consume: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<Collected> {
    let leader = open_pidfd(leader)?;
    let mut out = Some(Pipe::new(stdout)?);
    let mut err = Some(Pipe::new(stderr)?);
    let mut kept = Vec::new();
    let mut seen = 0usize;
    let mut buffer = vec![0u8; 64 << 10];
    let mut leader_gone = false;
    loop {
        if !leader_gone {
            leader_gone = poll(&[leader.as_raw_fd(), raw(out.as_ref()), raw(err.as_ref())])?;
        }
        let mut idle = true;
        if let Some(pipe) = &mut out {
            match pipe.read(&mut buffer)? {
                StreamState::Bytes(n) => {
                    idle = false;
                    seen += n;
                    if seen > limit {
                        return Ok(Collected { stderr: kept, ended: Some(Exit::TooMuchOutput) });
                    }
                    if consume(&buffer[..n]).is_break() {
                        return Ok(Collected { stderr: kept, ended: Some(Exit::Stopped) });
                    }
                }
                StreamState::Nothing => {}
                StreamState::End => out = None,
            }
        }
        if let Some(pipe) = &mut err {
            match pipe.read(&mut buffer)? {
                StreamState::Bytes(n) => {
                    idle = false;
                    if kept.len() + n > limit {
                        return Ok(Collected { stderr: kept, ended: Some(Exit::TooMuchOutput) });
                    }
                    kept.extend_from_slice(&buffer[..n]);
                }
                StreamState::Nothing => {}
                StreamState::End => err = None,
            }
        }
        if leader_gone && idle {
            return Ok(Collected { stderr: kept, ended: None });
        }
    }
}

enum StreamState {
    Bytes(usize),
    Nothing,
    End,
}

struct Pipe(File);

impl Pipe {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        // SAFETY: fcntl on a descriptor that we own; no memory is touched.
        let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(File::from(fd))) }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<StreamState> {
        match self.0.read(buffer) {
            Ok(0) => Ok(StreamState::End),
            Ok(n) => Ok(StreamState::Bytes(n)),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(StreamState::Nothing),
            Err(e) => Err(e),
        }
    }
}

fn raw(pipe: Option<&Pipe>) -> RawFd {
    // poll ignores negative descriptors, which is what a closed pipe should be.
    pipe.map_or(-1, |p| p.0.as_raw_fd())
}

fn open_pidfd(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two integers; the result is a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd as RawFd)) }
    }
}

/// Waits until something happens; true when the first descriptor (the leader) is ready.
fn poll(fds: &[RawFd; 3]) -> io::Result<bool> {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: poll writes into the array it is given, whose length it is told.
    let n = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
    if n < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
    }
    Ok(polled[0].revents != 0)
}
