//! What the C library answers in an emulated run.
//!
//! Memory, strings, characters and the heap are computed: an allocation is an object of its own, at a distance from the last one that
//! differs from run to run, so that no distance between two objects looks like a relation. Input is made up, output is swallowed. What
//! is unknown answers with a number that depends on its name and on how often it was called. Both builds get the same answers.
//!
//! Deliberately absent: files, the environment, what `qsort` would call back.

use super::numbers;
use super::text::{self, GuestText};
use crate::algebra::AccessFault;
use crate::cpu::{Cpu, Region};
use crate::library::plain;
use std::collections::HashMap;

/// Where allocations go, in every layout.
const ARENA: u64 = 0x6800_0000_0000;
/// Room for allocations of one run.
const ARENA_SIZE: u64 = 1 << 32;
/// The number of the arena among the regions that both builds have.
const ARENA_REGION: u32 = 0x3_0000;
/// Where the library keeps what its functions return pointers to.
const TABLES: u64 = 0x6900_0000_0000;
/// The largest block that is allocated, copied or filled.
const LARGEST: u64 = 1 << 26;
/// Bytes at the start of an allocation that hold what nobody wrote.
const FILLED: u64 = 1 << 14;

/// How a call goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnding {
    /// Back to the caller.
    Back,
    /// The program ends here.
    Over,
}

/// The C library in one run.
#[derive(Default)]
pub struct Library {
    counts: HashMap<String, u64>,
    used: u64,
    /// Sizes of what was allocated.
    sizes: HashMap<u64, u64>,
    tables: bool,
}

/// The memory that allocations of a run lie in.
pub fn arena() -> Region {
    Region { start: ARENA, end: ARENA + ARENA_SIZE, id: ARENA_REGION }
}

const RAX: usize = 0;
/// Argument registers in their order.
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];

impl Library {
    /// Answers a call of an outside function, made so many calls deep.
    pub fn answer(&mut self, cpu: &mut Cpu, name: &str, depth: usize) -> Result<CallEnding, String> {
        let name = plain(name);
        let count = self.counts.entry(name.to_owned()).or_insert(0);
        *count += 1;
        let count = *count;
        match name {
            "exit" | "abort" | "_exit" | "_Exit" | "quick_exit" | "__assert_fail" | "__stack_chk_fail" | "__fortify_fail"
            | "__chk_fail" | "err" | "errx" | "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk" => return Ok(CallEnding::Over),
            "fork" | "pthread_create" | "vfork" | "clone" => return Err(format!("it calls {name}")),
            // What a function's variables are when it is returned to once more nobody knows; its callers see one return of it.
            "setjmp" | "_setjmp" | "__sigsetjmp" | "sigsetjmp" if depth == 0 => return Err(format!("it calls {name}")),
            _ => {}
        }
        let a = ARGUMENTS.map(|n| cpu.gpr[n]);
        let known = self.computed(cpu, name, a, count).map_err(|e| format!("{e} in {name}"))?;
        match known {
            Some(answer) => cpu.gpr[RAX] = answer,
            None => numbers::answer(cpu, name, count),
        }
        // What a call may clobber is clobbered, so that no relation survives on luck.
        for n in [1, 2, 6, 7, 8, 9, 10, 11] {
            cpu.gpr[n] = 0xdead_beef_0000_0000 | (count << 8) | n as u64;
        }
        for n in 1..16 {
            cpu.xmm[n] = 0x7fc1_2345 | u128::from(count) << 32;
        }
        Ok(CallEnding::Back)
    }

