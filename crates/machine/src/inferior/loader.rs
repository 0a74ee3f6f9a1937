//! Shared libraries come and go. The dynamic linker calls an empty function after each change; there the program is stopped
//! for a look at what is mapped. Breakpoints in a library wait until it lies where it is expected.
//!
//! Deliberately absent: what is in a library, and libraries that another thread than the followed one brings in, which are
//! noticed at the next change that the followed one makes.

use super::slot::{self, SlotArea};
use super::{Inferior, InferiorError, write_failed};
use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};

/// A library in the program, by run-time addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibrarySpan {
    /// Its file, as the kernel names it.
    pub path: PathBuf,
    /// The address of its first byte.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
}

impl LibrarySpan {
    fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// A library whose code is stopped in.
struct Followed {
    span: LibrarySpan,
    is_mapped: bool,
    /// Breakpoints that wait for it.
    waiting: Vec<u64>,
    /// Room for displaced instructions near it.
    slots: Option<SlotArea>,
}

/// What is known of the libraries.
#[derive(Default)]
pub(super) struct Loader {
    hook: Option<u64>,
    followed: Vec<Followed>,
    seen: Vec<LibrarySpan>,
}

impl Loader {
    /// Whether an address is the dynamic linker's sign of a change.
    pub(super) fn is_hook(&self, address: u64) -> bool {
        self.hook == Some(address)
    }

    /// Keeps the addresses that lie in a library which is not there yet; returns the others.
    pub(super) fn hold_back(&mut self, addresses: &[u64]) -> Vec<u64> {
        let mut now = Vec::with_capacity(addresses.len());
        for &address in addresses {
            match self.followed.iter_mut().find(|w| w.span.contains(address)) {
                Some(library) if !library.is_mapped => library.waiting.push(address),
                _ => now.push(address),
            }
        }
        now
    }

    /// The slots for an address: those near its library, if it is in one.
    pub(super) fn slots_near(&mut self, address: u64) -> Option<&mut SlotArea> {
        self.followed.iter_mut().find(|w| w.span.contains(address))?.slots.as_mut()
    }

    pub(super) fn areas(&self) -> impl Iterator<Item = &SlotArea> {
        self.followed.iter().filter_map(|w| w.slots.as_ref())
    }
}

impl Inferior {
    /// Follows the libraries of the program from here on. Breakpoints in those that are named here are kept until the library
    /// is mapped at that place. Without a dynamic linker there is nothing to follow.
    pub fn follow_libraries(&mut self, expected: Vec<LibrarySpan>) -> Result<(), InferiorError> {
        let followed = |span| Followed { span, is_mapped: false, waiting: Vec::new(), slots: None };
        self.loader.followed = expected.into_iter().map(followed).collect();
        let Some(hook) = hook_of(self.pid.as_raw()) else { return Ok(()) };
        self.set_breakpoints(&[hook]).map_err(write_failed)?;
        self.loader.hook = Some(hook);
        self.libraries_changed()
    }

    /// Every library that was mapped at some time.
    pub fn libraries_seen(&self) -> &[LibrarySpan] {
        &self.loader.seen
    }

    /// Looks at what is mapped now: breakpoints of a library that came are inserted, those of one that left wait again.
    pub(super) fn libraries_changed(&mut self) -> Result<(), InferiorError> {
        let mapped = mapped_files(self.pid.as_raw(), &self.binary);
        for span in &mapped {
            if !self.loader.seen.iter().any(|s| s.path == span.path && s.start == span.start) {
                self.loader.seen.push(span.clone());
            }
        }
        for index in 0..self.loader.followed.len() {
            let Followed { span, is_mapped, .. } = &self.loader.followed[index];
            let is_there = mapped.iter().any(|m| m.path == span.path && m.start == span.start);
            match (*is_mapped, is_there) {
                (false, true) => self.library_came(index)?,
                (true, false) => self.library_left(index),
                _ => {}
            }
        }
        Ok(())
    }

    fn library_came(&mut self, index: usize) -> Result<(), InferiorError> {
        if self.loader.followed[index].slots.is_none() {
            let (start, end) = (self.loader.followed[index].span.start, self.loader.followed[index].span.end);
            self.loader.followed[index].slots = Some(self.away_from_hook(|this| slot::reserve_far(this, start, end))?);
        }
        let library = &mut self.loader.followed[index];
        library.is_mapped = true;
        let waiting = std::mem::take(&mut library.waiting);
        self.set_breakpoints(&waiting).map_err(write_failed)
    }

    fn library_left(&mut self, index: usize) {
        let span = self.loader.followed[index].span.clone();
        let gone: Vec<u64> = self.breakpoints.keys().copied().filter(|&a| span.contains(a)).collect();
        for address in &gone {
            self.breakpoints.remove(address);
        }
        let library = &mut self.loader.followed[index];
        library.is_mapped = false;
        library.waiting = gone;
    }

    /// Runs with the breakpoint that the program stands on out of the way: the program is made to execute another instruction there.
    fn away_from_hook<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> Result<T, InferiorError> {
        let here = self.regs.rip;
        let under = self.breakpoints.remove(&here);
        if let Some(breakpoint) = &under {
            self.write(here, &[breakpoint.original]).map_err(write_failed)?;
        }
        let done = run(self);
        if let Some(breakpoint) = under {
            self.write(here, &[0xcc]).map_err(write_failed)?;
            self.breakpoints.insert(here, breakpoint);
        }
        Ok(done)
    }
}

/// The function that the dynamic linker calls after each change, if the program has one.
fn hook_of(pid: i32) -> Option<u64> {
    let base = super::auxiliary(pid, libc::AT_BASE)?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let path = maps.lines().filter_map(Mapping::parse).find(|m| m.start == base)?.path;
    let data = std::fs::read(path).ok()?;
    let elf = object::File::parse(&*data).ok()?;
    let symbol = elf.dynamic_symbols().chain(elf.symbols()).find(|s| s.name() == Ok("_dl_debug_state"))?;
    Some(base.wrapping_add(symbol.address()))
}

/// One line of the kernel's list.
struct Mapping<'a> {
    start: u64,
    end: u64,
    is_code: bool,
    path: &'a Path,
}

impl<'a> Mapping<'a> {
    /// `start-end perms offset device inode path`; `None` for what is no file.
    fn parse(line: &'a str) -> Option<Self> {
        let path = line.find('/').map(|at| &line[at..])?;
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Self { start: number(start)?, end: number(end)?, is_code: words.next()?.contains('x'), path: Path::new(path) })
    }
}

/// The files with code that are mapped, but for the program itself, each from its first byte to its last.
fn mapped_files(pid: i32, binary: &Path) -> Vec<LibrarySpan> {
    let binary = std::fs::canonicalize(binary).unwrap_or_else(|_| binary.to_owned());
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let parts: Vec<Mapping<'_>> = maps.lines().filter_map(Mapping::parse).filter(|m| m.path != binary).collect();
    let files = parts.chunk_by(|a, b| a.path == b.path).filter(|parts| parts.iter().any(|p| p.is_code));
    files.map(|parts| LibrarySpan { path: parts[0].path.to_owned(), start: parts[0].start, end: parts[parts.len() - 1].end }).collect()
}
