//! Preloaded into a compiler: sets a one-shot breakpoint on every basic block of the images it has plans
//! for, and marks each block in a shared bitmap the first time it runs. Built by this crate's build script
//! and embedded in the library; no standard library, no allocation, no dependencies.
//!
//! A block of five bytes or more in position-dependent code gets a jump to a stub of its own instead of a
//! breakpoint: the stub marks the block and puts its bytes back without the kernel's help, which is what
//! makes a measured compilation cost little more than a plain one.
//!
//! The patches are not written one by one: a plan brings a copy of the image's code with all of them
//! in place, which is mapped over the original. The bitmap is a shared mapping of a file, so that what ran
//! before a crash, a kill or a time limit is not lost.
#![no_std]

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// The core library's unwind tables name it; with `panic=abort` nobody calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: _exit never returns and takes any integer.
    unsafe { _exit(125) }
}

/// First bytes of a plan; keep in step with `plan.rs`.
const MAGIC: u64 = 0x3130_4b4c_4254_5254;
const HEADER: usize = 96;
const MAX_IMAGES: usize = 4;
const SIGTRAP: c_int = 5;
const SA_SIGINFO: c_int = 4;
const SA_RESTART: c_int = 0x1000_0000;
const SA_NODEFER: c_int = 0x4000_0000;
/// Index of RIP in the general registers of a signal frame (`REG_RIP`).
const REG_RIP: usize = 16;

/// The head of a plan file.
#[repr(C)]
struct PlanHeader {
    magic: u64,
    blocks: u64,
    /// Where the stubs must lie; 0 when there are none.
    stubs: u64,
    /// Address (as the file states it, page aligned) and length of the code copy.
    text_address: u64,
    text_length: u64,
    bucket_shift: u64,
    buckets: u64,
    build_id_length: u64,
    build_id: [u8; 32],
}

#[repr(C)]
struct DlInfo {
    base: usize,
    name: *const c_char,
    headers: *const ProgramHeader,
    count: u16,
}

#[repr(C)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