    /// The answer of a function that is computed; `None` for one that is not.
    fn computed(&mut self, cpu: &mut Cpu, name: &str, a: [u64; 6], count: u64) -> Result<Option<u64>, AccessFault> {
        let text = |cpu: &Cpu, at: u64| GuestText::read(cpu, at);
        Ok(Some(match name {
            "memset" | "__memset_chk" => fill(cpu, a[0], a[1] as u8, a[2])?,
            "bzero" => fill(cpu, a[0], 0, a[1])?,
            "memcpy" | "memmove" | "__memcpy_chk" | "__memmove_chk" => copy(cpu, a[0], a[1], a[2])?,
            "mempcpy" | "__mempcpy_chk" => copy(cpu, a[0], a[1], a[2])?.wrapping_add(a[2]),
            "memcmp" | "bcmp" => text::compare(&block(cpu, a[0], a[2])?, &block(cpu, a[1], a[2])?),
            "memchr" => {
                let found = (0..a[2].min(LARGEST)).find(|n| cpu.memory.byte(a[0].wrapping_add(*n)).is_none_or(|b| b == a[1] as u8));
                found.filter(|n| cpu.memory.byte(a[0].wrapping_add(*n)).is_some()).map_or(0, |n| a[0].wrapping_add(n))
            }
            "strlen" => text(cpu, a[0])?.len(),
            "strnlen" => GuestText::within(cpu, a[0], a[1])?.len(),
            "strcmp" | "strcoll" => text::compare(&text(cpu, a[0])?.whole(), &text(cpu, a[1])?.whole()),
            "strncmp" => text::compare(&GuestText::within(cpu, a[0], a[2])?.whole(), &GuestText::within(cpu, a[1], a[2])?.whole()),
            "strcasecmp" => text::compare(&text(cpu, a[0])?.folded(), &text(cpu, a[1])?.folded()),
            "strncasecmp" => text::compare(&GuestText::within(cpu, a[0], a[2])?.folded(), &GuestText::within(cpu, a[1], a[2])?.folded()),
            "strchr" | "index" => text(cpu, a[0])?.first(a[1] as u8).map_or(0, |n| a[0].wrapping_add(n)),
            "strrchr" | "rindex" => text(cpu, a[0])?.last(a[1] as u8).map_or(0, |n| a[0].wrapping_add(n)),
            "strchrnul" => {
                let own = text(cpu, a[0])?;
                a[0].wrapping_add(own.first(a[1] as u8).unwrap_or(own.len()))
            }
            "strspn" => text(cpu, a[0])?.span(&text(cpu, a[1])?, true),
            "strcspn" => text(cpu, a[0])?.span(&text(cpu, a[1])?, false),
            "strpbrk" => {
                let own = text(cpu, a[0])?;
                let n = own.span(&text(cpu, a[1])?, false);
                if n == own.len() { 0 } else { a[0].wrapping_add(n) }
            }
            "strstr" => text(cpu, a[0])?.find(&text(cpu, a[1])?).map_or(0, |n| a[0].wrapping_add(n)),
            "strcpy" | "__strcpy_chk" => {
                let from = text(cpu, a[1])?.whole();
                store(cpu, a[0], &from)?
            }
            "stpcpy" | "__stpcpy_chk" => {
                let from = text(cpu, a[1])?;
                store(cpu, a[0], &from.whole())?.wrapping_add(from.len())
            }
            "strncpy" | "__strncpy_chk" => {
                let mut from = GuestText::within(cpu, a[1], a[2])?.bytes;
                from.resize(a[2].min(LARGEST) as usize, 0);
                store(cpu, a[0], &from)?
            }
            "strcat" | "__strcat_chk" | "strncat" | "__strncat_chk" => {
                let most = if name.contains("strn") { a[2] } else { LARGEST };
                let mut from = GuestText::within(cpu, a[1], most)?.bytes;
                from.push(0);
                let end = a[0].wrapping_add(text(cpu, a[0])?.len());
                store(cpu, end, &from)?;
                a[0]
            }
            "strdup" | "__strdup" => {
                let from = text(cpu, a[0])?.whole();
                let to = self.allocate(cpu, from.len() as u64)?;
                store(cpu, to, &from)?
            }
            "malloc" => self.allocate(cpu, a[0])?,
            "aligned_alloc" | "memalign" => self.allocate(cpu, a[1])?,
            "calloc" => {
                let size = a[0].saturating_mul(a[1]);
                let at = self.allocate(cpu, size)?;
                if at != 0 { fill(cpu, at, 0, size.min(FILLED))? } else { 0 }
            }
            "realloc" => {
                let at = self.allocate(cpu, a[1])?;
                let old = self.sizes.get(&a[0]).copied().unwrap_or_else(|| chunk(cpu, a[0]));
                if at != 0 && a[0] != 0 {
                    copy(cpu, at, a[0], old.min(a[1]))?;
                }
                at
            }
            "free" | "cfree" => 0,
            "malloc_usable_size" => self.sizes.get(&a[0]).copied().unwrap_or_else(|| chunk(cpu, a[0])),
            "__errno_location" => self.tables(cpu),
            "localeconv" => self.tables(cpu) + text::LOCALE,
            "__ctype_b_loc" => self.tables(cpu) + text::CLASSES,
            "__ctype_tolower_loc" => self.tables(cpu) + text::LOWER,
            "__ctype_toupper_loc" => self.tables(cpu) + text::UPPER,
            "setjmp" | "_setjmp" | "__sigsetjmp" | "sigsetjmp" => 0,
            "fopen" | "fdopen" | "fopen64" | "tmpfile" | "freopen" => self.allocate(cpu, 232)?,
            "fread" | "fread_unlocked" | "__fread_chk" => {
                invent(cpu, a[0], a[1].saturating_mul(a[2]), count)?;
                a[2]
            }
            "read" | "recv" => {
                invent(cpu, a[1], a[2], count)?;
                a[2]
            }
            "fgets" | "__fgets_chk" => {
                let mut line = format!("line {count}\n").into_bytes();
                line.truncate((a[1] as u32).saturating_sub(1) as usize);
                line.push(0);
                store(cpu, a[0], &line)?
            }
            "fwrite" | "fwrite_unlocked" => a[2],
            "write" | "send" => a[2],
            "sprintf" | "vsprintf" | "__sprintf_chk" | "__vsprintf_chk" | "snprintf" | "vsnprintf" | "__snprintf_chk"
            | "__vsnprintf_chk" => {
                let room = if name.contains("snprintf") { a[1] } else { LARGEST };
                let line = format!("text {count}").into_bytes();
                let mut cut = line.clone();
                cut.truncate(room.saturating_sub(1) as usize);
                cut.push(0);
                if room > 0 {
                    store(cpu, a[0], &cut)?;
                }
                line.len() as u64
            }
            "fclose" | "fflush" | "fputs" | "puts" | "feof" | "ferror" | "fseek" | "setvbuf" | "getenv" | "setlocale" | "signal"
            | "atexit" | "qsort" | "bsearch" | "remove" | "unlink" => 0,
            _ => return Ok(numbers::whole(cpu, name, a)),
        }))
    }

