//! A program under ptrace: start it, stop it on addresses, look at it, let it go on.
//!
//! Breakpoints are passed out of line: the displaced instruction is re-encoded into a slot near the
//! image that ends with a jump back, so that going on from a breakpoint costs one register write instead
//! of two code writes and a single step (2.5 times faster). Instructions that cannot be moved fall back
//! to restore, single-step, re-insert.
//!
//! All addresses here are run-time addresses; [`Inferior::bias`] converts. Everything happens on the
//! thread that launched the program, because ptrace is bound to it. Dropping an [`Inferior`] kills the program.
//!
//! One thread is followed, the first unless told otherwise; the others run beside it (`company`).
//!
//! Deliberately absent: anything about DWARF.

mod company;
mod loader;
mod memory;
mod processor;
mod refusal;
mod slot;

pub use company::Follow;
pub use loader::LibrarySpan;
pub use refusal::Refusal;

use company::{Branch, Company};
use loader::Loader;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use slot::{Displaced, SlotArea};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trueline_toolchain::{Job, JobError, Permission, Traced};

/// Why a program cannot be started, stopped or looked at.
#[derive(Debug, thiserror::Error)]
pub enum InferiorError {
    /// The program did something that cannot be followed.
    #[error("the program in {binary} {reason}", binary = binary.display())]
    BadProgram {
        /// The file that was started.
        binary: PathBuf,
        /// What it did, as the rest of a sentence.
        reason: String,
    },
    /// The process could not be run, or was killed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: String,
        /// The answer of the system.
        source: io::Error,
    },
}

/// The general-purpose registers, as the kernel hands them over.
pub type Regs = libc::user_regs_struct;

/// Why the program stands still, or that it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A breakpoint of ours; the program counter already points at its address.
    Breakpoint(u64),
    /// One instruction was executed.
    Stepped,
    /// The program exited with this code.
    Exited(i32),
    /// A signal of its own ended the program; `at` is the program counter where it struck, if seen.
    Killed {
        /// The signal's number.
        signal: i32,
        /// Where it struck.
        at: Option<u64>,
    },
    /// The wall-clock or CPU limit was reached.
    TimedOut,
    /// The program did something that it has no permission for: start a process, or replace itself.
    NotAllowed(Permission),
    /// The program was replaced by another one, as it may.
    Replaced,
    /// The thread that is to be followed was started; it has not executed anything yet.
    ThreadStarted,
    /// The program raised SIGTRAP by itself; tracing cannot go on.
    OwnTrap,
}

/// Whether the process has the program counter that [`Inferior::regs`] shows. After a breakpoint it stands
/// one byte further on, and since resuming writes it anyway, writing it back at once would be wasted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PcState {
    Written,
    Cached,
}

#[derive(Clone, Copy)]
struct Breakpoint {
    original: u8,
    displaced: Displaced,
}

/// A stopped program.
pub struct Inferior {
    traced: Traced,
    pid: Pid,
    binary: PathBuf,
    memory: File,
    bias: u64,
    breakpoints: HashMap<u64, Breakpoint, AddressHash>,
    slots: SlotArea,
    regs: Regs,
    pc: PcState,
    last_signal_at: Option<u64>,
    gone: Option<Duration>,
    company: Company,
    loader: Loader,
    refusals: Vec<Refusal>,
    /// Set while the program has one processor together with us.
    shared: Option<processor::Shared>,
}

type AddressHash = std::hash::BuildHasherDefault<AddressHasher>;

/// Multiplicative hashing: addresses are not hostile, and the map is asked once per stop.
#[derive(Default)]
pub struct AddressHasher(u64);

impl std::hash::Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u64(u64::from(b));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

impl Inferior {
    /// Starts `job`'s program and stops it at the entry point of its process image. `entry` is the
    /// entry address in the ELF header and `image` the lowest and highest link-time address, from which
    /// the load bias and a place for the slots are found.
    pub fn launch(job: &Job, entry: u64, image: (u64, u64)) -> Result<Self, InferiorError> {
        let binary = job.program().to_owned();
        let traced = job.spawn_traced()?;
        let pid = Pid::from_raw(traced.pid());
        match memory::wait(pid) {
            Ok((WaitStatus::Stopped(_, Signal::SIGTRAP), _)) => {}
            Ok((WaitStatus::Signaled(_, Signal::SIGKILL, _), _)) => return Err(JobError::Killed { program: binary }.into()),
            Ok((status, _)) => return Err(bad_program(&binary, format!("did not start: {status:?}"))),
            Err(e) => return Err(system("wait for the program to start", e)),
        }
        use ptrace::Options;
        let options = Options::PTRACE_O_EXITKILL
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACESECCOMP
            | Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACEEXEC;
        ptrace::setoptions(pid, options).map_err(|e| system("set ptrace options", e))?;
        let memory = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .map_err(|source| InferiorError::System { what: format!("open /proc/{pid}/mem"), source })?;
        let bias = load_bias(pid, entry).ok_or_else(|| bad_program(&binary, "has no readable auxiliary vector".into()))?;
        let regs = ptrace::getregs(pid).map_err(|e| system("read registers", e))?;
        let mut this = Self {
            traced,
            pid,
            binary,
            memory,
            bias,
            breakpoints: HashMap::default(),
            slots: SlotArea::none(),
            regs,
            pc: PcState::Written,
            last_signal_at: None,
            gone: None,
            company: Company::default(),
            loader: Loader::default(),
            refusals: Vec::new(),
            shared: None,
        };
        this.slots = slot::reserve(&mut this, image.0.wrapping_add(bias), image.1.wrapping_add(bias));
        Ok(this)
    }

