//! What happens in the child between fork and exec: limits, its own session, the layout of its memory.

use super::{AddressLayout, Limits, Tracing};
use crate::confine::PreparedRules;
use std::io;
use std::time::Duration;

pub(super) fn prepare_child(
    limits: &Limits,
    processes: u64,
    parent: i32,
    tracing: Tracing,
    layout: AddressLayout,
    cell: Option<&PreparedRules>,
) -> io::Result<()> {
    // SAFETY: plain system calls on integers and one stack-allocated struct; see `Job::command`.
    unsafe {
        if libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        let cpu = limits.cpu.as_secs().max(1);
        set_limit(libc::RLIMIT_CPU, cpu, cpu + 1)?;
        if limits.cpu < Duration::from_secs(1) && !limits.cpu.is_zero() {
            let once = libc::timeval { tv_sec: 0, tv_usec: limits.cpu.subsec_micros().max(1).into() };
            // Timers outlive exec, and SIGPROF ends what does not expect it.
            libc::setitimer(libc::ITIMER_PROF, &libc::itimerval { it_interval: std::mem::zeroed(), it_value: once }, std::ptr::null_mut());
        }
        set_limit(libc::RLIMIT_CORE, 0, 0)?;
        set_limit(libc::RLIMIT_FSIZE, limits.file_size, limits.file_size)?;
        set_limit(libc::RLIMIT_NPROC, processes, processes)?;
        if let Some(memory) = limits.memory {
            set_limit(libc::RLIMIT_AS, memory, memory)?;
        }
        if layout == AddressLayout::Fixed || (layout == AddressLayout::Usual && tracing == Tracing::On) {
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
        if tracing == Tracing::On && libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    cell.map_or(Ok(()), PreparedRules::enter)
}

/// How many processes the user may have while a child runs: as many as the machine has now and room for any
/// tool. The kernel counts them per user and not per child, so a fixed number would depend on what else runs.
pub(super) fn process_limit() -> u64 {
    const ROOM: u64 = 1024;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: getrlimit writes one struct that lives on this stack.
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) };
    // "0.20 0.18 0.12 1/80 11206": the fourth field is running and existing threads.
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let threads = load.split_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse::<u64>().ok());
    threads.map_or(limit.rlim_max, |threads| limit.rlim_max.min(threads + ROOM))
}

pub(super) fn set_limit(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: setrlimit reads the struct it is given.
    if unsafe { libc::setrlimit(resource, &limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
