//! Raw system calls on a traced process: memory, SSE and AVX registers, CPU clock.

use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use std::io;
use std::time::Duration;

/// Reads exactly `buffer.len()` bytes.
pub(super) fn read(pid: i32, address: u64, buffer: &mut [u8]) -> io::Result<()> {
    let length = buffer.len();
    match read_many(pid, &mut [(address, buffer)]) {
        n if n == length => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EFAULT)),
    }
}

/// Reads several places at once; the count of bytes that arrived, from the front.
pub(super) fn read_many(pid: i32, places: &mut [(u64, &mut [u8])]) -> usize {
    const MOST: usize = 64;
    let mut total = 0;
    for group in places.chunks_mut(MOST) {
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let (mut local, mut remote) = ([empty; MOST], [empty; MOST]);
        let mut wanted = 0;
        for (i, (address, buffer)) in group.iter_mut().enumerate() {
            local[i] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            remote[i] = libc::iovec { iov_base: *address as *mut libc::c_void, iov_len: buffer.len() };
            wanted += buffer.len();
        }
        let count = group.len() as libc::c_ulong;
        // SAFETY: every local iovec describes a live, exclusively borrowed buffer; remote addresses
        // belong to the other process and are checked by the kernel.
        let got = unsafe { libc::process_vm_readv(pid, local.as_ptr(), count, remote.as_ptr(), count, 0) };
        total += usize::try_from(got).unwrap_or(0);
        if usize::try_from(got) != Ok(wanted) {
            break;
        }
    }
    total
}

/// The sixteen SSE registers.
pub(super) fn sse(pid: i32) -> io::Result<[[u8; 16]; 16]> {
    Ok(registers(&float_state(pid)?.xmm_space))
}

/// The sixteen AVX registers, which begin with the SSE ones. What the processor keeps in its initial state is zero.
pub(super) fn avx(pid: i32) -> io::Result<[[u8; 32]; 16]> {
    /// Where the standard format of XSAVE has which parts are there, and the upper halves.
    const PARTS: usize = 512;
    const UPPER: usize = 576;
    const NT_X86_XSTATE: libc::c_long = 0x202;
    // Larger than the state of any processor so far; what is there of it is told.
    let mut state = vec![0u8; 16 << 10];
    let mut area = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    // SAFETY: the iovec describes `state`, which outlives the call; the kernel writes at most its length.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, pid, NT_X86_XSTATE, &raw mut area) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    let has_upper = area.iov_len >= UPPER + 16 * 16 && state[PARTS] & 4 != 0;
    let mut registers = [[0u8; 32]; 16];
    for ((register, low), number) in registers.iter_mut().zip(sse(pid)?).zip(0..) {
        register[..16].copy_from_slice(&low);
        if has_upper {
            register[16..].copy_from_slice(&state[UPPER + 16 * number..][..16]);
        }
    }
    Ok(registers)
}

/// The eight x87 registers from the top of their stack, ten bytes each.
pub(super) fn x87(pid: i32) -> io::Result<[[u8; 16]; 8]> {
    Ok(registers(&float_state(pid)?.st_space))
}

fn registers<const N: usize>(words: &[u32]) -> [[u8; 16]; N] {
    let mut registers = [[0u8; 16]; N];
    for (register, words) in registers.iter_mut().zip(words.chunks_exact(4)) {
        for (bytes, word) in register.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    registers
}

fn float_state(pid: i32) -> io::Result<libc::user_fpregs_struct> {
    // SAFETY: an all-zero user_fpregs_struct is a valid value.
    let mut state: libc::user_fpregs_struct = unsafe { std::mem::zeroed() };
    let mut area = libc::iovec { iov_base: (&raw mut state).cast(), iov_len: size_of::<libc::user_fpregs_struct>() };
    const NT_PRFPREG: libc::c_long = 2;
    // SAFETY: the iovec describes `state`, which outlives the call; the kernel writes at most its length.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, pid, NT_PRFPREG, &raw mut area) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(state)
}

/// CPU time of a process that has not been reaped.
pub(super) fn process_cpu(pid: i32) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write one value each, to places on this stack.
    let done = unsafe { libc::clock_getcpuclockid(pid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0 };
    done.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Waits for a change of the process; with the CPU time it has used (only final once it is gone).
pub(super) fn wait(pid: Pid) -> nix::Result<(WaitStatus, Duration)> {
    loop {
        if let Some(change) = change_of(pid, libc::__WALL)? {
            return Ok(change);
        }
    }
}

/// Waits for a change of any process or thread of a group.
pub(super) fn wait_group(group: Pid) -> nix::Result<(Pid, WaitStatus, Duration)> {
    loop {
        if let Some(change) = any_change(-group.as_raw(), libc::__WALL)? {
            return Ok(change);
        }
    }
}

/// The change that [`wait`] would return, if there is one now.
pub(super) fn poll(pid: Pid) -> nix::Result<Option<(WaitStatus, Duration)>> {
    change_of(pid, libc::__WALL | libc::WNOHANG)
}

fn change_of(pid: Pid, options: i32) -> nix::Result<Option<(WaitStatus, Duration)>> {
    Ok(any_change(pid.as_raw(), options)?.map(|(_, status, cpu)| (status, cpu)))
}

fn any_change(of: i32, options: i32) -> nix::Result<Option<(Pid, WaitStatus, Duration)>> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: wait4 writes the two values it is given, both on this stack.
        let done = unsafe { libc::wait4(of, &mut status, options, &mut usage) };
        if done > 0 {
            let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
            let pid = Pid::from_raw(done);
            return Ok(Some((pid, WaitStatus::from_raw(pid, status)?, time(usage.ru_utime) + time(usage.ru_stime))));
        }
        match nix::Error::last() {
            _ if done == 0 => return Ok(None),
            nix::Error::EINTR => {}
            error => return Err(error),
        }
    }
}
