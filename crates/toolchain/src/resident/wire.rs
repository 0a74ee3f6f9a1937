//! What is said to a compiler that stays, and by the copy it makes of itself. `hook/resident.rs` is the other side; keep
//! them in step.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// First word of every message.
pub(super) const MAGIC: u64 = 0x3130_5352_4c54_5254;
/// The most bytes that a message has.
const MESSAGE: usize = 128 << 10;
/// Most arguments and variables.
const WORDS: usize = 4096;
/// The job's own socket and its three streams.
const DESCRIPTORS: usize = 4;
/// The limit that is none.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// The numbers of a request, in their order on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestNumbers {
    /// Who the copy's parent must be.
    pub parent: u64,
    /// Seconds of CPU time.
    pub cpu: u64,
    /// Microseconds of CPU time below a second, 0 for none.
    pub timer: u64,
    /// The most bytes that the child may write to a file.
    pub file_size: u64,
    /// How many processes there may be.
    pub processes: u64,
    /// The most bytes of addresses that the child may have.
    pub memory: u64,
}

/// The bytes of a request; `None` when it is too long, or holds what C strings cannot.
pub(super) fn request(
    numbers: RequestNumbers,
    directory: &Path,
    arguments: &[OsString],
    variables: impl Iterator<Item = OsString>,
) -> Option<Vec<u8>> {
    let variables: Vec<OsString> = variables.collect();
    if arguments.len() > WORDS || variables.len() > WORDS {
        return None;
    }
    let RequestNumbers { parent, cpu, timer, file_size, processes, memory } = numbers;
    let counts = [arguments.len() as u64, variables.len() as u64];
    let head = [MAGIC, parent, cpu, timer, file_size, processes, memory, 0].into_iter().chain(counts);
    let mut bytes: Vec<u8> = head.flat_map(u64::to_ne_bytes).collect();
    let words = [directory.as_os_str()].into_iter().chain(arguments.iter().chain(&variables).map(OsString::as_os_str));
    for word in words.map(OsStr::as_bytes) {
        if word.contains(&0) {
            return None;
        }
        bytes.extend_from_slice(word);
        bytes.push(0);
    }
    (bytes.len() <= MESSAGE).then_some(bytes)
}

/// Lets the resident move its code into huge pages, bit by bit, while its copies work.
pub(super) fn let_settle(request: &mut [u8]) {
    const PLACE: usize = 7 * size_of::<u64>();
    request[PLACE] = 1;
}

/// Sends a request with the descriptors of its job, in one piece.
pub(super) fn send(control: &OwnedFd, bytes: &[u8], descriptors: [BorrowedFd<'_>; DESCRIPTORS]) -> io::Result<()> {
    #[repr(C, align(8))]
    struct Ancillary {
        header: libc::cmsghdr,
        descriptors: [RawFd; DESCRIPTORS],
    }
    // SAFETY: an all-zero cmsghdr and msghdr are valid values; the structures live on this stack during the call, and sendmsg
    // reads from them and from the bytes only.
    unsafe {
        let mut ancillary: Ancillary = std::mem::zeroed();
        ancillary.header.cmsg_len = size_of::<Ancillary>();
        ancillary.header.cmsg_level = libc::SOL_SOCKET;
        ancillary.header.cmsg_type = libc::SCM_RIGHTS;
        ancillary.descriptors = descriptors.map(|fd| fd.as_raw_fd());
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut ancillary).cast();
        message.msg_controllen = size_of::<Ancillary>();
        loop {
            if libc::sendmsg(control.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) == bytes.len() as isize {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// What a copy says before it waits for the word to go: its number, and why it cannot do the job, if it cannot.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CopyAnswer {
    pub pid: i32,
    pub errno: i32,
}

/// Reads an answer; an error when the resident ended, or has no time for us.
pub(super) fn answer(job: &UnixStream, patience: Duration) -> io::Result<CopyAnswer> {
    let [magic, pid, errno] = words(job.as_raw_fd(), patience)?;
    if magic != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(CopyAnswer { pid: pid as i32, errno: errno as i32 })
}

/// Reads numbers from a socket.
pub(super) fn words<const N: usize>(fd: RawFd, patience: Duration) -> io::Result<[u64; N]> {
    let mut bytes = vec![0; N * size_of::<u64>()];
    read_in_time(fd, &mut bytes, patience)?;
    Ok(std::array::from_fn(|n| u64::from_ne_bytes(std::array::from_fn(|i| bytes[n * size_of::<u64>() + i]))))
}

/// Reads exactly as many bytes from a socket, or says that they did not come in time.
fn read_in_time(fd: RawFd, mut bytes: &mut [u8], patience: Duration) -> io::Result<()> {
    let end = Instant::now() + patience;
    while !bytes.is_empty() {
        let left = end.saturating_duration_since(Instant::now());
        let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: poll writes into the one structure it is given, recv into the bytes whose number it is told.
        let n = unsafe {
            match libc::poll(&raw mut polled, 1, left.as_millis().min(i32::MAX as u128) as i32) {
                0 => return Err(io::ErrorKind::TimedOut.into()),
                n if n < 0 => n as isize,
                _ => libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), 0),
            }
        };
        match n {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n if n < 0 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            n => bytes = &mut bytes[n as usize..],
        }
    }
    Ok(())
}
