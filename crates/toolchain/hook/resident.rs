//! Preloaded into a compiler: lets it start up, stops it where `main` would begin, and from then on makes a copy of the
//! process for every compilation that is asked for through a socket. The copy gets arguments, environment, directory,
//! streams and limits of its own and calls the compiler's `main`, which cannot tell that it did not start a moment ago.
//!
//! Built by this crate's build script and embedded in the library; no standard library, no allocation, no dependencies.
//! The messages are those of `resident/wire.rs`; keep them in step.
//!
//! Absent on purpose: waiting for the copies. They are children of whoever started this process (`CLONE_PARENT`), who
//! waits for them, measures them and kills them as its own.
#![no_std]

use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use core::ptr::{null, null_mut};

/// The core library's unwind tables name it; with `panic=abort` nobody calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: _exit never returns and takes any integer.
    unsafe { _exit(125) }
}

type Main = extern "C" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;
type Routine = Option<extern "C" fn()>;
type Start = extern "C" fn(Main, c_int, *const *const c_char, Routine, Routine, Routine, *mut c_void) -> c_int;

#[repr(C)]
struct IoVec {
    base: *mut u8,
    length: usize,
}

#[repr(C)]
struct Message {
    name: *mut c_void,
    name_length: c_uint,
    parts: *mut IoVec,
    part_count: usize,
    control: *mut u8,
    control_length: usize,
    flags: c_int,
}

#[repr(C)]
struct Limit {
    soft: u64,
    hard: u64,
}

#[repr(C)]
struct Timer {
    interval: [u64; 2],
    value: [u64; 2],
}

/// What the loader tells of an object that it has loaded.
#[repr(C)]
struct Object {
    base: usize,
    name: *const c_char,
    segments: *const Segment,
    count: u16,
}

#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical_address: u64,
    file_size: u64,
    memory_size: u64,
    alignment: u64,
}