    /// A new object of so many bytes; null where that is too much.
    fn allocate(&mut self, cpu: &mut Cpu, size: u64) -> Result<u64, AccessFault> {
        let gap = mix(cpu.salt, self.used) % 64 * 16;
        let at = ARENA + self.used + gap + 16;
        let room = size.saturating_add(15) & !15;
        if size > LARGEST || self.used.saturating_add(room).saturating_add(gap) > ARENA_SIZE - (1 << 20) {
            return Ok(0);
        }
        self.used = at + room - ARENA;
        cpu.memory.map_zeroes(at, room.max(16));
        let whole = size.min(FILLED) & !7;
        for n in (0..whole).step_by(8) {
            cpu.write(at + n, super::POISON, 8)?;
        }
        self.sizes.insert(at, size);
        Ok(at)
    }

    /// Where the library's own tables lie; they are made when they are first asked for.
    fn tables(&mut self, cpu: &mut Cpu) -> u64 {
        if !self.tables {
            self.tables = true;
            cpu.memory.map(TABLES, &text::tables(TABLES));
        }
        TABLES
    }
}

/// The bytes of a block that the program's own allocator gave out, as glibc notes them in front of it.
fn chunk(cpu: &Cpu, at: u64) -> u64 {
    let noted = cpu.memory.read(at.wrapping_sub(8), 8).map_or(0, |s| s as u64 & !7);
    if noted <= LARGEST { noted.saturating_sub(8) } else { 0 }
}

fn block(cpu: &Cpu, at: u64, size: u64) -> Result<Vec<u8>, AccessFault> {
    if size > LARGEST {
        return Err(AccessFault { address: at.wrapping_add(size) });
    }
    (0..size).map(|n| cpu.memory.byte(at.wrapping_add(n)).ok_or(AccessFault { address: at.wrapping_add(n) })).collect()
}

fn store(cpu: &mut Cpu, at: u64, bytes: &[u8]) -> Result<u64, AccessFault> {
    for (n, byte) in bytes.iter().enumerate() {
        cpu.write(at.wrapping_add(n as u64), u128::from(*byte), 1)?;
    }
    Ok(at)
}

fn fill(cpu: &mut Cpu, at: u64, byte: u8, size: u64) -> Result<u64, AccessFault> {
    if size > LARGEST {
        return Err(AccessFault { address: at.wrapping_add(size) });
    }
    store(cpu, at, &vec![byte; size as usize])
}

fn copy(cpu: &mut Cpu, to: u64, from: u64, size: u64) -> Result<u64, AccessFault> {
    let bytes = block(cpu, from, size)?;
    store(cpu, to, &bytes)
}

/// Fills a buffer with what a file might have held.
fn invent(cpu: &mut Cpu, at: u64, size: u64, count: u64) -> Result<(), AccessFault> {
    let bytes: Vec<u8> = (0..size.min(LARGEST)).map(|n| 32 + (mix(count, n) % 90) as u8).collect();
    store(cpu, at, &bytes).map(|_| ())
}

fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x632b_e59b_d9b4_e019);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 29
}
