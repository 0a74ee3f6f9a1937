//! The output file. Records collect in a buffer that is itself a shared mapping of a small file beside it, so
//! that what was recorded survives when the process dies in the next instruction, and no system call and no
//! page fault is paid per record.

use crate::tail_of;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Size of the buffer, with the eight bytes in front that say how much of it is used.
pub const TAIL: usize = 128 << 10;

/// A growing file and its buffer.
pub struct Stream {
    file: File,
    tail: *mut u8,
    used: usize,
}

impl Stream {
    /// Creates both files and maps the buffer.
    pub fn create(path: &Path) -> Option<Self> {
        let open = |path: &Path| File::options().read(true).write(true).create(true).truncate(true).open(path).ok();
        let (file, beside) = (open(path)?, open(&tail_of(path))?);
        beside.set_len(TAIL as u64).ok()?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh shared mapping of a file of that length; it outlives the descriptor and is never unmapped.
        let tail = unsafe { libc::mmap(std::ptr::null_mut(), TAIL, protection, libc::MAP_SHARED, beside.as_raw_fd(), 0) };
        (tail != libc::MAP_FAILED).then_some(Self { file, tail: tail.cast(), used: 8 })
    }

    fn mark(&mut self) {
        // SAFETY: the first eight bytes of the mapping.
        unsafe { self.tail.cast::<u64>().write_unaligned(self.used as u64 - 8) };
    }

    fn flush(&mut self) {
        // SAFETY: the used part of the mapping. A full disk ends the stream; the reader sees it end.
        let _ = self.file.write_all(unsafe { std::slice::from_raw_parts(self.tail.add(8), self.used - 8) });
        self.used = 8;
        self.mark();
    }

    /// Appends bytes to the stream.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.used + bytes.len() > TAIL {
            self.flush();
            if bytes.len() > TAIL - 8 {
                let _ = self.file.write_all(bytes);
                return;
            }
        }
        // SAFETY: the bytes fit into the rest of the mapping.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.tail.add(self.used), bytes.len()) };
        self.used += bytes.len();
        self.mark();
    }

    /// Writes what is left.
    pub fn finish(&mut self) {
        self.flush();
    }
}
