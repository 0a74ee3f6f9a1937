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

mod breakpoints;
mod company;
mod loader;
mod memory;
mod processor;
mod refusal;
mod slot;
mod waiting;

pub use company::Follow;
pub use loader::LibrarySpan;
pub use refusal::Refusal;

use company::Company;
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

    fn set_pc(&mut self, pc: u64) -> Result<(), InferiorError> {
        let offset = std::mem::offset_of!(Regs, rip) as u64;
        ptrace::write_user(self.pid, offset as ptrace::AddressType, pc as libc::c_long)
            .map_err(|e| system("write the program counter", e))?;
        self.regs.rip = pc;
        self.pc = PcState::Written;
        Ok(())
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
