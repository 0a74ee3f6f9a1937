//! Threads and processes beside the one that is followed. They run on, and pass our breakpoints without anybody hearing of it.
//!
//! A thread shares the code with its breakpoints, so each is traced, and moved to the slot of any breakpoint it meets. A forked
//! process gets its code back and is let go. A process that borrows the memory until it starts another program (`vfork`, which is
//! what `system` and `posix_spawn` do) counts as a thread until then.
//!
//! A breakpoint whose instruction cannot be moved is taken out while another thread executes it: the followed thread may miss a stop
//! there in that moment.

use super::slot::Displaced;
use super::{Event, Inferior, InferiorError, PcState, memory, system, write_failed};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use trueline_toolchain::{Permission, Permissions};

/// Which process goes on being followed after a fork.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// The one that forked.
    #[default]
    Parent,
    /// The new one; the other runs on by itself.
    Child,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Companion {
    Thread,
    /// A process in borrowed memory.
    Borrower,
}

/// Who else there is, and what may become of it.
#[derive(Debug, Default)]
pub(super) struct Company {
    members: HashMap<Pid, Companion>,
    /// Those that stopped before whoever started them told of them.
    early: HashSet<Pid>,
    pub allowed: Permissions,
    pub follow: Follow,
    /// Threads that were started so far.
    pub threads: u32,
    /// Which of them is to be followed from its start on.
    pub wanted: Option<u32>,
    /// Addresses of breakpoints that are gone, which a thread may just have met.
    pub retired: HashSet<u64>,
    /// Addresses that others came to, where somebody wants to know.
    pub met: Option<BTreeSet<u64>>,
}

impl Company {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.early.is_empty()
    }
}

/// Whether somebody that started another one goes on.
pub(super) enum Branch {
    GoOn,
    End(Event),
}

impl Inferior {
    /// Says what the program may do, and which process is followed when it forks.
    pub fn permit(&mut self, allowed: Permissions, follow: Follow) {
        self.company.allowed = allowed;
        self.company.follow = follow;
    }

    /// Lets the program run until its `number`-th further thread starts, which is the one that is followed from then on: the
    /// program stops with [`Event::ThreadStarted`].
    pub fn follow_thread(&mut self, number: u32) {
        self.company.wanted = Some(number);
    }

    /// How many threads were started beside the first.
    pub fn threads_beside(&self) -> u32 {
        self.company.threads
    }

    /// From now on remembers the breakpoints that other threads come to, each once.
    pub fn hear_others(&mut self) {
        self.company.met = Some(BTreeSet::new());
    }