    /// What was added to link-time addresses.
    pub fn bias(&self) -> u64 {
        self.bias
    }

    /// The process id.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// The program's binary.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The registers at the current stop.
    pub fn regs(&self) -> &Regs {
        &self.regs
    }

    /// Replaces the registers.
    pub fn set_regs(&mut self, regs: Regs) -> Result<(), InferiorError> {
        ptrace::setregs(self.pid, regs).map_err(|e| system("write registers", e))?;
        self.regs = regs;
        self.pc = PcState::Written;
        Ok(())
    }

    /// The sixteen SSE registers at the current stop.
    pub fn sse(&self) -> Result<[[u8; 16]; 16], InferiorError> {
        memory::sse(self.pid.as_raw()).map_err(|source| InferiorError::System { what: "read SSE registers".into(), source })
    }

    /// The sixteen AVX registers at the current stop.
    pub fn avx(&self) -> Result<[[u8; 32]; 16], InferiorError> {
        memory::avx(self.pid.as_raw()).map_err(|source| InferiorError::System { what: "read AVX registers".into(), source })
    }

    /// The eight x87 registers at the current stop, from the top of their stack, ten bytes each.
    pub fn x87(&self) -> Result<[[u8; 16]; 8], InferiorError> {
        memory::x87(self.pid.as_raw()).map_err(|source| InferiorError::System { what: "read x87 registers".into(), source })
    }

