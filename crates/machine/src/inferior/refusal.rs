//! System calls that the confinement refuses, noticed as they fail: what a program does then is its error path, and whoever reads a
//! trace of it should know.

use super::{Inferior, InferiorError, memory, system};
use nix::sys::ptrace;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::fmt;
use trueline_toolchain::{Permission, WATCHED_CALLS};

/// A system call that was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// What would have allowed it.
    pub permission: Permission,
    /// The call's name.
    pub call: &'static str,
    /// The file it named, if it names one.
    pub path: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.call)?;
        self.path.as_ref().map_or(Ok(()), |path| write!(f, "(\"{path}\")"))
    }
}

/// Refusals that are kept; a program that tries for ever need not be quoted for ever.
const MOST: usize = 64;

impl Inferior {
    /// The system calls that were refused so far, each once.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// The program stands at the beginning of a system call that is watched; runs it to its end.
    pub(super) fn watch_call(&mut self) -> Result<(), InferiorError> {
        let regs = || ptrace::getregs(self.pid).map_err(|e| system("read registers", e));
        let set = |regs| ptrace::setregs(self.pid, regs).map_err(|e| system("write registers", e));
        let mut before = regs()?;
        let number = before.orig_rax as i64;
        let is_socket = number == libc::SYS_socket;
        if is_socket {
            // Not a number of any call: the kernel does nothing.
            before.orig_rax = u64::MAX;
            set(before)?;
        }
        ptrace::syscall(self.pid, None).map_err(|e| system("run a system call", e))?;
        let (status, cpu) = memory::wait(self.pid).map_err(|e| system("wait for a system call", e))?;
        if matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)) {
            self.gone = Some(cpu);
            return Ok(());
        }
        let mut after = regs()?;
        if is_socket {
            after.rax = i64::from(-libc::EPERM) as u64;
            set(after)?;
        }
        let failed = -(after.rax as i64);
        let is_refused = [libc::EACCES, libc::EPERM, libc::EROFS].iter().any(|&e| failed == i64::from(e));
        if let (true, Some(call)) = (is_refused, WATCHED_CALLS.iter().find(|c| c.number == number)) {
            let path = call.path.map(|argument| self.text_at(if argument == 0 { before.rdi } else { before.rsi }));
            let permission = if is_socket { Permission::Net } else { Permission::Write };
            self.note_refusal(Refusal { permission, call: call.name, path });
        }
        Ok(())
    }

    /// A thread that is not followed stands at the beginning of a watched call. A socket is refused; the file system refuses what it
    /// has to by itself.
    pub(super) fn refuse_another(&mut self, pid: Pid) -> Result<(), InferiorError> {
        let mut regs = ptrace::getregs(pid).map_err(|e| system("read registers", e))?;
        if regs.orig_rax as i64 != libc::SYS_socket {
            return Ok(());
        }
        // Not a number of any call: the kernel does nothing, and the caller finds the answer.
        regs.orig_rax = u64::MAX;
        regs.rax = i64::from(-libc::EPERM) as u64;
        ptrace::setregs(pid, regs).map_err(|e| system("write registers", e))?;
        self.note_refusal(Refusal { permission: Permission::Net, call: "socket", path: None });
        Ok(())
    }

    fn note_refusal(&mut self, refusal: Refusal) {
        if self.refusals.len() < MOST && !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    fn text_at(&self, address: u64) -> String {
        let mut bytes = [0u8; 256];
        let read = self.read_many(&mut [(address, &mut bytes[..])]);
        let end = bytes[..read].iter().position(|&b| b == 0).unwrap_or(read);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