unsafe extern "C" {
    static mut environ: *const *const c_char;
    fn _exit(code: c_int) -> !;
    fn __errno_location() -> *mut c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn unsetenv(name: *const c_char) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn mmap(address: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    fn stat(path: *const c_char, result: *mut u64) -> c_int;
    fn recvmsg(fd: c_int, message: *mut Message, flags: c_int) -> isize;
    fn read(fd: c_int, bytes: *mut u8, length: usize) -> isize;
    fn write(fd: c_int, bytes: *const u8, length: usize) -> isize;
    fn close(fd: c_int) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn chdir(path: *const c_char) -> c_int;
    fn setsid() -> c_int;
    fn getpid() -> c_int;
    fn getppid() -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn setrlimit(resource: c_int, limit: *const Limit) -> c_int;
    fn setitimer(which: c_int, value: *const Timer, old: *mut Timer) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn dl_iterate_phdr(visit: extern "C" fn(*const Object, usize, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn mremap(from: *mut c_void, length: usize, new_length: usize, flags: c_int, ...) -> *mut c_void;
    fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int;
    fn munmap(address: *mut c_void, length: usize) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut i64) -> c_int;
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
}

/// First word of every message; keep in step with `wire.rs`.
const MAGIC: u64 = 0x3130_5352_4c54_5254;
/// Largest message; keep in step with `wire.rs`.
const MESSAGE: usize = 128 << 10;
/// Most arguments and variables; keep in step with `wire.rs`.
const WORDS: usize = 4096;
/// Descriptors of a message: the job's own socket, then its three streams.
const DESCRIPTORS: usize = 4;

const SYS_CLONE: c_long = 56;
const SYS_SET_ROBUST_LIST: c_long = 273;
const SYS_GET_ROBUST_LIST: c_long = 274;
const CLONE_PARENT: u64 = 0x8000;
const CLONE_CHILD_CLEARTID: u64 = 0x0020_0000;
const CLONE_CHILD_SETTID: u64 = 0x0100_0000;
const SIGCHLD: u64 = 17;
const SIGKILL: c_int = 9;
const PR_SET_PDEATHSIG: c_int = 1;
const PR_GET_TID_ADDRESS: c_int = 40;
const RLIMIT_CPU: c_int = 0;
const RLIMIT_FSIZE: c_int = 1;
const RLIMIT_CORE: c_int = 4;
const RLIMIT_NPROC: c_int = 6;
const RLIMIT_AS: c_int = 9;
const ITIMER_PROF: c_int = 2;
const MSG_CMSG_CLOEXEC: c_int = 0x4000_0000;
/// Flags of a message that did not fit, or whose descriptors did not.
const MSG_CUT: c_int = 0x20 | 0x8;
const ESRCH: i32 = 3;
const EINVAL: i32 = 22;

/// The numbers at the head of a request; keep in step with `wire.rs`.
#[repr(C)]
struct Head {
    magic: u64,
    parent: u64,
    cpu: u64,
    /// Microseconds of CPU time below a second, 0 for none.
    timer: u64,
    file_size: u64,
    processes: u64,
    /// Address space; all ones for no limit.
    memory: u64,
    /// Not 0 when the code may be moved into huge pages.
    settle: u64,
    arguments: u64,
    variables: u64,
}

static mut REAL_MAIN: Option<Main> = None;

/// Stands before the C library's own. Constructors have run, or run in the real one, before it calls `main`.
///
/// # Safety
/// Called once, by the program's first instructions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *const *const c_char,
    init: Routine,
    fini: Routine,
    rtld_fini: Routine,
    stack: *mut c_void,
) -> c_int {
    // SAFETY: -1 is RTLD_NEXT: the C library's function of this name, whose type is known; nothing else runs yet.
    unsafe {
        let next = dlsym(-1isize as *mut c_void, c"__libc_start_main".as_ptr());
        if next.is_null() {
            _exit(125);
        }
        let start: Start = core::mem::transmute(next);
        REAL_MAIN = Some(main);
        start(serve, argc, argv, init, fini, rtld_fini, stack)
    }
}

/// In the place of `main`.
extern "C" fn serve(argc: c_int, argv: *const *const c_char, envp: *const *const c_char) -> c_int {
    // SAFETY: single-threaded code in a process that has only just started; every pointer below is to memory that lives as
    // long as the process, and every system call is given what it asks for.
    unsafe {
        let Some(main) = REAL_MAIN else { _exit(125) };
        let Some(control) = number(c"TRUELINE_RESIDENT_SOCKET".as_ptr()) else { return main(argc, argv, envp) };
        if let Some(image) = number(c"TRUELINE_RESIDENT_IMAGE".as_ptr()) {
            close(image);
        }
        // What a copy of a process with threads would lack.
        let mut about = [0u64; 32];
        const LINKS: usize = 2;
        if stat(c"/proc/self/task".as_ptr(), about.as_mut_ptr()) != 0 || about[LINKS] != 3 {
            _exit(124);
        }
        let (length, words) = (MESSAGE, (2 * WORDS + 2) * size_of::<*const c_char>());
        const READ_WRITE: c_int = 3;
        const PRIVATE_ANONYMOUS: c_int = 0x22;
        let memory = mmap(null_mut(), length + words, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0).cast::<u8>();
        if memory as isize == -1 {
            _exit(124);
        }
        let vectors = memory.add(length).cast::<*const c_char>();
        let mut removal = Removal { segments: [(0, 0, 0); SEGMENTS], count: 0, done: 0, credit: 0 };
        dl_iterate_phdr(Removal::note, (&raw mut removal).cast());
        let movable = removal.segments.iter().map(|(start, end, _)| (end - start) as u64).sum();
        let ready = [MAGIC, movable];
        if write(control, ready.as_ptr().cast(), size_of_val(&ready)) != size_of_val(&ready) as isize {
            _exit(0);
        }
        loop {
            let (received, descriptors) = receive(control, memory);
            if received <= 0 {
                // The other end is gone, and with it every reason to be here.
                _exit(0);
            }
            let Some(descriptors) = descriptors else { continue };
            let may_settle = (*memory.cast::<Head>()).settle != 0;
            if fork() == 0 {
                close(control);
                let (argc, argv, envp) = become_job(memory, received as usize, vectors, descriptors);
                return main(argc, argv, envp);
            }
            for fd in descriptors {
                close(fd);
            }
            // While the copy works.
            if may_settle {
                removal.work();
            }
        }
    }
}

/// A small number in the environment.
unsafe fn number(name: *const c_char) -> Option<c_int> {
    // SAFETY: the name is a C string, and so is what is found.
    unsafe {
        let mut text = getenv(name).cast::<u8>();
        if text.is_null() {
            return None;
        }
        let mut value = 0;
        while (*text).is_ascii_digit() {
            value = value * 10 + c_int::from(*text - b'0');
            text = text.add(1);
        }
        unsetenv(name);
        Some(value)
    }
}

/// One request and its descriptors; none when they are not what they should be.
unsafe fn receive(control: c_int, memory: *mut u8) -> (isize, Option<[c_int; DESCRIPTORS]>) {
    #[repr(C, align(8))]
    struct Control {
        length: usize,
        level: c_int,
        kind: c_int,
        descriptors: [c_int; DESCRIPTORS],
    }
    // SAFETY: the structures are those of recvmsg and live on this stack; the memory has MESSAGE bytes.
    unsafe {
        let mut ancillary: Control = core::mem::zeroed();
        let mut part = IoVec { base: memory, length: MESSAGE };
        let mut message = Message {
            name: null_mut(),
            name_length: 0,
            parts: &mut part,
            part_count: 1,
            control: (&raw mut ancillary).cast(),
            control_length: size_of::<Control>(),
            flags: 0,
        };
        let received = recvmsg(control, &mut message, MSG_CMSG_CLOEXEC);
        const EINTR: c_int = 4;
        if received < 0 && *__errno_location() == EINTR {
            return (1, None);
        }
        let whole = received >= size_of::<Head>() as isize && message.flags & MSG_CUT == 0 && ancillary.length == size_of::<Control>();
        (received, whole.then_some(ancillary.descriptors))
    }
}

/// A copy of this process that is its sibling. The C library's `fork` cannot make one; what it would do besides is done here,
/// for a process with one thread that holds no lock.
unsafe fn fork() -> c_long {
    // SAFETY: system calls on integers and on places of this stack; the kernel is told where the C library keeps the number
    // of the thread, as it was by the C library itself.
    unsafe {
        let mut tid: *mut c_int = null_mut();
        let known = prctl(PR_GET_TID_ADDRESS, &raw mut tid) == 0 && !tid.is_null();
        let set = if known { CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID } else { 0 };
        let (mut robust, mut length) = (null_mut::<c_void>(), 0usize);
        let listed = syscall(SYS_GET_ROBUST_LIST, 0, &raw mut robust, &raw mut length) == 0;
        let pid = syscall(SYS_CLONE, (CLONE_PARENT | SIGCHLD | set) as c_ulong, 0 as c_ulong, 0 as c_ulong, tid, 0 as c_ulong);
        if pid == 0 && listed && !robust.is_null() {
            syscall(SYS_SET_ROBUST_LIST, robust, length);
        }
        pid
    }
}

/// Makes this copy the process that was asked for, tells its number, and waits for the word to go.
unsafe fn become_job(
    memory: *mut u8,
    length: usize,
    vectors: *mut *const c_char,
    [job, stdin, stdout, stderr]: [c_int; DESCRIPTORS],
) -> (c_int, *const *const c_char, *const *const c_char) {
    // SAFETY: the message is of the parent's making and is checked to its end before a pointer into it is kept.
    unsafe {
        let head = &*memory.cast::<Head>();
        let mut result = prepare(head, [stdin, stdout, stderr]);
        let (argc, envc) = (head.arguments as usize, head.variables as usize);
        let text = memory.add(size_of::<Head>());
        let end = memory.add(length);
        let mut next = text;
        let mut word = |at: &mut *mut u8| -> *const c_char {
            let start = *at;
            while *at < end {
                let byte = **at;
                *at = at.add(1);
                if byte == 0 {
                    return start.cast();
                }
            }
            null()
        };
        let directory = word(&mut next);
        if result == 0 && (directory.is_null() || argc > WORDS || envc > WORDS) {
            result = EINVAL;
        }
        if result == 0 && chdir(directory) != 0 {
            result = *__errno_location();
        }
        let variables = vectors.add(if result == 0 { argc + 1 } else { 0 });
        if result == 0 {
            for slot in 0..argc {
                *vectors.add(slot) = word(&mut next);
            }
            *vectors.add(argc) = null();
            for slot in 0..envc {
                *variables.add(slot) = word(&mut next);
            }
            *variables.add(envc) = null();
            let complete = next == end && (argc == 0 || !(*vectors.add(argc - 1)).is_null());
            if !complete {
                result = EINVAL;
            }
            environ = variables;
        }
        let answer = [MAGIC, getpid() as u64, result as u64];
        let said = write(job, answer.as_ptr().cast(), size_of_val(&answer)) == size_of_val(&answer) as isize;
        let mut go = 0u8;
        if !said || result != 0 || read(job, &mut go, 1) != 1 {
            _exit(125);
        }
        close(job);
        (argc as c_int, vectors, variables)
    }
}

/// What `prepare_child` of `job.rs` does between fork and exec, and the streams. The number of what went wrong, or 0.
unsafe fn prepare(head: &Head, streams: [c_int; 3]) -> i32 {
    // SAFETY: system calls on integers and on structures of this stack.
    unsafe {
        if head.magic != MAGIC {
            return EINVAL;
        }
        if setsid() < 0 {
            return *__errno_location();
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL as c_ulong);
        if getppid() as u64 != head.parent {
            return ESRCH;
        }
        for (stream, fd) in streams.into_iter().enumerate() {
            if dup2(fd, stream as c_int) < 0 {
                return *__errno_location();
            }
            close(fd);
        }
        let limits = [
            (RLIMIT_CPU, head.cpu, head.cpu + 1),
            (RLIMIT_CORE, 0, 0),
            (RLIMIT_FSIZE, head.file_size, head.file_size),
            (RLIMIT_NPROC, head.processes, head.processes),
            (RLIMIT_AS, head.memory, head.memory),
        ];
        for (resource, soft, hard) in limits {
            let unlimited = resource == RLIMIT_AS && soft == u64::MAX;
            if !unlimited && setrlimit(resource, &Limit { soft, hard }) != 0 {
                return *__errno_location();
            }
        }
        if head.timer > 0 {
            setitimer(ITIMER_PROF, &Timer { interval: [0, 0], value: [0, head.timer] }, null_mut());
        }
        0
    }
}

/// Code and constants that are to be moved into huge pages of this process's own. A file's pages are found anew by every
/// copy, one fault for every sixteen; these are there, and need a five-hundredth of the processor's address translations.
/// What stands at every address stays the same.
struct Removal {
    segments: [(usize, usize, c_int); SEGMENTS],
    count: usize,
    /// Segments that are done.
    done: usize,
    /// Nanoseconds of CPU time that may still be spent.
    credit: i64,
}

const SEGMENTS: usize = 32;
const HUGE: usize = 2 << 20;
/// What every job earns for it, a third of what a clang's job saves when all is moved: on a machine whose memory is in pieces
/// a huge page takes tens of milliseconds to find, and it must not cost more than it brings.
const CREDIT: i64 = 4_000_000;

impl Removal {
    /// Notes the huge pages' worth of whole segments that nobody may write to.
    extern "C" fn note(object: *const Object, _: usize, data: *mut c_void) -> c_int {
        const LOAD: u32 = 1;
        const WRITABLE: u32 = 2;
        const EXECUTABLE: u32 = 1;
        const PROT_READ: c_int = 1;
        const PROT_READ_EXECUTE: c_int = 5;
        // SAFETY: the loader's description is of objects that stay; the data is a removal of the caller's.
        unsafe {
            let (object, removal) = (&*object, &mut *data.cast::<Removal>());
            for number in 0..usize::from(object.count) {
                let segment = &*object.segments.add(number);
                let start = (object.base + segment.address as usize).next_multiple_of(HUGE);
                let end = (object.base + (segment.address + segment.file_size) as usize) & !(HUGE - 1);
                if segment.kind == LOAD && segment.flags & WRITABLE == 0 && start < end && removal.count < SEGMENTS {
                    let protection = if segment.flags & EXECUTABLE == 0 { PROT_READ } else { PROT_READ_EXECUTE };
                    removal.segments[removal.count] = (start, end, protection);
                    removal.count += 1;
                }
            }
        }
        0
    }

    /// Moves as much as a job has earned.
    unsafe fn work(&mut self) {
        self.credit += CREDIT;
        while self.credit > 0 && self.done < self.count {
            let (start, end, protection) = self.segments[self.done];
            // SAFETY: the range is of a segment that stays and is not written to; this library and the C library are smaller
            // than a huge page, so that neither moves under the feet of whoever runs here.
            unsafe {
                let before = now();
                if !replace(start, protection) {
                    self.done = self.count;
                }
                self.credit -= now() - before;
            }
            self.segments[self.done.min(SEGMENTS - 1)].0 = start + HUGE;
            if start + HUGE >= end {
                self.done += 1;
            }
        }
        self.credit = self.credit.min(0);
    }
}

/// CPU time of this process in nanoseconds.
unsafe fn now() -> i64 {
    const CLOCK_PROCESS_CPUTIME_ID: c_int = 2;
    let mut time = [0i64; 2];
    // SAFETY: the two numbers are a timespec.
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr()) };
    time[0] * 1_000_000_000 + time[1]
}