    /// The breakpoints that other threads came to.
    pub fn met_by_others(&self) -> impl Iterator<Item = u64> + '_ {
        self.company.met.iter().flatten().copied()
    }

    /// Something happened to one that is not followed.
    pub(super) fn attend(&mut self, pid: Pid, status: WaitStatus) -> Result<Option<Event>, InferiorError> {
        match status {
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => drop(self.company.members.remove(&pid)),
            WaitStatus::Stopped(..) if !self.company.members.contains_key(&pid) => drop(self.company.early.insert(pid)),
            WaitStatus::Stopped(_, Signal::SIGTRAP) => self.pass(pid)?,
            WaitStatus::Stopped(_, signal) => go_on(pid, Some(signal).filter(|&s| s != Signal::SIGSTOP))?,
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_EXEC) => {
                self.company.members.remove(&pid);
                let _ = ptrace::detach(pid, None);
            }
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_SECCOMP) => {
                self.refuse_another(pid)?;
                go_on(pid, None)?;
            }
            WaitStatus::PtraceEvent(_, _, event) => match self.branch(pid, event)? {
                Branch::GoOn => go_on(pid, None)?,
                Branch::End(event) => return Ok(Some(event)),
            },
            _ => {}
        }
        Ok(None)
    }

    /// `pid` has started a thread or a process, or has become another program.
    pub(super) fn branch(&mut self, pid: Pid, event: i32) -> Result<Branch, InferiorError> {
        let allows = |permission| self.company.allowed.allow(permission);
        let newcomer = || ptrace::getevent(pid).map(|n| Pid::from_raw(n as i32)).map_err(|e| system("ask for a new process", e));
        match event {
            libc::PTRACE_EVENT_CLONE => {
                self.company.threads += 1;
                let thread = newcomer()?;
                if self.company.wanted == Some(self.company.threads) {
                    self.change_to(thread, pid)?;
                    return Ok(Branch::End(Event::ThreadStarted));
                }
                self.welcome(thread, Companion::Thread)?;
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK if !allows(Permission::Fork) => {
                return Ok(Branch::End(Event::NotAllowed(Permission::Fork)));
            }
            libc::PTRACE_EVENT_VFORK => self.welcome(newcomer()?, Companion::Borrower)?,
            libc::PTRACE_EVENT_FORK => {
                let child = newcomer()?;
                self.meet(child)?;
                if self.company.follow == Follow::Child && pid == self.pid && self.company.is_empty() {
                    self.move_to(child)?;
                } else {
                    let memory = open_memory(child)?;
                    self.restore_code(&memory)?;
                    ptrace::detach(child, None).map_err(|e| system("let a process go", e))?;
                }
            }
            libc::PTRACE_EVENT_EXEC if allows(Permission::Exec) => return Ok(Branch::End(Event::Replaced)),
            libc::PTRACE_EVENT_EXEC => return Ok(Branch::End(Event::NotAllowed(Permission::Exec))),
            _ => {}
        }
        Ok(Branch::GoOn)
    }

    /// Waits until a newcomer stands still for the first time.
    fn meet(&mut self, pid: Pid) -> Result<(), InferiorError> {
        if !self.company.early.remove(&pid) {
            memory::wait(pid).map_err(|e| system("wait for a new process", e))?;
        }
        Ok(())
    }

    fn welcome(&mut self, pid: Pid, as_what: Companion) -> Result<(), InferiorError> {
        self.meet(pid)?;
        self.company.members.insert(pid, as_what);
        go_on(pid, None)
    }

    /// Follows a new thread from now on; `starter`, which stands still after starting it, and all others run beside it.
    fn change_to(&mut self, thread: Pid, starter: Pid) -> Result<(), InferiorError> {
        self.meet(thread)?;
        self.company.wanted = None;
        self.company.members.insert(self.pid, Companion::Thread);
        self.pid = thread;
        self.regs = ptrace::getregs(thread).map_err(|e| system("read registers", e))?;
        self.pc = PcState::Written;
        go_on(starter, None)
    }

    /// Follows a child from now on, and lets its parent go.
    fn move_to(&mut self, child: Pid) -> Result<(), InferiorError> {
        let memory = open_memory(child)?;
        self.restore_code(&self.memory)?;
        ptrace::detach(self.pid, None).map_err(|e| system("let a process go", e))?;
        self.memory = memory;
        self.pid = child;
        Ok(())
    }

    /// Takes all breakpoints out of a memory that is not followed.
    fn restore_code(&self, memory: &File) -> Result<(), InferiorError> {
        for (&address, breakpoint) in &self.breakpoints {
            memory.write_all_at(&[breakpoint.original], address).map_err(write_failed)?;
        }
        Ok(())
    }

    /// Lets another thread pass the breakpoint that it has come to.
    fn pass(&mut self, pid: Pid) -> Result<(), InferiorError> {
        let mut regs = ptrace::getregs(pid).map_err(|e| system("read registers", e))?;
        let at = regs.rip.wrapping_sub(1);
        let set = |regs| ptrace::setregs(pid, regs).map_err(|e| system("write registers", e));
        let Some(breakpoint) = self.breakpoints.get(&at).copied() else {
            let signal = if self.company.retired.contains(&at) {
                regs.rip = at;
                set(regs)?;
                None
            } else {
                Some(Signal::SIGTRAP)
            };
            return go_on(pid, signal);
        };
        if let Some(met) = &mut self.company.met {
            met.insert(at);
        }
        match breakpoint.displaced {
            Displaced::Slot(slot) => {
                regs.rip = slot;
                set(regs)?;
                go_on(pid, None)
            }
            Displaced::SingleStep => {
                regs.rip = at;
                set(regs)?;
                self.write(at, &[breakpoint.original]).map_err(write_failed)?;
                ptrace::step(pid, None).map_err(|e| system("single-step a thread", e))?;
                let (status, _) = memory::wait(pid).map_err(|e| system("wait for a thread", e))?;
                self.write(at, &[0xcc]).map_err(write_failed)?;
                match status {
                    WaitStatus::Stopped(_, Signal::SIGTRAP) => go_on(pid, None),
                    other => self.attend(pid, other).map(drop),
                }
            }
        }
    }
}

fn go_on(pid: Pid, signal: Option<Signal>) -> Result<(), InferiorError> {
    match ptrace::cont(pid, signal) {
        // It was killed in the meantime, which the next wait tells.
        Ok(()) | Err(nix::Error::ESRCH) => Ok(()),
        Err(e) => Err(system("resume a thread", e)),
    }
}

fn open_memory(pid: Pid) -> Result<File, InferiorError> {
    let open = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"));
    open.map_err(|source| InferiorError::System { what: format!("open /proc/{pid}/mem"), source })
}