    /// Reads memory; fails when any byte is unmapped. Breakpoints are not hidden: read code from the file.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        memory::read(self.pid.as_raw(), address, buffer)
    }

    /// Reads several places in one system call; returns how many bytes arrived, counted from the front.
    pub fn read_many(&self, places: &mut [(u64, &mut [u8])]) -> usize {
        memory::read_many(self.pid.as_raw(), places)
    }

    /// Writes memory, read-only pages included.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    /// Inserts breakpoints; addresses that have one already or are not mapped are passed over.
    pub fn set_breakpoints(&mut self, addresses: &[u64]) -> io::Result<()> {
        let mut wanted = self.loader.hold_back(addresses);
        wanted.retain(|a| !self.breakpoints.contains_key(a));
        wanted.sort_unstable();
        wanted.dedup();
        // Neighbours are patched with one read and one write.
        let mut rest = &wanted[..];
        while let Some(&first) = rest.first() {
            // Between two libraries there may be nothing.
            let near = rest.iter().zip(&rest[1..]).take_while(|(a, b)| **b - **a < 1 << 16 && **b - first < 1 << 20);
            let count = near.count() + 1;
            let (run, later) = rest.split_at(count);
            rest = later;
            self.patch_run(run)?;
        }
        Ok(())
    }

    fn patch_run(&mut self, run: &[u64]) -> io::Result<()> {
        let (first, last) = (run[0], run[run.len() - 1]);
        let mut code = vec![0u8; (last - first) as usize + 16];
        // The last instruction may end at the end of the mapping.
        while self.read(first, &mut code).is_err() {
            if code.len() <= (last - first) as usize + 1 {
                return Err(io::Error::other(format!("code at {first:#x} is not mapped")));
            }
            code.pop();
        }
        let pristine = self.with_originals(first, &code);
        let mut slot_bytes = Vec::new();
        let mut slots = *self.loader.slots_near(first).unwrap_or(&mut self.slots);
        let slot_start = slots.next();
        for &address in run {
            let at = (address - first) as usize;
            // The program's own int3: hitting it must stay the program's doing.
            if pristine[at] == 0xcc {
                continue;
            }
            let bytes = &pristine[at..(at + 15).min(pristine.len())];
            let displaced = match slots.next() {
                Some(slot) => match slot::displace(bytes, address, slot) {
                    Some(moved) => {
                        slot_bytes.extend_from_slice(&moved);
                        slots.take();
                        Displaced::Slot(slot)
                    }
                    None => Displaced::SingleStep,
                },
                None => Displaced::SingleStep,
            };
            self.breakpoints.insert(address, Breakpoint { original: pristine[at], displaced });
            code[at] = 0xcc;
        }
        *self.loader.slots_near(first).unwrap_or(&mut self.slots) = slots;
        if let (Some(start), false) = (slot_start, slot_bytes.is_empty()) {
            self.write(start, &slot_bytes)?;
        }
        code.truncate((last - first) as usize + 1);
        self.write(first, &code)
    }

    /// Code bytes with our breakpoints taken out.
    fn with_originals(&self, first: u64, code: &[u8]) -> Vec<u8> {
        let mut pristine = code.to_vec();
        for (i, byte) in pristine.iter_mut().enumerate() {
            if *byte == 0xcc
                && let Some(b) = self.breakpoints.get(&(first + i as u64))
            {
                *byte = b.original;
            }
        }
        pristine
    }

    /// Takes a breakpoint out again.
    pub fn remove_breakpoint(&mut self, address: u64) -> io::Result<()> {
        let result = self.mute(&[address]);
        self.breakpoints.remove(&address);
        self.company.retired.insert(address);
        result
    }

    /// Takes breakpoints out for a while; the program may stand on one.
    pub fn mute(&self, addresses: &[u64]) -> io::Result<()> {
        self.patch(addresses, |b| b.original)
    }

    /// Puts muted breakpoints back.
    pub fn unmute(&self, addresses: &[u64]) -> io::Result<()> {
        self.patch(addresses, |_| 0xcc)
    }

    /// Changes the bytes of breakpoints; neighbours with one read and one write.
    fn patch(&self, addresses: &[u64], byte: impl Fn(&Breakpoint) -> u8) -> io::Result<()> {
        const FARTHEST: u64 = 2048;
        let mut bytes: Vec<(u64, u8)> = addresses.iter().filter_map(|a| Some((*a, byte(self.breakpoints.get(a)?)))).collect();
        bytes.sort_unstable();
        for run in bytes.chunk_by(|a, b| b.0 - a.0 <= FARTHEST) {
            let (first, last) = (run[0].0, run[run.len() - 1].0);
            let mut code = vec![0u8; (last - first) as usize + 1];
            if run.len() > 1 {
                self.read(first, &mut code)?;
            }
            for &(address, byte) in run {
                code[(address - first) as usize] = byte;
            }
            self.write(first, &code)?;
        }
        Ok(())
    }

    /// True when a breakpoint of ours is at `address`.
    pub fn has_breakpoint(&self, address: u64) -> bool {
        self.breakpoints.contains_key(&address)
    }

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

    fn set_pc(&mut self, pc: u64) -> Result<(), InferiorError> {
        let offset = std::mem::offset_of!(Regs, rip) as u64;
        ptrace::write_user(self.pid, offset as ptrace::AddressType, pc as libc::c_long)
            .map_err(|e| system("write the program counter", e))?;
        self.regs.rip = pc;
        self.pc = PcState::Written;
        Ok(())
    }

    fn wait(&mut self, resumption: Resumption) -> Result<Event, InferiorError> {
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

    /// Why something failed: with a program that somebody killed everything does, each operation in its own words.
    pub fn why<E: From<InferiorError>>(&mut self, error: E) -> E {
        if self.is_killed() { self.killed().into() } else { error }
    }

    fn killed(&self) -> InferiorError {
        JobError::Killed { program: self.binary.clone() }.into()
    }

    fn is_killed(&mut self) -> bool {
        // What was killed takes a moment to die.
        for _ in 0..50 {
            match memory::poll(self.pid) {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some((WaitStatus::Signaled(_, Signal::SIGKILL, _), cpu))) => {
                    self.gone = Some(cpu);
                    return !self.traced.timed_out();
                }
                Ok(Some(_)) | Err(_) => return false,
            }
        }
        false
    }

    /// CPU time the program has used so far.
    pub fn cpu(&self) -> Duration {
        let clock = || [self.pid.as_raw(), self.traced.pid()].into_iter().find_map(memory::process_cpu);
        self.gone.or_else(clock).unwrap_or_default()
    }

    /// True once the program is gone.
    pub fn is_gone(&self) -> bool {
        self.gone.is_some()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Resumption {
    Continue,
    Step,
}

/// The run-time minus the link-time entry address.
fn load_bias(pid: Pid, entry: u64) -> Option<u64> {
    auxiliary(pid.as_raw(), libc::AT_ENTRY).map(|at| at.wrapping_sub(entry))
}

/// An entry of the vector that the kernel hands to a new program.
fn auxiliary(pid: i32, wanted: u64) -> Option<u64> {
    let auxv = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("eight bytes"));
    let mut pairs = auxv.chunks_exact(16).map(|c| (word(&c[..8]), word(&c[8..])));
    pairs.find(|&(key, _)| key == wanted).map(|(_, value)| value)
}

fn bad_program(binary: &Path, reason: String) -> InferiorError {
    InferiorError::BadProgram { binary: binary.to_owned(), reason }
}

fn system(what: &str, error: nix::Error) -> InferiorError {
    InferiorError::System { what: what.to_owned(), source: error.into() }
}

fn write_failed(source: io::Error) -> InferiorError {
    InferiorError::System { what: "write the program's code".into(), source }
}