/// Puts a huge page with the same content in the place of what is there.
unsafe fn replace(start: usize, protection: c_int) -> bool {
    const PROT_READ_WRITE: c_int = 3;
    const PRIVATE_ANONYMOUS: c_int = 0x22;
    const MADV_HUGEPAGE: c_int = 14;
    const MREMAP_MAYMOVE_FIXED: c_int = 3;
    // SAFETY: the room is our own; the copy takes the place of the original in one step.
    unsafe {
        let room = mmap(null_mut(), 2 * HUGE, PROT_READ_WRITE, PRIVATE_ANONYMOUS, -1, 0);
        if room as isize == -1 {
            return false;
        }
        let before = (room as usize).next_multiple_of(HUGE) - room as usize;
        let copy = room.byte_add(before);
        madvise(copy, HUGE, MADV_HUGEPAGE);
        core::ptr::copy_nonoverlapping(start as *const u8, copy.cast::<u8>(), HUGE);
        let done = mprotect(copy, HUGE, protection) == 0
            && mremap(copy, HUGE, HUGE, MREMAP_MAYMOVE_FIXED, start as *mut c_void) as isize != -1;
        if before > 0 {
            munmap(room, before);
        }
        munmap(copy.byte_add(if done { HUGE } else { 0 }), HUGE - before + if done { 0 } else { HUGE });
        done
    }
}
