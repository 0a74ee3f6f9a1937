//! Letting a stopped process go on, and waiting for what happens to it.

use super::company::Branch;
use super::slot::Displaced;
use super::{Event, Inferior, InferiorError, PcState, Resumption, memory, system, write_failed};
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::time::Duration;

impl Inferior {
    /// Lets the program run to its next event, passing the breakpoint it stands on, if any.
    pub fn resume(&mut self) -> Result<Event, InferiorError> {
        loop {
            match self.resume_once()? {
                Event::Breakpoint(at) if self.loader.is_hook(at) => self.libraries_changed()?,
                event => return Ok(event),
            }
        }
    }

    fn resume_once(&mut self) -> Result<Event, InferiorError> {
        if let Some(b) = self.breakpoints.get(&self.regs.rip) {
            match b.displaced {
                Displaced::Slot(slot) => self.set_pc(slot)?,
                Displaced::SingleStep => match self.step()? {
                    Event::Stepped if self.breakpoints.contains_key(&self.regs.rip) => return Ok(Event::Breakpoint(self.regs.rip)),
                    Event::Stepped => {}
                    event => return Ok(event),
                },
            }
        }
        if self.pc == PcState::Cached {
            self.set_pc(self.regs.rip)?;
        }
        ptrace::cont(self.pid, None).map_err(|e| system("resume the program", e))?;
        self.wait(Resumption::Continue)
    }

    /// Executes one instruction; the breakpoint under the program counter is passed.
    pub fn step(&mut self) -> Result<Event, InferiorError> {
        let here = self.regs.rip;
        if self.pc == PcState::Cached {
            self.set_pc(here)?;
        }
        let under = self.breakpoints.get(&here).map(|b| b.original);
        if let Some(original) = under {
            self.write(here, &[original]).map_err(write_failed)?;
        }
        ptrace::step(self.pid, None).map_err(|e| system("single-step the program", e))?;
        let event = self.wait(Resumption::Step)?;
        if under.is_some() && self.gone.is_none() {
            self.write(here, &[0xcc]).map_err(write_failed)?;
        }
        Ok(event)
    }

    pub(super) fn wait(&mut self, resumption: Resumption) -> Result<Event, InferiorError> {
        loop {
            let (pid, status, cpu) = self.next_change()?;
            if pid != self.pid {
                match self.attend(pid, status)? {
                    Some(event) => return Ok(event),
                    None => continue,
                }
            }
            match status {
                WaitStatus::Exited(_, code) => {
                    self.gone = Some(cpu);
                    return Ok(Event::Exited(code));
                }
                WaitStatus::Signaled(_, signal, _) => {
                    self.gone = Some(cpu);
                    return match signal {
                        _ if self.traced.timed_out() => Ok(Event::TimedOut),
                        Signal::SIGXCPU => Ok(Event::TimedOut),
                        Signal::SIGKILL => Err(self.killed()),
                        _ => Ok(Event::Killed { signal: signal as i32, at: self.last_signal_at }),
                    };
                }
                WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_SECCOMP) => {
                    self.watch_call()?;
                    self.go_on(resumption, None)?;
                }
                WaitStatus::PtraceEvent(_, _, event) => match self.branch(pid, event)? {
                    Branch::GoOn => self.go_on(resumption, None)?,
                    Branch::End(event) => return Ok(event),
                },
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {
                    self.pc = PcState::Written;
                    self.regs = ptrace::getregs(self.pid).map_err(|e| system("read registers", e))?;
                    return self.trap(resumption);
                }
                WaitStatus::Stopped(_, signal) => {
                    let regs = ptrace::getregs(self.pid).map_err(|e| system("read registers", e))?;
                    let areas = std::iter::once(&self.slots).chain(self.loader.areas());
                    let origins = areas.map(|area| area.origin(regs.rip, &self.breakpoints));
                    self.last_signal_at = Some(origins.into_iter().find(|&at| at != regs.rip).unwrap_or(regs.rip));
                    // The program's own business, a handler or its death.
                    self.go_on(resumption, Some(signal))?;
                }
                _ => {}
            }
        }
    }

    fn go_on(&self, resumption: Resumption, signal: Option<Signal>) -> Result<(), InferiorError> {
        let again = match resumption {
            Resumption::Continue => ptrace::cont(self.pid, signal),
            Resumption::Step => ptrace::step(self.pid, signal),
        };
        match again {
            // Killed in the meantime: waiting tells how.
            Err(nix::Error::ESRCH) => Ok(()),
            other => other.map_err(|e| system("let the program go on", e)),
        }
    }

    /// The next thing that happens to the program, or to one of those beside it when there are any.
    fn next_change(&self) -> Result<(Pid, WaitStatus, Duration), InferiorError> {
        let change = if self.company.is_empty() {
            memory::wait(self.pid).map(|(status, cpu)| (self.pid, status, cpu))
        } else {
            memory::wait_group(Pid::from_raw(self.traced.pid()))
        };
        change.map_err(|e| system("wait for the program", e))
    }

    fn trap(&mut self, resumption: Resumption) -> Result<Event, InferiorError> {
        let before = self.regs.rip.wrapping_sub(1);
        // A single step leaves the program counter on the next instruction, an int3 one past itself.
        if resumption == Resumption::Step && !self.trapped_by_int3()? {
            return Ok(Event::Stepped);
        }
        // In the middle of a run nobody else leaves the program counter one past a breakpoint of ours, so the
        // system call that would make sure is saved.
        if self.breakpoints.contains_key(&before) {
            self.regs.rip = before;
            self.pc = PcState::Cached;
            return Ok(Event::Breakpoint(before));
        }
        Ok(Event::OwnTrap)
    }

    /// True when the last SIGTRAP came from an int3 rather than a single step or `raise`.
    fn trapped_by_int3(&self) -> Result<bool, InferiorError> {
        const SI_KERNEL: i32 = 0x80;
        let info = ptrace::getsiginfo(self.pid).map_err(|e| system("read signal information", e))?;
        Ok(info.si_code == SI_KERNEL)
    }
}