#[repr(C)]
struct SigAction {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

/// The start of glibc's `ucontext_t` on x86-64: flags, link, stack, then the general registers.
#[repr(C)]
struct UContext {
    flags: u64,
    link: usize,
    stack: [u64; 3],
    registers: [i64; 23],
}

unsafe extern "C" {
    fn _exit(code: c_int) -> !;
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn lseek(fd: c_int, offset: c_long, whence: c_int) -> c_long;
    fn mmap(address: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: c_long) -> *mut c_void;
    fn dl_iterate_phdr(callback: extern "C" fn(*const DlInfo, usize, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn __sigaction(signal: c_int, new: *const SigAction, old: *mut SigAction) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

const SYS_RT_SIGPROCMASK: c_long = 14;
const SIG_UNBLOCK: c_int = 1;
const TRAP_BIT: u64 = 1 << (SIGTRAP - 1);

/// Blocks the signals that the compiler wants blocked, SIGTRAP apart: a breakpoint while it is blocked would end the process.
///
/// # Safety
/// `new` and `old` are null or point at the kernel's eight bytes of signal mask.
unsafe fn change_mask(how: c_int, new: *const u64, old: *mut u64) -> c_long {
    // SAFETY: as the caller promises.
    let asked = if new.is_null() { 0 } else { unsafe { *new } };
    let mask = if how == SIG_UNBLOCK { asked } else { asked & !TRAP_BIT };
    let given = if new.is_null() { core::ptr::null() } else { &raw const mask };
    // SAFETY: the masks live until the call returns.
    unsafe { syscall(SYS_RT_SIGPROCMASK, how as c_long, given, old, 8usize) }
}

/// # Safety
/// As for the C library's function of that name.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigprocmask(how: c_int, new: *const u64, old: *mut u64) -> c_int {
    // SAFETY: the caller's arguments; a `sigset_t` begins with the kernel's mask.
    unsafe { change_mask(how, new, old) as c_int }
}

/// # Safety
/// As for the C library's function of that name.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_sigmask(how: c_int, new: *const u64, old: *mut u64) -> c_int {
    // SAFETY: as above. The only error is a bad `how`, which the C library reports as EINVAL.
    if unsafe { change_mask(how, new, old) } == 0 { 0 } else { 22 }
}

/// One image under observation; written once before the handler is installed, then only read.
struct Watched {
    start: AtomicUsize,
    length: AtomicUsize,
    blocks: AtomicUsize,
    originals: AtomicUsize,
    buckets: AtomicUsize,
    shift: AtomicUsize,
    count: AtomicUsize,
    first_unit: AtomicUsize,
}

#[allow(clippy::declare_interior_mutable_const)]
const NONE: Watched = Watched {
    start: AtomicUsize::new(0),
    length: AtomicUsize::new(0),
    blocks: AtomicUsize::new(0),
    originals: AtomicUsize::new(0),
    buckets: AtomicUsize::new(0),
    shift: AtomicUsize::new(0),
    count: AtomicUsize::new(0),
    first_unit: AtomicUsize::new(0),
};
static WATCHED: [Watched; MAX_IMAGES] = [NONE; MAX_IMAGES];
static IMAGES: AtomicUsize = AtomicUsize::new(0);
/// The bitmap, behind a header of eight bytes whose first counts the images attached.
static HITS: AtomicUsize = AtomicUsize::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    // SAFETY: runs once, before main and before any other thread; the strings end in NUL.
    unsafe {
        let plans = getenv(c"TRUELINE_BLOCKS".as_ptr());
        let hits = getenv(c"TRUELINE_HITS".as_ptr());
        if plans.is_null() || hits.is_null() {
            return;
        }
        // `UNIT=PATH:UNIT=PATH`: the number of the first block in the bitmap, and where the plan is.
        let mut path = [0u8; 4096];
        let (mut used, mut unit, mut in_path) = (0, 0usize, false);
        let mut at = plans;
        loop {
            let byte = *at as u8;
            if byte == b':' || byte == 0 {
                if used > 0 {
                    attach(&path, used, unit, hits);
                }
                (used, unit, in_path) = (0, 0, false);
                if byte == 0 {
                    break;
                }
            } else if !in_path {
                if byte == b'=' {
                    in_path = true;
                } else {
                    unit = unit * 10 + (byte - b'0') as usize;
                }
            } else if used < path.len() - 8 {
                path[used] = byte;
                used += 1;
            }
            at = at.add(1);
        }
    }
}

struct Search {
    header: *const PlanHeader,
    base: usize,
    found: bool,
}

/// Maps a plan `PATH.plan` and its code `PATH.text` when the image it is for is loaded here.
unsafe fn attach(path: &[u8; 4096], used: usize, first_unit: usize, hits: *const c_char) {
    let mut name = *path;
    name[used..used + 6].copy_from_slice(b".plan\0");
    // SAFETY: `name` ends in NUL; the mapping is checked before use; lengths come from the file that
    // `plan.rs` wrote, whose first bytes are checked.
    unsafe {
        let Some((plan, length)) = map_file(name.as_ptr().cast(), 0) else { return };
        let header = plan as *const PlanHeader;
        if length < HEADER || (*header).magic != MAGIC {
            return;
        }
        let mut search = Search { header, base: 0, found: false };
        dl_iterate_phdr(compare, (&raw mut search).cast());
        let slot = IMAGES.load(Ordering::Relaxed);
        if !search.found || slot == MAX_IMAGES {
            return;
        }
        if HITS.load(Ordering::Relaxed) == 0 {
            let Some((bitmap, _)) = map_file(hits, 1) else { return };
            HITS.store(bitmap, Ordering::Relaxed);
        }
        let count = (*header).blocks as usize;
        let buckets = plan + HEADER;
        let blocks = buckets + ((*header).buckets as usize + 1) * 4;
        let watched = &WATCHED[slot];
        let start = search.base + (*header).text_address as usize;
        watched.start.store(start, Ordering::Relaxed);
        watched.length.store((*header).text_length as usize, Ordering::Relaxed);
        watched.buckets.store(buckets, Ordering::Relaxed);
        watched.blocks.store(blocks, Ordering::Relaxed);
        let originals = (blocks + count * 4 + 7) & !7;
        watched.originals.store(originals, Ordering::Relaxed);
        watched.shift.store((*header).bucket_shift as usize, Ordering::Relaxed);
        watched.count.store(count, Ordering::Relaxed);
        watched.first_unit.store(first_unit, Ordering::Relaxed);
        IMAGES.store(slot + 1, Ordering::Release);
        if slot == 0 {
            let action = SigAction {
                handler: on_trap as *const () as usize,
                mask: [0; 16],
                flags: SA_SIGINFO | SA_RESTART | SA_NODEFER,
                restorer: 0,
            };
            if __sigaction(SIGTRAP, &action, core::ptr::null_mut()) != 0 {
                return;
            }
        }
        if (*header).stubs != 0 {
            name[used..used + 6].copy_from_slice(b".stub\0");
            if !attach_stubs(&name, (*header).stubs as usize) {
                return;
            }
            let stubs = &JUMPS;
            stubs.bitmap.store(HITS.load(Ordering::Relaxed) + 8, Ordering::Relaxed);
            stubs.first_unit.store(first_unit, Ordering::Relaxed);
            stubs.blocks.store(blocks, Ordering::Relaxed);
            stubs.start.store(start, Ordering::Relaxed);
            stubs.originals.store(originals, Ordering::Relaxed);
        }
        name[used..used + 6].copy_from_slice(b".text\0");
        let fd = open(name.as_ptr().cast(), 0);
        if fd < 0 {
            return;
        }
        // Private and fixed, readable, writable and executable, over the image's own code.
        let mapped = mmap(start as *mut c_void, (*header).text_length as usize, 7, 0x12, fd, 0);
        close(fd);
        if mapped as usize == start {
            (*(HITS.load(Ordering::Relaxed) as *const AtomicU8)).fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What the stubs' common end needs, in the order its instructions expect. Only one image can have stubs:
/// they have a fixed address, as position-dependent code has.
#[repr(C)]
struct Jumps {
    bitmap: AtomicUsize,
    first_unit: AtomicUsize,
    blocks: AtomicUsize,
    start: AtomicUsize,
    originals: AtomicUsize,
}

static JUMPS: Jumps = Jumps {
    bitmap: AtomicUsize::new(0),
    first_unit: AtomicUsize::new(0),
    blocks: AtomicUsize::new(0),
    start: AtomicUsize::new(0),
    originals: AtomicUsize::new(0),
};

/// Maps the stubs at their address and tells them where their common end is.
unsafe fn attach_stubs(path: &[u8; 4096], address: usize) -> bool {
    // SAFETY: the path ends in NUL; the mapping does not replace another (0x100000), and its first page
    // is ours to write.
    unsafe {
        let fd = open(path.as_ptr().cast(), 0);
        if fd < 0 {
            return false;
        }
        let length = lseek(fd, 0, 2);
        let mapped = mmap(address as *mut c_void, length as usize, 7, 0x10_0002, fd, 0);
        close(fd);
        if mapped as usize != address {
            return false;
        }
        // `jmp [rip+0]`, whose operand follows it.
        core::ptr::write_unaligned((address + 6) as *mut usize, on_jump as *const () as usize);
        true
    }
}

/// The common end of the stubs. A stub steps over the red zone, pushes its block's index and jumps here;
/// the block is marked, its first five bytes are put back, and it runs.
#[unsafe(naked)]
extern "C" fn on_jump() {
    naked_asm!(
        "pushfq",
        "push rax",
        "push rcx",
        "push rdx",
        "mov rcx, [rsp + 32]",
        "mov rax, [rip + {jumps}]",
        "mov rdx, [rip + {jumps} + 8]",
        "add rdx, rcx",
        "bts [rax], rdx",
        "mov rax, [rip + {jumps} + 16]",
        "mov edx, [rax + rcx*4]",
        "add rdx, [rip + {jumps} + 24]",
        "mov rax, [rip + {jumps} + 32]",
        "mov rcx, [rax + rcx*8]",
        // Five bytes from the original, three as they are: they may hold the next block's patch.
        "mov rax, [rdx]",
        "xor rax, rcx",
        "shr rax, 40",
        "shl rax, 40",
        "xor rax, rcx",
        "mov [rdx], rax",
        "mov [rsp + 32], rdx",
        "pop rdx",
        "pop rcx",
        "pop rax",
        "popfq",
        "lea rsp, [rsp + 0x88]",
        "jmp qword ptr [rsp - 0x88]",
        jumps = sym JUMPS,
    )
}

/// Maps a whole file: privately for reading (0), or shared for writing (1).
unsafe fn map_file(path: *const c_char, writable: c_int) -> Option<(usize, usize)> {
    // SAFETY: the path ends in NUL; results are checked.
    unsafe {
        let fd = open(path, if writable == 1 { 2 } else { 0 });
        if fd < 0 {
            return None;
        }
        let length = lseek(fd, 0, 2);
        let (protection, sharing) = if writable == 1 { (3, 1) } else { (1, 2) };
        let address =
            if length > 0 { mmap(core::ptr::null_mut(), length as usize, protection, sharing, fd, 0) } else { usize::MAX as *mut c_void };
        close(fd);
        (address as usize != usize::MAX).then_some((address as usize, length as usize))
    }
}

/// Finds the image by the build id in its notes.
extern "C" fn compare(info: *const DlInfo, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader gives valid program headers, and notes lie in loaded segments.
    unsafe {
        let search = &mut *data.cast::<Search>();
        let wanted = &(&(*search.header).build_id)[..(*search.header).build_id_length as usize];
        for index in 0..(*info).count as usize {
            let header = &*(*info).headers.add(index);
            if header.kind != 4 {
                continue;
            }
            let mut at = (*info).base + header.address as usize;
            let end = at + header.memory_size as usize;
            while at + 12 <= end {
                let word = |offset: usize| core::ptr::read_unaligned((at + offset) as *const u32) as usize;
                let (name, length, kind) = (word(0), word(4), word(8));
                let description = at + 12 + ((name + 3) & !3);
                if kind == 3
                    && name == 4
                    && length == wanted.len()
                    && core::slice::from_raw_parts(description as *const u8, length) == wanted
                {
                    search.base = (*info).base;
                    search.found = true;
                    return 1;
                }
                at = description + ((length + 3) & !3);
            }
        }
    }
    0
}

extern "C" fn on_trap(_: c_int, _: *mut c_void, context: *mut c_void) {
    // SAFETY: the kernel passes a valid context; the tables were mapped before the handler was installed
    // and never change; the code is mapped writable. Another thread may have restored the byte already,
    // in which case running the instruction again is all there is to do.
    unsafe {
        let context = &mut *context.cast::<UContext>();
        let address = context.registers[REG_RIP] as usize - 1;
        for watched in &WATCHED[..IMAGES.load(Ordering::Acquire)] {
            let offset = address.wrapping_sub(watched.start.load(Ordering::Relaxed));
            if offset >= watched.length.load(Ordering::Relaxed) {
                continue;
            }
            let buckets = watched.buckets.load(Ordering::Relaxed) as *const u32;
            let blocks = watched.blocks.load(Ordering::Relaxed) as *const u32;
            let bucket = offset >> watched.shift.load(Ordering::Relaxed);
            let mut index = *buckets.add(bucket) as usize;
            let end = *buckets.add(bucket + 1) as usize;
            while index < end && (*blocks.add(index) as usize) != offset {
                index += 1;
            }
            if index == end {
                break;
            }
            let unit = watched.first_unit.load(Ordering::Relaxed) + index;
            let bitmap = (HITS.load(Ordering::Relaxed) + 8) as *const AtomicU32;
            (*bitmap.add(unit / 32)).fetch_or(1 << (unit % 32), Ordering::Relaxed);
            let original = *(watched.originals.load(Ordering::Relaxed) as *const u64).add(index) as u8;
            (*(address as *const AtomicU8)).store(original, Ordering::SeqCst);
            context.registers[REG_RIP] = address as i64;
            return;
        }
        // A breakpoint of the compiler's own (`__builtin_trap` is another instruction): as it would end.
        _exit(126)
    }
}

/// LLVM installs handlers for every deadly signal; the trap is taken.
///
/// # Safety
/// As the C library's `sigaction`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const SigAction, old: *mut SigAction) -> c_int {
    if signal == SIGTRAP && IMAGES.load(Ordering::Acquire) > 0 {
        return 0;
    }
    // SAFETY: passed on as it came.
    unsafe { __sigaction(signal, new, old) }
}
