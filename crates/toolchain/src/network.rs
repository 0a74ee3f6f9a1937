//! A network of its own for a child that may open sockets: a namespace in which nothing but the loopback device is up.
//!
//! A filter of system calls cannot look into the address that a program connects to, and Landlock knows TCP ports only. In a
//! namespace there is nobody else to connect to, whatever the program tries. Where the kernel makes no such namespace the child is
//! not started: it would have the whole network.
//!
//! Deliberately absent: names and addresses of the outside, which nobody gets.

use std::ffi::CString;
use std::io;

/// What the child needs for it, made in the parent: between fork and exec nothing may be allocated.
#[derive(Debug)]
pub(crate) struct OwnNetwork {
    users: CString,
    groups: CString,
}

/// How a child that could not get one says so.
const NONE: i32 = libc::ENONET;

impl OwnNetwork {
    pub(crate) fn prepare() -> io::Result<Self> {
        // SAFETY: two calls that return numbers.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let line = |id: u32| CString::new(format!("{id} {id} 1")).map_err(io::Error::other);
        Ok(Self { users: line(user)?, groups: line(group)? })
    }

    /// Leaves the network of the machine. Runs between fork and exec: system calls only.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.leave().map_err(|_| io::Error::from_raw_os_error(NONE))
    }

    fn leave(&self) -> io::Result<()> {
        // Who has no right to make a network has it in a user namespace.
        // SAFETY: unshare takes a number.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
            // SAFETY: as above.
            if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) } < 0 {
                return Err(io::Error::last_os_error());
            }
            write(c"/proc/self/setgroups", c"deny")?;
            write(c"/proc/self/uid_map", &self.users)?;
            write(c"/proc/self/gid_map", &self.groups)?;
        }
        loopback_up()
    }
}

/// What the answer of a child means, where it is about its network.
pub(crate) fn explain(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(NONE) => io::Error::other(
            "this kernel makes no network namespace for it, and without one `--allow net` would be the whole network \
             (user namespaces may be switched off here)",
        ),
        _ => error,
    }
}

fn write(path: &std::ffi::CStr, text: &std::ffi::CStr) -> io::Result<()> {
    let bytes = text.to_bytes();
    // SAFETY: both strings end with a zero byte and outlive the calls; the descriptor is ours alone.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        let failed = (written < 0).then(io::Error::last_os_error);
        libc::close(file);
        failed.map_or(Ok(()), Err)
    }
}

/// A new namespace has a loopback device that is down.
fn loopback_up() -> io::Result<()> {
    // SAFETY: an all-zero ifreq is a valid value; ioctl reads and writes the one it is given, and the descriptor is ours alone.
    unsafe {
        let mut device: libc::ifreq = std::mem::zeroed();
        for (to, from) in device.ifr_name.iter_mut().zip(*b"lo") {
            *to = from as libc::c_char;
        }
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        device.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let done = libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const device);
        let failed = (done < 0).then(io::Error::last_os_error);
        libc::close(socket);
        failed.map_or(Ok(()), Err)
    }
}
